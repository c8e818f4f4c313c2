//! Reloads the configuration when a file changes, on SIGHUP, or when an operator asks for it.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use switchboard::Description;
use switchboard::audit::{AuditEvent, AuditKind};
use tokio::sync::mpsc;

use super::in_use::{Ask, InUse, Reloaded, diagnostics};
use super::key::Key;
use super::keys::KEYS;
use super::{Config, Live, Origin, Stack};
use crate::assembly::Assembly;
use crate::described::Described;
use crate::failure::Failure;
use crate::gateway::{self, Gate, has_upstreams};
use crate::{output, supervisor};

/// How often the files are looked at. Their contents are compared, so that links and mounts that are exchanged are seen too.
const PERIOD: Duration = Duration::from_secs(2);

/// Reloads the configuration when it changes or when an operator asks for that, until this is dropped. A configuration with errors is
/// reported, and the one in use stays. No signal is lost from the time of this call on.
pub(crate) fn reload(
    origin: Origin,
    config: Config,
    methods: Description,
    live: Live,
    assembly: Assembly,
    in_use: InUse,
) -> impl Future<Output = ()> + Send {
    let (signal, asked) = (Hangups::new(), in_use.asked());
    let seen = fingerprint(&origin, &config);
    watch(Running { origin, config, methods, live, assembly, in_use }, seen, signal, asked)
}

async fn watch(mut running: Running, mut seen: u64, mut signal: Hangups, mut asked: mpsc::Receiver<Ask>) {
    loop {
        let now = || fingerprint(&running.origin, &running.config);
        let ask = tokio::select! {
            () = signal.next() => None,
            () = tokio::time::sleep(PERIOD), if running.config.watch => match now() == seen {
                true => continue,
                false => None,
            },
            Some(ask) = asked.recv() => Some(ask),
        };
        let before = now();
        let reloaded = match &ask {
            Some(Ask { is_dry_run: true, publish, .. }) => running.rehearse(publish.as_deref()).await,
            _ => {
                let publish = ask.as_ref().and_then(|ask| ask.publish.as_deref());
                let reloaded = running.reload(publish).await;
                // It may name other files now.
                seen = if reloaded.applied { fingerprint(&running.origin, &running.config) } else { before };
                reloaded
            }
        };
        if let Some(ask) = ask {
            let _ = ask.answer.send(reloaded);
        }
    }
}

/// What a running server uses of its configuration.
struct Running {
    origin: Origin,
    config: Config,
    methods: Description,
    live: Live,
    assembly: Assembly,
    in_use: InUse,
}

/// What takes the place of the configuration in use.
struct Next {
    config: Config,
    hash: String,
    stack: Stack,
    /// The upstreams of a gateway, and its methods.
    gate: Option<(Gate, Described)>,
    changes: Vec<String>,
}

impl Running {
    /// Uses the configuration as it is now, and tells what changed. Nothing changes if something is wrong with it.
    async fn reload(&mut self, publish: Option<&str>) -> Reloaded {
        supervisor::reloading();
        let prepared = match publish {
            None => self.prepare().await,
            Some(text) => self.prepare_to_publish(text, false).await,
        };
        let audit = self.config.audit.clone();
        let reloaded = match prepared {
            Ok(next) => {
                let reloaded = next.outcome(true);
                let (changes, was) = (said(&next.changes), self.in_use.hash());
                audit.record(&AuditEvent::new(AuditKind::CONFIG_RELOADED).reason(&changes));
                self.put_in_use(next);
                let warnings = self.config.shown_warnings();
                let hash = &reloaded.hash;
                output::note(&format!(
                    "Configuration reloaded: {changes}. Hash {hash}, was {was}.\n{warnings}"
                ));
                reloaded
            }
            Err(failure) => {
                let shown = output::described(&failure);
                audit.record(&AuditEvent::new(AuditKind::CONFIG_REJECTED).reason("it has errors"));
                output::note(&format!("{}\nThe configuration in use stays.\n", shown.trim_end()));
                let reloaded = self.rejected(&failure);
                // What is not published does not matter.
                if publish.is_none() {
                    self.in_use.reject(&reloaded.diagnostics);
                }
                reloaded
            }
        };
        supervisor::ready();
        reloaded
    }

    /// Tells what a reload would change.
    async fn rehearse(&self, publish: Option<&str>) -> Reloaded {
        let prepared = match publish {
            None => self.prepare().await,
            Some(text) => self.prepare_to_publish(text, true).await,
        };
        match prepared {
            Ok(next) => next.outcome(false),
            Err(failure) => self.rejected(&failure),
        }
    }

