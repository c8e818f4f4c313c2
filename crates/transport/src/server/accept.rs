//! The loop that accepts connections from every listener, and the orderly shutdown.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use switchboard_core::ErrorObject;
use tokio::sync::Semaphore;

use super::listener::{Accepted, BoxFuture, Listener};
use super::permit::ServerState;

/// How many connections are being refused with a message at once; others are closed without one.
const REFUSALS: usize = 64;

/// How many connections are accepted after shutdown was requested: as many as a listener usually queues.
const LATE_CONNECTIONS: usize = 1024;

/// How much longer than its calls a connection may take, to answer that they were cancelled.
pub(crate) const CANCEL_TIME: Duration = Duration::from_millis(500);

/// Accepts connections until shutdown is requested, then waits for those under way, for
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
    drop(listeners);
    let tasks = state.tasks();
    let drain_time = state.engine.settings().limits.drain_time;
    if tokio::time::timeout(drain_time.saturating_add(CANCEL_TIME), tasks.finish()).await.is_err() {
        tracing::warn!(
            connections = tasks.count(),
            "calls are cancelled: they took longer than limits.drain_time"
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
    let mut requested = pin!(state.shutdown.wait());
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    let (mut late, mut turn) = (0, 0);
    loop {
        let accepted = poll_fn(|cx| {
            state.tasks().reap(cx);
            // Connections that have arrived are accepted, even if shutdown was requested first; but not without end.
            if late < LATE_CONNECTIONS
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
            Some(Ok(accepted)) => admit(accepted, state, &refusals),
            Some(Err(error)) => pause_after(&error).await,
        }
    }
}

/// The next connection of any listener. Listeners are asked in turn, so that a busy one does not starve the others.
fn poll_listeners(
    listeners: &[Box<dyn Listener>],
    turn: &mut usize,
    cx: &mut Context<'_>,
) -> Poll<io::Result<Box<dyn Accepted>>> {
    for offset in 0..listeners.len() {
        let index = (*turn + offset) % listeners.len();
        if let Poll::Ready(accepted) = listeners[index].poll_accept(cx) {
            *turn = index + 1;
            return Poll::Ready(accepted);
        }
    }
    Poll::Pending
}

fn admit(accepted: Box<dyn Accepted>, state: &Arc<ServerState>, refusals: &Arc<Semaphore>) {
    match state.admit(accepted.address().map(|address| address.ip())) {
        Some(permit) => permit.spawn(|permit| accepted.serve(permit)),
        None => {
            let Ok(turn) = Arc::clone(refusals).try_acquire_owned() else { return };
            let error = ErrorObject::over_limit("connections", "too many connections; try again later");
            let refused = accepted.refuse(&error, Arc::clone(&state.shutdown));
            state.tasks().spawn(async move {
                refused.await;
                drop(turn);
            });
        }
    }
}

/// A connection that broke before it was accepted needs no pause. When the system has no more file descriptors, some connection
/// has to end first.
async fn pause_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::warn!(%error, "cannot accept connections");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
