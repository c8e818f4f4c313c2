//! How a call ended, decided and written in one place.

use futures_util::StreamExt;
use tokio::task::coop::consume_budget;

use crate::code::Code;
use crate::codec::{self, Invalid, Message, ResponseObject};
use crate::context::Version;
use crate::error::{EngineFault, ErrorObject};
use crate::id::Id;
use crate::json::Json;
use crate::memory::{SHORT, Share};
use crate::observer::End;
use crate::reply::{Items, Outcome};
use crate::session::Session;
use crate::text::Text;

/// How many bytes a reply may have.
#[derive(Clone, Copy)]
pub(crate) struct ReplyLimit<'a> {
    /// As many as need no further question.
    free: usize,
    /// As many as [`Limits`](crate::Limits) say.
    bytes: usize,
    /// Whose memory it takes until it is sent, where that is bounded.
    session: Option<&'a Session>,
}

impl<'a> ReplyLimit<'a> {
    #[inline(always)]
    pub(crate) fn new(bytes: usize, session: &'a Session) -> ReplyLimit<'a> {
        ReplyLimit { free: bytes.min(SHORT), bytes, session: Some(session) }
    }

    /// The limit of a reply that becomes a part of an answer whose memory is counted as a whole.
    #[inline(always)]
    pub(crate) fn of_part(bytes: usize) -> ReplyLimit<'static> {
        ReplyLimit { free: bytes, bytes, session: None }
    }

    /// The same limit for a reply that has so many bytes beside.
    fn beside(self, bytes: usize) -> Option<ReplyLimit<'a>> {
        let free = self.free.saturating_sub(bytes);
        Some(ReplyLimit { free, bytes: self.bytes.checked_sub(bytes)?, ..self })
    }

    #[inline(always)]
    fn has_room(self, bytes: usize) -> bool {
        bytes <= self.free || self.has_memory(bytes)
    }

    #[cold]
    #[inline(never)]
    fn has_memory(self, bytes: usize) -> bool {
        let account = self.session.and_then(Session::account);
        bytes <= self.bytes && account.is_none_or(|account| account.has_room(bytes))
    }

    /// The error that replaces a reply for which there is no room.
    fn error(self, bytes: usize) -> ErrorObject {
        if bytes > self.bytes { too_large(self.bytes) } else { no_memory() }
    }
}

/// Writes the response to a call at the end of `out`, and says how the call ended. A result that has more bytes than it may is
/// replaced by -32007 (SEC-L-03).
#[inline]
pub(crate) fn respond(
    out: &mut Vec<u8>,
    version: Version,
    id: &Id,
    outcome: Result<&Json, &ErrorObject>,
    limit: ReplyLimit<'_>,
) -> End {
    if !limit.has_room(length(outcome)) {
        return respond_too_large(out, version, id, &limit.error(length(outcome)));
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
    limit: ReplyLimit<'_>,
) -> End {
    let Some(members) = members else { return respond(out, version, id, outcome, limit) };
    let rest = limit.beside(members.as_bytes().len());
    if !rest.is_some_and(|rest| rest.has_room(length(outcome))) {
        let error = limit.error(length(outcome) + members.as_bytes().len());
        return respond_too_large(out, version, id, &error);
    }
    let end = respond(out, version, id, outcome, limit);
    codec::append_members(out, members);
    end
}

#[cold]
fn respond_too_large(out: &mut Vec<u8>, version: Version, id: &Id, error: &ErrorObject) -> End {
    codec::response(out, version, id, Err(error));
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
pub(crate) fn within(outcome: Result<Json, ErrorObject>, limit: ReplyLimit<'_>) -> Result<Json, ErrorObject> {
    let bytes = length(outcome.as_ref());
    if limit.has_room(bytes) { outcome } else { Err(limit.error(bytes)) }
}

/// How many bytes an outcome has that a service chose.
#[inline(always)]
fn length(outcome: Result<&Json, &ErrorObject>) -> usize {
    match outcome {
        Ok(json) => json.as_bytes().len(),
        Err(error) => error.data.as_ref().map_or(0, |data| data.as_bytes().len()),
    }
}

/// The error of a reply that has more than `limit` bytes.
pub(crate) fn too_large(limit: usize) -> ErrorObject {
    let detail = format!("the reply exceeds {limit} bytes (limits.reply)");
    ErrorObject::from_code(Code::REPLY_TOO_LARGE).with_detail(detail).with_fault(EngineFault::TooLarge)
}

/// The error of a reply for which there is no room beside what others have been sent and not read.
pub(crate) fn no_memory() -> ErrorObject {
    let detail = "not enough memory for the reply: too many others are waiting to be sent; try again later";
    ErrorObject::from_code(Code::REPLY_TOO_LARGE).with_detail(detail).with_fault(EngineFault::TooLarge)
}

/// The items of a stream as one array, whose memory is counted while it grows.
pub(crate) async fn collect(mut items: Items, limit: usize, share: &mut Share) -> Result<Json, ErrorObject> {
    // A subscription goes on until it is ended, which takes a connection (ETH-05).
    if items.subscription().is_some() {
        let detail = "a subscription needs a connection that stays open, such as a WebSocket";
        return Err(ErrorObject::from_code(Code::METHOD_NOT_FOUND).with_detail(detail));
    }
    let (mut array, mut covered) = (vec![b'['], SHORT);
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
        if array.len() > covered {
            covered = share.cover_growing(array.len(), limit).ok_or_else(no_memory)?;
        }
    }
    array.push(b']');
    Ok(Json::from_text(Text::from_vec(array)))
}

/// The answer to a message that is not a call, where no calls were sent over this transport, if it gets any.
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
fn stray(response: &ResponseObject) -> Option<(Version, &Id, ErrorObject)> {
    if response.id.is_null() && matches!(response.outcome, codec::ResponseOutcome::Error(_)) {
        return None;
    }
    let error = ErrorObject::invalid_request("unexpected response: no calls were sent over this transport");
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
