//! Observing sessions, messages and calls.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::code::Code;
use crate::context::{Context, Origin};
use crate::error::ErrorObject;
use crate::id::Id;
use crate::name::Name;
use crate::session::{EndReason, Session};

/// Gets notified of sessions, of every message received or refused, and of the start and end of every call.
///
/// It sees what the caller saw: a call that took too long ends with [`End::TimedOut`] even if its handler later
/// succeeds, and a result that was too large to send ends with [`End::TooLarge`]. [`ended`](Observer::ended) is called exactly
/// once for each [`begun`](Observer::begun), after the response is written.
///
/// It is called where messages are read and written, so it must not block. A panic in it is caught and logged once.
/// Without an observer, calls pay nothing for it.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use switchboard_core::Settings;
/// use switchboard_core::observer::{Ended, Observer};
///
/// struct Print;
///
/// impl Observer for Print {
///     fn ended(&self, call: &Ended<'_>) {
///         println!("{} ended with {:?} after {:?}", call.method, call.end, call.duration);
///     }
/// }
///
/// let settings = Settings::default().with_observer(Some(Print.into()));
/// ```
pub trait Observer: Send + Sync + 'static {
    /// A session has begun.
    fn opened(&self, session: &Session) {
        let _ = session;
    }

    /// The session with this identifier has ended.
    fn closed(&self, id: &str, origin: &Origin, reason: &EndReason) {
        let _ = (id, origin, reason);
    }

    /// A message was received. None of its calls has run yet.
    fn received(&self, cx: &Context, message: &Received) {
        let _ = (cx, message);
    }

    /// A batch is about to run. Its calls begin with this context, to which values can be attached.
    fn batch_begun(&self, cx: &mut Context, batch: &BatchBegun) {
        let _ = (cx, batch);
    }

    /// Every call of a batch has ended, except streams, and the response is complete; or its caller is gone.
    fn batch_ended(&self, cx: &Context, batch: &BatchEnded) {
        let _ = (cx, batch);
    }

    /// Something was refused before it became a call.
    fn refused(&self, cx: &Context, refused: &Refused<'_>) {
        let _ = (cx, refused);
    }

    /// A call is about to run: the service is called next, on the same thread.
    fn begun(&self, call: &Begun<'_>) {
        let _ = call;
    }

    /// A call is answered with a stream, which begins.
    fn streaming(&self, call: &Begun<'_>) {
        let _ = call;
    }

    /// A call has ended.
    fn ended(&self, call: &Ended<'_>) {
        let _ = call;
    }
}

/// Several observers, notified in their order.
impl Observer for Vec<SharedObserver> {
    fn opened(&self, session: &Session) {
        self.iter().for_each(|observer| observer.opened(session));
    }

    fn closed(&self, id: &str, origin: &Origin, reason: &EndReason) {
        self.iter().for_each(|observer| observer.closed(id, origin, reason));
    }

    fn received(&self, cx: &Context, message: &Received) {
        self.iter().for_each(|observer| observer.received(cx, message));
    }

    fn batch_begun(&self, cx: &mut Context, batch: &BatchBegun) {
        self.iter().for_each(|observer| observer.batch_begun(cx, batch));
    }

    fn batch_ended(&self, cx: &Context, batch: &BatchEnded) {
        self.iter().for_each(|observer| observer.batch_ended(cx, batch));
    }

    fn refused(&self, cx: &Context, refused: &Refused<'_>) {
        self.iter().for_each(|observer| observer.refused(cx, refused));
    }

    fn begun(&self, call: &Begun<'_>) {
        self.iter().for_each(|observer| observer.begun(call));
    }

    fn streaming(&self, call: &Begun<'_>) {
        self.iter().for_each(|observer| observer.streaming(call));
    }

    fn ended(&self, call: &Ended<'_>) {
        self.iter().for_each(|observer| observer.ended(call));
    }
}

/// A shared [`Observer`]. Any observer converts into it with `into()`, and a `Vec` of them is one too.
#[derive(Clone)]
pub struct SharedObserver(Arc<dyn Observer>);

impl<O: Observer> From<O> for SharedObserver {
    fn from(observer: O) -> SharedObserver {
        SharedObserver(Arc::new(observer))
    }
}

impl<O: Observer> From<Arc<O>> for SharedObserver {
    fn from(observer: Arc<O>) -> SharedObserver {
        SharedObserver(observer)
    }
}

impl Deref for SharedObserver {
    type Target = dyn Observer;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for SharedObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedObserver(..)")
    }
}

/// A message that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// Its size in bytes.
    pub bytes: usize,
    /// Its kind.
    pub kind: InputKind,
    /// The batch, if it is one; its calls refer to it in their [`Position`].
    pub batch: Option<BatchId>,
}

