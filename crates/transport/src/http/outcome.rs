//! What an HTTP response means for the calls it answers (JH-28, J2-71).

use bytes::Bytes;
use http::StatusCode;
use switchboard_core::codec::{self, Entries, Incoming, Message, ResponseObject, ResponseOutcome};
use switchboard_core::{self as core, CallError, Code, ErrorObject, Json, Metadata, Reply, Settings};

/// A response of the peer, read to its end.
pub(super) struct Received {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
    /// Where it sends the caller instead, if it does.
    pub(super) location: Option<String>,
    /// What of its headers is the metadata of its replies.
    pub(super) metadata: Metadata,
}

/// The most bytes of a location to show.
const LOCATION: usize = 500;

impl Received {
    /// The reply to one call with this identifier.
    pub(super) fn single(&self, id: u64, settings: &Settings) -> Result<Reply, CallError> {
        match self.decode(settings)? {
            Incoming::Single(Message::Response(response)) if answers(&response, id) => self.reply(response),
            Incoming::Single(Message::Response(_)) => self.broken("it has the identifier of another call"),
            Incoming::Single(_) => self.broken("it is not a response object"),
            Incoming::Batch(_) => self.broken("it is an array, but the request was a single call"),
        }
    }

    /// How a notification ended. The body of a success does not matter.
    pub(super) fn notified(&self, settings: &Settings) -> Result<Reply, CallError> {
        if self.status.is_success() {
            return Ok(Reply::value(Json::NULL));
        }
        match self.decode(settings)? {
            Incoming::Single(Message::Response(ResponseObject {
                outcome: ResponseOutcome::Error(error),
                ..
            })) => Ok(Reply::error(error)),
            _ => Err(self.failed()),
        }
    }

    /// The replies to a batch whose calls have identifiers from `first` on, in their order. `is_call` says which of its
    /// entries are answered.
    pub(super) fn batch(&self, first: u64, is_call: &[bool], settings: &Settings) -> Vec<Reply> {
        let every = |outcome: Result<Reply, CallError>| {
            let (error, is_for_batch) = match outcome {
                Ok(Reply { outcome: core::Outcome::Error(error), .. }) => (error, true),
                Ok(_) => (CallError::Protocol("one result for a whole batch".into()).into(), false),
                Err(error) => (error.into(), false),
            };
            let reply = |is_call: &bool| {
                if !is_call {
                    return Reply::value(Json::NULL);
                }
                let mut reply = Reply::error(error.clone());
                if is_for_batch {
                    reply.extra_mut().is_for_batch = true;
                }
                reply
            };
            is_call.iter().map(reply).collect()
        };
        if !is_call.contains(&true) {
            return match self.notified(settings) {
                Ok(Reply { outcome: core::Outcome::Error(error), .. }) => {
                    is_call.iter().map(|_| error.clone().into()).collect()
                }
                Ok(_) => is_call.iter().map(|_| Reply::value(Json::NULL)).collect(),
                Err(error) => is_call.iter().map(|_| ErrorObject::from(error.clone()).into()).collect(),
            };
        }
        match self.decode(settings) {
            Ok(Incoming::Batch(entries)) => self.sort(&entries, first, is_call),
            Ok(Incoming::Single(Message::Response(response))) => every(self.reply(response)),
            Ok(Incoming::Single(_)) => every(self.broken("it is not a response object")),
            Err(error) => every(Err(error)),
        }
    }

    /// Puts the responses to the places of their calls.
    fn sort(&self, entries: &Entries, first: u64, is_call: &[bool]) -> Vec<Reply> {
        let mut replies: Vec<Option<Reply>> =
            is_call.iter().map(|is_call| (!is_call).then_some(Reply::value(Json::NULL))).collect();
        for entry in entries.iter() {
            let Message::Response(response) = entry else {
                tracing::debug!("skipped an entry of a batch response that is not a response");
                continue;
            };
            let place = response.id.as_u64().and_then(|id| usize::try_from(id.checked_sub(first)?).ok());
            match place.and_then(|place| replies.get_mut(place)) {
                Some(empty @ None) => {
                    *empty = Some(self.reply(response).unwrap_or_else(failure));
                }
                _ => {
                    tracing::debug!(id = ?response.id, "dropped a response that matches no call of its batch");
                }
            }
        }
        let missing = || failure(CallError::Protocol("the batch response does not include this call".into()));
        replies.into_iter().map(|reply| reply.unwrap_or_else(missing)).collect()
    }

