//! The driver for duplex transports: hops ③ and ⑥ of every call over them.
//!
//! One task reads, starts calls and writes; only calls that are not done at their first step become tasks.
//!
//! - Reading waits only for the next frame, and for slow readers of streams. Responses, cancellations and stream items are settled on the spot;
//!   calls are admitted, or rejected when too many are in flight.
//! - Calls start in the order they arrive. A notification is done before anything after it starts
//!   ([`ordered_notifications`](crate::Profile::ordered_notifications)).
//! - What is written is collected while there is something to read, and goes out in one write. What other tasks queue waits until those that
//!   are ready had their turn, and goes out together.
//! - What a handler sends before it returns goes out before its reply.

mod answers;
mod batches;
mod calls;
mod ending;
mod frames;
mod receive;
mod streams;
mod unsent;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::time::Sleep;

use self::calls::Calls;
pub use self::frames::{ConnectionError, FrameSink, FrameSource};

use self::streams::Outgoing;
use self::unsent::Unsent;
use crate::admission::{AdmitFuture, Arrival, Refusal};
use crate::call_error::CallError;
use crate::codec::{self, Fault};
use crate::context::{self, Version};
use crate::engine::Engine;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::memory::SHORT;
use crate::peer::Peer;
use crate::profile::Settings;
use crate::remote::RemotePeer;
use crate::remote::RemoteShared;
use crate::session::{CloseReason, EndReason, Session};
use crate::tap::{TappedSink, TappedSource};

/// One duplex connection. It does nothing until it is polled; spawn it or await it.
///
/// It ends when the peer has closed and all calls in flight are done, when its session is [closed](Session::close), or when it fails.
/// Dropping it cancels the calls of the peer and fails those from this side.
#[must_use = "a connection does nothing until it is polled"]
pub struct Connection {
    source: Box<dyn FrameSource>,
    sink: Box<dyn FrameSink>,
    settings: Arc<Settings>,
    session: Session,
    remote: Arc<RemoteShared>,
    calls: Calls,
    streams: Outgoing,
    scratch: Vec<u8>,
    /// Whether a batch has more to do, once others had their turn.
    is_paused: bool,
    /// Whether what is queued has waited for others to add to it.
    has_waited: bool,
    /// The longest frame since nothing was queued.
    longest: usize,
    unsent: Unsent,
    /// Whether nothing was read because the peer does not take its answers.
    is_held: bool,
    phase: Phase,
    /// Counts the events of [`idle_mark`](Connection::idle_mark).
    messages: u32,
    /// Whether streams continue when the peer stops sending.
    finishes_streams: bool,
    /// What the peer did wrong, after it was reported to it.
    fault: Option<ConnectionError>,
    /// Set while nothing is read, because a reader of a stream is behind.
    stall: Option<Stall>,
}

/// A time in which nothing is read, because a reader of a stream is behind.
struct Stall {
    until: Pin<Box<Sleep>>,
    /// How many frames may be read although it is.
    spare: usize,
}

/// How far a connection is on its way to its end.
enum Phase {
    /// The admission decides about it; nothing is read before that.
    Opening(Option<Box<AdmitFuture>>),
    /// Frames come and go.
    Open,
    /// The peer has stopped sending, or is no longer read: calls in flight must finish by then.
    Draining { has_ended: bool, until: Pin<Box<Sleep>> },
    /// All is done; the last bytes go out, by then.
    Closing { until: Pin<Box<Sleep>> },
}

/// The code of a WebSocket's close frame for a caller that may not come in.
const POLICY: u16 = 1008;
/// How many frames are read before what they gave is written.
const FRAMES_AT_ONCE: usize = 256;
/// How many frames are read, between two times of reading nothing, for readers of streams that stay behind. It takes some
/// for the peer to see that its bytes are taken.
const FRAMES_BETWEEN_STALLS: usize = 4096;
/// How many bytes are collected before they are written.
const BYTES_AT_ONCE: usize = 64 << 10;