/// The kind of a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputKind {
    /// A call or a notification.
    Call,
    /// A batch with this many entries.
    Batch(usize),
    /// A response to a call from this side.
    Response,
    /// Anything else; it is refused.
    Unreadable,
}

/// A batch that is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchBegun {
    /// Which batch; its calls refer to it in their [`Position`].
    pub id: BatchId,
    /// How many entries it has.
    pub entries: usize,
}

/// A batch that has ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BatchEnded {
    /// Which batch.
    pub id: BatchId,
    /// How many entries it has.
    pub entries: usize,
    /// How long it took.
    pub duration: Duration,
}

/// A message that was refused before it became a call: it cannot be read, violates the protocol, or exceeds a limit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refused<'a> {
    /// The error sent back; its data says which rule or limit.
    pub error: &'a ErrorObject,
    /// The identifier of the response, if there is one.
    pub id: Option<&'a Id>,
    /// The method that it names, if that could be read.
    pub method: Option<&'a Name>,
    /// The HTTP status of the response.
    pub status: Option<u16>,
    /// Its position.
    pub at: Position,
}

/// A call that is about to run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Begun<'a> {
    /// Its method.
    pub method: &'a Name,
    /// Its identifier; none for a notification.
    pub id: Option<&'a Id>,
    /// The context of the call.
    pub cx: &'a Context,
    /// Its position.
    pub at: Position,
}

/// A call that has ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ended<'a> {
    /// Its method, or the one that it was [said](Context::observe_as) to be about.
    pub method: &'a Name,
    /// Its identifier; none for a notification.
    pub id: Option<&'a Id>,
    /// The context of the call.
    pub cx: &'a Context,
    /// How it ended, as the caller saw it.
    pub end: End,
    /// The error that the service returned, if it did. Its text and data may contain secrets.
    pub error: Option<&'a ErrorObject>,
    /// When it began.
    pub began: Instant,
    /// How long it took.
    pub duration: Duration,
    /// Its position.
    pub at: Position,
    /// Bytes of its parameters.
    pub bytes_in: usize,
    /// Bytes of its response, or of all items of its stream.
    pub bytes_out: usize,
    /// Whether its [stream](Observer::streaming) had begun.
    pub is_stream: bool,
}

/// The position of a call: alone, or in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Position {
    /// It is a single message.
    Alone,
    /// It is an entry of a batch.
    Entry {
        /// The batch.
        batch: BatchId,
        /// Which entry, from 0.
        index: usize,
    },
}

/// Identifies a batch within this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchId(pub u64);

/// How a call ended, as its caller saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// With a result.
    Value,
    /// With this error from the service.
    Error(Code),
    /// With a stream, which has ended.
    Stream {
        /// How many items were sent.
        items: u64,
        /// The error it ended with, if it failed.
        code: Option<Code>,
    },
    /// The caller cancelled it.
    Cancelled,
    /// It exceeded its time limit, and was cancelled and answered with -32003.
    TimedOut,
    /// Its handler panicked; it was answered with -32603.
    Panicked,
    /// Its result exceeds the size limit; it was answered with -32007.
    TooLarge,
    /// It was a notification, which gets no response. The code is that of its error, if it failed.
    Notified(Option<Code>),
    /// It has no caller any more: its connection or request is gone.
    Abandoned,
}

impl End {
    /// The code of the error that the caller got, if it got one.
    #[must_use]
    pub fn code(self) -> Option<Code> {
        match self {
            End::Value | End::Notified(_) | End::Abandoned => None,
            End::Error(code) => Some(code),
            End::Stream { code, .. } => code,
            End::Cancelled => Some(Code::CANCELLED),
            End::TimedOut => Some(Code::TIMED_OUT),
            End::Panicked => Some(Code::INTERNAL_ERROR),
            End::TooLarge => Some(Code::REPLY_TOO_LARGE),
        }
    }

    /// The code of the error, even if the caller of a notification did not get it.
    #[must_use]
    pub fn failure(self) -> Option<Code> {
        match self {
            End::Notified(code) => code,
            end => end.code(),
        }
    }

    /// How many items were sent, if it was a stream.
    #[must_use]
    pub fn items(self) -> Option<u64> {
        match self {
            End::Stream { items, .. } => Some(items),
            _ => None,
        }
    }

    /// How the call ended, in a word for logs: `ok`, `error`, `timed-out`, `cancelled`, `panicked`, `too-large` or `abandoned`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            End::Value | End::Stream { code: None, .. } | End::Notified(None) => "ok",
            End::Error(_) | End::Stream { code: Some(_), .. } | End::Notified(Some(_)) => "error",
            End::Cancelled => "cancelled",
            End::TimedOut => "timed-out",
            End::Panicked => "panicked",
            End::TooLarge => "too-large",
            End::Abandoned => "abandoned",
        }
    }
}
