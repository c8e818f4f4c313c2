//! Deciding whether a call is sent again.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::call::Call;
use crate::call_error::CallError;
use crate::peer::Peer;
use crate::reconnect::PeerHandle;
use crate::reconnect::calls::wait_until;
use crate::reconnect::queue::{Lane, Terms};

/// Decides whether a call that may have run is sent again. By default it is if the call is
/// [repeatable](Call::repeatable).
///
/// # Examples
///
/// ```
/// use switchboard_core::reconnect::{ReconnectOptions, RepeatPolicy};
///
/// let reads_only = RepeatPolicy::new(|lost| async move { Ok(lost.call.method.as_str().starts_with("get")) });
/// let options = ReconnectOptions::default().with_repeat(reads_only);
/// ```
#[derive(Clone)]
pub struct RepeatPolicy(Arc<Decide>);

type Decide = dyn Fn(LostCall) -> Decision + Send + Sync;
type Decision = Pin<Box<dyn Future<Output = Result<bool, CallError>> + Send>>;

impl RepeatPolicy {
    /// Repeats the calls for which `decide` returns true.
    ///
    /// If it returns an error, the connection that it [asked for](LostCall::connection) counts as lost, and it is called
    /// again for the next connection. Without a connection, an error means no.
    pub fn new<F, R>(decide: F) -> RepeatPolicy
    where
        F: Fn(LostCall) -> R + Send + Sync + 'static,
        R: Future<Output = Result<bool, CallError>> + Send + 'static,
    {
        RepeatPolicy(Arc::new(move |lost| Box::pin(decide(lost))))
    }
}

impl Default for RepeatPolicy {
    fn default() -> RepeatPolicy {
        RepeatPolicy::new(|lost| std::future::ready(Ok(lost.call.is_repeatable())))
    }
}

impl fmt::Debug for RepeatPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RepeatPolicy(..)")
    }
}

/// A call that may have run: its connection broke before it was answered, or the server is shutting down (-32006).
#[non_exhaustive]
pub struct LostCall {
    /// The call.
    pub call: Call,
    /// What happened.
    pub error: CallError,
    handle: Arc<PeerHandle>,
    /// The number of the connection that was given last.
    epoch: Arc<AtomicU64>,
}

impl LostCall {
    /// The next connection, for a policy that has to ask the server. Waits until there is one.
    ///
    /// # Errors
    ///
    /// When there is none within the time that the call waits for connections.
    pub async fn connection(&self) -> Result<Peer, CallError> {
        let shared = &self.handle.shared;
        let terms = Terms { lane: Lane::Calls, deadline: self.call.cx.deadline, is_retry: true };
        let sent = shared.send(terms, Peer::clone).until(|| wait_until(shared, terms)).await?;
        self.epoch.store(sent.epoch, Ordering::Relaxed);
        Ok(sent.outcome)
    }
}

impl fmt::Debug for LostCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LostCall")
            .field("call", &self.call)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

/// Asks the policy.
pub(super) async fn may_repeat(handle: &Arc<PeerHandle>, call: &Call, error: &CallError) -> bool {
    let shared = &handle.shared;
    // Each time round a connection was lost. So often may that happen.
    let attempts = shared.options.backoff.attempts.unwrap_or(u32::MAX);
    for _ in 0..attempts {
        let epoch = Arc::new(AtomicU64::new(0));
        let lost = LostCall {
            call: call.clone(),
            error: error.clone(),
            handle: Arc::clone(handle),
            epoch: Arc::clone(&epoch),
        };
        match (shared.options.repeat.0(lost).await, epoch.load(Ordering::Relaxed)) {
            (Ok(is_repeated), _) => return is_repeated,
            (Err(_), 0) => return false,
            (Err(error), epoch) => shared.lose(epoch, error),
        }
    }
    false
}
