//! A session of many inputs: the calls of all of them, and the ways back to the caller.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;

use crate::call_error::CallError;
use crate::engine::{CancelFlag, Outlet};
use crate::id::Id;
use crate::peer::Peer;
use crate::profile::Settings;
use crate::remote::{RemotePeer, RemoteShared, Route};

/// What the inputs of one session share.
pub(crate) struct Inputs {
    pub(crate) remote: Arc<RemoteShared>,
    state: Mutex<InputsState>,
}

#[derive(Default)]
struct InputsState {
    /// The calls that run, whichever input brought them.
    running: Vec<(u64, Id, CancelFlag)>,
    /// The answers that are being given in parts, the newest last.
    outlets: Vec<Weak<Outlet>>,
    /// Which output is the session's own.
    attached: Option<u64>,
    /// Whether this side closes the session.
    is_closing: bool,
    next: u64,
}

impl Inputs {
    pub(super) fn new(settings: Arc<Settings>) -> Arc<Inputs> {
        Arc::new(Inputs { remote: RemoteShared::new(settings, None, true), state: Mutex::default() })
    }

    fn locked<T>(&self, act: impl FnOnce(&mut InputsState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The caller, for what belongs to no input.
    pub(super) fn peer(self: &Arc<Inputs>) -> Peer {
        Peer::new(RemotePeer::routed(Arc::clone(&self.remote), Route::Session(Arc::downgrade(self))))
    }

    /// The caller, while an input is answered: what is sent to it goes into the answer.
    pub(crate) fn peer_within(&self, outlet: &Arc<Outlet>) -> Peer {
        self.locked(|state| {
            state.outlets.retain(|outlet| outlet.upgrade().is_some_and(|outlet| !outlet.is_closed()));
            state.outlets.push(Arc::downgrade(outlet));
        });
        Peer::new(RemotePeer::routed(Arc::clone(&self.remote), Route::Input(Arc::clone(outlet))))
    }

    pub(crate) fn is_attached(&self) -> bool {
        self.locked(|state| state.attached.is_some())
    }

    /// The answer in parts that was begun last and still takes messages.
    pub(crate) fn newest_outlet(&self) -> Option<Arc<Outlet>> {
        self.locked(|state| {
            let open = state.outlets.iter().rev().filter_map(Weak::upgrade);
            open.into_iter().find(|outlet| !outlet.is_closed())
        })
    }

    /// Whether as many calls run as may.
    pub(crate) fn is_full(&self) -> bool {
        self.locked(|state| state.running.len() >= self.remote.settings.limits.in_flight)
    }

    /// Makes a call one that can be cancelled by its identifier, until the guard is dropped.
    pub(crate) fn register(self: &Arc<Inputs>, id: &Id, flag: CancelFlag) -> RunningGuard {
        let key = self.locked(|state| {
            state.next += 1;
            // The identifier may be a part of a long input, which the call would keep.
            state.running.push((state.next, id.detached(), flag));
            state.next
        });
        RunningGuard { inputs: Arc::clone(self), key }
    }

    /// Cancels the calls with this identifier. False if there is none.
    pub(super) fn cancel(&self, id: &Id) -> bool {
        let flags: Vec<_> = self.locked(|state| {
            let found = state.running.iter().filter(|(_, running, _)| running == id);
            found.map(|(.., flag)| flag.clone()).collect()
        });
        flags.iter().for_each(CancelFlag::set);
        !flags.is_empty()
    }

    /// Makes a new output the session's own.
    pub(super) fn attach(self: &Arc<Inputs>) -> SessionOutput {
        let key = self.locked(|state| {
            state.next += 1;
            state.attached = Some(state.next);
            self.remote.set_read(true);
            state.next
        });
        // The output before this one has to see that it is not the session's any more.
        self.remote.wake_driver();
        SessionOutput { inputs: Arc::clone(self), key }
    }

    /// Ends the session's output, once what is queued was taken, and takes no more calls.
    pub(super) fn close(&self) {
        self.locked(|state| state.is_closing = true);
        self.remote.wake_driver();
    }

    /// Whether nothing more is sent that belongs to no input.
    fn is_over(&self) -> bool {
        self.remote.is_closed() || self.locked(|state| state.is_closing && state.running.is_empty())
    }

    /// Ends what waits for the caller, and its calls, whose answers could not be delivered.
    pub(super) fn end(&self) {
        let flags: Vec<_> =
            self.locked(|state| state.running.iter().map(|(.., flag)| flag.clone()).collect());
        flags.iter().for_each(CancelFlag::set);
        self.remote.close(&CallError::Closed("the session has ended".into()));
        self.remote.wake_driver();
    }
}

/// A call that can be cancelled while this exists.
pub(crate) struct RunningGuard {
    inputs: Arc<Inputs>,
    key: u64,
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        let is_closing = self.inputs.locked(|state| {
            state.running.retain(|(key, ..)| *key != self.key);
            state.is_closing
        });
        if is_closing {
            self.inputs.remote.wake_driver();
        }
    }
}

/// The output of a session for messages outside any input: those sent with [`Session::peer`](super::Session::peer). Made by
/// [`Session::attach`](super::Session::attach).
///
/// It ends with the session, or when another one is attached. Unread messages go to the next one.
#[must_use = "messages sent over it wait until it is read"]
pub struct SessionOutput {
    inputs: Arc<Inputs>,
    key: u64,
}

impl SessionOutput {
    fn is_current(&self) -> bool {
        self.inputs.locked(|state| state.attached == Some(self.key))
    }
}

impl Stream for SessionOutput {
    /// One message.
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let remote = &self.inputs.remote;
        // Under the lock, or an output that was just replaced could take the place of the new one's waker.
        let is_current = self.inputs.locked(|state| {
            let is_current = state.attached == Some(self.key);
            if is_current {
                remote.register(cx);
            }
            is_current
        });
        if !is_current {
            return Poll::Ready(None);
        }
        match remote.pop_queued() {
            Some(message) => Poll::Ready(Some(message)),
            None if self.inputs.is_over() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Drop for SessionOutput {
    fn drop(&mut self) {
        self.inputs.locked(|state| {
            if state.attached == Some(self.key) {
                state.attached = None;
                self.inputs.remote.set_read(false);
            }
        });
    }
}

impl fmt::Debug for SessionOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOutput").field("is_current", &self.is_current()).finish_non_exhaustive()
    }
}
