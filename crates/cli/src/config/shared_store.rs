//! A store that several servers share: where it is, and how to authenticate.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use switchboard::cache::Cache;
use switchboard::mcp::{HttpOptions, StateKeys};
use switchboard::rate::RateLimits;
use switchboard::store::{JetStream, JetStreamAuth, JetStreamOptions, JetStreamStore, Store, StoreLimits};

use super::store::Stores;
use super::{Config, published};
use crate::failure::Failure;

/// How long nonces are remembered at most: longer than signed messages are accepted, with clocks that differ.
const NONCES: Duration = Duration::from_secs(600);

/// How long the bucket of an agent's tasks keeps them: longer than the agent does.
const TASKS: Duration = Duration::from_secs(8 * 24 * 3600);

/// How many bytes each bucket holds at most. A nonce takes about 200.
const BYTES: usize = 256 << 20;

/// The connection to the store. Cheap to clone.
#[derive(Clone)]
pub(crate) struct SharedStore {
    connection: JetStream,
    url: Arc<str>,
}

impl SharedStore {
    /// Opens a bucket for each use of this configuration, and for the tasks of an agent.
    pub(super) async fn open(&self, config: &Config, has_agent: bool) -> Result<Stores, Failure> {
        let open = async |name: &str, time: Duration| -> Result<Arc<dyn Store>, Failure> {
            let bucket = self.bucket(name, time, StoreLimits::default().with_bytes(BYTES)).await?;
            let bucket: Arc<dyn Store> = Arc::new(bucket);
            Ok(bucket)
        };
        let mut stores = Stores::default();
        if config.signing.is_some() {
            stores.nonces = Some(open("nonces", NONCES).await?);
        }
        if has_agent {
            stores.tasks = Some(open("tasks", TASKS).await?);
        }
        if let Some(retention) = config.idempotency {
            // While a call runs its key is kept for a minute longer than the call may take.
            let running = config.timeout + Duration::from_secs(60);
            stores.answers = Some(open("answers", retention.max(running)).await?);
        }
        if config.mcp.http {
            let keys = self.bucket("keys", published::KEPT, few()).await?;
            let keys = StateKeys::shared(&keys, published::KEPT).await;
            stores.state_keys = Some(keys.map_err(|error| unusable(&self.url, &error))?);
            stores.sessions = Some(open("sessions", HttpOptions::default().store_time()).await?);
        }
        Ok(stores)
    }

    /// The bucket of the published configuration.
    pub(super) async fn configuration(&self) -> Result<JetStreamStore, Failure> {
        self.bucket("config", published::KEPT, few()).await
    }

    async fn bucket(
        &self,
        name: &str,
        time: Duration,
        limits: StoreLimits,
    ) -> Result<JetStreamStore, Failure> {
        let bucket = self.connection.bucket(name, time, limits).await;
        bucket.map_err(|error| unusable(&self.url, &error))
    }

    /// These limits, shared with the other servers.
    pub(crate) fn sharing(&self, limits: RateLimits) -> RateLimits {
        let bucket = StoreLimits::default().with_bytes(BYTES);
        let bucket = self.connection.bucket_later("rates", limits.store_time(), bucket);
        limits.with_store(Arc::new(bucket))
    }

    /// This cache, shared with the caches of other servers that have this scope.
    pub(crate) fn caching(&self, cache: Cache, scope: &str) -> Cache {
        let bucket = StoreLimits::default().with_bytes(BYTES);
        let bucket = self.connection.bucket_later("cache", cache.store_time(), bucket);
        cache.with_store(Arc::new(bucket), scope)
    }
}

impl fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedStore").field(&self.url).finish()
    }
}

/// For what operators and servers store, and not callers.
fn few() -> StoreLimits {
    StoreLimits::default().with_entries(16).with_bytes(16 << 20)
}

fn unusable(url: &str, error: &dyn fmt::Display) -> Failure {
    Failure::usage(format!("cannot use {url} as the store: {error}"))
}

/// Where the store is.
#[derive(Clone, Debug)]
pub(crate) struct SharedPlace {
    options: JetStreamOptions,
    /// A file with credentials, or with the seed of an NKey.
    credentials: Option<PathBuf>,
    is_named: bool,
}

