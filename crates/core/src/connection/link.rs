//! What a connection's driver and the handles to its far side share.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::future::join_all;
use futures_util::task::AtomicWaker;
use tokio::sync::{Notify, oneshot};

use crate::call::{Call, Members};
use crate::call_error::CallError;
use crate::codec::{self, Outcome, Response};
use crate::connection::FrameSink;
use crate::connection::inbox::{Inbox, inbox};
use crate::connection::pending::Pending;
use crate::context::Version;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::Json;
use crate::peer::Remote;
use crate::profile::{Settings, Versions};
use crate::reply::{Items, Reply, ReplyFuture};
use crate::service::Service;
use crate::text::Text;

/// The state that calls of this side go through. Locked for moments only, never across a wait.
pub(super) struct Link {
    settings: Arc<Settings>,
    state: Mutex<State>,
    /// Whether something is queued, so that the driver need not lock to find out.
    has_queued: AtomicBool,
    /// Wakes the driver.
    driver: AtomicWaker,
    /// Wakes those who wait for room in the queue.
    room: Notify,
    is_draining: AtomicBool,
}

struct State {
    /// Frames that wait for the driver, one after the other, and where each ends.
    queued: Vec<u8>,
    ends: Vec<usize>,
    /// Bytes that the driver had not written when it last looked.
    unwritten: usize,
    pending: Pending<oneshot::Sender<Reply>>,
    streams: HashMap<Json, Inbox>,
    closed: Option<CallError>,
}

impl Link {
    pub(super) fn new(settings: Arc<Settings>) -> Arc<Link> {
        let state = State {
            queued: Vec::new(),
            ends: Vec::new(),
            unwritten: 0,
            pending: Pending::new(),
            streams: HashMap::new(),
            closed: None,
        };
        Arc::new(Link {
            settings,
            state: Mutex::new(state),
            has_queued: AtomicBool::new(false),
            driver: AtomicWaker::new(),
            room: Notify::new(),
            is_draining: AtomicBool::new(false),
        })
    }

    fn locked<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The version that calls of this side are written in.
    fn version(&self) -> Version {
        if self.settings.profile.versions == Versions::V1 { Version::V1 } else { Version::V2 }
    }

    /// Queues a frame and wakes the driver.
    fn queue(&self, state: &mut State, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut state.queued);
        state.ends.push(state.queued.len());
        self.has_queued.store(true, Ordering::Release);
        self.driver.wake();
    }

    /// Waits until less than half of the outbox is taken, or the connection has ended.
    async fn wait_for_room(&self) {
        loop {
            let notified = self.room.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.locked(|state| state.closed.is_some() || self.has_room(state)) {
                return;
            }
            notified.await;
        }
    }

    fn has_room(&self, state: &State) -> bool {
        state.queued.len() + state.unwritten < self.settings.limits.outbox / 2
    }
}

/// The driver's side.
impl Link {
    /// Gives the driver everything that is queued.
    #[inline]
    pub(super) fn drain_into(&self, sink: &mut dyn FrameSink) {
        if self.has_queued.load(Ordering::Acquire) {
            self.locked(|state| {
                self.has_queued.store(false, Ordering::Release);
                let mut start = 0;
                for end in state.ends.drain(..) {
                    sink.push(&state.queued[start..end]);
                    start = end;
                }
                state.queued.clear();
                state.queued.shrink_to(64 << 10);
            });
        }
    }

    /// Takes note of how much the driver has not written yet, and lets others go on if there is room.
    pub(super) fn note_unwritten(&self, unwritten: usize) {
        let has_room = self.locked(|state| {
            state.unwritten = unwritten;
            self.has_room(state)
        });
        if has_room {
            self.room.notify_waiters();
        }
    }

    /// Registers the driver to be woken when something is queued from now on.
    pub(super) fn register(&self, cx: &Context<'_>) {
        self.driver.register(cx.waker());
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    pub(super) fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
        self.driver.wake();
    }

    /// Settles the call that a response answers.
    pub(super) fn complete(self: &Arc<Link>, response: Response) {
        let Response { id, outcome, .. } = response;
        let waiter = self.locked(|state| state.pending.complete(&id));
        match (waiter, outcome) {
            (Some(waiter), Outcome::Stream(subscription)) => {
                let reply = self.open(&subscription);
                // Whoever no longer waits drops the stream, which ends it.
                drop(waiter.send(reply));
            }
            (Some(waiter), outcome) => drop(waiter.send(reply_of(outcome))),
            (None, Outcome::Error(error)) if id.is_null() => self.complete_without_id(&error),
            // A stream that nobody asked for any more: the call was dropped while the answer was on its way.
            (None, Outcome::Stream(subscription)) => self.unsubscribe(&subscription),
            (None, _) => tracing::debug!(id = id.as_str(), "a response to no call was dropped"),
        }
    }

