//! The loop that accepts connections from every listener, and the graceful shutdown.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use switchboard_core::ErrorObject;
use tokio::time::Instant;

use super::listener::{Accepted, BoxFuture, Listener};
use super::permit::ServerState;
use super::tasks::Tasks;

/// How many connections are accepted after shutdown was requested: as many as a listener usually queues.
const LATE_CONNECTIONS: usize = 1024;

/// How long connections are served as usual after another process has taken over.
const HAND_OVER_TIME: Duration = Duration::from_secs(1);

/// How much longer than its calls a connection may take, to answer that they were cancelled.
pub(crate) const CANCEL_TIME: Duration = Duration::from_millis(500);

/// Accepts connections until shutdown is requested, then waits for those in flight, for
/// [`drain_time`](switchboard_core::Limits::drain_time) at most.
///
/// # Cancel safety
///
/// Dropping the future ends every connection.
pub(crate) async fn run(listeners: Vec<Box<dyn Listener>>, state: Arc<ServerState>) {
    let owner = Owner(state);
    let state = &owner.0;
    for work in listeners.iter().filter_map(|listener| listener.background()) {
        state.tasks().spawn(until_shutdown(work, Arc::clone(state)));
    }
    accept(&listeners, state).await;
    if state.shutdown.is_handed_over() {
        listeners.iter().for_each(|listener| listener.hand_over());
    }
    drop(listeners);
    if state.shutdown.is_handed_over() {
        // Requests that are on their way are answered, and clients that are busy learn to connect again.
        let _ = tokio::time::timeout(HAND_OVER_TIME, state.shutdown.wait()).await;
        state.shutdown.request();
    }
    let tasks = state.tasks();
    let drain_time = state.engine.settings().limits.drain_time;
    if tokio::time::timeout(drain_time.saturating_add(CANCEL_TIME), tasks.finish()).await.is_err() {
        tracing::warn!(
            connections = tasks.count(),
            "shutting down: cancelling the calls that took longer than limits.drain_time"
        );
    }
    tasks.cancel().await;
}

async fn until_shutdown(mut work: BoxFuture<'static, ()>, state: Arc<ServerState>) {
    let mut requested = pin!(state.shutdown.wait());
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => requested.as_mut().poll(cx),
    })
    .await;
}

/// Ends the connections when the server is dropped.
struct Owner(Arc<ServerState>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.tasks().close();
    }
}

async fn accept(listeners: &[Box<dyn Listener>], state: &Arc<ServerState>) {
    let mut requested = pin!(state.shutdown.wait_or_handed_over());
    let mut failures = Failures::default();
    let (mut late, mut turn) = (0, 0);
    loop {
        let accepted = poll_fn(|cx| {
            state.tasks().reap(cx);
            // Connections that have arrived are accepted, even if shutdown was requested first; but not without end, nor if another
            // process accepts them.
            if late < LATE_CONNECTIONS
                && !state.shutdown.is_handed_over()
                && let Poll::Ready(accepted) = poll_listeners(listeners, &mut turn, cx)
            {
                return Poll::Ready(Some(accepted));
            }
            requested.as_mut().poll(cx).map(|()| None)
        });
        let accepted = accepted.await;
        if state.shutdown.is_requested() {
            late += 1;
        }
        match accepted {
            None => return,
            Some((listener, Ok(accepted))) => admit(listener, accepted, state),
            Some((_, Err(error))) => {
                // Refused connections that linger may hold the last file descriptors.
                state.hurry.notify_waiters();
                failures.pause_after(&error, state.tasks()).await;
            }
        }
    }
}

/// The next connection of any listener, with the listener's number. Listeners are asked in turn, so that a busy one does not
/// starve the others.
fn poll_listeners(
    listeners: &[Box<dyn Listener>],
    turn: &mut usize,
    cx: &mut Context<'_>,
) -> Poll<(usize, io::Result<Box<dyn Accepted>>)> {
    for offset in 0..listeners.len() {
        let index = (*turn + offset) % listeners.len();
        if let Poll::Ready(accepted) = listeners[index].poll_accept(cx) {
            *turn = index + 1;
            return Poll::Ready((index, accepted));
        }
    }
    Poll::Pending
}