impl SharedPlace {
    /// Reads `nats://HOST:PORT/NAME?replicas=3`, or says what is wrong.
    pub(crate) fn parse(url: &str, credentials: Option<PathBuf>) -> Result<SharedPlace, String> {
        if url.contains('@') {
            let advice = "credentials do not belong in the URL; set NATS_USER and NATS_PASSWORD, NATS_TOKEN, NATS_NKEY or NATS_CREDS in the environment, or `store_credentials`";
            return Err(advice.to_owned());
        }
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let (scheme, rest) = place.split_once("://").ok_or("use nats://HOST:PORT")?;
        let (host, name) = rest.split_once('/').unwrap_or((rest, ""));
        if host.is_empty() || !matches!(scheme, "nats" | "nats+tls" | "tls") {
            return Err("use nats://HOST:PORT, or nats+tls://HOST:PORT".to_owned());
        }
        let mut options = JetStreamOptions::new(format!("{scheme}://{host}"));
        let is_plain =
            |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if !is_plain(name) || name.len() > 64 {
            return Err("a name after the host has up to 64 letters, digits, `-` and `_`".to_owned());
        }
        if !name.is_empty() {
            options = options.with_prefix(name);
        }
        if !query.is_empty() {
            let replicas = query.strip_prefix("replicas=").and_then(|count| count.parse().ok());
            let replicas = replicas.filter(|count| (1..=5).contains(count));
            options =
                options.with_replicas(replicas.ok_or("after `?` only replicas=1 to replicas=5 is known")?);
        }
        Ok(SharedPlace { options, credentials, is_named: !name.is_empty() })
    }

    /// Whether the URL has a name after the host.
    pub(crate) fn is_named(&self) -> bool {
        self.is_named
    }

    /// The name after the host.
    pub(crate) fn name(&self) -> &str {
        &self.options.prefix
    }

    /// Connects to the server, which is to be this.
    pub(crate) async fn connect(&self, what: &str) -> Result<JetStream, Failure> {
        let options = self.options().map_err(|error| self.cannot_use(what, &error))?;
        let connection = JetStream::connect(options).await;
        connection.map_err(|error| self.cannot_use(what, &error))
    }

    /// Why the server cannot be this.
    pub(crate) fn cannot_use(&self, what: &str, error: &dyn fmt::Display) -> Failure {
        Failure::usage(format!("cannot use {} as {what}: {error}", self.options.url))
    }

    /// Connects to the store.
    pub(super) async fn store(&self) -> Result<SharedStore, Failure> {
        let connection = self.connect("the store").await?;
        Ok(SharedStore { connection, url: self.options.url.as_str().into() })
    }

    /// How to connect, by the variables of the environment that workers use as well.
    fn options(&self) -> Result<JetStreamOptions, String> {
        let options = self.options.clone().with_auth(self.auth()?);
        let options = match variable("NATS_CA") {
            Some(path) => options.with_ca(path),
            None => options,
        };
        match (variable("NATS_CERT"), variable("NATS_KEY")) {
            (Some(certificate), Some(key)) => Ok(options.with_certificate(certificate, key)),
            (None, None) => Ok(options),
            _ => Err("NATS_CERT and NATS_KEY belong together: set both or neither".to_owned()),
        }
    }

    fn auth(&self) -> Result<JetStreamAuth, String> {
        let named = || variable("NATS_CREDS").or_else(|| variable("NATS_NKEY")).map(PathBuf::from);
        if let Some(path) = self.credentials.clone().or_else(named) {
            return Ok(JetStreamAuth::of_file(&secret(&path)?));
        }
        Ok(match (variable("NATS_TOKEN"), variable("NATS_USER"), variable("NATS_PASSWORD")) {
            (Some(token), ..) => JetStreamAuth::Token(token),
            (None, Some(user), Some(password)) => JetStreamAuth::Password { user, password },
            (None, Some(_), None) => return Err("NATS_USER is set, but NATS_PASSWORD is not".to_owned()),
            (None, None, _) => JetStreamAuth::None,
        })
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl fmt::Display for SharedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.options.url, self.options.prefix)
    }
}

/// The content of a file that only its owner can read.
fn secret(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("{}: {error}", path.display());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).map_err(unreadable)?.permissions().mode();
        if mode & 0o077 != 0 {
            let path = path.display();
            return Err(format!("{path} can be read by other users; run: chmod 600 {path}"));
        }
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_server_a_name_and_replicas() {
        let check = |url: &str, expected: (&str, &str, usize)| {
            let SharedPlace { options, .. } = SharedPlace::parse(url, None).unwrap();
            assert_eq!((options.url.as_str(), options.prefix.as_str(), options.replicas), expected);
        };
        check("nats://127.0.0.1:4222", ("nats://127.0.0.1:4222", "switchboard", 1));
        check("nats+tls://broker", ("nats+tls://broker", "switchboard", 1));
        check("tls://broker/prod?replicas=3", ("tls://broker", "prod", 3));
        for wrong in
            ["nats://", "http://broker", "nats:broker", "nats://a/b/c", "nats://a?replicas=9", "nats://a/b c"]
        {
            assert!(SharedPlace::parse(wrong, None).is_err(), "{wrong}");
        }
        let refused = SharedPlace::parse("nats://me:secret@broker", None).unwrap_err();
        assert!(refused.contains("NATS_PASSWORD") && !refused.contains("secret"), "{refused}");
    }
}