    fn complete_without_id(&self, error: &ErrorObject) {
        let waiters = self.locked(|state| state.pending.complete_only_frame());
        if waiters.is_empty() {
            tracing::warn!(code = error.code.0, "the far side did not understand a message");
        }
        for waiter in waiters {
            drop(waiter.send(Reply::Error(error.clone())));
        }
    }

    fn open(self: &Arc<Link>, subscription: &Json) -> Reply {
        let link = Arc::clone(self);
        let of = subscription.detached();
        let (inbox, reader) = inbox(&self.settings.limits, move || link.unsubscribe(&of));
        let refused = self.locked(|state| {
            if let Some(reason) = &state.closed {
                inbox.end(Some(reason.clone().into()));
            } else if state.streams.contains_key(subscription) {
                return Some(CallError::Protocol("a stream with this identifier is open already".into()));
            } else if state.streams.len() >= self.settings.limits.subscriptions {
                return Some(CallError::Busy("too many streams are open (limits.subscriptions)".into()));
            } else {
                state.streams.insert(subscription.detached(), inbox);
            }
            None
        });
        match refused {
            None => Reply::Stream(Box::pin(reader)),
            // The reader goes without a word: what is open under this identifier is not its stream.
            Some(error @ CallError::Protocol(_)) => {
                reader.forget();
                Reply::Error(error.into())
            }
            Some(error) => Reply::Error(error.into()),
        }
    }

    /// Takes an item of a stream to whoever reads it.
    pub(super) fn deliver(&self, subscription: &Json, item: Json) {
        let overflowed = self.locked(|state| {
            let fits = state.streams.get(subscription).is_none_or(|inbox| inbox.push(item));
            if !fits {
                state.streams.remove(subscription);
            }
            !fits
        });
        if overflowed {
            self.unsubscribe(subscription);
        }
    }

    /// Ends a stream of the far side.
    pub(super) fn end(&self, subscription: &Json, error: Option<ErrorObject>) {
        if let Some(inbox) = self.locked(|state| state.streams.remove(subscription)) {
            inbox.end(error);
        }
    }

    /// Tells the far side that nobody reads a stream any more.
    fn unsubscribe(&self, subscription: &Json) {
        let params = Json::encode_ref(&[subscription]).expect("a JSON text can be written");
        self.locked(|state| {
            state.streams.remove(subscription);
            if state.closed.is_none() {
                let method = &self.settings.profile.streams.unsubscribe;
                self.queue(state, |out| {
                    codec::notification(out, self.version(), method, Some(&params), None);
                });
            }
        });
    }

    /// Ends everything that waits for the far side.
    pub(super) fn close(&self, reason: &CallError) {
        let (waiters, streams) = self.locked(|state| {
            state.closed.get_or_insert_with(|| reason.clone());
            (state.pending.drain(), std::mem::take(&mut state.streams))
        });
        for waiter in waiters {
            drop(waiter.send(Reply::Error(reason.clone().into())));
        }
        for inbox in streams.into_values() {
            inbox.end(Some(reason.clone().into()));
        }
        self.room.notify_waiters();
    }

    /// How many calls and streams of this side are open.
    pub(super) fn open_count(&self) -> usize {
        self.locked(|state| state.pending.len() + state.streams.len())
    }
}

fn reply_of(outcome: Outcome) -> Reply {
    match outcome {
        Outcome::Value(json) | Outcome::Stream(json) => Reply::Value(json),
        Outcome::Error(error) => Reply::Error(error),
        Outcome::Broken(why) => Reply::Error(CallError::Protocol(why.into()).into()),
    }
}

/// The far side of a connection.
pub(super) struct FarSide {
    link: Arc<Link>,
    /// What the connection lasts for, if this is a handle that it lasts for.
    hold: Option<Arc<Hold>>,
}

/// Drains the connection when it is dropped: when nobody holds it any more.
struct Hold(Arc<Link>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.drain();
    }
}

impl FarSide {
    /// A handle that the connection does not depend on.
    pub(super) fn new(link: Arc<Link>) -> FarSide {
        FarSide { link, hold: None }
    }

    /// A handle whose end, with that of all replies and streams that came of it, is the end of the connection.
    pub(super) fn owning(link: Arc<Link>) -> FarSide {
        FarSide { hold: Some(Arc::new(Hold(Arc::clone(&link)))), link }
    }