fn admit(listener: usize, accepted: Box<dyn Accepted>, state: &Arc<ServerState>) {
    // A trusted proxy has the connections of many clients.
    let address = accepted.address().map(|address| address.ip()).filter(|ip| !state.options.trusts(*ip));
    match state.admit(listener, address) {
        Some(permit) => permit.spawn(|permit| accepted.serve(permit)),
        None => {
            let Some(turn) = state.refusal() else { return };
            let error = ErrorObject::over_limit("connections", "too many connections; try again later");
            let mut refused = accepted.refuse(&error, Arc::clone(&state.shutdown));
            let owner = Arc::clone(state);
            state.tasks().spawn(async move {
                let mut hurry = pin!(owner.hurry.notified());
                poll_fn(|cx| match refused.as_mut().poll(cx) {
                    Poll::Ready(()) => Poll::Ready(()),
                    Poll::Pending => hurry.as_mut().poll(cx),
                })
                .await;
                drop((refused, turn));
            });
        }
    }
}

/// Failures to accept connections. They come by the dozen once the process has no file descriptors left, so few are logged.
#[derive(Debug, Default)]
struct Failures {
    logged: Option<Instant>,
    /// Failures since then.
    unlogged: u64,
}

impl Failures {
    /// How long accepting pauses at most when it fails.
    const PAUSE: Duration = Duration::from_millis(100);
    /// How long no failure is logged after one was.
    const LOG_PAUSE: Duration = Duration::from_secs(30);

    /// A connection that broke before it was accepted needs no pause. When there are no more file descriptors, some connection has
    /// to end first, and accepting goes on as soon as one has: other parts of the process may free some too, so it is tried again
    /// after a pause in any case.
    async fn pause_after(&mut self, error: &io::Error, tasks: &Tasks) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        if let Some(more) = self.note(Instant::now()) {
            tracing::warn!(%error, more, "cannot accept connections; `more` counts failures since the last warning");
        }
        let _ = tokio::time::timeout(Failures::PAUSE, tasks.ended()).await;
    }

    /// Takes note of a failure. Gives the number of failures since the last one that was logged, if this one is to be.
    fn note(&mut self, now: Instant) -> Option<u64> {
        if self.logged.is_some_and(|logged| now < logged + Failures::LOG_PAUSE) {
            self.unlogged += 1;
            return None;
        }
        self.logged = Some(now);
        Some(std::mem::take(&mut self.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use switchboard_core::{Engine, Extensions, Json, Reply, ReplyFuture, Settings, service_fn};

    use super::*;
    use crate::server::options::ServerOptions;
    use crate::server::permit::ConnectionPermit;
    use crate::server::shutdown::Shutdown;

    /// A connection whose refusal takes for ever.
    struct Lingering;

    impl Accepted for Lingering {
        fn address(&self) -> Option<SocketAddr> {
            None
        }

        fn serve(self: Box<Self>, _: ConnectionPermit) -> BoxFuture<'static, ()> {
            Box::pin(std::future::pending())
        }

        fn refuse(self: Box<Self>, _: &ErrorObject, _: Arc<Shutdown>) -> BoxFuture<'static, ()> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_ends_at_once_if_its_file_is_needed() {
        let service = service_fn(|_| ReplyFuture::ready(Reply::value(Json::NULL)));
        let engine = Engine::new(Arc::new(service), Settings::default());
        let options = ServerOptions::default().with_connections(0);
        let state = ServerState::listening(1, engine, options, Extensions::default(), Arc::default());
        admit(0, Box::new(Lingering), &state);
        assert_eq!(state.tasks().count(), 1);
        tokio::task::yield_now().await;
        state.hurry.notify_waiters();
        let patience = Duration::from_secs(60);
        assert!(tokio::time::timeout(patience, state.tasks().ended()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn accepting_goes_on_as_soon_as_a_connection_has_ended() {
        let (tasks, mut failures) = (Tasks::default(), Failures::default());
        let begun = Instant::now();
        let no_files = io::Error::other("too many open files");
        failures.pause_after(&no_files, &tasks).await;
        assert_eq!(begun.elapsed(), Failures::PAUSE);
        tasks.spawn(async { tokio::time::sleep(Duration::from_millis(5)).await });
        failures.pause_after(&no_files, &tasks).await;
        assert_eq!(begun.elapsed(), Failures::PAUSE + Duration::from_millis(5));
    }

    #[test]
    fn a_failure_that_repeats_is_logged_now_and_then_with_a_count() {
        let (mut failures, begun) = (Failures::default(), Instant::now());
        let logged = (0..650).filter_map(|count| failures.note(begun + Failures::PAUSE * count));
        assert_eq!(logged.collect::<Vec<_>>(), [0, 299, 299]);
    }
}
