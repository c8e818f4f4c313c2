//! Who sees how calls end.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tokio::time::Instant;

use crate::code::Code;
use crate::context::{Context, Origin};
use crate::error::ErrorObject;
use crate::id::Id;
use crate::name::Name;
use crate::session::{EndReason, Session};

/// Learns of sessions, of every message that is received or refused, and of every call from its beginning to its end.
///
/// What it is told is what the caller got: a call that took too long ended with [`End::TimedOut`] even if its handler went on
/// to succeed, and a result that was too large to send ended with [`End::TooLarge`]. [`ended`](Observer::ended) is called exactly
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
///         println!("{} ended with {:?} after {:?}", call.method, call.end, call.began.elapsed());
///     }
/// }
///
/// let settings = Settings { observer: Some(Print.into()), ..Settings::default() };
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

    /// A message was received. Nothing of it has run yet.
    fn received(&self, cx: &Context, message: &Received) {
        let _ = (cx, message);
    }

    /// Something was refused before it became a call.
    fn refused(&self, cx: &Context, refused: &Refused<'_>) {
        let _ = (cx, refused);
    }

    /// A call is about to run.
    fn begun(&self, call: &Begun<'_>) {
        let _ = call;
    }

    /// A call has ended.
    fn ended(&self, call: &Ended<'_>) {
        let _ = call;
    }
}

/// An [`Observer`], shared. Made from any observer by `into()`.
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
    /// How many bytes it has.
    pub bytes: usize,
    /// What it is.
    pub kind: InputKind,
    /// The batch it is, if it is one; its calls name it in their [`Position`].
    pub batch: Option<BatchId>,
}

/// What a message that was received is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputKind {
    /// A call or a notification.
    Call,
    /// A batch of so many entries.
    Batch(usize),
    /// An answer to a call of this side.
    Response,
    /// Something else, which is refused.
    Unreadable,
}

/// Something that was refused before it became a call: it cannot be read, breaks a rule of the protocol, or exceeds a limit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refused<'a> {
    /// The error that answers it; its data says which rule or limit.
    pub error: &'a ErrorObject,
    /// The identifier it is answered with, if it is answered.
    pub id: Option<&'a Id>,
    /// The method that it names, as far as that was read.
    pub method: Option<&'a Name>,
    /// The status it is answered with, over HTTP.
    pub status: Option<u16>,
    /// Where it stood.
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
    /// Who calls.
    pub cx: &'a Context,
    /// Where it stands.
    pub at: Position,
}

/// A call that has ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ended<'a> {
    /// Its method.
    pub method: &'a Name,
    /// Its identifier; none for a notification.
    pub id: Option<&'a Id>,
    /// Who called.
    pub cx: &'a Context,
    /// How it ended, as the caller saw it.
    pub end: End,
    /// When it began.
    pub began: Instant,
    /// Where it stood.
    pub at: Position,
    /// Bytes of its parameters.
    pub bytes_in: usize,
    /// Bytes of its response, or of all items of its stream.
    pub bytes_out: usize,
}

/// Where a call stands: alone, or in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Position {
    /// It is a message of its own.
    Alone,
    /// It is an entry of a batch.
    Entry {
        /// The batch.
        batch: BatchId,
        /// Which entry, from 0.
        index: usize,
    },
}

/// Tells batches apart, in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchId(pub u64);

/// How a call ended, as its caller saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// With a result.
    Value,
    /// With this error, which the service gave.
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
    /// It took longer than it may, and was cancelled and answered with -32003.
    TimedOut,
    /// Its handler panicked; it was answered with -32603.
    Panicked,
    /// Its result is larger than it may be; it was answered with -32007.
    TooLarge,
    /// It was a notification, which is not answered. The code is that of the error it failed with, if it did.
    Notified(Option<Code>),
    /// Nobody waits for it any more: the connection or the request it came with is gone.
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
}
