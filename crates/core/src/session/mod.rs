//! Sessions: what the calls of one caller have in common.

mod inputs;

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

pub use self::inputs::SessionOutput;
pub(crate) use self::inputs::{Inputs, RunningGuard};
use crate::context::Origin;
use crate::engine::Engine;
use crate::id::Id;
use crate::memory::{Account, Share};
use crate::peer::Peer;

/// The calls of one client over time: a duplex connection, an HTTP connection, or a session that a protocol defines. Cheap to clone.
///
/// It has an [identifier](Session::id), [slots](Session::get) for values that live as long as it does, and
/// [hooks](Session::on_end) for its end.
///
/// A reverse proxy sends the requests of many callers over one HTTP connection. So an HTTP connection is a session that is
/// not [exclusive](Session::is_exclusive): never attach an identity to it.
///
/// # Examples
///
/// State of a connection, made when it is first needed:
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use switchboard_core::{Context, ErrorObject, Router};
///
/// let count = |(): (), cx: Context| {
///     let calls = cx.session().get_or_insert_with(AtomicU64::default);
///     Ok::<_, ErrorObject>(calls.fetch_add(1, Ordering::Relaxed) + 1)
/// };
/// let router = Router::builder().method("count", count).build();
/// ```
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    origin: Origin,
    is_exclusive: bool,
    /// The memory that its messages take, where that is bounded.
    account: OnceLock<Arc<Account>>,
    peer: OnceLock<Peer>,
    /// Begins to end the session.
    closer: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// What the inputs share, if the session has many.
    inputs: Option<Arc<Inputs>>,
    /// Allocated on first use: most sessions are idle and need none of it.
    state: OnceLock<Box<SessionState>>,
}

#[derive(Default)]
struct SessionState {
    id: OnceLock<Box<str>>,
    slots: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>, foldhash::fast::FixedState>>,
    course: Mutex<Course>,
    closing: Notify,
}

/// How far the session is.
#[derive(Default)]
struct Course {
    hooks: Vec<Hook>,
    close: Option<CloseReason>,
    end: Option<EndReason>,
}

type Hook = Box<dyn FnOnce(&EndReason) + Send>;

/// Why this side ends a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CloseReason {
    /// The code of the WebSocket close frame; 1000 if there is none.
    pub code: Option<u16>,
    /// A short text for people.
    pub text: Cow<'static, str>,
}

impl CloseReason {
    /// A reason with this text.
    #[must_use]
    pub fn new(text: impl Into<Cow<'static, str>>) -> CloseReason {
        CloseReason { code: None, text: text.into() }
    }

    /// The server is shutting down: the code 1001.
    #[must_use]
    pub fn shutting_down() -> CloseReason {
        CloseReason::new("the server is shutting down").with_code(1001)
    }

    /// The session was idle for too long: the code 1001.
    #[must_use]
    pub fn idle() -> CloseReason {
        CloseReason::new("the connection was idle for too long").with_code(1001)
    }

    /// Sets the code of the WebSocket close frame.
    #[must_use]
    pub fn with_code(mut self, code: u16) -> CloseReason {
        self.code = Some(code);
        self
    }
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// The caller closed it, or it ended normally.
    Finished,
    /// This side [closed](Session::close) it.
    Closed(CloseReason),
    /// The transport failed, or the caller violated its rules.
    Failed(String),
    /// It was dropped: the server was shut down, or stopped serving it.
    Dropped,
}

impl Session {
    /// A session of one caller.
    #[must_use]
    pub fn new(origin: Origin) -> Session {
        Session::of(origin, true)
    }

    /// A session that may carry the calls of many callers, such as an HTTP connection.
    #[must_use]
    pub fn shared(origin: Origin) -> Session {
        Session::of(origin, false)
    }

    fn of(origin: Origin, is_exclusive: bool) -> Session {
        let (account, peer) = (OnceLock::new(), OnceLock::new());
        let (closer, state) = (OnceLock::new(), OnceLock::new());
        Session(Arc::new(Inner { origin, is_exclusive, account, peer, closer, inputs: None, state }))
    }

    /// A session of one caller whose messages arrive as separate inputs, each with its own answer, such as the POST requests of
    /// streamable HTTP. Give each to [`Engine::outputs`] with a context of this session:
    ///
    /// - Handlers can call the caller back: the call goes into the answer to the input, which is then sent in parts. An input that is
    ///   a response settles it.
    /// - Messages outside any input, sent with [`peer`](Session::peer), go to the output that is [attached](Session::attach), or into
    ///   the newest answer that is sent in parts. Without either they fail.
    /// - A message can cancel a call of another input, see [`Profile::cancel`](crate::Profile::cancel). No
    ///   input with calls is accepted while [`in_flight`](crate::Limits::in_flight) calls run.
    ///
    /// It lasts until it is [ended](Session::end), or its last clone is dropped.
    #[must_use]
    pub fn stateful(origin: Origin, engine: &Engine) -> Session {
        let inputs = Inputs::new(Arc::clone(engine.settings()));
        let (account, peer) = (OnceLock::new(), OnceLock::from(inputs.peer()));
        let (closer, state) = (OnceLock::new(), OnceLock::new());
        let (ending, closing) = (Arc::downgrade(&inputs), Arc::downgrade(&inputs));
        let inputs = Some(inputs);
        let inner = Inner { origin, is_exclusive: true, account, peer, closer, inputs, state };
        let session = Session(Arc::new(inner));
        session.on_end(move |_| {
            if let Some(inputs) = ending.upgrade() {
                inputs.end();
            }
        });
        session.on_close(move || {
            if let Some(inputs) = closing.upgrade() {
                inputs.close();
            }
        });
        session
    }