    /// Queues calls as one frame. `None` if there is no room for it now.
    fn send(&self, calls: &[Call], is_batch: bool) -> Option<Vec<ReplyFuture>> {
        let link = &self.link;
        link.locked(|state| {
            if let Some(reason) = &state.closed {
                let closed = || ReplyFuture::ready(ErrorObject::from(reason.clone()));
                return Some(calls.iter().map(|_| closed()).collect());
            }
            if !link.has_room(state) {
                return None;
            }
            let frame = state.pending.next_id();
            let mut text = Vec::new();
            let mut replies = Vec::with_capacity(calls.len());
            for call in calls {
                if is_batch {
                    text.push(if text.is_empty() { b'[' } else { b',' });
                }
                replies.push(self.encode(&mut text, state, frame, call));
            }
            if is_batch {
                text.push(b']');
            }
            link.queue(state, |out| out.extend_from_slice(&text));
            Some(replies)
        })
    }

    fn encode(&self, out: &mut Vec<u8>, state: &mut State, frame: u64, call: &Call) -> ReplyFuture {
        let version = self.link.version();
        let members = call.cx.get::<Members>().map(|members| &members.0);
        if call.is_notification() {
            codec::notification(out, version, &call.method, call.params.as_ref(), members);
            return ReplyFuture::ready(Reply::Value(Json::NULL));
        }
        let (sender, receiver) = oneshot::channel();
        let id = state.pending.insert(frame, sender);
        codec::request(out, version, &Id::from(id), &call.method, call.params.as_ref(), members);
        ReplyFuture::pending(Awaited {
            link: Arc::clone(&self.link),
            hold: self.hold.clone(),
            id,
            receiver,
            is_done: false,
        })
    }

    /// Sends calls as one frame, now or when there is room.
    fn send_later(
        &self,
        calls: Vec<Call>,
        is_batch: bool,
    ) -> impl Future<Output = Vec<ReplyFuture>> + Send + use<> {
        let this = FarSide { link: Arc::clone(&self.link), hold: self.hold.clone() };
        async move {
            loop {
                if let Some(replies) = this.send(&calls, is_batch) {
                    return replies;
                }
                this.link.wait_for_room().await;
            }
        }
    }
}

impl Service for FarSide {
    fn call(&self, call: Call) -> ReplyFuture {
        let Some(mut replies) = self.send(std::slice::from_ref(&call), false) else {
            let sent = self.send_later(vec![call], false);
            return ReplyFuture::pending(
                async move { sent.await.pop().expect("one call has one reply").await },
            );
        };
        replies.pop().expect("one call has one reply")
    }
}

impl Remote for FarSide {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        if calls.is_empty() {
            return Box::pin(std::future::ready(Vec::new()));
        }
        let sent = self.send(&calls, true);
        let later = sent.is_none().then(|| self.send_later(calls, true));
        Box::pin(async move {
            let replies = match (sent, later) {
                (Some(replies), _) => replies,
                (None, Some(later)) => later.await,
                (None, None) => Vec::new(),
            };
            join_all(replies).await
        })
    }
}

/// A call that was sent. Dropping it before the answer cancels it on the far side.
struct Awaited {
    link: Arc<Link>,
    hold: Option<Arc<Hold>>,
    id: u64,
    receiver: oneshot::Receiver<Reply>,
    is_done: bool,
}

impl Future for Awaited {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        Pin::new(&mut self.receiver).poll(cx).map(|answer| {
            self.is_done = true;
            match (answer, self.hold.take()) {
                (Ok(Reply::Stream(items)), Some(hold)) => {
                    Reply::Stream(Box::pin(Held { items, _hold: hold }))
                }
                (answer, _) => answer.unwrap_or_else(|_| Reply::Error(CallError::Cancelled.into())),
            }
        })
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let (link, cancel) = (&self.link, &self.link.settings.profile.cancel);
        link.locked(|state| {
            if state.pending.remove(self.id).is_none() || state.closed.is_some() {
                return;
            }
            let params = match link.version() {
                Version::V2 => format!("{{\"{}\":{}}}", cancel.member, self.id),
                Version::V1 => format!("[{}]", self.id),
            };
            let params = Json::from_text(Text::from_vec(params.into_bytes()));
            link.queue(state, |out| {
                codec::notification(out, link.version(), &cancel.method, Some(&params), None);
            });
        });
    }
}

/// A stream that its connection lasts for.
struct Held {
    items: Items,
    _hold: Arc<Hold>,
}

impl Stream for Held {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.items.as_mut().poll_next(cx)
    }
}
