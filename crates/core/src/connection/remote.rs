//! What a connection's driver and the handles to its far side share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Context;

use tokio::sync::{Notify, oneshot};

use crate::call_error::CallError;
use crate::call_options::ProgressSender;
use crate::codec::{self, Outcome, Response};
use crate::connection::FrameSink;
use crate::connection::backpressure::Backpressure;
use crate::connection::early_items::{EarlyItems, Event};
use crate::connection::pending::Pending;
use crate::connection::receive_buffer::{ReceiveBuffer, receive_buffer};
use crate::context::Version;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::{Json, Kind};
use crate::name::Name;
use crate::partial_results as partial;
use crate::profile::{Settings, Versions};
use crate::reply::{Extra, Items, Reply};
use crate::subscription::Subscription;
use crate::text::Text;

/// The state that calls of this side go through. Locked for moments only, never across a wait.
pub(super) struct RemoteShared {
    pub(super) settings: Arc<Settings>,
    state: Mutex<State>,
    /// Whether something is queued, so that the driver need not lock to find out.
    has_queued: AtomicBool,
    /// How far readers of streams are behind; wakes the driver.
    pub(super) backpressure: Arc<Backpressure>,
    /// Wakes those who wait for room in the queue.
    room: Notify,
    /// Wakes those who wait for the end.
    ended: Notify,
    is_draining: AtomicBool,
    /// Whether a stream with names of its own is open or expected.
    pub(super) has_named: AtomicBool,
    /// Whether the far side said that it did not understand something, other than a call that waits.
    has_misunderstood: AtomicBool,
}

pub(super) struct State {
    /// Frames that wait for the driver, one after the other, and where each ends.
    queued: Vec<u8>,
    ends: Vec<usize>,
    /// Bytes that the driver had not written when it last looked.
    unwritten: usize,
    pub(super) pending: Pending<Waiter>,
    streams: HashMap<Json, Receiving>,
    /// Subscriptions that were asked for and not answered yet, by their calls.
    pub(super) expected: Vec<(u64, Arc<Subscription>)>,
    /// What came for them before the answers did, which name them.
    early: EarlyItems,
    pub(super) closed: Option<CallError>,
}

/// Who waits for an answer.
pub(super) struct Waiter {
    pub(super) answer: Answer,
    /// How a stream is spelled, if the answer opens one.
    pub(super) names: Option<Arc<Subscription>>,
    /// Where progress goes, if it was asked for.
    pub(super) progress: Option<ProgressSender>,
}

/// Where an answer goes.
pub(super) enum Answer {
    /// To whoever waits for it as a whole.
    Whole(oneshot::Sender<Reply>),
    /// To whoever reads its parts, of which it is the last.
    Parts(ReceiveBuffer),
}

impl Answer {
    fn send(self, reply: Reply) {
        match self {
            Answer::Whole(sender) => drop(sender.send(reply)),
            Answer::Parts(buffer) => partial::finish(&buffer, reply),
        }
    }
}

/// A stream that is received.
struct Receiving {
    buffer: ReceiveBuffer,
    /// The names it goes by, if not our own.
    names: Option<Arc<Subscription>>,
}

impl RemoteShared {
    pub(super) fn new(settings: Arc<Settings>) -> Arc<RemoteShared> {
        let state = State {
            queued: Vec::new(),
            ends: Vec::new(),
            unwritten: 0,
            pending: Pending::new(),
            streams: HashMap::new(),
            expected: Vec::new(),
            early: EarlyItems::default(),
            closed: None,
        };
        Arc::new(RemoteShared {
            settings,
            state: Mutex::new(state),
            has_queued: AtomicBool::new(false),
            backpressure: Arc::default(),
            room: Notify::new(),
            ended: Notify::new(),
            is_draining: AtomicBool::new(false),
            has_named: AtomicBool::new(false),
            has_misunderstood: AtomicBool::new(false),
        })
    }

    pub(super) fn locked<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The version that calls of this side are written in.
    pub(super) fn version(&self) -> Version {
        if self.settings.profile.versions == Versions::V1 { Version::V1 } else { Version::V2 }
    }

    /// Queues a frame and wakes the driver.
    pub(super) fn queue(&self, state: &mut State, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut state.queued);
        state.ends.push(state.queued.len());
        self.has_queued.store(true, Ordering::Release);
        self.backpressure.wake_driver();
    }

    /// Waits until less than half of the outbox is taken, or the connection has ended.
    pub(super) async fn wait_for_room(&self) {
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

    /// Waits until the connection has ended, and says why.
    pub(super) async fn closed(&self) -> CallError {
        loop {
            let notified = self.ended.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if let Some(reason) = self.locked(|state| state.closed.clone()) {
                return reason;
            }
            notified.await;
        }
    }

    pub(super) fn has_room(&self, state: &State) -> bool {
        state.queued.len() + state.unwritten < self.settings.limits.outbox / 2
    }
}

