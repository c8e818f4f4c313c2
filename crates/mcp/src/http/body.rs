//! Bodies that are event streams.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use http_body::{Body as HttpBody, Frame};
use switchboard_transport::http::Body;

use super::events::EventId;

/// Writes an event with one message. Messages of this side are one line, so the data is too; others have their lines marked.
pub(super) fn write_event(out: &mut Vec<u8>, id: Option<EventId>, data: &[u8]) {
    out.extend_from_slice(b"event: message\n");
    if let Some(id) = id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    for line in data.split(|byte| matches!(byte, b'\n' | b'\r')) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// A comment, which keeps connections open.
pub(super) const COMMENT: &[u8] = b": \n\n";

/// A body of these pieces.
pub(super) fn streamed(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Body {
    Body::stream(Pieces(Box::pin(pieces)))
}

struct Pieces<S>(Pin<Box<S>>);

impl<S: Stream<Item = Bytes>> HttpBody for Pieces<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.as_mut().poll_next(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}