impl Connection {
    /// A connection over these frames, whose calls are answered by `engine` in this context; and its peer, to call.
    ///
    /// The session of the context becomes that of the connection, if it is [exclusive](Session::is_exclusive) and does not belong to
    /// another connection. Otherwise the connection gets a new session with the same origin.
    pub fn new(
        source: impl FrameSource,
        sink: impl FrameSink,
        engine: Engine,
        cx: impl Into<context::Context>,
    ) -> (Peer, Connection) {
        let settings = Arc::clone(&engine.settings);
        let cx = cx.into();
        let account = cx.session().account().cloned();
        let remote = RemoteShared::new(Arc::clone(&settings), account, false);
        let peer = Peer::new(RemotePeer::new(Arc::clone(&remote)));
        let ending = Arc::clone(&remote);
        let session = cx.session().for_connection(&peer, move || ending.drain());
        engine.note_opened(&session);
        let cx = cx.with_session(session.clone());
        let phase = if settings.admission.is_some() { Phase::Opening(None) } else { Phase::Open };
        let (source, sink) = tapped(Box::new(source), Box::new(sink), &settings);
        let connection = Connection {
            source,
            sink,
            calls: Calls::new(engine, cx),
            settings,
            remote,
            streams: Outgoing::default(),
            scratch: Vec::new(),
            is_paused: false,
            has_waited: false,
            longest: 0,
            unsent: Unsent::new(&session),
            is_held: false,
            phase,
            messages: 0,
            finishes_streams: false,
            fault: None,
            stall: None,
            session,
        };
        (peer, connection)
    }

    /// Attaches a value to the context of every incoming call, such as what the transport knows about the peer.
    pub fn attach<T: Send + Sync + 'static>(&mut self, value: T) {
        self.calls.attach(value);
    }

    /// Lets streams continue, as calls do, when the peer stops sending: for transports whose input may end while
    /// their output is still read, such as stdio, TCP and Unix sockets. Streams not finished within
    /// [`drain_time`](crate::Limits::drain_time) end with -32006. Without it the peer is considered gone, with all
    /// readers of its streams.
    pub fn finish_streams(&mut self) {
        self.finishes_streams = true;
    }

    /// A number that changes with every message from the peer and every unsolicited one from this side; `None` while a call or
    /// a stream of either side is in flight. For servers that close idle connections.
    #[must_use]
    pub fn idle_mark(&self) -> Option<u32> {
        let is_idle = self.calls.is_idle() && self.streams.len() == 0 && self.remote.open_count() == 0;
        is_idle.then_some(self.messages)
    }

    /// The session that its calls belong to.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// A handle to the peer that keeps the connection open: when its last clone is dropped, with every
    /// reply and stream it produced, the connection is drained. For clients; each call returns a new handle.
    #[must_use]
    pub fn owning_peer(&self) -> Peer {
        Peer::new(RemotePeer::owning(Arc::clone(&self.remote)))
    }
}

/// The frames, seen by the tap if there is one.
fn tapped(
    source: Box<dyn FrameSource>,
    sink: Box<dyn FrameSink>,
    settings: &Settings,
) -> (Box<dyn FrameSource>, Box<dyn FrameSink>) {
    match &settings.tap {
        None => (source, sink),
        Some(tap) => (
            Box::new(TappedSource { source, tap: tap.clone() }),
            Box::new(TappedSink::new(sink, tap.clone())),
        ),
    }
}

/// Running the connection.
impl Connection {
    /// Does everything that can be done now; true if there may be more at once.
    fn step(&mut self, cx: &mut Context<'_>) -> Result<bool, ConnectionError> {
        self.send_queued();
        let has_more_frames = self.read(cx)?;
        loop {
            // In this order: what is started last must be polled once, or its end goes unnoticed.
            self.advance(cx);
            let Poll::Ready(done) = self.calls.poll_done(cx) else { break };
            self.finish(done);
        }
        let has_more_items = self.pull_items(cx);
        self.write(cx)?;
        let is_free_again = self.is_held && !self.is_full();
        let has_more_frames = std::mem::take(&mut self.is_paused) || has_more_frames || is_free_again;
        Ok(has_more_frames || has_more_items && self.sink.queued() < BYTES_AT_ONCE)
    }

