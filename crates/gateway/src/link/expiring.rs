//! A connection that ends when it is not used, or after some time.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_core::{Call, CallError, ErrorObject, Outcome, Peer, Remote, Reply, ReplyFuture, Service};
use switchboard_openrpc::DISCOVER;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::open::Open;
use super::starts::Starts;

/// A peer whose connection is let go when its time has come. Calls and streams in progress keep it open until they end.
pub(super) struct Expiring {
    shared: Arc<Shared>,
    timer: Option<AbortHandle>,
}

pub(super) struct Shared {
    peer: Mutex<Option<Peer>>,
    begun: Instant,
    /// When it was last used, in milliseconds since it began.
    used: AtomicU64,
    /// Calls in progress.
    in_flight: AtomicU32,
    /// Whether it has answered, and for long enough to show that it works.
    has_answered: AtomicBool,
    has_worked: AtomicBool,
    has_failed: AtomicBool,
    /// Whether it was asked for its methods and has not answered. Some programs do not survive a method that they do not know, which says
    /// nothing about the calls of clients.
    is_asked: AtomicBool,
    starts: Arc<Starts>,
    open: Open,
    has_expired: watch::Sender<bool>,
}

impl Expiring {
    /// This peer, until it is idle for too long or too old.
    pub(super) fn new(
        peer: Peer,
        open: Open,
        starts: Arc<Starts>,
        idle: Option<Duration>,
        lifetime: Option<Duration>,
    ) -> Expiring {
        let shared = Arc::new(Shared {
            peer: Mutex::new(Some(peer)),
            begun: Instant::now(),
            used: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
            has_answered: AtomicBool::new(false),
            has_worked: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
            starts,
            open,
            has_expired: watch::Sender::new(false),
        });
        let is_timed = idle.is_some() || lifetime.is_some();
        let timer =
            is_timed.then(|| tokio::spawn(expire(Arc::downgrade(&shared), idle, lifetime)).abort_handle());
        Expiring { shared, timer }
    }

    /// The connection, without keeping it open.
    pub(super) fn shared(&self) -> Weak<Shared> {
        Arc::downgrade(&self.shared)
    }
}

impl Shared {
    fn peer(&self) -> Option<Peer> {
        self.peer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the connection, after the calls and streams in progress.
    pub(super) fn let_go(&self) {
        drop(self.peer.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.open.close();
        self.has_expired.send_replace(true);
    }

    fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    fn note_use(&self) {
        let age = u64::try_from(self.age().as_millis()).unwrap_or(u64::MAX);
        self.used.store(age, Ordering::Relaxed);
    }

    /// Tells from an answer whether the connection works.
    fn note(&self, reply: &Reply) {
        if self.has_worked.load(Ordering::Relaxed) {
            return;
        }
        let error = match &reply.outcome {
            Outcome::Error(error) => error.local(),
            _ => None,
        };
        match error {
            Some(CallError::Closed(_)) => self.note_end(),
            Some(_) => {}
            None => {
                self.has_answered.store(true, Ordering::Relaxed);
                if self.starts.is_steady(self.age()) {
                    self.has_worked.store(true, Ordering::Relaxed);
                    self.starts.worked();
                }
            }
        }
    }

    /// The connection broke. Many calls may fail because of that.
    fn note_end(&self) {
        let is_known = self.has_worked.load(Ordering::Relaxed) || self.is_asked.load(Ordering::Relaxed);
        if is_known || self.has_failed.swap(true, Ordering::Relaxed) {
            return;
        }
        match (self.has_answered.load(Ordering::Relaxed), self.starts.is_young(self.age())) {
            (true, true) => self.starts.broke(),
            (true, false) => self.starts.worked(),
            (false, true) => self.starts.failed(),
            (false, false) => {}
        }
    }

    /// When the connection is to end, as things are now.
    fn end(&self, idle: Option<Duration>, lifetime: Option<Duration>) -> Option<Instant> {
        // As long as a call is in progress, it is in use.
        if self.in_flight.load(Ordering::Relaxed) > 0 {
            self.note_use();
        }
        let used = Duration::from_millis(self.used.load(Ordering::Relaxed));
        let idle = idle.map(|idle| self.begun + used + idle);
        let old = lifetime.map(|lifetime| self.begun + lifetime);
        idle.into_iter().chain(old).min()
    }
}

async fn expire(shared: Weak<Shared>, idle: Option<Duration>, lifetime: Option<Duration>) {
    loop {
        let Some(end) = shared.upgrade().and_then(|shared| shared.end(idle, lifetime)) else { return };
        tokio::time::sleep_until(end).await;
        let Some(shared) = shared.upgrade() else { return };
        if shared.end(idle, lifetime).is_some_and(|end| end <= Instant::now()) {
            shared.let_go();
            return;
        }
    }
}

fn gone() -> CallError {
    CallError::Unreachable("the connection was not used for long and has ended".into())
}

impl Service for Expiring {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some(peer) = self.shared.peer() else { return ReplyFuture::ready(ErrorObject::from(gone())) };
        if self.timer.is_none() && self.shared.has_worked.load(Ordering::Relaxed) {
            return Service::call(&peer, call);
        }
        self.shared.note_use();
        let reply = Service::call(&peer, call);
        let flight = Flight::new(&self.shared);
        let is_question = call.method.as_str() == DISCOVER;
        if is_question {
            self.shared.is_asked.store(true, Ordering::Relaxed);
        }
        reply.map(move |reply| {
            if !is_question {
                flight.0.note(&reply);
            } else if !is_closed(&reply) {
                flight.0.is_asked.store(false, Ordering::Relaxed);
            }
            reply.map_items(|items| items.through(|items| items.inspect(move |_| flight.0.note_use())))
        })
    }
}

fn is_closed(reply: &Reply) -> bool {
    matches!(&reply.outcome, Outcome::Error(error) if matches!(error.local(), Some(CallError::Closed(_))))
}

/// A call or a stream in progress.
struct Flight(Arc<Shared>);

impl Flight {
    fn new(shared: &Arc<Shared>) -> Flight {
        shared.in_flight.fetch_add(1, Ordering::Relaxed);
        Flight(Arc::clone(shared))
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.note_use();
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Remote for Expiring {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let Some(peer) = self.shared.peer() else {
            let replies = calls.iter().map(|_| Reply::error(gone().into())).collect();
            return Box::pin(std::future::ready(replies));
        };
        self.shared.note_use();
        Remote::batch(&peer, calls)
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        let mut has_expired = self.shared.has_expired.subscribe();
        let Some(closed) = self.shared.peer().map(|peer| Remote::closed(&peer)) else {
            return Box::pin(std::future::ready(gone()));
        };
        let shared = Arc::downgrade(&self.shared);
        Box::pin(async move {
            tokio::select! {
                reason = closed => {
                    // A program may end after it has answered.
                    shared.upgrade().inspect(|shared| shared.note_end());
                    reason
                }
                _ = has_expired.wait_for(|has_expired| *has_expired) => gone(),
            }
        })
    }
}

impl Drop for Expiring {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.abort();
        }
    }
}
