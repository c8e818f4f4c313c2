//! Streams as partial results, sent and received: items arrive as progress, and the response comes last (LSP-P-05).

use futures_util::StreamExt;
use tokio::task::coop::consume_budget;

use crate::call::{Call, StreamWanted};
use crate::call_options::ProgressTo;
use crate::codec::{elements, members, written_members};
use crate::context::Context;
use crate::error::ErrorObject;
use crate::json::{Json, Kind};
use crate::profile::Profile;
use crate::remote::ReceiveBuffer;
use crate::reply::{Items, Outcome, Reply};
use crate::text::Text;

/// How many items are sent at once, where they are there.
const AT_ONCE: usize = 32;

/// Where the partial results of a call go; among the extensions of its context.
#[derive(Clone)]
pub(crate) struct PartialTo(pub(crate) ProgressTo);

/// Takes the tokens for progress and for partial results out of the params of a call, where the dialect has them, and puts
/// them into its context: like identifiers they are for the engine, and a method that knows its parameters would refuse them.
pub(crate) fn take_tokens(call: &mut Call, profile: &Profile) {
    if call.is_notification() {
        return;
    }
    let Some(params) = &mut call.params else { return };
    let mut others = Vec::new();
    let (mut progress, mut partial) = (None, None);
    for ((name, value), written) in members(params.as_bytes()).zip(written_members(params.as_bytes())) {
        let is = |wanted: Option<&str>| wanted.is_some_and(|wanted| *name == *wanted.as_bytes());
        // A token is a string or a number.
        let is_token = matches!(value.first(), Some(b'"' | b'-' | b'0'..=b'9'));
        let token = || {
            let (method, member) = (profile.progress.method.clone(), profile.progress.member);
            Some(ProgressTo { method, member, token: params.sub(value).detached() })
        };
        if is_token && is(profile.progress.param) {
            progress = token();
        } else if is_token && is(profile.streams.partial) {
            partial = token();
        } else {
            others.push(written);
        }
    }
    if progress.is_some() || partial.is_some() {
        *params = object(&others);
    }
    if let Some(progress) = progress {
        call.cx.insert(progress);
    }
    if let Some(partial) = partial {
        call.cx.insert(PartialTo(partial));
        call.cx.insert(StreamWanted);
    }
}

/// An object of these members, their names as they are written.
fn object(members: &[(&[u8], &[u8])]) -> Json {
    let mut text = vec![b'{'];
    for (name, value) in members {
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(name);
        text.push(b':');
        text.extend_from_slice(value);
    }
    text.push(b'}');
    Json::from_text(Text::from_vec(text))
}

/// Sends the items as arrays of those that are there at once; what has gone that way is not in the response.
pub(crate) async fn tell(
    items: Items,
    to: &ProgressTo,
    cx: &Context,
    limit: usize,
) -> Result<Json, ErrorObject> {
    let mut chunks = items.ready_chunks(AT_ONCE);
    while let Some(chunk) = chunks.next().await {
        // A stream that always has an item must not keep others from theirs.
        consume_budget().await;
        let mut array = Vec::new();
        let mut outcome = Ok(());
        for item in chunk {
            match item {
                Ok(item) => {
                    array.push(if array.is_empty() { b'[' } else { b',' });
                    array.extend_from_slice(item.as_bytes());
                }
                // There is no place for a gap; the response says that something is missing.
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        if array.len() > limit {
            let detail = "the items exceed the size limit (limits.reply)";
            return Err(ErrorObject::from_code(crate::code::Code::REPLY_TOO_LARGE).with_detail(detail));
        }
        if !array.is_empty() {
            array.push(b']');
            // An item that could not be sent fails the call: a successful response would claim that every item arrived.
            to.send(cx.peer(), &Json::from_text(Text::from_vec(array))).await?;
        }
        outcome?;
    }
    Ok(Json::from_text(Text::from_static("[]")))
}

/// What the tokens begin with by which this side asks for partial results.
pub(crate) const PREFIX: &str = "part";

/// The call that this token was given with, if it is one for partial results.
pub(crate) fn call_of(token: &Json) -> Option<u64> {
    let id = token.as_str().strip_prefix('"')?.strip_prefix(PREFIX)?.strip_prefix('-')?;
    id.strip_suffix('"')?.parse().ok()
}

/// Waits until it is known what the reply is: an error, or a stream of the parts.
pub(crate) async fn begin(mut items: Items) -> Reply {
    match items.next().await {
        Some(Err(error)) => Reply::error(error),
        first => Reply::items(Items::new(futures_util::stream::iter(first).chain(items))),
    }
}

/// Adds a part of a result, whose elements are items; false if there is no room for them.
pub(crate) fn put(buffer: &ReceiveBuffer, part: Json) -> bool {
    match part.kind() {
        Kind::Array => elements(part.as_bytes()).all(|element| buffer.push(None, part.sub(element))),
        Kind::Null => true,
        _ => buffer.push(None, part),
    }
}

/// Ends the items with what the response holds: nothing any more, or all, if no part came before (LSP-P-05).
pub(crate) fn finish(buffer: &ReceiveBuffer, reply: Reply) {
    match reply.outcome {
        Outcome::Value(rest) => {
            if put(buffer, rest) {
                buffer.end(None, None);
            }
        }
        Outcome::Error(error) => buffer.end(None, Some(error)),
        // A response holds no stream; one that came by another way would end here.
        Outcome::Stream(_) => buffer.end(None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(params: &str, expected: &str, has_progress: bool, has_partial: bool) {
        let mut call = Call::new("m", Some(Json::parse(params.to_owned()).unwrap()));
        take_tokens(&mut call, &Profile::lsp());
        assert_eq!(call.params.unwrap().as_str(), expected);
        assert_eq!((call.cx.wants_progress(), call.cx.wants_stream()), (has_progress, has_partial));
    }

    #[test]
    fn tokens_are_taken_out_of_the_params() {
        // LSP-P-03, LSP-P-05
        check(r#"{"a":1,"workDoneToken":5}"#, r#"{"a":1}"#, true, false);
        check(r#"{"partialResultToken":"t", "a": [1, {}]}"#, r#"{"a":[1, {}]}"#, false, true);
        check(
            r#"{"workDoneToken":"a","\ud83d\ude00":1,"partialResultToken":"b"}"#,
            r#"{"\ud83d\ude00":1}"#,
            true,
            true,
        );
        check(r#"{"\u0077orkDoneToken":-1}"#, "{}", true, false);
    }

    #[test]
    fn what_is_no_token_stays_where_it_is() {
        for params in [
            r#"{"a": 1}"#,
            r#"[{"workDoneToken":1}]"#,
            r#"{ "workDoneToken": null }"#,
            r#"{"a":{"workDoneToken":1}}"#,
        ] {
            check(params, params, false, false);
        }
    }
}