    /// Attaches a new output to the session, replacing the previous one, which ends: the GET of streamable HTTP. `None` if it
    /// is not a [session of many inputs](Session::stateful).
    #[must_use]
    pub fn attach(&self) -> Option<SessionOutput> {
        self.0.inputs.as_ref().map(Inputs::attach)
    }

    /// Cancels the calls with this identifier, whichever input of a [session of many](Session::stateful) they came in. False if
    /// there is none.
    pub fn cancel(&self, id: &Id) -> bool {
        self.0.inputs.as_ref().is_some_and(|inputs| inputs.cancel(id))
    }

    /// What its inputs share, if it has many.
    pub(crate) fn inputs(&self) -> Option<&Arc<Inputs>> {
        self.0.inputs.as_ref()
    }

    /// The session's identifier: 128 random bits, generated on first use, unless the transport set one.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.state().id.get_or_init(random_id)
    }

    /// Sets the session's identifier, for protocols that define their own. False if it has one.
    pub fn set_id(&self, id: &str) -> bool {
        self.0.state().id.set(id.into()).is_ok()
    }

    /// The origin of its calls.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.0.origin
    }

    /// Whether all its calls come from one caller. If not, messages cannot cancel calls, and an identity belongs to a call and
    /// not to the session.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.0.is_exclusive
    }

    /// Bounds the memory used by its messages; for transports. Only the first account counts.
    pub fn set_account(&self, account: Arc<Account>) {
        let _ = self.0.account.set(account);
    }

    /// The account that bounds the memory used by its messages, if there is one.
    #[must_use]
    pub fn account(&self) -> Option<&Arc<Account>> {
        self.0.account.get()
    }

    /// An empty share of its memory.
    pub(crate) fn share(&self) -> Share {
        self.account().map_or_else(Share::default, Share::of)
    }

    /// Counts a message that is about to be sent until it has been.
    #[inline(never)]
    pub(crate) fn seal(&self, message: Bytes) -> Bytes {
        match self.account() {
            Some(account) => account.seal(message),
            None => message,
        }
    }

    /// The caller, to call back. If the transport cannot do this, calls fail with
    /// [`CallError::Unsupported`](crate::CallError::Unsupported).
    #[must_use]
    pub fn peer(&self) -> &Peer {
        static ABSENT: OnceLock<Peer> = OnceLock::new();
        self.0.peer.get().unwrap_or_else(|| ABSENT.get_or_init(Peer::absent))
    }

    /// The value of this type in the session.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let state = self.0.state.get()?;
        let value = locked(&state.slots).get(&TypeId::of::<T>())?.clone();
        value.downcast().ok()
    }

    /// The value of this type, created and stored if there is none. If two are created at once, one is kept.
    pub fn get_or_insert_with<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some(value) = self.get() {
            return value;
        }
        // Made without the lock, because making it may look into the session.
        let made: Arc<dyn Any + Send + Sync> = Arc::new(make());
        let value = locked(&self.0.state().slots).entry(TypeId::of::<T>()).or_insert(made).clone();
        value.downcast().expect("a slot holds the type that it is named by")
    }

    /// Stores a value in the session, replacing one of the same type; returns the old one.
    pub fn set<T: Send + Sync + 'static>(&self, value: T) -> Option<Arc<T>> {
        let before = locked(&self.0.state().slots).insert(TypeId::of::<T>(), Arc::new(value));
        before.and_then(|before| before.downcast().ok())
    }

    /// Removes the value of this type from the session.
    pub fn remove<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = locked(&self.0.state.get()?.slots).remove(&TypeId::of::<T>())?;
        value.downcast().ok()
    }

    /// Calls this function when the session ends, or at once if it has ended.
    pub fn on_end(&self, act: impl FnOnce(&EndReason) + Send + 'static) {
        let mut course = locked(&self.0.state().course);
        match course.end.clone() {
            None => course.hooks.push(Box::new(act)),
            Some(end) => {
                drop(course);
                act(&end);
            }
        }
    }

    /// Closes the session gracefully: calls in flight are finished and answered within
    /// [`drain_time`](crate::Limits::drain_time), new ones are rejected with -32006. The first reason counts.
    ///
    /// A WebSocket is closed with the reason's code and text, an HTTP connection after the responses to its requests.
    pub fn close(&self, reason: CloseReason) {
        let state = self.0.state();
        locked(&state.course).close.get_or_insert(reason);
        if let Some(closer) = self.0.closer.get() {
            closer();
        }
        state.closing.notify_waiters();
    }

    /// Sets the function that starts closing the session when it is [closed](Session::close); for transports. Only the first one is kept.
    pub fn on_close(&self, closer: impl Fn() + Send + Sync + 'static) {
        let closer = self.0.closer.get_or_init(|| Box::new(closer));
        if self.close_reason().is_some() {
            closer();
        }
    }

    /// Why this side is closing the session, if it is.
    #[must_use]
    pub fn close_reason(&self) -> Option<CloseReason> {
        locked(&self.0.state.get()?.course).close.clone()
    }

    /// Waits until this side closes the session.
    pub async fn closing(&self) -> CloseReason {
        let state = self.0.state();
        loop {
            let notified = state.closing.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if let Some(reason) = self.close_reason() {
                return reason;
            }
            notified.await;
        }
    }

    /// Ends the session; for transports. Only the first reason is kept.
    pub fn end(&self, reason: EndReason) {
        self.0.state();
        self.0.end(reason);
    }
}

