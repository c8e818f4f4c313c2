//! Requests that are not JSON-RPC calls, for other protocols over HTTP.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::header::HeaderMap;
use http::{Method, Response};
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use switchboard_core::{CallError, Direction, Share, Tap, Wire};
use tokio::time::{Instant, timeout};

use super::body::{self, Unread};
use super::client::Client;
use super::sse::parser::{Event, Parser, Piece};

impl Client {
    /// Sends this body as it is, with these headers only, and reads a response of up to `limit` bytes within this time.
    ///
    /// # Errors
    ///
    /// When there is no whole response in time, or a longer one.
    pub async fn post(
        &self,
        headers: HeaderMap,
        content: Bytes,
        limit: usize,
        time: Duration,
    ) -> Result<Response<Bytes>, CallError> {
        let until = Instant::now() + time;
        let response = timeout(time, self.pass(headers, content)).await;
        let (head, content) = response.map_err(|_| CallError::TimedOut)??.into_parts();
        let content = self.body(content).whole(limit, until - Instant::now()).await?;
        Ok(Response::from_parts(head, content))
    }

    /// Sends this body as it is, with these headers and those of the client, and gives the response as soon as its head is there.
    ///
    /// # Errors
    ///
    /// When there is no response in time.
    pub async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        content: Bytes,
        time: Duration,
    ) -> Result<Response<ResponseBody>, CallError> {
        let response = timeout(time, self.request_with(method, headers, content)).await;
        Ok(response.map_err(|_| CallError::TimedOut)??.map(|content| self.body(content)))
    }

    fn body(&self, content: Incoming) -> ResponseBody {
        let options = &self.inner.options;
        let parser = Parser::new(options.limits.longest_frame());
        ResponseBody { content, chunk: Bytes::new(), parser, tap: options.tap.clone() }
    }
}

/// The body of a response, which is read as a whole or as a stream of events.
pub struct ResponseBody {
    content: Incoming,
    /// Bytes that were received and not parsed.
    chunk: Bytes,
    parser: Parser,
    tap: Option<Tap>,
}

impl ResponseBody {
    /// All of it, up to `limit` bytes, within this time.
    ///
    /// # Errors
    ///
    /// When it is longer, or does not arrive in time.
    pub async fn whole(self, limit: usize, time: Duration) -> Result<Bytes, CallError> {
        let content = body::read(self.content, limit, time, Share::default()).await;
        let content = content.map_err(|unread| match unread {
            Unread::TooSlow => CallError::TimedOut,
            Unread::TooLarge | Unread::NoRoom => {
                CallError::Protocol(format!("the response is too long: more than {limit} bytes").into())
            }
            Unread::Broken => broken(),
        })?;
        if !content.is_empty() {
            show(self.tap.as_ref(), &content);
        }
        Ok(content)
    }

    /// Its next event with data; none at its end. The server may be silent for this long.
    ///
    /// # Errors
    ///
    /// When the server is silent for longer, an event is too long, or the connection breaks.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub async fn event(&mut self, silence: Duration) -> Result<Option<Event>, CallError> {
        loop {
            while !self.chunk.is_empty() {
                let mut rest = &self.chunk[..];
                let piece = self.parser.next(&mut rest);
                let used = self.chunk.len() - rest.len();
                self.chunk.advance(used);
                match piece.map_err(|error| CallError::Protocol(error.to_string().into()))? {
                    Some(Piece::Event(event)) if !event.data.is_empty() => {
                        show(self.tap.as_ref(), event.data.as_bytes());
                        return Ok(Some(event));
                    }
                    _ => {}
                }
            }
            let frame = poll_fn(|cx| Pin::new(&mut self.content).poll_frame(cx));
            match timeout(silence, frame).await.map_err(|_| CallError::TimedOut)? {
                Some(Ok(frame)) => self.chunk = frame.into_data().unwrap_or_default(),
                Some(Err(_)) => return Err(broken()),
                None => return Ok(None),
            }
        }
    }

    /// The identifier of its last event, empty if there was none. A reader that reconnects sends it as `Last-Event-ID`.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        self.parser.last_event_id()
    }

    /// How long the server wants a reader to wait before it reconnects, if it has said so.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.parser.retry()
    }
}

fn show(tap: Option<&Tap>, message: &[u8]) {
    if let Some(tap) = tap {
        tap.show(Direction::Received, Wire::Message(message));
    }
}

fn broken() -> CallError {
    CallError::Closed("the server closed the connection in the middle of its response".into())
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseBody(..)")
    }
}
