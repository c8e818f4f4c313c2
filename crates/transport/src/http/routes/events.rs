//! Answers in parts as event streams, for protocols whose events are messages and nothing else.

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, Response, StatusCode};
use switchboard_core::{Outputs, Session, Tap};

use super::super::body::Body;
use super::super::sse::{EventBody, StreamGuard};
use super::Guarded;
use super::stream::{respond, with_stream};

/// Sends an answer in parts as an event stream without the marks that our own clients understand: each event is a message, and the
/// stream ends after the last one. Readers that wait get comments, and the stream ends when the server shuts down.
pub struct EventStreams {
    keep_alive: Option<Duration>,
    closing: (Session, Duration),
    guard: StreamGuard,
    tap: Option<Tap>,
}

impl Guarded {
    /// For an answer in parts to this request.
    #[must_use]
    pub fn event_streams(&self) -> EventStreams {
        let scope = self.scope();
        let rules = scope.rules();
        EventStreams {
            keep_alive: rules.options.keep_alive,
            closing: (self.cx.session().clone(), rules.settings().limits.drain_time),
            guard: scope.stream_guard(),
            tap: rules.settings().tap.clone(),
        }
    }
}

impl EventStreams {
    /// The response with these messages.
    #[must_use]
    pub fn respond(self, outputs: Outputs) -> Response<Body> {
        let EventStreams { keep_alive, closing, guard, tap } = self;
        let body = EventBody::new(outputs, false, keep_alive, closing, guard).with_tap(tap).without_marks();
        respond(StatusCode::OK, with_stream(HeaderMap::new()), Body::events(body))
    }
}

impl fmt::Debug for EventStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStreams").field("keep_alive", &self.keep_alive).finish_non_exhaustive()
    }
}