/// What the engine and its owners do.
impl Session {
    /// Says who is called back over this session, and what ends it. False if that was said before.
    fn attach_peer(&self, peer: Peer, closer: impl Fn() + Send + Sync + 'static) -> bool {
        if self.0.peer.set(peer).is_err() {
            return false;
        }
        self.on_close(closer);
        true
    }

    /// The session of a connection with this peer: this one, if it belongs to one caller and to no connection yet, and a new one
    /// with the same origin otherwise. Of two connections that want the same session at once, one gets it.
    pub(crate) fn for_connection(
        &self,
        peer: &Peer,
        closer: impl Fn() + Clone + Send + Sync + 'static,
    ) -> Session {
        if self.0.is_exclusive && self.attach_peer(peer.clone(), closer.clone()) {
            return self.clone();
        }
        let session = Session::new(self.0.origin.clone());
        if let Some(account) = self.account() {
            session.set_account(Arc::clone(account));
        }
        session.attach_peer(peer.clone(), closer);
        session
    }
}

impl Inner {
    fn state(&self) -> &SessionState {
        self.state.get_or_init(Box::default)
    }

    fn end(&self, reason: EndReason) {
        let Some(state) = self.state.get() else { return };
        let mut course = locked(&state.course);
        if course.end.is_some() {
            return;
        }
        let reason = course.close.clone().map_or(reason, EndReason::Closed);
        course.end = Some(reason.clone());
        let hooks = std::mem::take(&mut course.hooks);
        drop(course);
        for hook in hooks {
            // One that panics must not keep the others from running.
            if catch_unwind(AssertUnwindSafe(|| hook(&reason))).is_err() {
                tracing::error!("an end-of-session hook panicked");
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end(EndReason::Dropped);
    }
}

/// 126 bits that cannot be guessed: a keyed hash whose key is the system's randomness. The first digit is a letter, so that nothing takes
/// an identifier, or its first digits in a log, for a number.
fn random_id() -> Box<str> {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let [high, low] = [0_u8, 1].map(|half| KEY.hash_one((count, half)));
    let letter = 0xa + (high >> 60) % 6;
    format!("{letter:x}{:015x}{low:016x}", high & (u64::MAX >> 4)).into()
}

fn locked<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("origin", &self.0.origin)
            .field("is_exclusive", &self.0.is_exclusive)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_no_numbers() {
        let ids: Vec<_> = (0..1000).map(|_| random_id()).collect();
        assert!(ids.iter().all(|id| id.len() == 32 && id.starts_with(|first| ('a'..='f').contains(&first))));
        let different: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(different.len(), ids.len());
    }

    #[test]
    fn slots_live_as_long_as_the_session() {
        let session = Session::new(Origin::new("test"));
        let value = session.get_or_insert_with(|| 1_u8);
        assert_eq!(*session.get_or_insert_with(|| 2_u8), 1);
        assert_eq!(session.get::<u8>().as_deref(), Some(&1));
        assert_eq!(session.get::<u16>(), None);
        drop(session);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn hooks_run_once_with_the_reason_that_came_first() {
        let (sender, ends) = std::sync::mpsc::channel();
        let session = Session::new(Origin::new("test"));
        let late = sender.clone();
        session.on_end(move |reason| sender.send(reason.clone()).unwrap());
        session.close(CloseReason::new("enough"));
        session.close(CloseReason::new("too late"));
        session.end(EndReason::Finished);
        session.end(EndReason::Dropped);
        session.on_end(move |reason| late.send(reason.clone()).unwrap());
        drop(session);
        let reason = EndReason::Closed(CloseReason::new("enough"));
        assert_eq!(ends.iter().collect::<Vec<_>>(), [reason.clone(), reason]);
    }

    #[test]
    fn a_session_that_is_dropped_has_ended() {
        let (sender, ends) = std::sync::mpsc::channel();
        let session = Session::shared(Origin::new("test"));
        session.on_end(move |reason| sender.send(reason.clone()).unwrap());
        drop(session);
        assert_eq!(ends.iter().collect::<Vec<_>>(), [EndReason::Dropped]);
    }
}
