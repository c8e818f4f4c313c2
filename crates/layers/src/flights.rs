//! Calls in flight that others with the same key wait for.
//!
//! A call that does not end at once runs in a task. Its callers wait for its answer; when the last of them is gone, the task ends, and
//! with it the call. So no caller depends on another one to be polled, or to stay.

use std::sync::{Arc, OnceLock};

use switchboard_core::{Call, ErrorObject, Reply, ReplyFuture, Service};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::answer::Answer;
use crate::by_key::{ByKey, Entry, Joined};

/// The calls in flight. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Flights(ByKey<Flight>);

/// A call in flight, for those who wait for it.
pub(crate) struct Flight {
    answer: watch::Receiver<Option<Answer>>,
    task: OnceLock<AbortHandle>,
}

/// How a call takes part in a flight.
pub(crate) enum Boarded {
    /// It is the first with its key, and has to be made.
    First(Departure),
    /// It waits for the answer of another.
    Follower(Arc<Flight>),
}

/// A flight before its call is made.
pub(crate) struct Departure {
    flight: Arc<Flight>,
    landing: Landing,
}

/// The end of a flight. If it is dropped before, which only panics do, all who wait get an internal error.
pub(crate) struct Landing {
    entry: Entry<Flight>,
    answer: watch::Sender<Option<Answer>>,
}

/// A flight after its call was made.
pub(crate) enum Departed {
    Landed(Reply),
    InFlight(Arc<Flight>),
}

impl Flights {
    pub(crate) fn board(&self, key: Vec<u8>) -> Boarded {
        let (answer, receiver) = watch::channel(None);
        match self.0.join(key, || Flight { answer: receiver, task: OnceLock::new() }) {
            Joined::First(flight, entry) => {
                Boarded::First(Departure { flight, landing: Landing { entry, answer } })
            }
            Joined::Follower(flight) => Boarded::Follower(flight),
        }
    }

    /// Whether a call with this key is in flight.
    #[cfg(feature = "cache")]
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        self.0.has(key)
    }

    /// Lets no further calls wait for those in flight with these keys.
    #[cfg(feature = "cache")]
    pub(crate) fn forget(&self, is_meant: impl Fn(&[u8]) -> bool) {
        self.0.forget(is_meant);
    }
}

impl Departure {
    /// Waits for the reply, for all. `landed` gets it before anyone else.
    pub(crate) fn depart(
        self,
        reply: ReplyFuture,
        landed: impl FnOnce(&Reply, &Landing) + Send + 'static,
    ) -> Departed {
        let Departure { flight, landing } = self;
        match reply.into_ready() {
            Ok(reply) => {
                landed(&reply, &landing);
                let answer = Answer::new(reply);
                landing.land(answer.clone());
                answer.into_reply().map_or_else(|| Departed::InFlight(flight), Departed::Landed)
            }
            Err(reply) => {
                let task = tokio::spawn(async move {
                    let reply = reply.await;
                    landed(&reply, &landing);
                    landing.land(Answer::new(reply));
                });
                let _ = flight.task.set(task.abort_handle());
                Departed::InFlight(flight)
            }
        }
    }

    #[cfg(feature = "cache")]
    pub(crate) fn key(&self) -> &[u8] {
        self.landing.key()
    }

    /// Keeps the call in flight as long as it is held, as those who wait do.
    #[cfg(feature = "cache")]
    pub(crate) fn hold(&self) -> Arc<Flight> {
        Arc::clone(&self.flight)
    }
}

impl Landing {
    #[cfg(feature = "cache")]
    pub(crate) fn key(&self) -> &Arc<[u8]> {
        self.entry.key()
    }

    /// Whether the flight was not [forgotten](Flights::forget), and no later one has its key.
    #[cfg(feature = "cache")]
    pub(crate) fn is_current(&self) -> bool {
        self.entry.is_current()
    }

    fn land(self, answer: Answer) {
        let Landing { entry, answer: sender } = self;
        drop(entry);
        sender.send_replace(Some(answer));
    }
}

impl Flight {
    /// Waits for the answer. None if it is a stream that another caller has: then the caller makes the call itself.
    pub(crate) async fn answer(self: Arc<Flight>) -> Option<Reply> {
        let mut answer = self.answer.clone();
        let answer = answer.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone());
        match answer {
            Some(answer) => answer.into_reply(),
            None => {
                Some(Reply::error(ErrorObject::internal(&"a call that several callers wait for panicked")))
            }
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

/// Makes a call for several callers. The deadline of the first is not that of the others: each stops waiting at its own.
pub(crate) fn call_for_all(service: &dyn Service, call: &Call) -> ReplyFuture {
    if call.cx.deadline.is_none() {
        return service.call(call);
    }
    let mut call = call.clone();
    call.cx.deadline = None;
    service.call(&call)
}
