//! What the keeper of the connection shares with the calls that go over it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use crate::call::Call;
use crate::call_error::CallError;
use crate::lasting::Options;
use crate::lasting::line::{Admission, Line, Place};
use crate::lasting::state::State;
use crate::peer::{Peer, Remote};
use crate::reply::{Reply, ReplyFuture};
use crate::service::Service;

/// The line, and how it stands with it. Locked for moments only, never while foreign code runs.
pub(super) struct Shared {
    pub(super) options: Options,
    line: Mutex<Line<Peer, Box<dyn Waits>>>,
    state: watch::Sender<State>,
    /// The number of the last connection that was lost.
    lost: watch::Sender<u64>,
}

/// Something that can be sent over a connection.
pub(super) trait Parcel: Send + 'static {
    /// What it is once it is sent.
    type Sent: Send + 'static;

    fn send(self, peer: &Peer) -> Self::Sent;
}

/// One call.
pub(super) struct One(pub(super) Call);

/// A batch of calls.
pub(super) struct Many(pub(super) Vec<Call>);

impl Parcel for One {
    type Sent = ReplyFuture;

    fn send(self, peer: &Peer) -> ReplyFuture {
        Service::call(peer, &self.0)
    }
}

impl Parcel for Many {
    type Sent = Pin<Box<dyn Future<Output = Vec<Reply>> + Send>>;

    fn send(self, peer: &Peer) -> Self::Sent {
        Remote::batch(peer, self.0)
    }
}

/// Something that was sent, and the number of the connection it went over.
pub(super) struct Attempt<P: Parcel> {
    pub(super) epoch: u64,
    pub(super) sent: P::Sent,
}

/// Something to be sent.
pub(super) enum Sending<P: Parcel> {
    /// It was sent.
    Now(Attempt<P>),
    /// It waits for a connection.
    Later(Later<P>),
    /// It will not be sent.
    Refused(CallError),
}

impl Shared {
    pub(super) fn new(options: Options) -> Arc<Shared> {
        let line = Mutex::new(Line::new(options.waiting));
        let (state, lost) = (watch::Sender::new(State::Connecting { attempt: 1 }), watch::Sender::new(0));
        Arc::new(Shared { options, line, state, lost })
    }

