//! Streamable HTTP: one POST for each message (MCP-HTTP-02 to MCP-HTTP-13, MCP-N-03 to MCP-N-07).

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use switchboard_core::codec::encode_error;
use switchboard_core::{
    Call, CallError, Code, ErrorObject, Json, Kind, Outcome, Remote, Reply, ReplyFuture, Service,
};
use switchboard_transport::http::{Client as HttpClient, ResponseBody};

use super::connect::initialization;
use super::forwarded::Forwarded;
use super::headers::{ParamHeaders, describe};
use super::listener::Listener;
use crate::model::{RequestMeta, Revision, methods};
use crate::object::Object;

/// The most bytes of an answer.
const LARGEST: usize = 64 << 20;

/// How long an answer may take, unless the caller says less, and how long an event stream may be silent.
const TIME: Duration = Duration::from_secs(60);

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// An MCP server over HTTP. Cheap to clone.
#[derive(Clone)]
pub(super) struct Link(Arc<Inner>);

struct Inner {
    http: HttpClient,
    listener: Listener,
    /// The revision that was agreed on.
    revision: OnceLock<Revision>,
    /// The session of the older era, if the server has sessions.
    session: ArcSwapOption<HeaderValue>,
    next_id: AtomicU64,
}

impl Link {
    pub(super) fn new(http: HttpClient, listener: Listener) -> Link {
        let (revision, session) = (OnceLock::new(), ArcSwapOption::empty());
        Link(Arc::new(Inner { http, listener, revision, session, next_id: AtomicU64::new(1) }))
    }

    /// Uses this revision from now on.
    pub(super) fn speak(&self, revision: Revision) {
        let _ = self.0.revision.set(revision);
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
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let (id, mut response) = self.post(call).await?;
        // MCP-HTTP-12: the server has forgotten the session.
        if response.status() == StatusCode::NOT_FOUND && self.session.load().is_some() {
            self.begin_again().await?;
            (_, response) = self.post_as(call, id).await?;
        }
        if call.method.as_str() == methods::INITIALIZE && response.status().is_success() {
            self.session.store(response.headers().get(SESSION).cloned().map(Arc::new));
        }
        self.read(id, response, call).await
    }

    async fn begin_again(&self) -> Result<(), CallError> {
        self.session.store(None);
        let call = initialization()?;
        let (id, response) = self.post(&call).await?;
        let session = response.headers().get(SESSION).cloned();
        self.read(id, response, &call).await?;
        self.session.store(session.map(Arc::new));
        self.post(&Call::notification(methods::INITIALIZED, None)).await.map(drop)?;
        // It may be another version of the server.
        let listener = self.listener.clone();
        tokio::spawn(async move { listener.call(&Call::notification(methods::TOOLS_CHANGED, None)).await });
        Ok(())
    }

    async fn post(&self, call: &Call) -> Result<(u64, Response<ResponseBody>), CallError> {
        self.post_as(call, self.next_id.fetch_add(1, Ordering::Relaxed)).await
    }

    async fn post_as(&self, call: &Call, id: u64) -> Result<(u64, Response<ResponseBody>), CallError> {
        let message = Object::new().with("jsonrpc", "2.0");
        let message = if call.is_notification() { message } else { message.with("id", id) };
        let message = message.with("method", call.method.as_str()).with_some("params", call.params.clone());
        let body = Bytes::from(message.json()?.as_str().to_owned());
        let time = call.cx.time_left().unwrap_or(TIME);
        let response = self.http.send(Method::POST, self.headers(call), body, time).await?;
        Ok((id, response))
    }

