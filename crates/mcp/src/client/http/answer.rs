//! The answer to a request: JSON, or an event stream that may be cut and resumed (MCP-HTTP-05, MCP-HTTP-06, MCP-HTTP-10, MCP-HTTP-11).

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Method, Response, StatusCode};
use switchboard_core::codec::encode_error;
use switchboard_core::{Call, CallError, Code, ErrorObject, Json, Kind, Outcome, Reply};
use switchboard_transport::http::ResponseBody;

use super::super::clock::Clock;
use super::super::forwarded::Forwarded;
use super::{Inner, TIME, text_at, time};
use crate::model::methods;
use crate::object::Object;

/// How long to wait before a stream is resumed, if the server does not say, and at most.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
pub(super) const LONG_PAUSE: Duration = Duration::from_secs(30);

/// How often a stream is resumed that brings nothing new.
const ATTEMPTS: u32 = 5;

/// How many questions of the server are answered at once. Meanwhile nothing more is read.
const QUESTIONS: usize = 64;

const LAST_EVENT: &str = "last-event-id";

impl Inner {
    /// The reply in a response, which is JSON or an event stream.
    pub(super) async fn read(
        &self,
        id: u64,
        response: Response<ResponseBody>,
        call: &Call,
    ) -> Result<Reply, CallError> {
        let status = response.status();
        if call.is_notification() && status.is_success() {
            return Ok(Reply::value(Json::NULL));
        }
        if let Some(refusal) = refusal(&response) {
            return Err(refusal);
        }
        let found = match is_events(&response) {
            true => self.read_events(id, response, call).await?,
            false => {
                let text = response.into_body().whole(self.sender.longest(), time(call)).await?;
                match Json::parse(String::from_utf8_lossy(&text).into_owned()) {
                    Ok(message) => reply_in(&message, id, status),
                    Err(error) if status.is_success() => {
                        return Err(CallError::Protocol(format!("the response is not JSON: {error}").into()));
                    }
                    Err(_) => None,
                }
            }
        };
        found.ok_or_else(|| match status {
            status if status.is_success() => {
                CallError::Protocol("the server ended its response without an answer".into())
            }
            status => CallError::Transport(format!("the server answered with HTTP {status}").into()),
        })
    }

    /// Reads events until the answer. A stream that ends before is resumed, if its events have identifiers.
    async fn read_events(
        &self,
        id: u64,
        response: Response<ResponseBody>,
        call: &Call,
    ) -> Result<Option<Reply>, CallError> {
        let status = response.status();
        let mut reading = Reading::new(self, call.cx.get::<Arc<Forwarded>>());
        let (mut body, silence) = (response.into_body(), time(call));
        let (mut last, mut retry, mut attempts) = (String::new(), PAUSE, 0);
        loop {
            let ended = loop {
                match reading.next(&mut body, silence).await {
                    Ok(Some(message)) => match reply_in(&message, id, status) {
                        Some(reply) => return Ok(Some(reply)),
                        None => continue,
                    },
                    Ok(None) => break Ok(None),
                    Err(broken @ CallError::Closed(_)) => break Err(broken),
                    Err(error) => return Err(error),
                }
            };
            retry = body.retry().unwrap_or(retry).min(LONG_PAUSE);
            let newest = body.last_event_id();
            if !newest.is_empty() && newest != last {
                last = newest.to_owned();
                attempts = 0;
            }
            // Streams without a session cannot be resumed, the request is lost (MCP-N-06).
            if last.is_empty() || call.method.as_str() == methods::INITIALIZE || self.is_stateless() {
                return ended;
            }
            body = loop {
                attempts += 1;
                if attempts > ATTEMPTS {
                    return ended;
                }
                reading.pause(retry).await?;
                match self.resume(&last, call).await {
                    Ok(response) if response.status().is_success() && is_events(&response) => {
                        break response.into_body();
                    }
                    // The server has no streams to resume, or has forgotten this one.
                    Ok(response) if response.status().is_client_error() => return ended,
                    Ok(_)
                    | Err(CallError::Transport(_) | CallError::Unreachable(_) | CallError::Closed(_)) => {}
                    Err(error) => return Err(error),
                }
            };
        }
    }

