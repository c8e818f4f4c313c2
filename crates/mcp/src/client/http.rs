//! Streamable HTTP: one POST for each message (MCP-HTTP-02 to MCP-HTTP-13, MCP-N-03 to MCP-N-07).

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use futures_util::future::join_all;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use switchboard_core::{Call, CallError, Code, ErrorObject, Json, Kind, Remote, Reply, ReplyFuture, Service};
use switchboard_transport::http::Client as HttpClient;

use super::connect::initialization;
use super::events;
use super::headers::{ParamHeaders, describe};
use super::listener::Listener;
use crate::model::{RequestMeta, Revision, methods};
use crate::object::Object;

/// The most bytes of an answer.
const LARGEST: usize = 64 << 20;

/// How long an answer may take, unless the caller says less.
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
        self.read(id, &response, call.is_notification()).await
    }

    async fn begin_again(&self) -> Result<(), CallError> {
        self.session.store(None);
        let call = initialization()?;
        let (id, response) = self.post(&call).await?;
        let session = response.headers().get(SESSION).cloned();
        self.read(id, &response, false).await?;
        self.session.store(session.map(Arc::new));
        self.post(&Call::notification(methods::INITIALIZED, None)).await.map(drop)
    }

    async fn post(&self, call: &Call) -> Result<(u64, Response<Bytes>), CallError> {
        self.post_as(call, self.next_id.fetch_add(1, Ordering::Relaxed)).await
    }

    async fn post_as(&self, call: &Call, id: u64) -> Result<(u64, Response<Bytes>), CallError> {
        let message = Object::new().with("jsonrpc", "2.0");
        let message = if call.is_notification() { message } else { message.with("id", id) };
        let message = message.with("method", call.method.as_str()).with_some("params", call.params.clone());
        let body = Bytes::from(message.json()?.as_str().to_owned());
        let time = call.cx.time_left().unwrap_or(TIME);
        let response = self.http.post(self.headers(call), body, LARGEST, time).await?;
        Ok((id, response))
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
    async fn read(
        &self,
        id: u64,
        response: &Response<Bytes>,
        is_notification: bool,
    ) -> Result<Reply, CallError> {
        let status = response.status();
        if is_notification && status.is_success() {
            return Ok(Reply::value(Json::NULL));
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let texts = match kind.starts_with("text/event-stream") {
            true => events::messages(&String::from_utf8_lossy(response.body())),
            false => vec![String::from_utf8_lossy(response.body()).into_owned()],
        };
        for text in texts {
            let Ok(message) = Json::parse(text) else { continue };
            if let Some(reply) = reply_in(&message, id, status) {
                return Ok(reply);
            }
            if let (Some(method), None) = (text_at(&message, "method"), message.get("id")) {
                self.listener.call(&Call::notification(method, message.get("params"))).await;
            }
        }
        Err(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => CallError::CannotConnect(
                format!("the server does not accept the credentials (HTTP {status})").into(),
            ),
            status if status.is_success() => {
                CallError::Protocol("the server ended its response without an answer".into())
            }
            status => CallError::Transport(format!("the server answered with HTTP {status}").into()),
        })
    }
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
    use switchboard_core::Outcome;

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