    fn reply(&self, mut response: ResponseObject) -> Result<Reply, CallError> {
        let extra = response.take_extra();
        let mut reply = match response.outcome {
            ResponseOutcome::Error(error) => Reply::error(error),
            ResponseOutcome::Value(json) if self.status.is_success() => Reply::value(json),
            ResponseOutcome::Value(_) => return Err(self.failed()),
            ResponseOutcome::Stream(..) => {
                return self.broken("it starts a stream, which a single HTTP response cannot carry");
            }
            ResponseOutcome::Broken(detail) => return self.broken(detail),
        };
        reply.extra = extra;
        if !self.metadata.is_empty() {
            let extra = reply.extra.get_or_insert_default();
            extra.metadata = extra.metadata.and(&self.metadata);
        }
        Ok(reply)
    }

    fn decode(&self, settings: &Settings) -> Result<Incoming, CallError> {
        codec::decode(&self.body, settings).map_err(|error| {
            let broken = match error.code {
                _ if self.body.is_empty() => self.broken("it is empty"),
                Code::PARSE_ERROR => self.broken("it is not JSON"),
                _ => self.broken("it exceeds a limit of this client"),
            };
            broken.map_or_else(|error| error, |()| self.failed())
        })
    }

    /// A success that breaks the rules; anything else that does is a failure of HTTP.
    fn broken<T>(&self, detail: &'static str) -> Result<T, CallError> {
        Err(if self.status.is_success() { CallError::Protocol(detail.into()) } else { self.failed() })
    }

    fn failed(&self) -> CallError {
        let status = self.status;
        CallError::Transport(match self.location.as_deref().filter(|to| to.len() <= LOCATION) {
            Some(to) => format!("the server answered {status} and redirects to {to}").into(),
            None => format!("the server answered {status} without a JSON-RPC error").into(),
        })
    }
}

/// Whether a response is for the only call that was sent. An error without an identifier is, too (J2-68).
fn answers(response: &ResponseObject, id: u64) -> bool {
    let is_fault = response.id.is_null() && matches!(response.outcome, ResponseOutcome::Error(_));
    is_fault || response.id.as_u64() == Some(id)
}