    fn is_stateless(&self) -> bool {
        self.revision.get().is_some_and(|revision| revision.is_stateless())
    }

    /// Asks for what followed an event.
    async fn resume(&self, last: &str, call: &Call) -> Result<Response<ResponseBody>, CallError> {
        let mut headers = self.session_headers();
        headers.remove(CONTENT_TYPE);
        let value = HeaderValue::from_str(last)
            .map_err(|_| CallError::Protocol("the identifier of an event cannot be sent back".into()))?;
        headers.insert(LAST_EVENT, value);
        let clock = call.cx.get::<Arc<Clock>>();
        self.sender.send(Method::GET, &headers, Bytes::new(), time(call).min(TIME), clock).await
    }

    /// Opens the stream of messages that belong to no request, or goes on with it.
    pub(super) async fn open(&self, last: &str) -> Result<Response<ResponseBody>, CallError> {
        if !last.is_empty() {
            return self.resume(last, &Call::notification(methods::PING, None)).await;
        }
        let mut headers = self.session_headers();
        headers.remove(CONTENT_TYPE);
        self.sender.send(Method::GET, &headers, Bytes::new(), TIME, None).await
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
        self.sender.send(Method::POST, &self.session_headers(), body, TIME, None).await.map(drop)
    }
}

pub(super) fn is_events(response: &Response<ResponseBody>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// Why a response is not looked at.
fn refusal(response: &Response<ResponseBody>) -> Option<CallError> {
    let status = response.status();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let text = format!("the server does not accept the credentials (HTTP {status})");
        return Some(CallError::CannotConnect(text.into()));
    }
    if status.is_redirection() {
        let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("another place");
        let text =
            format!("the server answered HTTP {status} and redirects to {to}; use that URL if you trust it");
        return Some(CallError::CannotConnect(text.into()));
    }
    None
}

type Responding<'a> = Pin<Box<dyn Future<Output = Result<(), CallError>> + Send + 'a>>;

/// Reads event streams, and answers the questions in them meanwhile.
pub(super) struct Reading<'a> {
    link: &'a Inner,
    during: Option<&'a Arc<Forwarded>>,
    questions: FuturesUnordered<Responding<'a>>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(link: &'a Inner, during: Option<&'a Arc<Forwarded>>) -> Reading<'a> {
        Reading { link, during, questions: FuturesUnordered::new() }
    }

    /// The next message that is a response.
    pub(super) async fn next(
        &mut self,
        body: &mut ResponseBody,
        silence: Duration,
    ) -> Result<Option<Json>, CallError> {
        loop {
            let event = tokio::select! {
                event = body.event(silence), if self.questions.len() < QUESTIONS => event,
                Some(answered) = self.questions.next() => {
                    answered?;
                    continue;
                }
            };
            let event = match event {
                // The caller is being asked, and may take longer.
                Err(CallError::TimedOut) if !self.questions.is_empty() => continue,
                event => event?,
            };
            let Some(event) = event else { return Ok(None) };
            let Ok(message) = Json::parse(event.data) else { continue };
            let Some(method) = text_at(&message, "method") else { return Ok(Some(message)) };
            let [asked, params] = message.pick(["id", "params"]);
            match asked {
                None => {
                    self.link.listener.hear(&Call::notification(method, params), self.during).await;
                }
                Some(asked) => {
                    let reply = self.link.listener.hear(&Call::new(method, params), self.during);
                    let link = self.link;
                    self.questions.push(Box::pin(async move { link.respond(asked, reply.await).await }));
                }
            }
        }
    }

    /// Waits before a stream is resumed.
    async fn pause(&mut self, time: Duration) -> Result<(), CallError> {
        let until = tokio::time::Instant::now() + time;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return Ok(()),
                Some(answered) = self.questions.next() => answered?,
            }
        }
    }
}

/// An error as the member of a response.
fn error_json(error: &ErrorObject) -> Result<Json, CallError> {
    let mut text = Vec::new();
    encode_error(&mut text, error);
    Json::parse(text).map_err(|error| CallError::Protocol(error.to_string().into()))
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
