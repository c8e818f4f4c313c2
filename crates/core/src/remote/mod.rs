//! Calls from this side: the state that callers share with the driver that sends them and receives the responses.
//!
//! A [`Connection`](crate::Connection) sends what is queued here. In a session of many inputs
//! ([`Session::stateful`](crate::Session::stateful)) it goes into the answer to the input that caused it, or to the session's own output.

mod backpressure;
mod early_items;
mod incoming;
mod notifications;
mod peer;
mod pending;
mod receive_buffer;
mod responses;
mod tokens;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Context;

use tokio::sync::{Notify, oneshot};

use bytes::Bytes;

use self::backpressure::Backpressure;
use self::early_items::EarlyItems;
pub(crate) use self::notifications::{argument, subscription};
pub(crate) use self::peer::{RemotePeer, Route};
use self::pending::Pending;
pub(crate) use self::receive_buffer::ReceiveBuffer;
use crate::call::ItemCheck;
use crate::call_error::CallError;
use crate::call_options::ProgressSender;
use crate::connection::FrameSink;
use crate::context::Version;
use crate::engine::Outlet;
use crate::json::Json;
use crate::memory::{Account, SHORT};
use crate::partial_results as partial;
use crate::profile::{Settings, Versions};
use crate::reply::Reply;
use crate::subscription::Subscription;

/// The state that calls of this side go through. Locked for moments only, never across a wait.
pub(crate) struct RemoteShared {
    pub(crate) settings: Arc<Settings>,
    /// What bounds the memory of what is queued, if anything does.
    account: Option<Arc<Account>>,
    state: Mutex<RemoteState>,
    /// Whether something is queued, so that the driver need not lock to find out.
    has_queued: AtomicBool,
    /// How far readers of streams are behind; wakes the driver.
    pub(crate) backpressure: Arc<Backpressure>,
    /// Wakes those who wait for room in the queue.
    room: Notify,
    /// Wakes those who wait for the end.
    ended: Notify,
    is_draining: AtomicBool,
    /// Whether frames are dropped that find no room, because nothing ends the session that is not read.
    drops_excess: bool,
    /// Whether something reads what is queued, in a session of many inputs.
    is_read: AtomicBool,
    /// Whether a stream with other names than ours is open or expected.
    pub(crate) has_named: AtomicBool,
    /// Whether a stream was opened whose messages are checked.
    pub(crate) has_checks: AtomicBool,
    /// Whether the peer said that it did not understand something, other than a call that waits.
    pub(crate) has_misunderstood: AtomicBool,
}

pub(crate) struct RemoteState {
    /// Frames that wait for the driver, one after the other, and where each ends.
    queued: Vec<u8>,
    ends: Vec<usize>,
    /// How many of these bytes, and of these frames, were taken one by one.
    sent: usize,
    popped: usize,
    /// Bytes that the driver had not written when it last looked.
    unwritten: usize,
    pub(crate) pending: Pending<Waiter>,
    pub(crate) streams: HashMap<Json, Receiving>,
    /// Subscriptions that were asked for and not answered yet, by their calls.
    pub(crate) expected: Vec<(u64, Arc<Subscription>)>,
    /// Items that arrived before the answers that name their streams.
    pub(crate) early: EarlyItems,
    pub(crate) closed: Option<CallError>,
    /// Whether the peer, which is closed, may still read: it gets notifications, which need no answer.
    pub(crate) still_reads: bool,
}

/// Who waits for an answer.
pub(crate) struct Waiter {
    pub(crate) answer: Answer,
    /// How a stream is spelled, if the answer opens one.
    pub(crate) names: Option<Arc<Subscription>>,
    /// The answer that the call was sent in, in a session of many inputs.
    pub(crate) outlet: Option<Weak<Outlet>>,
    /// Where progress goes, if it was asked for.
    pub(crate) progress: Option<ProgressSender>,
    /// Checks the messages of a stream, if the answer opens one.
    pub(crate) check: Option<ItemCheck>,
}

/// Where an answer goes.
pub(crate) enum Answer {
    /// To a caller that waits for it as a whole.
    Whole(oneshot::Sender<Reply>),
    /// To the reader of its parts, of which it is the last.
    Parts(ReceiveBuffer),
}

impl Answer {
    pub(crate) fn send(self, reply: Reply) {
        match self {
            Answer::Whole(sender) => drop(sender.send(reply)),
            Answer::Parts(buffer) => partial::finish(&buffer, reply),
        }
    }
}

/// A stream that is received.
pub(crate) struct Receiving {
    pub(crate) buffer: ReceiveBuffer,
    /// The names it goes by, if not our own.
    pub(crate) names: Option<Arc<Subscription>>,
    pub(crate) check: Option<ItemCheck>,
}

