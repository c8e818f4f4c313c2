//! Notifications that a handler pushes into the answer to its call.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Context;

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::task::AtomicWaker;
use tokio::sync::Notify;

use crate::call::{Call, Members, Outgoing};
use crate::call_error::CallError;
use crate::codec;
use crate::context::Version;
use crate::json::Json;
use crate::memory::{Account, SHORT, Share};
use crate::peer::Remote;
use crate::reply::{Reply, ReplyFuture};
use crate::service::Service;

/// What was pushed and not taken yet. Locked for moments only, never across a wait.
pub(crate) struct Outlet {
    version: Version,
    /// How many bytes may wait before a handler that pushes more has to wait too.
    limit: usize,
    /// What bounds their memory, if anything does.
    account: Option<Arc<Account>>,
    state: Mutex<OutletState>,
    /// Wakes who takes.
    reader: AtomicWaker,
    /// Wakes those who wait for room.
    room: Notify,
}

#[derive(Default)]
struct OutletState {
    messages: VecDeque<Bytes>,
    bytes: usize,
    share: Share,
    is_closed: bool,
}

impl OutletState {
    /// Counts the memory of what waits.
    fn count(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.share.set(bytes);
    }
}

impl Outlet {
    pub(crate) fn new(version: Version, limit: usize, account: Option<Arc<Account>>) -> Arc<Outlet> {
        let share = account.as_ref().map_or_else(Share::default, Share::of);
        let state = OutletState { share, ..OutletState::default() };
        Arc::new(Outlet {
            version,
            limit,
            account,
            state: Mutex::new(state),
            reader: AtomicWaker::new(),
            room: Notify::new(),
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.locked(|state| state.is_closed)
    }

    fn locked<T>(&self, act: impl FnOnce(&mut OutletState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Wakes this task when something is pushed from now on.
    pub(crate) fn register(&self, cx: &Context<'_>) {
        self.reader.register(cx.waker());
    }

    /// Takes the message that was pushed first.
    pub(crate) fn pop(&self) -> Option<Bytes> {
        let (message, has_room) = self.locked(|state| {
            let message = state.messages.pop_front()?;
            state.count(state.bytes - message.len());
            Some((message, self.has_room_for(state.bytes)))
        })?;
        if has_room {
            self.room.notify_waiters();
        }
        Some(message)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.locked(|state| state.messages.is_empty())
    }

    /// Takes nothing more from now on. What was pushed before can still be taken.
    pub(crate) fn close(&self) {
        self.locked(|state| state.is_closed = true);
        self.room.notify_waiters();
    }

    /// Whether there is room for a message now.
    pub(crate) fn has_room(&self) -> Result<bool, CallError> {
        self.locked(|state| if state.is_closed { Err(ended()) } else { Ok(self.has_room_for(state.bytes)) })
    }

    /// Whether another message may wait beside so many bytes. Where memory is short, a few may.
    fn has_room_for(&self, bytes: usize) -> bool {
        bytes < self.limit
            && (bytes < SHORT || !self.account.as_ref().is_some_and(|account| account.is_used_up()))
    }

    /// Adds a message. False if it came too late.
    pub(crate) fn push(&self, text: Bytes) -> bool {
        let is_pushed = self.locked(|state| {
            if !state.is_closed {
                state.count(state.bytes + text.len());
                state.messages.push_back(text);
            }
            !state.is_closed
        });
        self.reader.wake();
        is_pushed
    }

    /// Adds a notification. `None` if the queue is full.
    fn notify(&self, call: &Call) -> Option<Result<(), CallError>> {
        match self.has_room() {
            Err(ended) => Some(Err(ended)),
            Ok(false) => None,
            Ok(true) => {
                let mut text = Vec::with_capacity(64);
                let (method, params) = (&call.method, call.params.as_ref());
                let outgoing = Outgoing::new(self.version, None, method, params);
                let members = Members::to_send(&call.cx, &outgoing);
                codec::notification(&mut text, self.version, method, params, members.as_deref());
                Some(if self.push(Bytes::from(text)) { Ok(()) } else { Err(ended()) })
            }
        }
    }

    /// Waits until there is room, or nothing more is taken.
    pub(crate) async fn wait_for_room(&self) {
        loop {
            let notified = self.room.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.has_room() != Ok(false) {
                return;
            }
            notified.await;
        }
    }

    /// Waits until nothing more is taken.
    async fn closed(&self) -> CallError {
        loop {
            let notified = self.room.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.locked(|state| state.is_closed) {
                return ended();
            }
            notified.await;
        }
    }

    async fn notify_later(&self, call: &Call) -> Result<(), CallError> {
        loop {
            if let Some(sent) = self.notify(call) {
                return sent;
            }
            self.wait_for_room().await;
        }
    }
}

/// The caller, as far as one answer reaches it: it gets notifications, and cannot be called.
pub(super) struct Pusher(pub(super) Arc<Outlet>);

impl Service for Pusher {
    fn call(&self, call: &Call) -> ReplyFuture {
        if !call.is_notification() {
            let reason = "the caller cannot respond over an event stream; send a notification instead";
            return ReplyFuture::ready(Reply::error(CallError::Unsupported(reason.into()).into()));
        }
        if let Some(pushed) = self.0.notify(call) {
            return ReplyFuture::ready(reply(pushed));
        }
        let (outbox, call) = (Arc::clone(&self.0), call.clone());
        ReplyFuture::pending(async move { reply(outbox.notify_later(&call).await) })
    }
}

impl Remote for Pusher {
    /// Each notification goes by itself: nothing is gained by a list that is not answered.
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let replies: Vec<_> = calls.iter().map(|call| self.call(call)).collect();
        Box::pin(join_all(replies))
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        let outbox = Arc::clone(&self.0);
        Box::pin(async move { outbox.closed().await })
    }
}

fn ended() -> CallError {
    CallError::Closed("the response that it belongs to has ended".into())
}

fn reply(pushed: Result<(), CallError>) -> Reply {
    match pushed {
        Ok(()) => Reply::value(Json::NULL),
        Err(error) => Reply::error(error.into()),
    }
}
