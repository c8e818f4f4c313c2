//! State that the connector shares with the calls over its connections.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use crate::call_error::CallError;
use crate::peer::Peer;
use crate::reconnect::ReconnectOptions;
use crate::reconnect::queue::{Admission, Lane, SendQueue, Terms};
use crate::reconnect::state::ConnectionState;
use crate::reply::{Outcome, Reply};

type Queue = SendQueue<Peer, Waiter>;

/// The queue and the state of the connection. Locks are held for moments only, never while foreign code runs.
pub(super) struct Shared {
    pub(super) options: ReconnectOptions,
    queue: Mutex<Queue>,
    /// Something was queued.
    queued: Notify,
    state: watch::Sender<ConnectionState>,
    /// The number of the last connection that was lost, and why.
    lost: watch::Sender<(u64, Option<CallError>)>,
    /// The number of the last connection over which something was answered.
    answered: AtomicU64,
}

/// What waits in the queue: it takes the connection and its number, or why there is none.
type Waiter = Box<dyn FnOnce(Result<(u64, &Peer), CallError>) + Send>;

/// Something that was sent, and the number of the connection it was sent over.
pub(super) struct Sent<T> {
    pub(super) epoch: u64,
    pub(super) outcome: T,
}

/// Something to be sent.
pub(super) enum Sending<T> {
    /// It was sent.
    Now(Sent<T>),
    /// It waits for a connection.
    Queued(Queued<T>),
    /// It is not sent.
    Refused(CallError),
}

impl Shared {
    pub(super) fn new(options: ReconnectOptions) -> Arc<Shared> {
        let queue = Mutex::new(SendQueue::new(options.waiting));
        let start = if options.on_demand {
            ConnectionState::Idle
        } else {
            ConnectionState::Connecting { attempt: 1 }
        };
        let (state, lost) = (watch::Sender::new(start), watch::Sender::new((0, None)));
        Arc::new(Shared { options, queue, queued: Notify::new(), state, lost, answered: AtomicU64::new(0) })
    }

