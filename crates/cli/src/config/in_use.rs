//! The configuration in use, as operators see it, and their way to ask for a reload.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use super::{Config, show};
use crate::failure::Failure;
use crate::output;

/// Further requests for a reload wait until one of these is done.
const WAITING: usize = 8;

/// The configuration in use. Clones see the same one.
#[derive(Clone)]
pub(crate) struct InUse(Arc<State>);

struct State {
    path: Option<String>,
    now: Mutex<Now>,
    asks: OnceLock<mpsc::Sender<Ask>>,
}

/// What changes with a reload.
struct Now {
    hash: String,
    /// All keys with their values and origins, without secrets.
    shown: String,
    loaded: SystemTime,
    /// What is wrong with the files as they are now; empty if nothing is.
    rejected: Vec<String>,
}

/// A request for a reload.
pub(super) struct Ask {
    /// Whether to find out only what would happen.
    pub(super) is_dry_run: bool,
    /// What to publish for all servers, if anything.
    pub(super) publish: Option<String>,
    pub(super) answer: oneshot::Sender<Reloaded>,
}

/// The configuration in use.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct ConfigRecord {
    /// Its file, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Hash of what is set, except secrets: servers of the same version with the same configuration have the same one.
    hash: String,
    /// When it was loaded, in milliseconds since 1970.
    loaded_at: f64,
    /// Whether the files are still like that. If not, they have errors.
    ok: bool,
    /// Why the changed files were rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The outcome of a reload.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct Reloaded {
    /// Whether the files are in use now.
    pub(crate) applied: bool,
    /// Hash of the configuration in use; with `dryRun`, of the one that would be.
    pub(crate) hash: String,
    /// What changed, or would change.
    pub(crate) changes: Vec<String>,
    /// Errors. If there are any, nothing changed.
    pub(crate) diagnostics: Vec<String>,
}

impl InUse {
    /// For a server that starts with this configuration.
    pub(crate) fn new(config: &Config) -> InUse {
        let path = config.source.has_main().then(|| config.source.main().path.display().to_string());
        InUse(Arc::new(State { path, now: Mutex::new(Now::of(config)), asks: OnceLock::new() }))
    }

    /// The file and the hash, for the operator; empty without a file.
    pub(crate) fn shown(&self) -> String {
        let path = self.0.path.as_ref();
        path.map(|path| format!("Configuration {path}, hash {}\n", self.hash())).unwrap_or_default()
    }

    /// The hash of the configuration.
    pub(super) fn hash(&self) -> String {
        self.now().hash.clone()
    }

    /// Whether it is what the files say.
    pub(crate) fn is_ok(&self) -> bool {
        self.now().rejected.is_empty()
    }

    pub(crate) fn record(&self) -> ConfigRecord {
        let now = self.now();
        let since = now.loaded.duration_since(UNIX_EPOCH).unwrap_or_default();
        ConfigRecord {
            path: self.0.path.clone(),
            hash: now.hash.clone(),
            loaded_at: (since.as_secs_f64() * 1e3).round(),
            ok: now.rejected.is_empty(),
            error: (!now.rejected.is_empty()).then(|| now.rejected.join("; ")),
        }
    }

    /// All keys with their values and where they were set, as TOML. Secrets are masked.
    pub(crate) fn toml(&self) -> String {
        self.now().shown.clone()
    }

    /// Another configuration is in use.
    pub(super) fn replace(&self, config: &Config) {
        *self.now() = Now::of(config);
    }

    /// The files have these errors, so the configuration in use stays.
    pub(super) fn reject(&self, diagnostics: &[String]) {
        self.now().rejected = diagnostics.to_vec();
    }

    /// The requests of operators, from now on.
    pub(super) fn asked(&self) -> mpsc::Receiver<Ask> {
        let (asks, asked) = mpsc::channel(WAITING);
        let _ = self.0.asks.set(asks);
        asked
    }

    /// Reads the files again, and uses them unless it is a dry run or they have errors.
    ///
    /// # Errors
    ///
    /// Without files, and when the server stops.
    pub(crate) async fn reload(&self, is_dry_run: bool) -> Result<Reloaded, &'static str> {
        self.ask(is_dry_run, None).await
    }

    /// Publishes this configuration for all servers that share the store, unless it is a dry run or has errors.
    ///
    /// # Errors
    ///
    /// As [`reload`](InUse::reload).
    pub(crate) async fn publish(&self, text: String, is_dry_run: bool) -> Result<Reloaded, &'static str> {
        self.ask(is_dry_run, Some(text)).await
    }

    async fn ask(&self, is_dry_run: bool, publish: Option<String>) -> Result<Reloaded, &'static str> {
        let asks = self.0.asks.get().ok_or("the server was started without a configuration file")?;
        let (answer, outcome) = oneshot::channel();
        let stopping = "the server is stopping";
        asks.send(Ask { is_dry_run, publish, answer }).await.map_err(|_| stopping)?;
        outcome.await.map_err(|_| stopping)
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    /// This configuration is in use from now on.
    fn of(config: &Config) -> Now {
        let (hash, shown) = (config.hash(), show::show(config));
        Now { hash, shown, loaded: SystemTime::now(), rejected: Vec::new() }
    }
}

/// What is wrong, with places but without lines of the files, which may have secrets: operators who may only look see it.
pub(super) fn diagnostics(failure: &Failure) -> Vec<String> {
    let shown = output::described(failure);
    let mut found: Vec<String> = Vec::new();
    for line in anstream::adapter::strip_str(&shown).to_string().lines() {
        if let Some(title) = line.strip_prefix("error: ") {
            found.push(title.to_owned());
        } else if let (Some(place), Some(last)) = (line.trim_start().strip_prefix("--> "), found.last_mut()) {
            *last = format!("{place}: {last}");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use switchboard::Description;

    use super::super::source::Source;
    use super::super::{Config, faults};
    use super::*;

    fn config(text: &str) -> Result<Config, Failure> {
        let source = Source::of(Path::new("etc/a.toml"), text.to_owned());
        let mut faults = Vec::new();
        let table = source.main().parse(&mut faults);
        match faults.is_empty() {
            true => Config::read(table, source, &Description::default()),
            false => Err(faults::failure(&faults, &source)),
        }
    }

    #[test]
    fn the_hash_is_of_what_is_set_and_not_of_how() {
        let hash = |text: &str| config(text).unwrap().hash();
        let first = hash("timeout = \"5s\"\nlimits.batch = 7\n");
        assert_eq!(first.len(), 8);
        assert_eq!(hash("# more\n\n[limits]\nbatch=7\n").len(), 8);
        assert_eq!(hash("limits = { batch = 7 } # first\ntimeout='5s'\n"), first);
        assert_ne!(hash("timeout = \"6s\"\nlimits.batch = 7\n"), first);
    }

    #[test]
    fn diagnostics_have_places_and_no_lines() {
        let failure = config("timeout = 5\n[upstream.a]\nurl = \"tcp:\"\ntoken = 7 # sekret\n").unwrap_err();
        let found = diagnostics(&failure);
        assert!(found.len() > 1 && found[0].starts_with("etc/a.toml:1:11: "), "{found:?}");
        assert!(found.iter().all(|line| !line.contains("sekret") && !line.contains('\n')), "{found:?}");
        let plain = diagnostics(&Failure::usage("it is wrong").advise("do it right"));
        assert_eq!(plain, ["it is wrong; do it right"]);
    }
}