impl RemoteShared {
    pub(crate) fn new(
        settings: Arc<Settings>,
        account: Option<Arc<Account>>,
        drops_excess: bool,
    ) -> Arc<RemoteShared> {
        let state = RemoteState {
            queued: Vec::new(),
            ends: Vec::new(),
            sent: 0,
            popped: 0,
            unwritten: 0,
            pending: Pending::new(),
            streams: HashMap::new(),
            expected: Vec::new(),
            early: EarlyItems::default(),
            closed: None,
            still_reads: false,
        };
        Arc::new(RemoteShared {
            settings,
            account,
            state: Mutex::new(state),
            has_queued: AtomicBool::new(false),
            backpressure: Arc::default(),
            room: Notify::new(),
            ended: Notify::new(),
            is_draining: AtomicBool::new(false),
            drops_excess,
            is_read: AtomicBool::new(false),
            has_named: AtomicBool::new(false),
            has_checks: AtomicBool::new(false),
            has_misunderstood: AtomicBool::new(false),
        })
    }

    pub(crate) fn locked<T>(&self, act: impl FnOnce(&mut RemoteState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The version that calls of this side are written in.
    pub(crate) fn version(&self) -> Version {
        if self.settings.profile.versions == Versions::V1 { Version::V1 } else { Version::V2 }
    }

    /// Queues a frame and wakes the driver. Where nothing may read for long, it is dropped then, or if it finds no room.
    pub(crate) fn queue(&self, state: &mut RemoteState, write: impl FnOnce(&mut Vec<u8>)) {
        if self.drops_excess && !(self.is_read.load(Ordering::Acquire) && self.has_room(state)) {
            return;
        }
        write(&mut state.queued);
        state.ends.push(state.queued.len());
        self.has_queued.store(true, Ordering::Release);
        self.backpressure.wake_driver();
    }

    /// Waits until there may be room: less than half of the outbox is taken, or the connection has ended. The caller looks again.
    pub(crate) async fn wait_for_room(&self) {
        let notified = self.room.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if !self.locked(|state| state.closed.is_some() || self.has_room(state)) {
            notified.await;
        }
    }

    /// Waits until the connection has ended, and says why.
    pub(crate) async fn closed(&self) -> CallError {
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

    pub(crate) fn has_room(&self, state: &RemoteState) -> bool {
        let waiting = state.queued.len() - state.sent + state.unwritten;
        waiting < self.settings.limits.outbox / 2 && (waiting < SHORT || !self.is_used_up())
    }

    fn is_used_up(&self) -> bool {
        self.account.as_ref().is_some_and(|account| account.is_used_up())
    }
}

/// The driver's side.
impl RemoteShared {
    #[inline]
    pub(crate) fn has_queued(&self) -> bool {
        self.has_queued.load(Ordering::Acquire)
    }

    /// Gives the driver everything that is queued; false if nothing is.
    #[inline]
    pub(crate) fn drain_into(&self, sink: &mut dyn FrameSink) -> bool {
        let has_queued = self.has_queued();
        if has_queued {
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
        has_queued
    }

    /// Takes the frame that was queued first.
    pub(crate) fn pop_queued(&self) -> Option<Bytes> {
        let (frame, has_room) = self.locked(|state| {
            let end = *state.ends.get(state.popped)?;
            let frame = Bytes::copy_from_slice(&state.queued[state.sent..end]);
            (state.sent, state.popped) = (end, state.popped + 1);
            // Half of the queue at a time, so that each byte is moved about once.
            if state.sent >= state.queued.len() / 2 {
                state.queued.drain(..state.sent);
                state.ends.drain(..state.popped);
                state.ends.iter_mut().for_each(|end| *end -= state.sent);
                (state.sent, state.popped) = (0, 0);
                state.queued.shrink_to(64 << 10);
            }
            Some((frame, self.has_room(state)))
        })?;
        if has_room {
            self.room.notify_waiters();
        }
        Some(frame)
    }

    /// Says whether something reads what is queued, where that changes.
    pub(crate) fn set_read(&self, is_read: bool) {
        self.is_read.store(is_read, Ordering::Release);
        // What waits for room may have another way now.
        self.room.notify_waiters();
    }

    /// Takes note of how much the driver has not written yet, and lets others go on if there is room.
    pub(crate) fn note_unwritten(&self, unwritten: usize) {
        let has_room = self.locked(|state| {
            state.unwritten = unwritten;
            self.has_room(state)
        });
        if has_room {
            self.room.notify_waiters();
        }
    }

    /// Registers the driver to be woken when something is queued from now on.
    pub(crate) fn register(&self, cx: &Context<'_>) {
        self.backpressure.register(cx.waker());
    }

    pub(crate) fn wake_driver(&self) {
        self.backpressure.wake_driver();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.locked(|state| state.closed.is_some())
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    pub(crate) fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
        self.backpressure.wake_driver();
    }

    /// Ends everything that waits for the peer.
    pub(crate) fn close(&self, reason: &CallError) {
        let (waiters, streams) = self.locked(|state| {
            state.closed.get_or_insert_with(|| reason.clone());
            state.still_reads = false;
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

    /// Lets notifications pass, such as the progress of calls, if the peer sends nothing more and may still read.
    pub(crate) fn keep_notifying(&self, still_reads: bool) {
        self.locked(|state| state.still_reads = still_reads);
    }

    /// How many calls and streams of this side are open.
    pub(crate) fn open_count(&self) -> usize {
        self.locked(|state| state.pending.len() + state.streams.len())
    }
}