/// The driver's side.
impl RemoteShared {
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
        self.backpressure.register(cx.waker());
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    pub(super) fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
        self.backpressure.wake_driver();
    }

    /// Settles the call that a response answers.
    pub(super) fn complete(self: &Arc<RemoteShared>, response: Response) {
        let Response { id, outcome, members, .. } = response;
        let Some(Waiter { answer, names, .. }) = self.locked(|state| state.pending.complete(&id)) else {
            return self.complete_unknown(&id, outcome);
        };
        let is_whole = matches!(answer, Answer::Whole(_));
        let mut reply = match (outcome, names) {
            (Outcome::Stream(subscription, flag), names) if is_whole => {
                self.open(&subscription, Subscription::from_json(&flag).map(Arc::new).or(names))
            }
            (Outcome::Value(subscription), Some(names))
                if is_whole && matches!(subscription.kind(), Kind::String | Kind::Number) =>
            {
                self.open(&subscription, Some(names))
            }
            (outcome, _) => reply_of(outcome),
        };
        reply.extra = members.map(|members| Box::new(Extra::from_members(*members)));
        self.forget_expected(&id);
        // A caller that no longer waits drops the stream, which ends it.
        answer.send(reply);
    }

    /// Settles a response that names no call which waits.
    fn complete_unknown(&self, id: &Id, outcome: Outcome) {
        match outcome {
            Outcome::Error(error) if id.is_null() => self.complete_without_id(&error),
            // The call was dropped while the answer was on its way.
            Outcome::Stream(subscription, flag) => {
                self.unsubscribe(&subscription, Subscription::from_json(&flag).as_ref());
            }
            _ => tracing::debug!(id = id.as_str(), "a response to no call was dropped"),
        }
    }

    fn complete_without_id(&self, error: &ErrorObject) {
        let waiters = self.locked(|state| {
            let waiters = state.pending.complete_only_frame();
            if !waiters.is_empty() {
                // Nothing waits any more.
                state.expected.clear();
                self.settle_expected(state, None);
            }
            waiters
        });
        // The first says what is wrong; who breaks the rules without end must not fill the log with it.
        if waiters.is_empty() && !self.has_misunderstood.swap(true, Ordering::Relaxed) {
            tracing::warn!(code = error.code.0, "the far side did not understand a message");
        }
        for waiter in waiters {
            waiter.answer.send(Reply::error(error.clone()));
        }
    }

    /// The call with this identifier is over, and with it what was kept for its subscription.
    fn forget_expected(&self, id: &Id) {
        if self.has_named.load(Ordering::Acquire) {
            let id = id.as_u64();
            self.locked(|state| self.settle_expected(state, id));
        }
    }

    pub(super) fn settle_expected(&self, state: &mut State, id: Option<u64>) {
        state.expected.retain(|(call, _)| Some(*call) != id);
        if state.expected.is_empty() {
            state.early = EarlyItems::default();
            let is_open = state.streams.values().any(|stream| stream.names.is_some());
            self.has_named.store(is_open, Ordering::Release);
        }
    }

    fn open(self: &Arc<RemoteShared>, subscription: &Json, names: Option<Arc<Subscription>>) -> Reply {
        let remote = Arc::clone(self);
        let (of, spelled) = (subscription.detached(), names.clone());
        let on_drop = move || remote.unsubscribe(&of, spelled.as_deref());
        let (buffer, reader) = receive_buffer(&self.settings.limits, &self.backpressure, on_drop);
        let refused = self.locked(|state| {
            if let Some(reason) = &state.closed {
                buffer.end(None, Some(reason.clone().into()));
            } else if state.streams.contains_key(subscription) {
                return Some(CallError::Protocol("a stream with this identifier is open already".into()));
            } else if state.streams.len() >= self.settings.limits.subscriptions {
                self.queue_unsubscribe(state, subscription, names.as_deref());
                return Some(CallError::Busy("too many streams are open (limits.subscriptions)".into()));
            } else {
                let names = names.clone();
                self.has_named.fetch_or(names.is_some(), Ordering::AcqRel);
                let early = state.early.take(subscription, names.as_deref());
                state.streams.insert(subscription.detached(), Receiving { buffer, names });
                for event in early {
                    self.pass_on(state, subscription, event);
                }
            }
            None
        });
        match refused {
            None => {
                let items = Items::new(reader);
                Reply::items(match names {
                    Some(names) => items.named(names),
                    None => items,
                })
            }
            // The reader goes without a word: what is open under this identifier is not its stream.
            Some(error @ CallError::Protocol(_)) => {
                reader.forget();
                Reply::error(error.into())
            }
            Some(error) => Reply::error(error.into()),
        }
    }

    /// Takes what happens to a stream of our own dialect to whoever reads it.
    pub(super) fn deliver(&self, subscription: &Json, event: Event) {
        self.locked(|state| self.pass_on(state, subscription, event));
    }

    /// Whether a notification with this method belongs to a stream that goes by names of its own, or may once it is named.
    pub(super) fn is_named(&self, method: &Name, subscription: &Json) -> bool {
        let is_its_name = |names: &Arc<Subscription>| names.item == *method;
        self.locked(|state| {
            state.streams.get(subscription).is_some_and(|to| to.names.as_ref().is_some_and(is_its_name))
                || state.expected.iter().any(|(_, names)| is_its_name(names))
                || state.streams.values().any(|to| to.names.as_ref().is_some_and(is_its_name))
        })
    }

    /// Takes what happens to a stream that goes by names of its own to whoever reads it; gives it back if this is not
    /// the name of its notifications.
    pub(super) fn deliver_named(
        &self,
        method: &Name,
        subscription: &Json,
        event: Event,
    ) -> Result<(), Event> {
        let is_its_name = |names: &Arc<Subscription>| names.item == *method;
        self.locked(|state| {
            if state.streams.get(subscription).is_some_and(|to| to.names.as_ref().is_some_and(is_its_name)) {
                self.pass_on(state, subscription, event);
            } else if state.expected.iter().any(|(_, names)| is_its_name(names)) {
                state.early.keep(method, subscription, event, &self.settings.limits);
            } else if !state.streams.values().any(|to| to.names.as_ref().is_some_and(is_its_name)) {
                return Err(event);
            }
            Ok(())
        })
    }

    /// Gives up a call: nobody waits for its answer any more.
    pub(super) fn give_up(&self, id: u64) {
        let waiter = self.locked(|state| {
            let waiter = state.pending.remove(id);
            self.settle_expected(state, Some(id));
            if waiter.is_some() && state.closed.is_none() {
                self.queue_cancel(state, id);
            }
            waiter
        });
        drop(waiter);
    }

    pub(super) fn queue_cancel(&self, state: &mut State, id: u64) {
        let (cancel, version) = (&self.settings.profile.cancel, self.version());
        let params = match version {
            Version::V2 => format!("{{\"{}\":{id}}}", cancel.member),
            Version::V1 => format!("[{id}]"),
        };
        let params = Json::from_text(Text::from_vec(params.into_bytes()));
        self.queue(state, |out| codec::notification(out, version, &cancel.method, Some(&params), None));
    }

    /// Whether a notification may belong to a stream that goes by names of its own.
    #[inline]
    pub(super) fn has_named(&self) -> bool {
        self.has_named.load(Ordering::Acquire)
    }

    fn pass_on(&self, state: &mut State, subscription: &Json, event: Event) {
        let Some(stream) = state.streams.get(subscription) else { return };
        let (is_end, goes_on) = (event.is_end(), event.put_into(&stream.buffer));
        if goes_on {
            return;
        }
        let names = state.streams.remove(subscription).and_then(|stream| stream.names);
        if !is_end {
            // It was read too slowly.
            self.queue_unsubscribe(state, subscription, names.as_deref());
        }
    }

    /// Whether a call waits for its answer: not one whose answer comes in parts, which are read like a stream.
    pub(super) fn has_waiting_call(&self) -> bool {
        self.locked(|state| state.pending.any(|waiter| matches!(waiter.answer, Answer::Whole(_))))
    }

    /// Tells the far side that nobody reads a stream any more.
    fn unsubscribe(&self, subscription: &Json, names: Option<&Subscription>) {
        self.locked(|state| {
            state.streams.remove(subscription);
            self.queue_unsubscribe(state, subscription, names);
        });
    }

    fn queue_unsubscribe(&self, state: &mut State, subscription: &Json, names: Option<&Subscription>) {
        if state.closed.is_some() {
            return;
        }
        let params = Json::encode_ref(&[subscription]).expect("a JSON text can be written");
        let (params, version) = (Some(&params), self.version());
        match names {
            None => {
                let method = &self.settings.profile.streams.unsubscribe;
                self.queue(state, |out| codec::notification(out, version, method, params, None));
            }
            // Others take no notification for it. What they answer is nobody's concern.
            Some(names) => {
                let id = Id::from(state.pending.skip_id());
                self.queue(state, |out| codec::request(out, version, &id, &names.unsubscribe, params, None));
            }
        }
    }

    /// Ends everything that waits for the far side.
    pub(super) fn close(&self, reason: &CallError) {
        let (waiters, streams) = self.locked(|state| {
            state.closed.get_or_insert_with(|| reason.clone());
            state.expected.clear();
            state.early = EarlyItems::default();
            (state.pending.drain(), std::mem::take(&mut state.streams))
        });
        for waiter in waiters {
            waiter.answer.send(Reply::error(reason.clone().into()));
        }
        for stream in streams.into_values() {
            stream.buffer.end(None, Some(reason.clone().into()));
        }
        self.room.notify_waiters();
        self.ended.notify_waiters();
    }

    /// How many calls and streams of this side are open.
    pub(super) fn open_count(&self) -> usize {
        self.locked(|state| state.pending.len() + state.streams.len())
    }
}

fn reply_of(outcome: Outcome) -> Reply {
    match outcome {
        Outcome::Value(json) | Outcome::Stream(json, _) => Reply::value(json),
        Outcome::Error(error) => Reply::error(error),
        Outcome::Broken(why) => Reply::error(CallError::Protocol(why.into()).into()),
    }
}