    /// Sends the answer to a question of the server.
    async fn respond(&self, id: Json, reply: Reply) -> Result<(), CallError> {
        let message = Object::new().with("jsonrpc", "2.0").with("id", id);
        let message = match reply.outcome {
            Outcome::Value(value) => message.with("result", value),
            Outcome::Error(error) => message.with("error", error_json(&error)?),
            Outcome::Stream(_) => return Ok(()),
        };
        let body = Bytes::from(message.json()?.as_str().to_owned());
        let headers = self.headers(&Call::notification(methods::PING, None));
        self.http.send(Method::POST, headers, body, TIME).await.map(drop)
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

    /// The reply in a response, which is JSON or an event stream.
    async fn read(&self, id: u64, response: Response<ResponseBody>, call: &Call) -> Result<Reply, CallError> {
        let status = response.status();
        if call.is_notification() && status.is_success() {
            return Ok(Reply::value(Json::NULL));
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let text = format!("the server does not accept the credentials (HTTP {status})");
            return Err(CallError::CannotConnect(text.into()));
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_events = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
        let body = response.into_body();
        let found = match is_events {
            true => self.read_events(Some((id, status)), body, call).await?,
            false => {
                let text = body.whole(LARGEST, call.cx.time_left().unwrap_or(TIME)).await?;
                let message = Json::parse(String::from_utf8_lossy(&text).into_owned()).ok();
                message.and_then(|message| reply_in(&message, id, status))
            }
        };
        found.ok_or_else(|| match status {
            status if status.is_success() => {
                CallError::Protocol("the server ended its response without an answer".into())
            }
            status => CallError::Transport(format!("the server answered with HTTP {status}").into()),
        })
    }

    /// Reads events until the answer, or until their end. Questions are answered meanwhile.
    async fn read_events(
        &self,
        wanted: Option<(u64, StatusCode)>,
        mut body: ResponseBody,
        call: &Call,
    ) -> Result<Option<Reply>, CallError> {
        let during = call.cx.get::<Arc<Forwarded>>();
        let mut questions = FuturesUnordered::new();
        loop {
            let event = tokio::select! {
                event = body.event(TIME) => event,
                Some(answered) = questions.next() => {
                    answered?;
                    continue;
                }
            };
            let text = match event {
                // The caller is being asked, and may take longer.
                Err(CallError::TimedOut) if !questions.is_empty() => continue,
                event => event?,
            };
            let Some(text) = text else { return Ok(None) };
            let Ok(message) = Json::parse(text) else { continue };
            if let Some((id, status)) = wanted
                && let Some(reply) = reply_in(&message, id, status)
            {
                return Ok(Some(reply));
            }
            let Some(method) = text_at(&message, "method") else { continue };
            let [asked, params] = message.pick(["id", "params"]);
            match asked {
                None => {
                    self.listener.hear(&Call::notification(method, params), during).await;
                }
                Some(asked) => {
                    let reply = self.listener.hear(&Call::new(method, params), during);
                    questions.push(async move { self.respond(asked, reply.await).await });
                }
            }
        }
    }

    /// Reads the stream of notifications once: that of the session, or that of a request for it. False if the server has none.
    async fn listen_once(&self, subscription: Option<&Call>) -> Result<bool, CallError> {
        let (response, call) = match subscription {
            Some(call) => (self.post(call).await?.1, call.clone()),
            None => {
                let call = Call::notification(methods::PING, None);
                let response = self.http.send(Method::GET, self.headers(&call), Bytes::new(), TIME).await?;
                if response.status().is_success() {
                    // Something may have changed before.
                    self.listener.hear(&Call::notification(methods::TOOLS_CHANGED, None), None).await;
                }
                (response, call)
            }
        };
        if !response.status().is_success() {
            return Ok(!response.status().is_client_error());
        }
        self.read_events(None, response.into_body(), &call).await.map(|_| true)
    }
}

impl Link {
    /// Listens for changes, again and again.
    pub(super) async fn listen(self, subscription: Option<Call>) {
        let mut pause = PAUSE;
        loop {
            let since = Instant::now();
            if matches!(self.0.listen_once(subscription.as_ref()).await, Ok(false)) {
                return;
            }
            pause = if since.elapsed() > LONG_PAUSE { PAUSE } else { (pause * 2).min(LONG_PAUSE) };
            tokio::time::sleep(pause).await;
        }
    }
}

/// Ends the session of the older era, so that the server need not keep it (MCP-HTTP-12).
impl Drop for Inner {
    fn drop(&mut self) {
        let (Some(session), Ok(runtime)) = (self.session.swap(None), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let mut headers = self.headers(&Call::notification(methods::PING, None));
        headers.insert(SESSION, HeaderValue::clone(&session));
        let http = self.http.clone();
        runtime.spawn(async move {
            if let Err(error) = http.send(Method::DELETE, headers, Bytes::new(), ENDING).await {
                tracing::debug!(%error, "the session of an MCP server was not ended");
            }
        });
    }
}

/// How long the end of a session may take.
const ENDING: Duration = Duration::from_secs(5);

/// How long to wait before listening again, at first and at most.
const PAUSE: Duration = Duration::from_millis(500);
const LONG_PAUSE: Duration = Duration::from_secs(30);

/// An error as the member of a response.
fn error_json(error: &ErrorObject) -> Result<Json, CallError> {
    let mut text = Vec::new();
    encode_error(&mut text, error);
    Json::parse(text).map_err(|error| CallError::Protocol(error.to_string().into()))
}

fn text_at(message: &Json, member: &str) -> Option<String> {
    message.get(member)?.decode().ok()
}

/// The reply in a message, if it answers the request. An error without the identifier answers it too if the request failed.
fn reply_in(message: &Json, id: u64, status: StatusCode) -> Option<Reply> {
    let [result, error, answered] = message.pick(["result", "error", "id"]);
    let is_ours = answered.as_ref().is_some_and(|answered| answered.as_str() == id.to_string());
    let is_unnamed = answered.is_none_or(|answered| answered.kind() == Kind::Null);
    if let Some(result) = result.filter(|_| is_ours) {
        return Some(Reply::value(result));
    }
    let error = error.filter(|_| is_ours || (is_unnamed && !status.is_success()))?;
    let [code, message, data] = error.pick(["code", "message", "data"]);
    let code: i64 = code?.decode().ok()?;
    let message: String = message.and_then(|message| message.decode().ok()).unwrap_or_default();
    let error = ErrorObject::new(Code(code), message);
    Some(Reply::error(match data {
        Some(data) => error.with_data(&data),
        None => error,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_identifier_of_its_request() {
        let check = |text: &'static str, status: u16, expected: Option<&str>| {
            let status = StatusCode::from_u16(status).unwrap();
            let reply = reply_in(&Json::parse(text).unwrap(), 7, status);
            let told = reply.map(|reply| match reply.outcome {
                Outcome::Value(value) => value.to_string(),
                Outcome::Error(error) => error.to_string(),
                Outcome::Stream(_) => "a stream".to_owned(),
            });
            assert_eq!(told.as_deref(), expected, "{text}");
        };
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"a":1.50}}"#, 200, Some(r#"{"a":1.50}"#));
        check(r#"{"jsonrpc":"2.0","id":8,"result":1}"#, 200, None);
        check(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}"#, 200, Some("no (-1)"));
        check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#, 400, Some("no (-1)"));
        check(r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"no"}}"#, 200, None);
        check(r#"{"jsonrpc":"2.0","method":"ping"}"#, 200, None);
    }
}
