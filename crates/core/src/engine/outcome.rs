//! How a call ended, decided and written in one place.

use futures_util::StreamExt;
use tokio::task::coop::consume_budget;

use crate::code::Code;
use crate::codec::{self, Invalid, Message, Response};
use crate::context::Version;
use crate::error::{EngineFault, ErrorObject};
use crate::id::Id;
use crate::json::Json;
use crate::observer::End;
use crate::reply::{Items, Outcome};
use crate::text::Text;

/// Writes the response to a call at the end of `out`, and says how the call ended. A result of more than `limit` bytes is
/// replaced by -32007 (SEC-L-03).
#[inline]
pub(crate) fn respond(
    out: &mut Vec<u8>,
    version: Version,
    id: &Id,
    outcome: Result<&Json, &ErrorObject>,
    limit: usize,
) -> End {
    if !is_within(outcome, limit) {
        return respond_too_large(out, version, id, limit);
    }
    codec::response(out, version, id, outcome);
    match outcome {
        Ok(_) => End::Value,
        Err(error) => end_of(error),
    }
}

/// Writes a response with these members beside the outcome, if there are any. They count against the limit too.
pub(crate) fn respond_with(
    out: &mut Vec<u8>,
    version: Version,
    id: &Id,
    outcome: Result<&Json, &ErrorObject>,
    members: Option<&Json>,
    limit: usize,
) -> End {
    let Some(members) = members else { return respond(out, version, id, outcome, limit) };
    let rest = limit.checked_sub(members.as_bytes().len());
    if !rest.is_some_and(|rest| is_within(outcome, rest)) {
        return respond_too_large(out, version, id, limit);
    }
    let end = respond(out, version, id, outcome, limit);
    codec::append_members(out, members);
    end
}

#[cold]
fn respond_too_large(out: &mut Vec<u8>, version: Version, id: &Id, limit: usize) -> End {
    codec::response(out, version, id, Err(&too_large(limit)));
    End::TooLarge
}

/// How a call ended that has this error for an answer.
pub(crate) fn end_of(error: &ErrorObject) -> End {
    match error.fault {
        None => End::Error(error.code),
        Some(EngineFault::TimedOut) => End::TimedOut,
        Some(EngineFault::Panicked) => End::Panicked,
        Some(EngineFault::Cancelled) => End::Cancelled,
        Some(EngineFault::TooLarge) => End::TooLarge,
    }
}

/// How many bytes to reserve for a response.
#[inline(always)]
pub(super) fn size(version: Version, id: &Id, outcome: Result<&Json, &ErrorObject>) -> usize {
    outcome.map_or(128, |json| codec::result_len(version, id, json))
}

/// The outcome, or an error in the place of one that has too many bytes.
#[inline]
pub(crate) fn within(outcome: Result<Json, ErrorObject>, limit: usize) -> Result<Json, ErrorObject> {
    if is_within(outcome.as_ref(), limit) { outcome } else { Err(too_large(limit)) }
}

#[inline(always)]
fn is_within(outcome: Result<&Json, &ErrorObject>, limit: usize) -> bool {
    match outcome {
        Ok(json) => json.as_bytes().len() <= limit,
        Err(error) => error.data.as_ref().is_none_or(|data| data.as_bytes().len() <= limit),
    }
}

/// The error of a reply that has more than `limit` bytes.
pub(crate) fn too_large(limit: usize) -> ErrorObject {
    let detail = format!("the reply has more than {limit} bytes (limits.reply)");
    ErrorObject::from_code(Code::REPLY_TOO_LARGE).with_detail(detail).with_fault(EngineFault::TooLarge)
}

/// The items of a stream as one array.
pub(crate) async fn collect(mut items: Items, limit: usize) -> Result<Json, ErrorObject> {
    // A subscription goes on until it is ended, which takes a connection (ETH-05).
    if items.subscription().is_some() {
        let detail = "a subscription needs a carrier that stays open, such as WebSocket";
        return Err(ErrorObject::from_code(Code::METHOD_NOT_FOUND).with_detail(detail));
    }
    let mut array = vec![b'['];
    while let Some(item) = items.next().await {
        // A stream that always has an item must not keep others from theirs.
        consume_budget().await;
        let item = item?;
        if array.len() > 1 {
            array.push(b',');
        }
        array.extend_from_slice(item.as_bytes());
        if array.len() > limit {
            return Err(too_large(limit));
        }
    }
    array.push(b']');
    Ok(Json::from_text(Text::from_vec(array)))
}

/// The answer to a message that asks for no call, where nothing was called over this carrier, if it gets any.
pub(crate) fn refusal_of(message: &Message) -> Option<(Version, &Id, ErrorObject)> {
    match message {
        Message::Invalid(Invalid { version, id, error }) => {
            id.as_ref().map(|id| (*version, id, error.clone()))
        }
        Message::Response(response) => stray(response),
        Message::Request(_) => None,
    }
}

/// A response where no call was made is an invalid request (J2-50); an error without an identifier is never answered,
/// lest two sides answer each other for ever.
fn stray(response: &Response) -> Option<(Version, &Id, ErrorObject)> {
    if response.id.is_null() && matches!(response.outcome, codec::Outcome::Error(_)) {
        return None;
    }
    let error = ErrorObject::invalid_request("this is a response; nothing was called over this carrier");
    Some((response.version, &response.id, error))
}

/// How a notification ended. Its failure is not answered (J2-18); the log and the observer learn of it.
pub(crate) fn end_of_notification(outcome: &Outcome) -> End {
    let Outcome::Error(error) = outcome else { return End::Notified(None) };
    tracing::debug!(code = error.code.0, "a notification failed");
    match end_of(error) {
        End::Error(code) => End::Notified(Some(code)),
        other => other,
    }
}
