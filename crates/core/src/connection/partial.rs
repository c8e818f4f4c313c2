//! Streams told as partial results, sent and received: items come as progress, and the response comes last (LSP-P-05).

use std::future::Future;

use futures_util::StreamExt;

use crate::codec::{Request, elements, members, written_members};
use crate::connection::inbox::Inbox;
use crate::context::Context;
use crate::error::ErrorObject;
use crate::exchange::collect;
use crate::json::{Json, Kind};
use crate::profile::{Profile, Settings};
use crate::reply::{Items, Reply};
use crate::text::Text;
use crate::wishes::ProgressTo;

/// How many items are told at once, where they are there.
const AT_ONCE: usize = 32;

/// The tokens that a caller gave in its params: for progress, and for partial results.
#[derive(Default)]
pub(super) struct Tokens {
    pub(super) progress: Option<ProgressTo>,
    partial: Option<ProgressTo>,
}

impl Tokens {
    /// Takes them out of the params, where the dialect has them: like identifiers they are for the driver, and a method
    /// that knows its parameters would refuse them.
    #[inline]
    pub(super) fn take(request: &mut Request, profile: &Profile) -> Tokens {
        let has_any = profile.progress.param.is_some() || profile.streams.partial.is_some();
        match &mut request.params {
            Some(params) if has_any && request.id.is_some() => Tokens::split(params, profile),
            _ => Tokens::default(),
        }
    }

    /// Whether the caller gave a token for partial results.
    pub(super) fn wants_parts(&self) -> bool {
        self.partial.is_some()
    }

    fn split(params: &mut Json, profile: &Profile) -> Tokens {
        let mut tokens = Tokens::default();
        let mut others = Vec::new();
        for ((name, value), written) in members(params.as_bytes()).zip(written_members(params.as_bytes())) {
            let is = |wanted: Option<&str>| wanted.is_some_and(|wanted| *name == *wanted.as_bytes());
            // A token is a string or a number.
            let is_token = matches!(value.first(), Some(b'"' | b'-' | b'0'..=b'9'));
            let token = || {
                let (method, member) = (profile.progress.method.clone(), profile.progress.member);
                Some(ProgressTo { method, member, token: params.sub(value).detached() })
            };
            if is_token && is(profile.progress.param) {
                tokens.progress = token();
            } else if is_token && is(profile.streams.partial) {
                tokens.partial = token();
            } else {
                others.push(written);
            }
        }
        if tokens.progress.is_some() || tokens.partial.is_some() {
            *params = object(&others);
        }
        tokens
    }

    /// A reply in whose place there is a value or an error: a stream is told to its end, or collected.
    pub(super) fn settle<F: Future<Output = Reply> + Send + 'static>(
        self,
        reply: F,
        cx: &Context,
        settings: &Settings,
    ) -> impl Future<Output = Reply> + Send + use<F> {
        let (cx, limit) = (cx.clone(), settings.limits.reply);
        async move {
            match (reply.await, self.partial) {
                (Reply::Stream(items), Some(to)) => tell(items, &to, &cx, limit).await.into(),
                (Reply::Stream(items), None) => collect(items, limit).await.into(),
                (other, _) => other,
            }
        }
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
async fn tell(items: Items, to: &ProgressTo, cx: &Context, limit: usize) -> Result<Json, ErrorObject> {
    let mut chunks = items.ready_chunks(AT_ONCE);
    while let Some(chunk) = chunks.next().await {
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
            let detail = "the items have too many bytes (limits.reply)";
            return Err(ErrorObject::from_code(crate::code::Code::REPLY_TOO_LARGE).with_detail(detail));
        }
        if !array.is_empty() {
            array.push(b']');
            to.send(cx.peer(), &Json::from_text(Text::from_vec(array))).await;
        }
        outcome?;
    }
    Ok(Json::from_text(Text::from_static("[]")))
}

/// What the tokens begin with by which this side asks for partial results.
pub(super) const PREFIX: &str = "part";

/// The call that this token was given with, if it is one for partial results.
pub(super) fn call_of(token: &Json) -> Option<u64> {
    let id = token.as_str().strip_prefix('"')?.strip_prefix(PREFIX)?.strip_prefix('-')?;
    id.strip_suffix('"')?.parse().ok()
}

/// Waits until it is known what the reply is: an error, or a stream of what comes.
pub(super) async fn begin(mut items: Items) -> Reply {
    match items.next().await {
        Some(Err(error)) => Reply::Error(error),
        first => Reply::Stream(Items::new(futures_util::stream::iter(first).chain(items))),
    }
}

/// Adds a part of a result, whose elements are items; false if there is no room for them.
pub(super) fn put(inbox: &Inbox, part: Json) -> bool {
    match part.kind() {
        Kind::Array => elements(part.as_bytes()).all(|element| inbox.push(None, part.sub(element))),
        Kind::Null => true,
        _ => inbox.push(None, part),
    }
}

/// Ends the items with what the response holds: nothing any more, or all, if no part came before (LSP-P-05).
pub(super) fn finish(inbox: &Inbox, reply: Reply) {
    match reply {
        Reply::Value(rest) => {
            if put(inbox, rest) {
                inbox.end(None, None);
            }
        }
        Reply::Error(error) => inbox.end(None, Some(error)),
        // A response holds no stream; one that came by another way would end here.
        Reply::Stream(_) => inbox.end(None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Version;
    use crate::id::Id;

    fn check(params: &str, expected: &str, has_progress: bool, has_partial: bool) {
        let params = Some(Json::parse(params.to_owned()).unwrap());
        let id = Some(Id::from(1));
        let mut request = Request { version: Version::V2, method: "m".into(), params, id, members: None };
        let tokens = Tokens::take(&mut request, &Profile::lsp());
        assert_eq!(request.params.unwrap().as_str(), expected);
        assert_eq!((tokens.progress.is_some(), tokens.partial.is_some()), (has_progress, has_partial));
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
