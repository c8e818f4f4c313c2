//! Where the server is, and how to connect to it.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::ConnectOptions;

/// How long an operation may take unless set.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the server is, and how to connect to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JetStreamOptions {
    /// Its URL: `nats://HOST:PORT`, or with TLS `nats+tls://HOST:PORT` or `tls://HOST:PORT`. It is shown in errors, so credentials do not belong in it.
    pub url: String,
    /// How to authenticate. Default: not at all.
    pub auth: JetStreamAuth,
    /// A file with certificates to trust, besides those of the system. Default: none.
    pub ca: Option<PathBuf>,
    /// Files with the certificate of this client, and with its key. Default: none.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// What the names of buckets begin with. Default: `switchboard`.
    pub prefix: String,
    /// On how many servers of a cluster each bucket is. Default: 1.
    pub replicas: usize,
    /// How long an operation may take. Then it fails, whether or not it happened. Default: 1 second.
    pub timeout: Duration,
}

impl JetStreamOptions {
    /// The default options for this URL.
    #[must_use]
    pub fn new(url: impl Into<String>) -> JetStreamOptions {
        JetStreamOptions {
            url: url.into(),
            auth: JetStreamAuth::default(),
            ca: None,
            certificate: None,
            prefix: "switchboard".to_owned(),
            replicas: 1,
            timeout: PATIENCE,
        }
    }

    /// Sets how to authenticate.
    #[must_use]
    pub fn with_auth(self, auth: JetStreamAuth) -> JetStreamOptions {
        JetStreamOptions { auth, ..self }
    }

    /// Trusts the certificates in this file, besides those of the system.
    #[must_use]
    pub fn with_ca(self, path: impl Into<PathBuf>) -> JetStreamOptions {
        JetStreamOptions { ca: Some(path.into()), ..self }
    }

    /// Shows this certificate to a server that asks for one; the second file has its key.
    #[must_use]
    pub fn with_certificate(self, path: impl Into<PathBuf>, key: impl Into<PathBuf>) -> JetStreamOptions {
        JetStreamOptions { certificate: Some((path.into(), key.into())), ..self }
    }

    /// Sets what the names of buckets begin with: letters, digits, `-` and `_`.
    #[must_use]
    pub fn with_prefix(self, prefix: impl Into<String>) -> JetStreamOptions {
        JetStreamOptions { prefix: prefix.into(), ..self }
    }

    /// Sets on how many servers of a cluster each bucket is.
    #[must_use]
    pub fn with_replicas(self, replicas: usize) -> JetStreamOptions {
        JetStreamOptions { replicas, ..self }
    }

    /// Sets how long an operation may take.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> JetStreamOptions {
        JetStreamOptions { timeout, ..self }
    }

    /// The URL as the client knows it.
    pub(super) fn server(&self) -> Cow<'_, str> {
        match self.url.strip_prefix("nats+tls://") {
            Some(place) => Cow::Owned(format!("tls://{place}")),
            None => Cow::Borrowed(&self.url),
        }
    }

    pub(super) fn connect_options(&self) -> io::Result<ConnectOptions> {
        let mut options = match self.auth.clone() {
            JetStreamAuth::None => ConnectOptions::new(),
            JetStreamAuth::Password { user, password } => {
                ConnectOptions::with_user_and_password(user, password)
            }
            JetStreamAuth::Token(token) => ConnectOptions::with_token(token),
            JetStreamAuth::Seed(seed) => ConnectOptions::with_nkey(seed),
            JetStreamAuth::Credentials(text) => ConnectOptions::with_credentials(&text)?,
        };
        if let Some(path) = &self.ca {
            options = options.add_root_certificates(path.clone());
        }
        if let Some((path, key)) = &self.certificate {
            options = options.add_client_certificate(path.clone(), key.clone());
        }
        let delay = |attempts: usize| Duration::from_millis((attempts as u64).saturating_mul(50).min(1000));
        Ok(options.name("switchboard store").reconnect_delay_callback(delay))
    }
}

/// How to authenticate. Secrets are not part of its debug output.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JetStreamAuth {
    /// The server accepts everyone.
    #[default]
    None,
    /// By user and password.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// By token.
    Token(String),
    /// By the seed of an NKey, which begins with `SU`.
    Seed(String),
    /// By the content of a credentials file (`.creds`): a JWT and the seed of its key.
    Credentials(String),
}

impl JetStreamAuth {
    /// The content of a file: credentials, or the seed of an NKey.
    #[must_use]
    pub fn of_file(text: &str) -> JetStreamAuth {
        match text.contains("-----BEGIN") {
            true => JetStreamAuth::Credentials(text.to_owned()),
            false => JetStreamAuth::Seed(text.trim().to_owned()),
        }
    }
}

impl fmt::Debug for JetStreamAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JetStreamAuth::None => "None",
            JetStreamAuth::Password { .. } => "Password",
            JetStreamAuth::Token(_) => "Token",
            JetStreamAuth::Seed(_) => "Seed",
            JetStreamAuth::Credentials(_) => "Credentials",
        })
    }
}
