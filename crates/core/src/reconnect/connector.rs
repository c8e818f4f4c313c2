//! The task that connects.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::time::Instant;

use crate::call_error::CallError;
use crate::engine::moment_after;
use crate::peer::{Peer, Remote};
use crate::reconnect::backoff::Attempts;
use crate::reconnect::reason;
use crate::reconnect::shared::Shared;
use crate::reconnect::state::ConnectionState;

/// Connects, and reconnects, until that is pointless.
pub(super) async fn run<F, R, E>(shared: Arc<Shared>, connect: F)
where
    F: Fn() -> R,
    R: Future<Output = Result<Peer, E>>,
    E: Into<CallError>,
{
    let shared = Ending(shared);
    let mut connector =
        Connector { shared: &shared.0, attempts: Attempts::new(&shared.0.options.backoff), answered: 0 };
    let is_on_demand = shared.0.options.on_demand;
    loop {
        if is_on_demand {
            connector.idle().await;
        }
        connector.shared.attempt(connector.attempts.number());
        let failure = match tokio::time::timeout(shared.0.options.connect_time, connect()).await {
            Ok(Ok(peer)) if is_on_demand => connector.serve_on_demand(peer).await,
            Ok(Ok(peer)) => Some(connector.serve(peer).await),
            Ok(Err(error)) => Some(connector.failed(error.into())),
            Err(_) => {
                let late = "connecting timed out (reconnect::ReconnectOptions::connect_time)";
                Some(connector.failed(CallError::Unreachable(late.into())))
            }
        };
        let Some(failure) = failure else { continue };
        match failure.delay {
            Some(delay) => connector.wait(delay, reason(failure.reason)).await,
            None if is_on_demand => shared.0.give_up(&failure.reason, failure.is_of_retries),
            None => return shared.0.close(&connector.given_up(failure.reason)),
        }
    }
}

struct Connector<'a> {
    shared: &'a Shared,
    attempts: Attempts,
    /// The last connection whose answers were taken into account.
    answered: u64,
}

/// An attempt that failed, or a connection that broke.
struct Failure {
    reason: CallError,
    /// How long to wait before the next attempt, if one is due.
    delay: Option<Duration>,
    /// Whether it concerns only what was sent over a connection and lost, and nothing that waits for its first attempt.
    is_of_retries: bool,
}

impl Connector<'_> {
    /// Waits until something is to be sent.
    async fn idle(&self) {
        if self.shared.waiting() == 0 {
            self.shared.tell(ConnectionState::Idle);
        }
        self.shared.until_wanted().await;
    }

    /// An attempt to connect failed.
    fn failed(&mut self, error: CallError) -> Failure {
        let is_permanent = error.is_permanent();
        let delay = self.attempts.failed().filter(|_| !is_permanent);
        let reason = if is_permanent { error } else { CallError::Unreachable(reason(error)) };
        Failure { reason, delay, is_of_retries: false }
    }

    /// Uses a connection until it breaks.
    async fn serve(&mut self, peer: Peer) -> Failure {
        let since = Instant::now();
        let ended = carry(self.shared, peer).await;
        if self.was_answered() {
            self.attempts.connected();
        }
        let delay = match &ended {
            _ if ended.is_permanent() => return Failure { reason: ended, delay: None, is_of_retries: false },
            // It was a connection in name only: a call could not reach the server.
            CallError::Unreachable(_) => self.attempts.failed(),
            _ => self.attempts.broke(since.elapsed()),
        };
        Failure { reason: CallError::Unreachable(reason(ended)), delay, is_of_retries: false }
    }

    /// The same on demand: that it broke is a failure only if something was lost with it and is to be sent again.
    async fn serve_on_demand(&mut self, peer: Peer) -> Option<Failure> {
        let ended = carry(self.shared, peer).await;
        self.idle().await;
        if self.was_answered() {
            self.attempts.succeeded();
        }
        if !self.shared.has_retries() {
            return None;
        }
        let delay = self.attempts.failed();
        Some(Failure { reason: CallError::Unreachable(reason(ended)), delay, is_of_retries: true })
    }

    /// Why there will be no more connections.
    fn given_up(&self, reason: CallError) -> CallError {
        match (reason, self.attempts.number() - 1) {
            (CallError::Unreachable(reason), attempts @ 2..) => {
                CallError::Unreachable(format!("gave up after {attempts} failed attempts: {reason}").into())
            }
            (reason, _) => reason,
        }
    }

    /// Whether something was answered over a connection that had not brought any answers when this was last asked.
    fn was_answered(&mut self) -> bool {
        let last = self.shared.last_answered();
        std::mem::replace(&mut self.answered, last) < last
    }

    async fn wait(&self, delay: Duration, reason: Cow<'static, str>) {
        let attempt = self.attempts.number();
        tracing::info!(%reason, attempt, ?delay, "cannot connect; retrying");
        self.shared.postpone(attempt, moment_after(delay), &reason);
        tokio::time::sleep(delay).await;
    }
}

/// Uses a connection until it breaks. Returns why it did.
async fn carry(shared: &Shared, peer: Peer) -> CallError {
    let closed = Remote::closed(&peer);
    let epoch = shared.connect(&peer);
    // From here on only the queue holds it, and drops it when a call finds it broken.
    drop(peer);
    shared.tell(ConnectionState::Connected);
    let lost = std::pin::pin!(shared.until_lost(epoch));
    match select(closed, lost).await {
        Either::Left((reason, _)) => {
            shared.lose(epoch, reason.clone());
            reason
        }
        Either::Right((reason, _)) => reason.unwrap_or(CallError::Cancelled),
    }
}

/// Nothing may wait for a connector that is gone, however it ended.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.close(&CallError::Closed(super::GONE.into()));
    }
}
