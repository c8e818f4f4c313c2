//! The transport of 2024-11-05 (MCP-SSE-01 to MCP-SSE-07): an event stream for everything that the server sends, and a path for
//! everything that the client sends. Together they are a duplex connection like any other.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_core::Stream;
use http::{Method, Response, StatusCode};
use switchboard_core::{CloseReason, Connection, ConnectionError, FrameSink, FrameSource, Session};
use switchboard_transport::http::{Body, Guarded, Route, RouteFuture};
use tokio::sync::mpsc;

use super::alive::Alive;
use super::answer::{self, TRANSPORT, refuse};
use super::body::streamed;
use super::message::is_json;
use super::{Endpoint, body};
use crate::server::principal;

/// How many messages of a client wait to be read.
const WAITING: usize = 64;

/// The connections over two paths.
struct Shared {
    endpoint: Arc<Endpoint>,
    /// Where messages are posted.
    path: String,
    connections: Mutex<HashMap<String, Inbox>>,
}

struct Inbox {
    owner: String,
    messages: mpsc::Sender<Bytes>,
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, HashMap<String, Inbox>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The event stream of the revision 2024-11-05, see [`McpRoute::two_paths`](super::McpRoute::two_paths).
pub struct SseRoute(Arc<Shared>);

/// Where clients of the revision 2024-11-05 post their messages, see [`McpRoute::two_paths`](super::McpRoute::two_paths).
pub struct MessagesRoute(Arc<Shared>);

pub(super) fn routes(endpoint: &Arc<Endpoint>, path: String) -> (SseRoute, MessagesRoute) {
    let shared = Shared { endpoint: Arc::clone(endpoint), path, connections: Mutex::default() };
    let shared = Arc::new(shared);
    (SseRoute(Arc::clone(&shared)), MessagesRoute(shared))
}

impl Route for SseRoute {
    fn takes_post(&self) -> bool {
        false
    }

    fn answer(&self, request: Guarded) -> RouteFuture {
        let response = match request.head.method == Method::GET {
            true => open(&self.0, &request),
            false => refuse(StatusCode::METHOD_NOT_ALLOWED, TRANSPORT, "use GET"),
        };
        RouteFuture::ready(self.0.endpoint.tell(Some(&request.cx), response))
    }
}

impl Route for MessagesRoute {
    fn answer(&self, request: Guarded) -> RouteFuture {
        let shared = Arc::clone(&self.0);
        RouteFuture::new(async move {
            let cx = shared.endpoint.is_observed.then(|| request.cx.clone());
            let response = take(Arc::clone(&shared), request).await;
            shared.endpoint.tell(cx.as_ref(), response)
        })
    }
}

/// Opens a connection.
fn open(shared: &Arc<Shared>, request: &Guarded) -> Response<Body> {
    if shared.connections().len() >= shared.endpoint.options.sessions {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, TRANSPORT, "too many sessions are open");
    }
    let session = Session::new(request.cx.origin().clone());
    let id = session.id().to_owned();
    let (messages, inbox) = mpsc::channel(WAITING);
    let outbox = Arc::<Outbox>::default();
    let (closing, shutdown) = (session.clone(), request.shutdown());
    let cx = request.cx.clone().with_session(session);
    let engine = shared.endpoint.engine.clone();
    let (peer, connection) = Connection::new(Incoming(inbox), Outgoing(Arc::clone(&outbox)), engine, cx);
    drop(peer);
    shared.connections().insert(id.clone(), Inbox { owner: principal(&request.cx), messages });
    tokio::spawn(async move {
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = shutdown.wait() => {
                closing.close(CloseReason::shutting_down());
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection over two paths ended");
        }
    });
    let first = format!("event: endpoint\ndata: {}?sessionId={id}\n\n", shared.path);
    let alive = Alive::new(shared.endpoint.options.keep_alive);
    let events = Events { first: Some(first.into()), outbox, alive, shared: Arc::clone(shared), id };
    answer::events(streamed(events))
}

