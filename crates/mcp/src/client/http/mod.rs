//! Streamable HTTP: one POST for each message (MCP-HTTP-02 to MCP-HTTP-13, MCP-N-03 to MCP-N-07).

mod answer;
mod listening;
mod sender;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use futures_util::future::join_all;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use switchboard_core::{Call, CallError, Json, Outcome, Remote, Reply, ReplyFuture, Service};
use switchboard_transport::Dial;
use switchboard_transport::http::ResponseBody;

pub(super) use self::sender::Sender;
use super::Credentials;
use super::about::About;
use super::clock::Clock;
use super::connect::subscribe_again;
use super::headers::{ParamHeaders, describe};
use super::listener::Listener;
use crate::model::{RequestMeta, Revision, methods};
use crate::object::Object;

/// How long an answer may take, unless the caller says something else.
const TIME: Duration = Duration::from_secs(60);

/// The same for calls that have a clock, which says when to give up.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a stream of notifications may be silent. Not every server sends comments to keep it alive.
const SILENCE: Duration = Duration::from_secs(300);

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// An MCP server over HTTP. Cheap to clone.
#[derive(Clone)]
pub(super) struct Link(Arc<Inner>);

struct Inner {
    sender: Sender,
    about: Arc<About>,
    listener: Listener,
    /// The revision that was agreed on.
    revision: OnceLock<Revision>,
    /// The session of the older era, if the server has sessions.
    session: ArcSwapOption<HeaderValue>,
    next_id: AtomicU64,
    /// Held while another session is begun.
    beginning: tokio::sync::Mutex<()>,
    /// Whether the server refused `initialize` as one does that has an event stream at this URL.
    is_refused: AtomicBool,
}

impl Link {
    pub(super) fn new(
        dial: &Dial,
        credentials: Option<Arc<dyn Credentials>>,
        about: Arc<About>,
        listener: Listener,
    ) -> Result<Link, CallError> {
        Ok(Link(Arc::new(Inner {
            sender: Sender::new(dial, credentials)?,
            about,
            listener,
            revision: OnceLock::new(),
            session: ArcSwapOption::empty(),
            next_id: AtomicU64::new(1),
            beginning: tokio::sync::Mutex::default(),
            is_refused: AtomicBool::new(false),
        })))
    }

    /// Uses this revision from now on.
    pub(super) fn speak(&self, revision: Revision) {
        let _ = self.0.revision.set(revision);
    }

    /// Ends the session, if there is one, and waits until the server knows.
    pub(super) async fn end(&self) {
        if let Some(end) = self.0.ending() {
            end.await;
        }
    }

    /// Whether the server may know only the two paths of the first revision (MCP-SSE-06).
    pub(super) fn may_be_old(&self) -> bool {
        self.0.is_refused.load(Ordering::Relaxed)
    }
}

impl Service for Link {
    fn call(&self, call: &Call) -> ReplyFuture {
        let (inner, call) = (Arc::clone(&self.0), call.clone());
        ReplyFuture::pending(async move {
            let answer = inner.answer(&call).await;
            answer.unwrap_or_else(|error| Reply::error(error.into()))
        })
    }
}

impl Remote for Link {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let replies: Vec<ReplyFuture> = calls.iter().map(|call| self.call(call)).collect();
        Box::pin(join_all(replies))
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        Box::pin(std::future::pending())
    }
}

impl Inner {
    async fn answer(self: &Arc<Self>, call: &Call) -> Result<Reply, CallError> {
        let id = self.next_id();
        let unanswered = self.unanswered(id, call);
        let answer = self.answer_once(id, call).await;
        // What took too long may still be worked on.
        if let Some(unanswered) = unanswered
            && !matches!(answer, Err(CallError::TimedOut))
        {
            unanswered.disarm();
        }
        answer
    }

    async fn answer_once(&self, id: u64, call: &Call) -> Result<Reply, CallError> {
        let session = self.session.load_full();
        let mut response = self.post(call, id).await?;
        // MCP-HTTP-12: the server has forgotten the session.
        if response.status() == StatusCode::NOT_FOUND && session.is_some() {
            self.begin_again(session).await?;
            response = self.post(call, id).await?;
        }
        if call.method.as_str() == methods::INITIALIZE {
            self.note(&response);
        }
        self.read(id, response, call).await
    }

    /// Keeps the session that the answer to `initialize` names, or that there is none.
    fn note(&self, response: &Response<ResponseBody>) {
        let status = response.status();
        let is_refused = matches!(status.as_u16(), 400 | 404 | 405);
        self.is_refused.store(is_refused, Ordering::Relaxed);
        if status.is_success() {
            self.session.store(response.headers().get(SESSION).cloned().map(Arc::new));
        }
    }

    fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Begins another session instead of this one, unless another call has done so.
    async fn begin_again(&self, lost: Option<Arc<HeaderValue>>) -> Result<(), CallError> {
        let _alone = self.beginning.lock().await;
        let current = self.session.load_full();
        if current != lost {
            return Ok(());
        }
        let revision = self.revision.get().copied().unwrap_or(Revision::LATEST_STATEFUL);
        let call = self.about.initialization(revision)?;
        let id = self.next_id();
        let response = self.post(&call, id).await?;
        let session = response.headers().get(SESSION).cloned();
        if let Outcome::Error(error) = self.read(id, response, &call).await?.outcome {
            return Err(CallError::from(error));
        }
        self.session.store(session.map(Arc::new));
        self.post(&Call::notification(methods::INITIALIZED, None), 0).await.map(drop)?;
        if let Some(listening) = self.listener.listening() {
            subscribe_again(&listening, |call| self.ask(call)).await;
            // Who watches finds a gap when the stream of the session is open again.
            tokio::spawn(async move { listening.renewed().await });
        }
        Ok(())
    }

    /// Sends a request of our own within the session.
    async fn ask(&self, call: Call) -> Reply {
        let id = self.next_id();
        let told = async { self.read(id, self.post(&call, id).await?, &call).await };
        told.await.unwrap_or_else(|error| Reply::error(error.into()))
    }

    async fn post(&self, call: &Call, id: u64) -> Result<Response<ResponseBody>, CallError> {
        let message = Object::new().with("jsonrpc", "2.0");
        let message = if call.is_notification() { message } else { message.with("id", id) };
        let message = message.with("method", call.method.as_str()).with_some("params", call.params.clone());
        let body = Bytes::from(message.json()?.as_str().to_owned());
        let clock = call.cx.get::<Arc<Clock>>();
        self.sender.send(Method::POST, &self.headers(call), body, time(call), clock).await
    }

    fn headers(&self, call: &Call) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let claim = call.params.as_ref().map(RequestMeta::of).filter(RequestMeta::is_modern);
        if claim.is_some() {
            headers.insert(VERSION, HeaderValue::from_static(Revision::LATEST.as_str()));
            describe(&mut headers, call.method.as_str(), call.params.as_ref());
            let params = call.cx.get::<ParamHeaders>().into_iter().flat_map(|ParamHeaders(all)| all);
            headers.extend(params.map(|(name, value)| (name.clone(), value.clone())));
            return headers;
        }
        if call.method.as_str() == methods::INITIALIZE {
            return headers;
        }
        if let Some(session) = &*self.session.load() {
            headers.insert(SESSION, HeaderValue::clone(session));
        }
        if let Some(revision) = self.revision.get().filter(|revision| **revision >= Revision::V2025_06_18) {
            headers.insert(VERSION, HeaderValue::from_static(revision.as_str()));
        }
        headers
    }

    /// Ends the session, if there is one.
    fn ending(&self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let session = self.session.swap(None)?;
        let mut headers = self.session_headers();
        headers.insert(SESSION, HeaderValue::clone(&session));
        let sender = self.sender.clone();
        Some(async move {
            if let Err(error) = sender.send(Method::DELETE, &headers, Bytes::new(), ENDING, None).await {
                tracing::debug!(%error, "the session of an MCP server was not ended");
            }
        })
    }

    /// The headers of a message that is not a call of a stateless server.
    fn session_headers(&self) -> HeaderMap {
        self.headers(&Call::notification(methods::PING, None))
    }

    /// Cancels a call of a server with sessions if it is dropped: to close the connection means nothing to it (MCP-HTTP-07).
    fn unanswered(self: &Arc<Self>, id: u64, call: &Call) -> Option<Unanswered> {
        let is_stateful = self.revision.get().is_some_and(|revision| !revision.is_stateless());
        let is_cancelled = is_stateful && !call.is_notification();
        is_cancelled.then(|| Unanswered { link: Some(Arc::clone(self)), id })
    }
}

/// How long a call may take, and its answer may be silent.
fn time(call: &Call) -> Duration {
    match call.cx.get::<Arc<Clock>>() {
        Some(_) => LONG,
        None if call.method.as_str() == methods::LISTEN => SILENCE,
        None => call.cx.time_left().unwrap_or(TIME),
    }
}

/// A call without an answer.
struct Unanswered {
    link: Option<Arc<Inner>>,
    id: u64,
}

impl Unanswered {
    fn disarm(mut self) {
        self.link = None;
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        let (Some(link), Ok(runtime)) = (self.link.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let params =
            Object::new().with("requestId", self.id).with("reason", "the caller has cancelled the request");
        let Ok(params) = params.json() else { return };
        runtime.spawn(async move {
            let call = Call::notification(methods::CANCELLED, Some(params));
            if let Err(error) = tokio::time::timeout(ENDING, link.post(&call, 0)).await {
                tracing::debug!(%error, "an MCP server was not told of a cancelled request");
            }
        });
    }
}

/// Ends the session of the older era, so that the server need not keep it (MCP-HTTP-12).
impl Drop for Inner {
    fn drop(&mut self) {
        if let (Some(end), Ok(runtime)) = (self.ending(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(end);
        }
    }
}

/// How long the end of a session may take.
const ENDING: Duration = Duration::from_secs(5);

fn text_at(message: &Json, member: &str) -> Option<String> {
    message.get(member)?.decode().ok()
}
