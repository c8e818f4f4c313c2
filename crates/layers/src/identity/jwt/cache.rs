//! Keys that are fetched from their issuer, and kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::source::{FetchError, KeySource};
use super::{KeySet, Refresh};

/// Keys that are fetched from their issuer.
pub(super) struct Cache {
    source: Box<dyn KeySource>,
    refresh: Refresh,
    state: Mutex<State>,
    /// Changes whenever a refresh has ended.
    ended: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    keys: Option<(Arc<KeySet>, Instant)>,
    /// When the last refresh began.
    began_at: Option<Instant>,
    is_refreshing: bool,
    /// Whether the last refresh failed, and if so, whether there were older keys to use. The log has it.
    failed: Option<Fallback>,
}

/// What is used after a refresh that failed.
#[derive(Clone, Copy, PartialEq)]
enum Fallback {
    OldKeys,
    Nothing,
}

/// What a cache has.
pub(super) enum Held {
    Keys(Arc<KeySet>),
    /// Not the right ones, and it may not ask again yet.
    Missing(Missing),
    /// A refresh is in progress. Ask again with [`Cache::held`] when it has ended.
    Refreshing(watch::Receiver<()>),
}

/// Why there is no key for a token.
pub(super) enum Missing {
    /// The issuer has no such key.
    Unknown,
    /// The issuer's keys could not be fetched. The next attempt may begin after this time.
    Unavailable(Duration),
}

/// How old keys are.
#[derive(PartialEq)]
enum Age {
    Fresh,
    /// Still good. A refresh begins, and nothing waits for it.
    Ageing,
    /// Good only if a refresh fails.
    Stale,
    /// Not good any more.
    Over,
}

impl Cache {
    pub(super) fn new(source: impl KeySource, refresh: Refresh) -> Cache {
        Cache { source: Box::new(source), refresh, state: Mutex::default(), ended: watch::Sender::new(()) }
    }

    /// The keys, if the right one is among them; else begins a refresh if it may.
    pub(super) fn find(self: &Arc<Cache>, is_right: impl Fn(&KeySet) -> bool) -> Held {
        let mut state = self.lock();
        let (held, age) = self.usable(&state, &is_right);
        if held.is_some() && age == Age::Fresh {
            return held.map_or_else(|| Held::Missing(self.missing(&state)), Held::Keys);
        }
        // Subscribed before the refresh can end.
        let ended = self.ended.subscribe();
        self.begin(&mut state);
        match held {
            Some(keys) if age == Age::Ageing || !state.is_refreshing => Held::Keys(keys),
            _ if state.is_refreshing => Held::Refreshing(ended),
            _ => Held::Missing(self.missing(&state)),
        }
    }

    /// The keys, if the right one is among them, without a refresh.
    pub(super) fn held(&self, is_right: impl Fn(&KeySet) -> bool) -> Result<Arc<KeySet>, Missing> {
        let state = self.lock();
        self.usable(&state, &is_right).0.ok_or_else(|| self.missing(&state))
    }

    /// Why the right key is not there. Without a successful refresh it is not known which keys the issuer has.
    fn missing(&self, state: &State) -> Missing {
        let has_any = self.usable(state, |_| true).0.is_some();
        if has_any && state.failed.is_none() {
            return Missing::Unknown;
        }
        let since = state.began_at.map_or(Duration::ZERO, |at| at.elapsed());
        Missing::Unavailable(self.refresh.interval.saturating_sub(since))
    }

    fn usable(&self, state: &State, is_right: impl Fn(&KeySet) -> bool) -> (Option<Arc<KeySet>>, Age) {
        let Some((keys, at)) = &state.keys else { return (None, Age::Over) };
        let age = match at.elapsed() {
            age if age < self.refresh.max_age * 3 / 4 => Age::Fresh,
            age if age < self.refresh.max_age => Age::Ageing,
            age if age < self.refresh.max_age + self.refresh.stale => Age::Stale,
            _ => return (None, Age::Over),
        };
        (is_right(keys).then(|| Arc::clone(keys)), age)
    }

    /// Begins a refresh, unless one is in progress or was not long ago: tokens with unknown keys cost one request per interval (SEC-T-03).
    fn begin(self: &Arc<Cache>, state: &mut State) {
        let is_early = state.began_at.is_some_and(|at| at.elapsed() < self.refresh.interval);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if state.is_refreshing || is_early {
            return;
        }
        (state.is_refreshing, state.began_at) = (true, Some(Instant::now()));
        let refreshing = Refreshing(Arc::clone(self));
        // It ends after `time` at the latest.
        runtime.spawn(refreshing.run());
    }

    async fn fetch(&self) -> Result<KeySet, FetchError> {
        let fetched = tokio::time::timeout(self.refresh.time, self.source.fetch()).await;
        let document = fetched.map_err(|_| "no answer in time")??;
        Ok(KeySet::parse(document)?)
    }

    fn store(&self, fetched: Result<KeySet, FetchError>) {
        let mut state = self.lock();
        match fetched {
            // The source is not trusted with secrets: whoever serves it could sign.
            Ok(keys) => {
                if state.failed.take().is_some() {
                    tracing::info!("the keys of the token issuer are available again");
                }
                state.keys = Some((Arc::new(keys), Instant::now()));
            }
            Err(error) => {
                let has_any = self.usable(&state, |_| true).0.is_some();
                let fallback = if has_any { Fallback::OldKeys } else { Fallback::Nothing };
                if state.failed.replace(fallback) == Some(fallback) {
                    return;
                }
                match fallback {
                    Fallback::OldKeys => {
                        tracing::error!(%error, "cannot fetch the keys of the token issuer; keeping the old ones for now");
                    }
                    Fallback::Nothing => {
                        tracing::error!(%error, "cannot fetch the keys of the token issuer; its tokens are refused until that works");
                    }
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A refresh in progress. Those who wait for it learn of its end in any case, even if the source panics.
struct Refreshing(Arc<Cache>);

impl Refreshing {
    async fn run(self) {
        let fetched = self.0.fetch().await;
        self.0.store(fetched);
    }
}

impl Drop for Refreshing {
    fn drop(&mut self) {
        self.0.lock().is_refreshing = false;
        self.0.ended.send_replace(());
    }
}

impl Default for Refresh {
    fn default() -> Refresh {
        Refresh {
            max_age: Duration::from_secs(10 * 60),
            stale: Duration::from_secs(60 * 60),
            interval: Duration::from_secs(30),
            time: Duration::from_secs(10),
        }
    }
}
