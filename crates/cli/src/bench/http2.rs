//! HTTP/2: every message has its own stream, and all share one connection.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use futures_util::stream::{AbortHandle, Abortable, Aborted, FuturesUnordered};
use h2::client::{Connection, ResponseFuture, SendRequest};
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, Request};
use switchboard::CallError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::carrier::{Event, LIMIT};
use super::form::Form;
use super::line::{Io, Line, Told, Traffic};

/// Bytes that may come before they are read, for one message and for all.
const WINDOW: u32 = 16 << 20;

/// A connection of HTTP/2.
pub(crate) struct Http2 {
    head: Request<()>,
    sender: SendRequest<Bytes>,
    connection: Connection<Counted, Bytes>,
    calls: FuturesUnordered<Abortable<Call>>,
    /// Ends a call, by its first identifier.
    handles: Vec<(u32, AbortHandle)>,
    /// What was counted before.
    told: Traffic,
    traffic: Arc<Counters>,
}

type Call = Pin<Box<dyn Future<Output = (u32, Result<Event, String>)> + Send>>;

impl Http2 {
    /// Starts HTTP/2 with the server at this URL.
    pub(crate) async fn open(
        io: impl Io + 'static,
        url: &str,
        headers: &HeaderMap,
    ) -> Result<Line, CallError> {
        let head = head(url, headers).map_err(|error| CallError::Unsupported(error.to_string().into()))?;
        let traffic = Arc::new(Counters::default());
        let io = Counted { io: Box::pin(io), traffic: Arc::clone(&traffic) };
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW).enable_push(false);
        let (sender, connection) = builder.handshake(io).await.map_err(|error| refused(&error))?;
        let (calls, handles) = (FuturesUnordered::new(), Vec::new());
        let told = Traffic::default();
        Ok(Line::Http2(Box::new(Http2 { head, sender, connection, calls, handles, told, traffic })))
    }

    pub(super) fn send(&mut self, form: &Form, first: u32) {
        let mut body = Vec::with_capacity(form.length());
        form.write(first, &mut body);
        let (head, sender) = (self.head.clone(), self.sender.clone());
        let call: Call = Box::pin(async move {
            let ended = ask(sender, head, body.into()).await.map_err(|error| error.to_string());
            (first, ended)
        });
        let (handle, registration) = AbortHandle::new_pair();
        self.handles.push((first, handle));
        self.calls.push(Abortable::new(call, registration));
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) {
        // Calls begin when they are polled, and the connection writes what they queued.
        cx.waker().wake_by_ref();
    }

    pub(super) fn poll_told(&mut self, cx: &mut Context<'_>) -> Poll<Told> {
        loop {
            match Pin::new(&mut self.calls).poll_next(cx) {
                Poll::Ready(Some(Ok((first, ended)))) => {
                    self.handles.retain(|(own, _)| *own != first);
                    let event = ended.unwrap_or_else(Event::NoAnswer);
                    return Poll::Ready(Told::Event(event, Some(first)));
                }
                Poll::Ready(Some(Err(Aborted))) => continue,
                Poll::Ready(None) | Poll::Pending => {}
            }
            return match Pin::new(&mut self.connection).poll(cx) {
                Poll::Ready(Ok(())) => {
                    Poll::Ready(Told::Broken("the server closed the connection".to_owned()))
                }
                Poll::Ready(Err(error)) => Poll::Ready(Told::Broken(error.to_string())),
                Poll::Pending => Poll::Pending,
            };
        }
    }

    pub(super) fn forget(&mut self, first: u32) {
        self.handles.retain(|(own, handle)| {
            if *own == first {
                handle.abort();
            }
            *own != first
        });
    }

    pub(super) fn take_traffic(&mut self) -> Traffic {
        let now = self.traffic.read();
        let before = std::mem::replace(&mut self.told, now);
        Traffic { sent: now.sent - before.sent, received: now.received - before.received }
    }
}

fn refused(error: &h2::Error) -> CallError {
    CallError::Unreachable(format!("the server does not speak HTTP/2: {error}").into())
}

fn head(url: &str, headers: &HeaderMap) -> http::Result<Request<()>> {
    let mut request = Request::post(url).body(())?;
    let own = request.headers_mut();
    for name in [CONTENT_TYPE, ACCEPT] {
        own.insert(name, http::HeaderValue::from_static("application/json"));
    }
    let name = concat!("switchboard/", env!("CARGO_PKG_VERSION"));
    own.insert(USER_AGENT, http::HeaderValue::from_static(name));
    for name in headers.keys() {
        own.remove(name);
    }
    own.extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
    Ok(request)
}

/// Sends a request on its own stream, and reads the response.
async fn ask(sender: SendRequest<Bytes>, head: Request<()>, body: Bytes) -> Result<Event, h2::Error> {
    let (response, mut stream) = sender.ready().await?.send_request(head, false)?;
    stream.send_data(body, true)?;
    answer(response).await
}

async fn answer(response: ResponseFuture) -> Result<Event, h2::Error> {
    let response = response.await?;
    let (status, mut stream) = (response.status(), response.into_body());
    let mut body = BytesMut::new();
    while let Some(part) = stream.data().await {
        let part = part?;
        // Taken, so that more may come.
        let _ = stream.flow_control().release_capacity(part.len());
        if body.len() + part.len() > LIMIT {
            return Ok(Event::NoAnswer(format!("an answer of more than {} MiB", LIMIT >> 20)));
        }
        body.extend_from_slice(&part);
    }
    Ok(match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => Event::Message(body.freeze()),
        _ => Event::NoAnswer(format!("HTTP status {} without JSON", status.as_u16())),
    })
}

/// Counts the bytes that go over it.
struct Counted {
    io: Pin<Box<dyn Io>>,
    traffic: Arc<Counters>,
}

#[derive(Default)]
struct Counters {
    sent: AtomicU64,
    received: AtomicU64,
}

impl Counters {
    fn read(&self) -> Traffic {
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        Traffic { sent: read(&self.sent), received: read(&self.received) }
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = self.io.as_mut().poll_read(cx, buffer);
        let count = (buffer.filled().len() - before) as u64;
        self.traffic.received.fetch_add(count, Relaxed);
        read
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = self.io.as_mut().poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = written {
            self.traffic.sent.fetch_add(count as u64, Relaxed);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.as_mut().poll_shutdown(cx)
    }
}