    /// Waits for the admission; true if the connection may be read.
    #[cold]
    fn poll_admission(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let Phase::Opening(asked) = &mut self.phase else { return Poll::Ready(true) };
        if asked.is_none() {
            *asked = self.calls.engine.admit(&Arrival::Session(&self.calls.cx)).map(Box::new);
        }
        let decision = match asked {
            Some(asked) => ready!(Pin::new(asked).poll(cx)),
            None => Ok(self.calls.cx.clone()),
        };
        self.phase = Phase::Open;
        match decision {
            Ok(admitted) => {
                self.calls.admit(admitted.with_session(self.session.clone()));
                Poll::Ready(true)
            }
            Err(Refusal { error, .. }) => {
                let mut refusal = Vec::new();
                codec::response(&mut refusal, Version::V2, &Id::NULL, Err(&error));
                self.sink.push(&refusal);
                let why = error.message.to_string();
                self.session.close(CloseReason::new(why.clone()).with_code(POLICY));
                self.peer_ended("it was rejected");
                self.fault = Some(ConnectionError::NotAdmitted(why));
                Poll::Ready(false)
            }
        }
    }

    /// Pulls items while there is room to send them; true if there may be more.
    fn pull_items(&mut self, cx: &mut Context<'_>) -> bool {
        while self.sink.queued() < BYTES_AT_ONCE {
            if !self.streams.poll_turn(cx, &self.settings.profile.streams, &mut *self.sink) {
                return false;
            }
        }
        true
    }

    /// Reads the frames that are there, up to a bound; true if the bound was reached.
    fn read(&mut self, cx: &mut Context<'_>) -> Result<bool, ConnectionError> {
        match self.phase {
            Phase::Open | Phase::Draining { has_ended: false, .. } => {}
            Phase::Draining { has_ended: true, .. } | Phase::Closing { .. } => return Ok(false),
            Phase::Opening(_) => match self.poll_admission(cx) {
                Poll::Ready(true) => {}
                Poll::Ready(false) | Poll::Pending => return Ok(false),
            },
        }
        if self.stall.is_some() && !self.remote.backpressure.is_behind() {
            self.stall = None;
        }
        self.is_held = self.is_full();
        if self.is_held {
            return Ok(false);
        }
        let has_more = self.read_burst(cx);
        self.calls.release_frame();
        has_more
    }

