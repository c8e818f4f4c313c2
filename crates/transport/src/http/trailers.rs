//! The body of a request over a connection of ours, without trailers if it came over HTTP/1.
//!
//! hyper treats a bare LF in trailers as a part of a line in one place and as its end in another, so that trailers may continue
//! where others see the next request (SEC-H-01). Calls have no trailers, so such a body is rejected and the connection closes.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Version};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;

/// A body that fails where trailers begin, if they are refused.
pub(super) struct WithoutTrailers {
    body: Incoming,
    refuses: bool,
}

/// The connection was lost, the body's framing is invalid, or it has trailers.
#[derive(Debug)]
pub(super) struct Broken;

impl WithoutTrailers {
    pub(super) fn of(request: Request<Incoming>) -> Request<WithoutTrailers> {
        let refuses = request.version() <= Version::HTTP_11;
        request.map(|body| WithoutTrailers { body, refuses })
    }
}

impl HttpBody for WithoutTrailers {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        Poll::Ready(match frame {
            Some(Ok(frame)) if self.refuses && frame.is_trailers() => Some(Err(Broken)),
            Some(frame) => Some(frame.map_err(|_| Broken)),
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