/// Takes a message of a client.
async fn take(shared: Arc<Shared>, request: Guarded) -> Response<Body> {
    if request.head.method != Method::POST {
        return refuse(StatusCode::METHOD_NOT_ALLOWED, TRANSPORT, "use POST");
    }
    if !is_json(&request.head.headers) {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, TRANSPORT, "send application/json");
    }
    let query = request.head.uri.query().unwrap_or_default();
    let id = query.split('&').find_map(|pair| pair.strip_prefix("sessionId=")).unwrap_or_default().to_owned();
    let owner = principal(&request.cx);
    let inbox = {
        let connections = shared.connections();
        connections.get(&id).filter(|inbox| inbox.owner == owner).map(|inbox| inbox.messages.clone())
    };
    let Some(inbox) = inbox else { return answer::no_session(None) };
    let text = match request.read(usize::MAX).await {
        Ok(text) => text,
        Err(unread) => return unread.response(),
    };
    match inbox.try_send(text) {
        Ok(()) => {
            let mut response = Response::new(Body::new("Accepted"));
            *response.status_mut() = StatusCode::ACCEPTED;
            response
        }
        Err(mpsc::error::TrySendError::Full(_)) => {
            refuse(StatusCode::SERVICE_UNAVAILABLE, TRANSPORT, "too many messages are waiting")
        }
        Err(mpsc::error::TrySendError::Closed(_)) => answer::no_session(None),
    }
}

/// The messages of a client as frames.
struct Incoming(mpsc::Receiver<Bytes>);

impl FrameSource for Incoming {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ConnectionError>>> {
        // When its event stream ends, the client is gone.
        let gone = || Some(Err(ConnectionError::Closed("the event stream ended".to_owned())));
        self.0.poll_recv(cx).map(|frame| frame.map(Ok).or_else(gone))
    }
}

/// Messages to a client that its event stream has not taken yet.
#[derive(Default)]
struct Outbox(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    frames: VecDeque<Bytes>,
    bytes: usize,
    is_closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Outbox {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The event stream as a sink of frames.
struct Outgoing(Arc<Outbox>);

impl FrameSink for Outgoing {
    fn push(&mut self, frame: &[u8]) {
        let mut queue = self.0.queue();
        queue.frames.push_back(Bytes::copy_from_slice(frame));
        queue.bytes += frame.len();
        if let Some(reader) = queue.reader.take() {
            reader.wake();
        }
    }

    fn queued(&self) -> usize {
        self.0.queue().bytes
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        let mut queue = self.0.queue();
        if queue.is_closed {
            return Poll::Ready(Err(ConnectionError::Closed("the event stream ended".to_owned())));
        }
        if queue.frames.is_empty() {
            return Poll::Ready(Ok(()));
        }
        queue.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        let flushed = self.poll_flush(cx);
        if flushed.is_ready() {
            let mut queue = self.0.queue();
            queue.is_closed = true;
            if let Some(reader) = queue.reader.take() {
                reader.wake();
            }
        }
        flushed
    }
}

/// The body of an event stream. When it is dropped, the connection ends.
struct Events {
    first: Option<Bytes>,
    outbox: Arc<Outbox>,
    alive: Alive,
    shared: Arc<Shared>,
    id: String,
}

impl Stream for Events {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = self.get_mut();
        if let Some(first) = this.first.take() {
            return Poll::Ready(Some(first));
        }
        let mut out = Vec::new();
        {
            let mut queue = this.outbox.queue();
            for frame in std::mem::take(&mut queue.frames) {
                queue.bytes -= frame.len();
                body::write_event(&mut out, None, &frame);
            }
            if let Some(writer) = queue.writer.take() {
                writer.wake();
            }
            if out.is_empty() && queue.is_closed {
                return Poll::Ready(None);
            }
            queue.reader = Some(cx.waker().clone());
        }
        this.alive.poll(cx, &mut out);
        if out.is_empty() { Poll::Pending } else { Poll::Ready(Some(out.into())) }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.shared.connections().remove(&self.id);
        let mut queue = self.outbox.queue();
        queue.is_closed = true;
        if let Some(writer) = queue.writer.take() {
            writer.wake();
        }
    }
}

impl std::fmt::Debug for SseRoute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SseRoute").field("messages", &self.0.path).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for MessagesRoute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessagesRoute").field("path", &self.0.path).finish_non_exhaustive()
    }
}