    fn read_burst(&mut self, cx: &mut Context<'_>) -> Result<bool, ConnectionError> {
        let before = self.sink.queued();
        for _ in 0..FRAMES_AT_ONCE {
            if self.remote.backpressure.is_behind() && self.is_stalled(cx) {
                return Ok(false);
            }
            match self.source.poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.messages = self.messages.wrapping_add(1);
                    self.take(&frame, cx);
                }
                Poll::Ready(Some(Err(error))) => {
                    self.report(error)?;
                    return Ok(false);
                }
                Poll::Ready(None) => {
                    self.peer_ended("the peer closed the connection");
                    self.remote.keep_notifying(self.finishes_streams);
                    return Ok(false);
                }
                Poll::Pending => return Ok(false),
            }
            if self.sink.queued() >= before + BYTES_AT_ONCE {
                break;
            }
        }
        Ok(true)
    }

    /// Whether nothing is read for now, so that the peer sends no more of a stream than its reader takes.
    ///
    /// Not while a call waits for its answer: its caller may be the reader. And not for long at a time: others may wait
    /// for what the peer sends, and the peer for a sign of life.
    #[cold]
    fn is_stalled(&mut self, cx: &mut Context<'_>) -> bool {
        if self.remote.has_waiting_call() {
            self.stall = None;
            return false;
        }
        let begin =
            || Stall { until: Box::pin(tokio::time::sleep(self.settings.limits.stall_time)), spare: 0 };
        let stall = self.stall.get_or_insert_with(begin);
        if stall.spare == 0 && stall.until.as_mut().poll(cx).is_ready() {
            *stall = Stall { spare: FRAMES_BETWEEN_STALLS, ..begin() };
        }
        let is_stalled = stall.spare == 0;
        stall.spare = stall.spare.saturating_sub(1);
        is_stalled
    }

    /// Tells the peer what it did wrong, and stops reading. Earlier calls are still answered.
    fn report(&mut self, error: ConnectionError) -> Result<(), ConnectionError> {
        let refusal = match &error {
            ConnectionError::Framing(why) => Some(ErrorObject::parse_error(why.clone())),
            // Only answers may be as long as the longest frame; the error says how long calls may be.
            ConnectionError::FrameTooLong { .. } => Some(Fault::Frame(self.settings.limits.frame).into()),
            ConnectionError::NoRoom => {
                let why = "too much data is being received at once; try again later";
                Some(ErrorObject::over_limit("buffers", why))
            }
            ConnectionError::CutOff(_) => None,
            _ => return Err(error),
        };
        if let Some(refusal) = refusal {
            self.refuse_frame(&refusal);
        }
        self.end_streams();
        self.peer_ended(&error.to_string());
        self.fault = Some(error);
        Ok(())
    }

    /// Whether what was queued just now waits for its turn: tasks that are ready, too, may add to it, and all goes out in one write.
    #[inline]
    fn gives_way(&mut self, cx: &Context<'_>) -> bool {
        self.has_waited = !self.has_waited && self.remote.has_queued();
        if self.has_waited {
            cx.waker().wake_by_ref();
        }
        self.has_waited
    }

    /// Passes on what this side sends unasked.
    #[inline]
    fn send_queued(&mut self) {
        if self.remote.drain_into(&mut *self.sink) {
            self.messages = self.messages.wrapping_add(1);
        }
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Result<(), ConnectionError> {
        self.send_queued();
        let before = self.sink.queued();
        if before > 0 {
            if let Poll::Ready(flushed) = self.sink.poll_flush(cx) {
                flushed?;
            }
            let (queued, limit) = (self.sink.queued(), self.settings.limits.outbox);
            if queued == 0 {
                self.longest = 0;
            }
            if queued.saturating_sub(self.longest) > limit {
                return Err(ConnectionError::SlowReader { queued, limit });
            }
            let time = self.settings.limits.send_time;
            if self.unsent.poll(before, queued, time, cx).is_ready() {
                return Err(ConnectionError::Stalled { queued, time });
            }
            self.remote.note_unwritten(queued);
        }
        Ok(())
    }

    /// Whether nothing is read for now, because the peer does not take its answers. A call or a stream of this side may need what
    /// the peer sends, and then reading goes on.
    #[inline]
    fn is_full(&self) -> bool {
        let mark = self.settings.limits.outbox / 16;
        self.unsent.answers > mark.min(SHORT) && self.is_full_of_answers(mark)
    }

    #[cold]
    fn is_full_of_answers(&self, mark: usize) -> bool {
        let is_used_up = self.session.account().is_some_and(|account| account.is_used_up());
        let mark = if is_used_up { mark.min(SHORT) } else { mark };
        self.unsent.answers > mark && self.sink.queued() > mark && self.remote.open_count() == 0
    }
}

impl Future for Connection {
    type Output = Result<(), ConnectionError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.remote.register(cx);
        if this.gives_way(cx) {
            return Poll::Pending;
        }
        let result = match this.step(cx) {
            Err(error) => Poll::Ready(Err(error)),
            Ok(is_busy) => {
                if is_busy {
                    cx.waker().wake_by_ref();
                }
                this.poll_phase(cx)
            }
        };
        if let Poll::Ready(result) = &result {
            let (end, reason) = match result {
                Ok(()) => (EndReason::Finished, CallError::Closed("it was closed on this side".into())),
                Err(error) => (EndReason::Failed(error.to_string()), error.into()),
            };
            this.session.end(end);
            this.remote.close(&reason);
        }
        result
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.remote.close(&CallError::Closed("it was dropped on this side".into()));
        self.session.end(EndReason::Dropped);
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("open_calls", &self.remote.open_count()).finish_non_exhaustive()
    }
}