    fn rejected(&self, failure: &Failure) -> Reloaded {
        Reloaded { hash: self.in_use.hash(), diagnostics: diagnostics(failure), ..Reloaded::default() }
    }

    /// The configuration as it is with this text in place of the published one. Unless it is a dry run, it is published if it has no errors.
    async fn prepare_to_publish(&self, text: &str, is_dry_run: bool) -> Result<Next, Failure> {
        let published = &self.origin.published;
        let before = published.replace(Some(text.to_owned()));
        let prepared = match self.prepare().await {
            Ok(next) if !is_dry_run => published.publish(text).await.map(|()| next),
            prepared => prepared,
        };
        if is_dry_run || prepared.is_err() {
            published.replace(before);
        }
        prepared
    }

    /// The configuration as it is now, ready for use.
    async fn prepare(&self) -> Result<Next, Failure> {
        let mut next = self.origin.load(&self.methods)?;
        let changed = KEYS.iter().filter(|key| !next.has_same(key, &self.config));
        // The metadata of the endpoint name the issuer.
        let is_fixed = |key: &Key| next.protected.is_some() && key.path == "auth.jwt.issuer";
        let (live, fixed): (Vec<&Key>, Vec<&Key>) = changed.partition(|key| key.is_live && !is_fixed(key));
        if !fixed.is_empty() {
            let names: Vec<String> = fixed.iter().map(|key| format!("`{}`", key.path)).collect();
            let what = format!("{} changed, which a running server cannot apply", names.join(", "));
            let advice = format!("restart the server without downtime: `kill -USR2 {}`", std::process::id());
            return Err(Failure::new(crate::exit::Exit::Configuration, what).advise(advice));
        }
        let mut changes: Vec<String> = live.iter().map(|key| key.path.to_owned()).collect();
        let hash = next.hash();
        let Some(gated) = self.assembly.gateway() else {
            next.keep_from(&self.config);
            let stack = self.assembly.stack(&next, &self.assembly.methods().router())?;
            return Ok(Next { config: next, hash, stack, gate: None, changes });
        };
        has_upstreams(&next)?;
        let gate = gated.prepare(&next).await?;
        let described = self.assembly.methods_of(&gate)?;
        // Rules need the names of the parameters.
        let mut next = next.for_methods(&described.router.describe())?;
        next.keep_from(&self.config);
        let stack = self.assembly.stack(&next, &described.router)?;
        changes.retain(|key| key != "upstream");
        changes.extend(gated.current().changes_to(&gate, next.drain_time));
        Ok(Next { config: next, hash, stack, gate: Some((gate, described)), changes })
    }

    /// From here on, calls take the new way, with the new rules.
    fn put_in_use(&mut self, next: Next) {
        self.live.replace(next.stack);
        self.assembly.put_in_use(&next.config);
        if let (Some((gate, described)), Some(gated)) = (next.gate, self.assembly.gateway()) {
            self.methods = described.router.describe();
            self.assembly.methods().replace(described);
            gated.replace(gate, next.config.drain_time);
        }
        self.in_use.replace(&next.config);
        self.config = next.config;
    }
}

impl Next {
    fn outcome(&self, applied: bool) -> Reloaded {
        let (hash, changes) = (self.hash.clone(), self.changes.clone());
        Reloaded { applied, hash, changes, diagnostics: Vec::new() }
    }
}

fn said(changes: &[String]) -> String {
    match changes {
        [] => "the files that it names".to_owned(),
        changes => changes.join(", "),
    }
}

/// Tells whether contents changed, and whether there are other files to include. A file that cannot be read has a fingerprint too.
fn fingerprint(origin: &Origin, config: &Config) -> u64 {
    let mut hasher = DefaultHasher::new();
    let source = origin.source().ok().map(|mut source| {
        origin.parse(&mut source, &mut Vec::new());
        source
    });
    source.hash(&mut hasher);
    config.upstreams.iter().for_each(|upstream| gateway::fingerprint(upstream).hash(&mut hasher));
    hasher.finish()
}

/// SIGHUP, where there are signals.
struct Hangups(#[cfg(unix)] Option<tokio::signal::unix::Signal>);

impl Hangups {
    #[cfg(unix)]
    fn new() -> Hangups {
        Hangups(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok())
    }

    #[cfg(not(unix))]
    fn new() -> Hangups {
        Hangups()
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.0
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}
