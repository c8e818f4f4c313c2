//! Reloads the configuration when a file changes, or on SIGHUP.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use switchboard::Description;
use switchboard::audit::{AuditEvent, AuditKind};

use super::key::Key;
use super::keys::KEYS;
use super::{Config, Live, Origin, Stack};
use crate::failure::Failure;
use crate::output;

/// How often the files are looked at. Their contents are compared, so that links and mounts that are exchanged are seen too.
const PERIOD: Duration = Duration::from_secs(2);

/// Builds the stack of a configuration.
pub(crate) type Build = Box<dyn Fn(&Config) -> Result<Stack, Failure> + Send>;

/// Reloads the configuration when it changes, until this is dropped. A configuration with errors is reported, and the one in use
/// stays.
pub(crate) async fn reload(
    origin: Origin,
    mut config: Config,
    methods: Description,
    live: Live,
    build: Build,
) {
    let mut signal = Hangups::new();
    let mut seen = fingerprint(&origin);
    loop {
        let is_asked = tokio::select! {
            () = signal.next() => true,
            () = tokio::time::sleep(PERIOD), if config.watch => false,
        };
        let now = fingerprint(&origin);
        if now == seen && !is_asked {
            continue;
        }
        seen = now;
        match renew(&origin, &config, &methods, &build) {
            Ok((next, stack, changes)) => {
                live.replace(stack);
                config.audit.record(&AuditEvent::new(AuditKind::CONFIG_RELOADED).reason(&changes));
                config = next;
                output::note(&format!("Configuration reloaded: {changes}.\n{}", config.shown_warnings()));
            }
            Err(failure) => {
                let shown = output::described(&failure);
                config.audit.record(&AuditEvent::new(AuditKind::CONFIG_REJECTED).reason("it has errors"));
                output::note(&format!("{}\nThe configuration in use stays.\n", shown.trim_end()));
            }
        }
    }
}

/// The new configuration with its stack, and what changed in words.
fn renew(
    origin: &Origin,
    old: &Config,
    methods: &Description,
    build: &Build,
) -> Result<(Config, Stack, String), Failure> {
    let mut next = origin.load(methods)?;
    let changed = KEYS.iter().filter(|key| !next.has_same(key, old));
    let (live, fixed): (Vec<&Key>, Vec<&Key>) = changed.partition(|key| key.is_live);
    if !fixed.is_empty() {
        let names: Vec<String> = fixed.iter().map(|key| format!("`{}`", key.path)).collect();
        let what = format!("{} changed, which a running server cannot apply", names.join(", "));
        return Err(Failure::new(crate::exit::Exit::Configuration, what).advise("restart the server"));
    }
    next.keep_from(old);
    let stack = build(&next)?;
    let changes = match live.is_empty() {
        true => "the files that it names".to_owned(),
        false => live.iter().map(|key| key.path).collect::<Vec<_>>().join(", "),
    };
    Ok((next, stack, changes))
}

/// Tells whether contents changed, and whether there are other files to include. A file that cannot be read has a fingerprint too.
fn fingerprint(origin: &Origin) -> u64 {
    let mut hasher = DefaultHasher::new();
    let source = origin.source().ok().map(|mut source| {
        origin.parse(&mut source, &mut Vec::new());
        source
    });
    source.hash(&mut hasher);
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
