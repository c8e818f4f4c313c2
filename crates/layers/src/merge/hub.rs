//! One upstream stream and its readers.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use switchboard_core::{CallError, ErrorObject, Extra, Gap, Items, Json, Outcome, Reply, Subscription};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::ring::{End, Place, Read, Ring, RingLimits};
use crate::answer::Answer;

/// An upstream stream, as its readers hold it. When the last one is gone, the task that reads the stream ends, and with it the stream.
pub(super) struct Hub {
    pub(super) channel: Arc<Channel>,
    pub(super) opened: watch::Receiver<Option<Opened>>,
    pub(super) task: OnceLock<AbortHandle>,
}

/// How the call that opens a stream was answered.
#[derive(Clone)]
pub(super) enum Opened {
    /// With a stream. All readers have its names, and what travelled beside it.
    Stream(Option<Arc<Subscription>>, Option<Box<Extra>>),
    /// With something else.
    Answer(Answer),
}

/// What the task and the readers share.
pub(super) struct Channel(Mutex<State>);

struct State {
    ring: Ring,
    /// The last item, if those that join get it.
    last: Option<Json>,
    gives_last: bool,
    /// The readers that wait, by their numbers.
    waiting: HashMap<u64, Waker>,
    next_reader: u64,
}

/// The items of one reader.
pub(super) struct Reader {
    hub: Arc<Hub>,
    number: u64,
    place: Place,
    /// The item from before it joined.
    first: Option<Json>,
    has_ended: bool,
}

impl Channel {
    pub(super) fn new(limits: RingLimits, gives_last: bool) -> Channel {
        let (ring, waiting) = (Ring::new(limits), HashMap::new());
        Channel(Mutex::new(State { ring, last: None, gives_last, waiting, next_reader: 0 }))
    }

    pub(super) fn push(&self, item: &Json) {
        // What is kept must not keep the frame that it came in.
        let item = item.detached();
        self.change(|state| {
            if state.gives_last {
                state.last = Some(item.clone());
            }
            state.ring.push(item);
        });
    }

    pub(super) fn push_gap(&self, gap: Gap) {
        self.change(|state| state.ring.push_gap(gap));
    }

    pub(super) fn end(&self, end: End) {
        self.change(|state| state.ring.end(end));
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let waiting: Vec<_> = state.waiting.drain().map(|(_, waker)| waker).collect();
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

impl Reader {
    pub(super) fn join(hub: &Arc<Hub>) -> Reader {
        let mut state = hub.channel.lock();
        let (number, place, first) = (state.next_reader, state.ring.join(), state.last.clone());
        state.next_reader += 1;
        drop(state);
        Reader { hub: Arc::clone(hub), number, place, first, has_ended: false }
    }

    /// The reply to the caller, if it is known. None if the caller has to make its call itself.
    pub(super) fn opened(self) -> Result<Option<Reply>, Reader> {
        let opened = self.hub.opened.borrow().clone();
        match opened {
            Some(opened) => Ok(self.reply(opened)),
            None => Err(self),
        }
    }

    /// Waits for the reply to the caller. None if the caller has to make its call itself.
    pub(super) async fn wait(self) -> Option<Reply> {
        let mut opened = self.hub.opened.clone();
        let opened = opened.wait_for(Option::is_some).await.ok().and_then(|opened| opened.clone());
        match opened {
            Some(opened) => self.reply(opened),
            None => Some(Reply::error(ErrorObject::internal(&"a call that opens a stream panicked"))),
        }
    }

    fn reply(self, opened: Opened) -> Option<Reply> {
        match opened {
            Opened::Stream(names, extra) => {
                let items = Items::new(self);
                let items = if let Some(names) = names { items.named(names) } else { items };
                Some(Reply { outcome: Outcome::Stream(items), extra })
            }
            Opened::Answer(answer) => answer.into_reply(),
        }
    }
}

impl Stream for Reader {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some(item) = this.first.take() {
            return Poll::Ready(Some(Ok(item)));
        }
        if this.has_ended {
            return Poll::Ready(None);
        }
        let mut state = this.hub.channel.lock();
        match state.ring.read(&mut this.place) {
            Some(Read::Item(item)) => Poll::Ready(Some(Ok(item))),
            Some(Read::Gap(gap)) => Poll::Ready(Some(Err(CallError::Gap(gap).into()))),
            Some(Read::End(end)) => {
                this.has_ended = true;
                Poll::Ready(end.err().map(Err))
            }
            None => {
                state.waiting.insert(this.number, cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.hub.channel.lock();
        state.ring.leave(&self.place);
        state.waiting.remove(&self.number);
    }
}
