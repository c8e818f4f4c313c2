//! The body of a response that is an event stream.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use switchboard_core::{Direction, ErrorObject, Output, Outputs, Session, Tap, Wire};
use tokio::time::{Instant, Sleep};

use super::super::in_flight::InFlight;
use super::super::pipe::Shared;
use super::super::timeouts::after;
use super::stopping::{Due, Stopping};
use super::{DONE, STARTED, writer};
use crate::server::Shutdown;

/// How many bytes of events that are there at once go out as one piece.
const AT_ONCE: usize = 16 << 10;

/// Events as they become ready. They are pulled when there is room to send them, and dropping it cancels the calls.
pub(in super::super) struct EventBody {
    outputs: Outputs,
    /// Whether a stream is announced by an event, and not by a comment.
    has_start: bool,
    /// Whether the end and the start of a stream are marked.
    has_marks: bool,
    keep_alive: Option<(Duration, Pin<Box<Sleep>>)>,
    /// Knows when the stream has to end.
    stopping: Option<Stopping>,
    is_done: bool,
    /// Sees the data of each event.
    tap: Option<Tap>,
    _guard: StreamGuard,
}

impl EventBody {
    pub(in super::super) fn new(
        outputs: Outputs,
        has_start: bool,
        keep_alive: Option<Duration>,
        (session, drain_time): (Session, Duration),
        guard: StreamGuard,
    ) -> EventBody {
        let keep_alive =
            keep_alive.map(|time| (time, Box::pin(tokio::time::sleep_until(after(Instant::now(), time)))));
        let shutdown = guard.shutdown.clone();
        let stopping = shutdown.map(|shutdown| Stopping::new(shutdown, session, drain_time));
        EventBody {
            outputs,
            has_start,
            has_marks: true,
            keep_alive,
            stopping,
            is_done: false,
            tap: None,
            _guard: guard,
        }
    }

    pub(in super::super) fn with_tap(mut self, tap: Option<Tap>) -> EventBody {
        self.tap = tap;
        self
    }

    /// Sends messages only.
    pub(in super::super) fn without_marks(mut self) -> EventBody {
        self.has_marks = false;
        self
    }

    /// The events that are ready, as one piece; none after the last.
    pub(in super::super) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.is_done {
            return Poll::Ready(None);
        }
        let due = self.stopping.as_mut().map_or(Due::Nothing, |stopping| stopping.poll(cx));
        let mut out = Vec::new();
        while out.len() < AT_ONCE && !self.is_done {
            if due == Due::Everything || due == Due::Streams && self.outputs.is_streaming() {
                self.outputs.interrupt(&ErrorObject::stopped());
            }
            match Pin::new(&mut self.outputs).poll_next(cx) {
                Poll::Ready(Some(output)) => self.write(&mut out, output),
                Poll::Ready(None) => {
                    if self.has_marks {
                        self.write_event(&mut out, DONE.as_bytes());
                    }
                    self.is_done = true;
                }
                Poll::Pending => break,
            }
        }
        if self.is_done && out.is_empty() {
            return Poll::Ready(None);
        }
        self.poll_keep_alive(cx, &mut out);
        if out.is_empty() { Poll::Pending } else { Poll::Ready(Some(Bytes::from(out))) }
    }

    fn write(&self, out: &mut Vec<u8>, output: Output) {
        match output {
            Output::Message(text, _) => self.write_event(out, &text),
            Output::Started(id) if self.has_start => {
                let start = format!(r#"{{"jsonrpc":"2.0","result":"","id":{id},"event":"start"}}"#);
                self.write_event(out, start.as_bytes());
            }
            Output::Started(_) => writer::comment(out, STARTED),
            _ => {}
        }
    }

    fn write_event(&self, out: &mut Vec<u8>, data: &[u8]) {
        if let Some(tap) = &self.tap {
            tap.show(Direction::Sent, Wire::Message(data));
        }
        writer::event(out, data);
    }

    /// Adds a comment if nothing was to be said for a while.
    fn poll_keep_alive(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        let Some((time, sleep)) = &mut self.keep_alive else { return };
        if out.is_empty() {
            if sleep.as_mut().poll(cx).is_pending() {
                return;
            }
            writer::comment(out, "");
        }
        sleep.as_mut().reset(after(Instant::now(), *time));
    }
}

impl std::fmt::Debug for EventBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventBody").field("outputs", &self.outputs).finish_non_exhaustive()
    }
}

/// What a response holds on to while it is being sent as a stream: the connection knows that the response has not ended, and the
/// stream learns when the server shuts down.
#[derive(Default)]
pub(in super::super) struct StreamGuard {
    socket: Option<Arc<Shared>>,
    shutdown: Option<Arc<Shutdown>>,
    _in_flight: Option<InFlight>,
}

impl StreamGuard {
    /// For a stream over a connection of ours.
    pub(in super::super) fn new(socket: Arc<Shared>, shutdown: Arc<Shutdown>) -> StreamGuard {
        socket.activity.begin_stream();
        StreamGuard { socket: Some(socket), shutdown: Some(shutdown), _in_flight: None }
    }

    /// For a stream of an endpoint that is mounted into another server.
    pub(in super::super) fn mounted(shutdown: Arc<Shutdown>, in_flight: InFlight) -> StreamGuard {
        StreamGuard { socket: None, shutdown: Some(shutdown), _in_flight: Some(in_flight) }
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket {
            socket.activity.end_stream();
        }
    }
}
