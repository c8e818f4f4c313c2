//! A request that has passed the checks of `Host` and `Origin`, and its body.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context as Task, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::request::Parts;
use http::{HeaderMap, Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use switchboard_core::{Context, Share};
use tokio::time::Sleep;

use super::super::answer::RequestScope;
use super::super::body::{self, Body};
use super::super::fault::Fault;
use super::super::server_tap;
use crate::server::Shutdown;

/// A request that has passed the checks of `Host` and `Origin`, for a [`Route`](super::Route).
pub struct Guarded {
    /// Its head.
    pub head: Parts,
    /// The context of calls made for it: with its connection, its timeout, and what middleware attached.
    pub cx: Context,
    body: RequestBody,
}

/// Why the body of a request could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request body could not be read: {why}")]
pub struct Unread {
    why: body::Unread,
    limit: usize,
    closes: bool,
}

impl Unread {
    /// The matching response: 413, 408, 503 or 400.
    #[must_use]
    pub fn response(self) -> Response<Body> {
        self.fault().respond(HeaderMap::new(), self.closes)
    }

    pub(super) fn fault(self) -> Fault {
        Fault::unread(self.why, self.limit)
    }
}

impl Guarded {
    pub(super) fn new<B>(
        head: Parts,
        cx: Context,
        body: B,
        scope: Arc<dyn RequestScope>,
        is_http1: bool,
    ) -> Guarded
    where
        B: HttpBody + Unpin + Send + 'static,
        B::Data: Send,
    {
        let rules = scope.rules();
        let (limit, time) = (rules.settings().limits.frame, rules.options.body_time);
        let share = Share::of(scope.account());
        let stream = Box::pin(Adapted(body));
        let rest = Weak::new();
        let timer = None;
        let (read, is_read) = (0, false);
        let body = RequestBody { stream, limit, time, share, read, is_read, timer, scope, is_http1, rest };
        Guarded { head, cx, body }
    }

    /// Reads the body, of at most `limit` bytes; [`limits.frame`](switchboard_core::Limits::frame) applies too. It must
    /// arrive within [`body_time`](crate::http::EndpointOptions::body_time), and counts towards the memory for long messages as long as
    /// it is in use.
    ///
    /// # Errors
    ///
    /// When it is too long, too slow, incomplete, or does not fit into memory. [`Unread::response`] is the matching response.
    pub async fn read(self, limit: usize) -> Result<Bytes, Unread> {
        self.body.read_all(limit).await
    }

    /// Tells when the server shuts down. A response that has no end by itself should end then; otherwise it is cut off after
    /// [`limits.drain_time`](switchboard_core::Limits::drain_time).
    #[must_use]
    pub fn shutdown(&self) -> Arc<Shutdown> {
        self.body.scope.shutdown()
    }

    /// The request with its body, to which the same limits apply.
    #[must_use]
    pub fn into_request(self) -> Request<RequestBody> {
        Request::from_parts(self.head, self.body)
    }

    /// What decides about requests of this endpoint.
    pub(super) fn scope(&self) -> &Arc<dyn RequestScope> {
        &self.body.scope
    }

    /// Refuses the request.
    pub(super) fn refuse(self, fault: Fault) -> Response<Body> {
        fault.tell(self.body.scope.rules(), &self.cx);
        fault.respond(HeaderMap::new(), false)
    }

    /// Where the body goes when it is dropped before its end.
    pub(super) fn unread_body(&mut self) -> Arc<UnreadBody> {
        let rest = Arc::default();
        self.body.rest = Arc::downgrade(&rest);
        rest
    }

    pub(super) fn into_parts(self) -> (Parts, Context, RequestBody) {
        (self.head, self.cx, self.body)
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("method", &self.head.method).finish_non_exhaustive()
    }
}

/// The body of a request that has passed the checks. It fails when it exceeds a limit of size, time or memory.
pub struct RequestBody {
    stream: BodyStream,
    limit: usize,
    time: Duration,
    /// Covers the bytes read.
    share: Share,
    read: usize,
    /// Whether the end was reached. With chunks, the stream itself does not tell.
    is_read: bool,
    /// Started when waiting for the body.
    timer: Option<Pin<Box<Sleep>>>,
    pub(super) scope: Arc<dyn RequestScope>,
    is_http1: bool,
    /// Takes the stream when this is dropped, as long as there is no response.
    rest: Weak<UnreadBody>,
}

type BodyStream = Pin<Box<dyn HttpBody<Data = Bytes, Error = Broken> + Send>>;

/// The rest of a body that a route did not read.
#[derive(Default)]
pub(super) struct UnreadBody(Mutex<Option<BodyStream>>);

impl UnreadBody {
    pub(super) fn take(&self) -> Option<BodyStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if self.is_end_stream() || !self.is_http1 {
            return;
        }
        match self.rest.upgrade() {
            Some(rest) => {
                let stream = std::mem::replace(&mut self.stream, Box::pin(Adapted(Body::empty())));
                *rest.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream);
            }
            // The response has begun, so that hyper decides whether the connection can be used again.
            None => self.scope.note_closing(),
        }
    }
}

