//! Reloads the configuration when a file changes, or on SIGHUP.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use switchboard::Description;
use switchboard::audit::{AuditEvent, AuditKind};

use super::key::Key;
use super::keys::KEYS;
use super::{Config, Live, Origin};
use crate::assembly::Assembly;
use crate::failure::Failure;
use crate::gateway::{self, has_upstreams};
use crate::{output, supervisor};

/// How often the files are looked at. Their contents are compared, so that links and mounts that are exchanged are seen too.
const PERIOD: Duration = Duration::from_secs(2);

/// Reloads the configuration when it changes, until this is dropped. A configuration with errors is reported, and the one in use
/// stays.
pub(crate) async fn reload(
    origin: Origin,
    config: Config,
    methods: Description,
    live: Live,
    assembly: Assembly,
) {
    let mut signal = Hangups::new();
    let mut seen = fingerprint(&origin, &config);
    let mut running = Running { config, methods, live, assembly };
    loop {
        let is_asked = tokio::select! {
            () = signal.next() => true,
            () = tokio::time::sleep(PERIOD), if running.config.watch => false,
        };
        let now = fingerprint(&origin, &running.config);
        if now == seen && !is_asked {
            continue;
        }
        seen = now;
        let audit = running.config.audit.clone();
        supervisor::reloading();
        let renewed = running.renew(&origin).await;
        supervisor::ready();
        match renewed {
            Ok(changes) => {
                audit.record(&AuditEvent::new(AuditKind::CONFIG_RELOADED).reason(&changes));
                let warnings = running.config.shown_warnings();
                output::note(&format!("Configuration reloaded: {changes}.\n{warnings}"));
                // It may name other files now.
                seen = fingerprint(&origin, &running.config);
            }
            Err(failure) => {
                let shown = output::described(&failure);
                audit.record(&AuditEvent::new(AuditKind::CONFIG_REJECTED).reason("it has errors"));
                output::note(&format!("{}\nThe configuration in use stays.\n", shown.trim_end()));
            }
        }
    }
}

/// What a running server uses of its configuration.
struct Running {
    config: Config,
    methods: Description,
    live: Live,
    assembly: Assembly,
}

impl Running {
    /// Uses the configuration as it is now, and says what changed. Nothing changes if something is wrong with it.
    async fn renew(&mut self, origin: &Origin) -> Result<String, Failure> {
        let mut next = origin.load(&self.methods)?;
        let changed = KEYS.iter().filter(|key| !next.has_same(key, &self.config));
        let (live, fixed): (Vec<&Key>, Vec<&Key>) = changed.partition(|key| key.is_live);
        if !fixed.is_empty() {
            let names: Vec<String> = fixed.iter().map(|key| format!("`{}`", key.path)).collect();
            let what = format!("{} changed, which a running server cannot apply", names.join(", "));
            let advice = format!("restart the server without downtime: `kill -USR2 {}`", std::process::id());
            return Err(Failure::new(crate::exit::Exit::Configuration, what).advise(advice));
        }
        let mut changes: Vec<String> = live.iter().map(|key| key.path.to_owned()).collect();
        let Some(gated) = self.assembly.gateway().cloned() else {
            next.keep_from(&self.config);
            self.live.replace(self.assembly.stack(&next, &self.assembly.methods().router())?);
            self.config = next;
            return Ok(said(&changes));
        };
        has_upstreams(&next)?;
        let gate = gated.prepare(&next).await?;
        let described = self.assembly.methods_of(&gate)?;
        let methods = described.router.describe();
        // Rules need the names of the parameters.
        let mut next = next.for_methods(&methods)?;
        next.keep_from(&self.config);
        let stack = self.assembly.stack(&next, &described.router)?;
        let before = gated.current();
        changes.retain(|key| key != "upstream");
        changes.extend(before.changes(&gate));
        let draining = before.draining(&gate);
        if !draining.is_empty() {
            let time = next.drain_time.as_secs_f64();
            changes.push(format!("draining {} for up to {time} s", draining.join(" and ")));
        }
        drop(before);
        // From here on, calls take the new way, with the new rules.
        self.live.replace(stack);
        self.assembly.methods().replace(described);
        gated.replace(gate, next.drain_time);
        (self.config, self.methods) = (next, methods);
        Ok(said(&changes))
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