    fn locked<T>(&self, act: impl FnOnce(&mut Line<Peer, Box<dyn Waits>>) -> T) -> T {
        act(&mut self.line.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn watch(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// Sends something now, or lets it wait for a connection.
    pub(super) fn send<P: Parcel>(self: &Arc<Shared>, parcel: P, place: Place) -> Sending<P> {
        let can_wait = place == Place::Stream || !self.options.patience.is_zero();
        let mut parcel = Some(parcel);
        let admission = self.locked(|line| match line.admit(place) {
            Admission::Wait if can_wait => {
                let (tell, told) = oneshot::channel();
                let parcel = parcel.take().expect("it is sent once");
                let ticket = line.wait(place, Box::new(Waiter { parcel, tell }));
                Err(Later { shared: Arc::clone(self), place, ticket, told })
            }
            admission => Ok(admission),
        });
        match (admission, parcel) {
            (Err(later), _) => Sending::Later(later),
            (Ok(Admission::Send(epoch, peer)), Some(parcel)) => {
                Sending::Now(Attempt { epoch, sent: parcel.send(&peer) })
            }
            (Ok(Admission::Over(reason)), _) => Sending::Refused(reason),
            (Ok(Admission::Full), _) => Sending::Refused(CallError::Busy(
                "as many calls wait for a connection as may (lasting::Options::waiting)".into(),
            )),
            (Ok(_), _) => Sending::Refused(self.unreachable()),
        }
    }

    /// The failure of a call for which there was no connection.
    fn unreachable(&self) -> CallError {
        let text = match &*self.state.borrow() {
            State::Waiting { reason, .. } => {
                format!("there is no connection, and nothing was sent: {reason}")
            }
            _ => "there is no connection yet, and nothing was sent".to_owned(),
        };
        CallError::Unreachable(text.into())
    }

    /// Why nothing is sent any more.
    fn reason(&self) -> CallError {
        let over = self.locked(|line| line.is_over().cloned());
        over.unwrap_or_else(|| CallError::Closed("nobody keeps the connection any more".into()))
    }

    /// Waits until the connection with this number is lost, or a later one is there.
    pub(super) async fn until_lost(&self, epoch: u64) {
        // It cannot fail: the sender is a part of this.
        let _ = self.lost.subscribe().wait_for(|lost| *lost >= epoch).await;
    }

    /// Takes note that the connection with this number is lost.
    pub(super) fn lose(&self, epoch: u64) {
        let link = self.locked(|line| line.lose(epoch));
        self.lost.send_if_modified(|lost| {
            let is_news = *lost < epoch;
            *lost = epoch.max(*lost);
            is_news
        });
        drop(link);
    }

    /// Takes a new connection, and sends what waited for it. Gives its number.
    pub(super) fn connect(&self, peer: &Peer) -> u64 {
        let epoch = self.locked(|line| line.connect(peer.clone()));
        loop {
            let waiting = self.locked(Line::fill);
            if waiting.is_empty() {
                return epoch;
            }
            for waiter in waiting {
                waiter.send(epoch, peer);
            }
        }
    }

    /// Makes a change known, unless all is over.
    pub(super) fn tell(&self, state: State) {
        self.state.send_if_modified(|now| {
            let is_news = !matches!(now, State::Closed(_));
            if is_news {
                *now = state;
            }
            is_news
        });
    }

    /// Ends everything, for this reason.
    pub(super) fn close(&self, reason: &CallError) {
        let ended = self.locked(|line| line.close(reason.clone()));
        self.tell(State::Closed(reason.clone()));
        self.lost.send_replace(u64::MAX);
        drop(ended);
    }

    /// How much waits for a connection.
    pub(super) fn waiting(&self) -> usize {
        self.locked(|line| line.len())
    }
}

impl<P: Parcel> Sending<P> {
    /// Waits for a connection, at most this long.
    pub(super) async fn within(self, patience: Duration) -> Result<Attempt<P>, CallError> {
        match self {
            Sending::Now(attempt) => Ok(attempt),
            Sending::Refused(error) => Err(error),
            Sending::Later(later) => {
                let shared = Arc::clone(&later.shared);
                match tokio::time::timeout(patience, later).await {
                    Ok(Some(attempt)) => Ok(attempt),
                    Ok(None) => Err(shared.reason()),
                    Err(_) => Err(shared.unreachable()),
                }
            }
        }
    }
}

/// A place in the line; dropping it gives it up.
pub(super) struct Later<P: Parcel> {
    shared: Arc<Shared>,
    place: Place,
    ticket: u64,
    told: oneshot::Receiver<Attempt<P>>,
}

impl<P: Parcel> Future for Later<P> {
    /// `None` if it is over before there was a connection.
    type Output = Option<Attempt<P>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.told).poll(cx).map(Result::ok)
    }
}

impl<P: Parcel> Drop for Later<P> {
    fn drop(&mut self) {
        let waiter = self.shared.locked(|line| line.leave(self.place, self.ticket));
        drop(waiter);
    }
}

/// Waits in the line, whatever it is.
trait Waits: Send {
    fn send(self: Box<Self>, epoch: u64, peer: &Peer);
}

struct Waiter<P: Parcel> {
    parcel: P,
    tell: oneshot::Sender<Attempt<P>>,
}

impl<P: Parcel> Waits for Waiter<P> {
    fn send(self: Box<Self>, epoch: u64, peer: &Peer) {
        let Waiter { parcel, tell } = *self;
        if !tell.is_closed() {
            // Whoever no longer waits drops what was sent, which cancels it.
            drop(tell.send(Attempt { epoch, sent: parcel.send(peer) }));
        }
    }
}