impl RequestBody {
    pub(super) async fn read_all(mut self, limit: usize) -> Result<Bytes, Unread> {
        let limit = limit.min(self.limit);
        let share = std::mem::take(&mut self.share);
        match body::read(&mut self.stream, limit, self.time, share).await {
            Ok(text) => {
                self.is_read = true;
                server_tap::received(self.scope.rules().settings(), &text);
                Ok(text)
            }
            Err(why) => Err(self.unread(why, limit)),
        }
    }

    fn unread(&mut self, why: body::Unread, limit: usize) -> Unread {
        if self.is_http1 {
            self.scope.note_closing();
        }
        // It is not to be read any further.
        self.rest = Weak::new();
        Unread { why, limit, closes: self.is_http1 }
    }

    /// Whether the time for the body is over.
    fn poll_time(&mut self, cx: &mut Task<'_>) -> Poll<()> {
        let time = self.time;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(time)));
        timer.as_mut().poll(cx)
    }

    /// Counts what was read.
    fn count(&mut self, bytes: usize) -> Result<(), body::Unread> {
        self.read += bytes;
        match self.read {
            read if read > self.limit => Err(body::Unread::TooLarge),
            read if !self.share.cover(read) => Err(body::Unread::NoRoom),
            _ => Ok(()),
        }
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = Unread;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Option<Result<Frame<Bytes>, Unread>>> {
        let frame = match self.stream.as_mut().poll_frame(cx) {
            Poll::Ready(Some(frame)) => frame.map_err(|Broken| body::Unread::Broken),
            Poll::Ready(None) => {
                self.is_read = true;
                return Poll::Ready(None);
            }
            Poll::Pending if self.poll_time(cx).is_pending() => return Poll::Pending,
            Poll::Pending => Err(body::Unread::TooSlow),
        };
        let length = |frame: &Frame<Bytes>| frame.data_ref().map_or(0, Bytes::len);
        let frame = frame.and_then(|frame| self.count(length(&frame)).map(|()| frame));
        let limit = self.limit;
        Poll::Ready(Some(frame.map_err(|why| self.unread(why, limit))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_read || self.stream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.stream.size_hint()
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBody").field("read", &self.read).finish_non_exhaustive()
    }
}

/// The connection broke, or the body's framing is wrong.
#[derive(Debug)]
pub(super) struct Broken;

/// Any body, as one of bytes.
struct Adapted<B>(B);

impl<B: HttpBody + Unpin> HttpBody for Adapted<B> {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let frame = Pin::new(&mut self.0).poll_frame(cx);
        let whole = |frame: Frame<B::Data>| frame.map_data(|mut data| data.copy_to_bytes(data.remaining()));
        frame.map(|frame| frame.map(|frame| frame.map(whole).map_err(|_| Broken)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