pub(super) fn failure(error: CallError) -> Reply {
    Reply::error(ErrorObject::from(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(status: u16, body: &'static str) -> Received {
        let (status, body) = (StatusCode::from_u16(status).unwrap(), Bytes::from_static(body.as_bytes()));
        Received { status, body, location: None, metadata: Metadata::default() }
    }

    fn show(reply: Reply) -> String {
        match reply.outcome {
            core::Outcome::Value(json) => json.to_string(),
            core::Outcome::Error(error) => match CallError::from(error) {
                CallError::Rejected(error) => {
                    let is_for_batch = reply.extra.is_some_and(|extra| extra.is_for_batch);
                    let whole = if is_for_batch { ", all" } else { "" };
                    format!("rejected {}{whole}", error.code)
                }
                CallError::Protocol(_) => "protocol".to_owned(),
                CallError::Transport(_) => "transport".to_owned(),
                other => format!("{other:?}"),
            },
            core::Outcome::Stream(_) => "stream".to_owned(),
        }
    }

    // JH-28, J2-66, J2-68
    #[test]
    fn a_response_is_a_result_an_error_of_the_far_side_or_a_local_failure() {
        let check = |status, body, expected: &str| {
            let reply = received(status, body).single(7, &Settings::default());
            assert_eq!(show(reply.unwrap_or_else(failure)), expected, "{status} {body}");
        };
        check(200, r#"{"jsonrpc":"2.0","result":5,"id":7}"#, "5");
        check(200, r#"{"jsonrpc":"2.0","result":5,"id":7.0}"#, "5");
        check(200, r#"{"result":5,"error":null,"id":7}"#, "5");
        check(200, r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"x"},"id":7}"#, "rejected -32601");
        check(404, r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"x"},"id":7}"#, "rejected -32601");
        check(413, r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"x"},"id":null}"#, "rejected -32600");
        check(502, "<html>Bad Gateway</html>", "transport");
        check(502, "", "transport");
        check(503, r#"{"error":"overloaded"}"#, "transport");
        check(500, r#"{"jsonrpc":"2.0","result":5,"id":7}"#, "transport");
        check(200, "", "protocol");
        check(204, "", "protocol");
        check(200, "<html>hello</html>", "protocol");
        check(200, r#"{"jsonrpc":"2.0","result":5,"id":8}"#, "protocol");
        check(200, r#"{"jsonrpc":"2.0","result":5,"id":"7"}"#, "protocol");
        check(200, r#"{"jsonrpc":"2.0","result":5,"id":null}"#, "protocol");
        check(200, r#"{"jsonrpc":"2.0","result":5,"error":null,"id":7}"#, "protocol");
        check(200, r#"{"jsonrpc":"2.0","id":7}"#, "protocol");
        check(200, r#"{"jsonrpc":"2.0","error":{"code":"x","message":"x"},"id":7}"#, "protocol");
        check(200, r#"[{"jsonrpc":"2.0","result":5,"id":7}]"#, "protocol");
        check(200, r#"{"jsonrpc":"2.0","result":"s","stream":true,"id":7}"#, "protocol");
        check(200, "5", "protocol");
    }

    #[test]
    fn whatever_a_success_says_to_a_notification_is_fine() {
        let check = |status, body, expected: &str| {
            let reply = received(status, body).notified(&Settings::default());
            assert_eq!(show(reply.unwrap_or_else(failure)), expected, "{status} {body}");
        };
        check(204, "", "null");
        check(202, "", "null");
        check(200, "", "null");
        check(200, "thanks", "null");
        check(403, r#"{"jsonrpc":"2.0","error":{"code":-32002,"message":"x"},"id":null}"#, "rejected -32002");
        check(500, "", "transport");
    }

    // J2-71
    #[test]
    fn the_answers_to_a_batch_find_their_calls() {
        let check = |status, body, expected: &[&str]| {
            let replies = received(status, body).batch(7, &[true, false, true], &Settings::default());
            assert_eq!(replies.into_iter().map(show).collect::<Vec<_>>(), expected, "{status} {body}");
        };
        let (a, c) = (r#"{"jsonrpc":"2.0","result":"a","id":7}"#, r#"{"jsonrpc":"2.0","result":"c","id":9}"#);
        let list = |entries: &[&str]| &*format!("[{}]", entries.join(",")).leak();
        check(200, list(&[a, c]), &["\"a\"", "null", "\"c\""]);
        check(200, list(&[c, a]), &["\"a\"", "null", "\"c\""]);
        check(200, list(&[c]), &["protocol", "null", "\"c\""]);
        check(200, list(&[a, a, c, "5"]), &["\"a\"", "null", "\"c\""]);
        let surplus = r#"{"jsonrpc":"2.0","result":"d","id":10}"#;
        let early = r#"{"jsonrpc":"2.0","result":"d","id":1}"#;
        let unasked = r#"{"jsonrpc":"2.0","result":"d","id":8}"#;
        check(200, list(&[early, surplus, unasked, a, c]), &["\"a\"", "null", "\"c\""]);
        let error = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"x"},"id":null}"#;
        check(200, error, &["rejected -32600, all", "null", "rejected -32600, all"]);
        check(413, error, &["rejected -32600, all", "null", "rejected -32600, all"]);
        // Each call has failed, which does not say that the batch was refused.
        let each = [7, 9]
            .map(|id| format!(r#"{{"jsonrpc":"2.0","error":{{"code":-32600,"message":"x"}},"id":{id}}}"#));
        check(
            200,
            list(&each.each_ref().map(String::as_str)),
            &["rejected -32600", "null", "rejected -32600"],
        );
        check(200, a, &["protocol", "null", "protocol"]);
        check(204, "", &["protocol", "null", "protocol"]);
        check(502, "", &["transport", "null", "transport"]);
    }

    #[test]
    fn a_batch_of_notifications_needs_no_answer() {
        let replies = received(204, "").batch(7, &[false, false], &Settings::default());
        assert_eq!(replies.into_iter().map(show).collect::<Vec<_>>(), ["null", "null"]);
        let replies = received(500, "").batch(7, &[false], &Settings::default());
        assert_eq!(replies.into_iter().map(show).collect::<Vec<_>>(), ["transport"]);
    }
}