    fn locked<T>(&self, act: impl FnOnce(&mut Queue) -> T) -> T {
        act(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn watch(&self) -> watch::Receiver<ConnectionState> {
        let mut receiver = self.state.subscribe();
        receiver.mark_changed();
        receiver
    }

    /// The connection that something may be sent over now, and its number.
    pub(super) fn connection(&self, terms: Terms) -> Option<(u64, Peer)> {
        match self.locked(|queue| queue.admit(terms)) {
            Admission::Send(epoch, peer) => Some((epoch, peer)),
            _ => None,
        }
    }

    /// Sends something now, or queues it until there is a connection.
    pub(super) fn send<T: Send + 'static>(
        self: &Arc<Shared>,
        terms: Terms,
        send: impl FnOnce(&Peer) -> T + Send + 'static,
    ) -> Sending<T> {
        let can_wait = terms.lane == Lane::Streams || !self.options.connect_wait.is_zero();
        let mut send = Some(send);
        let admission = self.locked(|queue| match queue.admit(terms) {
            Admission::Wait if can_wait => {
                let (tell, told) = oneshot::channel();
                let ticket = queue.wait(terms, waiter(send.take().expect("it is sent once"), tell));
                Err(Queued { shared: Arc::clone(self), lane: terms.lane, ticket, told })
            }
            admission => Ok(admission),
        });
        match (admission, send) {
            (Err(queued), _) => {
                self.queued.notify_one();
                Sending::Queued(queued)
            }
            (Ok(Admission::Send(epoch, peer)), Some(send)) => {
                Sending::Now(Sent { epoch, outcome: send(&peer) })
            }
            (Ok(Admission::Refused(reason)), _) => Sending::Refused(reason),
            (Ok(Admission::Full), _) => Sending::Refused(CallError::Busy(
                "too many calls are waiting for a connection (reconnect::ReconnectOptions::waiting)".into(),
            )),
            (Ok(_), _) => Sending::Refused(self.unreachable()),
        }
    }

    /// Why there is no connection, for a call that was not sent.
    fn unreachable(&self) -> CallError {
        CallError::Unreachable(match &*self.state.borrow() {
            ConnectionState::Waiting { reason, .. } => reason.clone(),
            _ => "not connected yet".into(),
        })
    }

    /// Waits until something is queued.
    pub(super) async fn until_wanted(&self) {
        while self.waiting() == 0 {
            // A permit is kept for what was queued after the look at the queue.
            self.queued.notified().await;
        }
    }

    /// How much waits for a connection.
    pub(super) fn waiting(&self) -> usize {
        self.locked(|queue| queue.len())
    }

    /// Whether something waits for a connection that was lost before.
    pub(super) fn has_retries(&self) -> bool {
        self.locked(|queue| queue.has_retries())
    }

    /// Waits until the connection with this number is lost, or a later one is; returns why.
    pub(super) async fn until_lost(&self, epoch: u64) -> Option<CallError> {
        // It cannot fail: the sender is a part of this.
        let lost = self.lost.subscribe().wait_for(|(lost, _)| *lost >= epoch).await.ok()?.clone();
        lost.1
    }

    /// Records that the connection with this number is lost.
    pub(super) fn lose(&self, epoch: u64, reason: CallError) {
        let link = self.locked(|queue| queue.lose(epoch));
        self.lost.send_if_modified(|lost| {
            let is_news = lost.0 < epoch;
            if is_news {
                *lost = (epoch, Some(reason));
            }
            is_news
        });
        drop(link);
    }

    /// Records that this came over the connection with this number. A local error is not a response.
    pub(super) fn note_answer(&self, epoch: u64, reply: &Reply) {
        if !matches!(&reply.outcome, Outcome::Error(error) if error.is_local()) {
            self.answered.fetch_max(epoch, Ordering::Relaxed);
        }
    }

    /// The number of the last connection over which something was answered.
    pub(super) fn last_answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Announces an attempt to connect.
    pub(super) fn attempt(&self, attempt: u32) {
        self.locked(Queue::attempt);
        self.tell(ConnectionState::Connecting { attempt });
    }

    /// Announces when the next attempt starts. What cannot wait that long fails now.
    pub(super) fn postpone(&self, attempt: u32, until: Instant, reason: &str) {
        let reason: Cow<'static, str> = reason.to_owned().into();
        self.tell(ConnectionState::Waiting { attempt, until, reason: reason.clone() });
        for waiter in self.locked(|queue| queue.postpone(until)) {
            waiter(Err(CallError::Unreachable(reason.clone())));
        }
    }

    /// Takes a new connection and sends what waited for it. Returns its number.
    pub(super) fn connect(&self, peer: &Peer) -> u64 {
        let epoch = self.locked(|queue| queue.connect(peer.clone()));
        loop {
            let waiting = self.locked(Queue::fill);
            if waiting.is_empty() {
                return epoch;
            }
            for waiter in waiting {
                waiter(Ok((epoch, peer)));
            }
        }
    }

    /// Announces a change, unless all is over.
    pub(super) fn tell(&self, state: ConnectionState) {
        self.state.send_if_modified(|now| {
            let is_news = !matches!(now, ConnectionState::Closed(_)) && *now != state;
            if is_news {
                *now = state;
            }
            is_news
        });
    }

    /// Fails what waits for a connection, or only what was lost before.
    pub(super) fn give_up(&self, reason: &CallError, only_retries: bool) {
        for waiter in self.locked(|queue| queue.give_up(reason.clone(), only_retries)) {
            waiter(Err(reason.clone()));
        }
    }

    /// Ends everything, for this reason.
    pub(super) fn close(&self, reason: &CallError) {
        let (waiting, link) = self.locked(|queue| queue.close(reason.clone()));
        self.tell(ConnectionState::Closed(reason.clone()));
        self.lost.send_if_modified(|lost| std::mem::replace(&mut lost.0, u64::MAX) != u64::MAX);
        for waiter in waiting {
            waiter(Err(reason.clone()));
        }
        drop(link);
    }
}

impl<T> Sending<T> {
    /// Waits for a connection until this moment, which is asked for only if it has to wait.
    pub(super) async fn until(self, moment: impl FnOnce() -> Instant) -> Result<Sent<T>, CallError> {
        match self {
            Sending::Now(sent) => Ok(sent),
            Sending::Refused(error) => Err(error),
            Sending::Queued(queued) => {
                let shared = Arc::clone(&queued.shared);
                tokio::time::timeout_at(moment(), queued).await.unwrap_or_else(|_| Err(shared.unreachable()))
            }
        }
    }
}

/// A place in the queue; dropping it gives the place up.
pub(super) struct Queued<T> {
    shared: Arc<Shared>,
    lane: Lane,
    ticket: u64,
    told: oneshot::Receiver<Result<Sent<T>, CallError>>,
}

impl<T> Future for Queued<T> {
    type Output = Result<Sent<T>, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let told = std::task::ready!(Pin::new(&mut self.told).poll(cx));
        Poll::Ready(told.unwrap_or_else(|_| Err(CallError::Closed(super::GONE.into()))))
    }
}

impl<T> Drop for Queued<T> {
    fn drop(&mut self) {
        let waiter = self.shared.locked(|queue| queue.leave(self.lane, self.ticket));
        drop(waiter);
    }
}

fn waiter<T: Send + 'static>(
    send: impl FnOnce(&Peer) -> T + Send + 'static,
    tell: oneshot::Sender<Result<Sent<T>, CallError>>,
) -> Waiter {
    Box::new(move |connection| {
        if !tell.is_closed() {
            // If the caller has gone meanwhile, what was sent is dropped, which cancels it.
            drop(tell.send(connection.map(|(epoch, peer)| Sent { epoch, outcome: send(peer) })));
        }
    })
}
