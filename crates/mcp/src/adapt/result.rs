//! Results of tools: as a whole for clients of MCP, and as plain values for all others.

use std::sync::Arc;

use switchboard_core::{Call, Code, ErrorObject, Json, Kind, Layer, Outcome, Reply, ReplyFuture, Service};

use crate::ask::Caller;

/// Gives callers that are not clients of MCP the results of tools as plain values.
///
/// [`Methods`](super::Methods) does that by itself. Around layers that keep or share answers, such as a cache, this layer has it done
/// outside of them, so that both kinds of callers can share an answer. The function says whether a method is a tool, and whether that has
/// an output schema.
#[derive(Clone)]
pub struct PlainResults(Arc<HasOutput>);

type HasOutput = dyn Fn(&str) -> Option<bool> + Send + Sync;

impl PlainResults {
    /// With this function about tools.
    pub fn new(has_output: impl Fn(&str) -> Option<bool> + Send + Sync + 'static) -> PlainResults {
        PlainResults(Arc::new(has_output))
    }
}

/// A mark in the context of a call: its result is wanted as a whole.
struct WholeWanted;

/// Whether a call wants the result of a tool as it is.
pub(super) fn is_whole(call: &Call) -> bool {
    call.cx.get::<Caller>().is_some() || call.cx.get::<WholeWanted>().is_some()
}

impl Layer for PlainResults {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Plain { inner, has_output: Arc::clone(&self.0) })
    }
}

struct Plain {
    inner: Arc<dyn Service>,
    has_output: Arc<HasOutput>,
}

impl Service for Plain {
    fn call(&self, call: &Call) -> ReplyFuture {
        let has_output = if is_whole(call) { None } else { (self.has_output)(call.method.as_str()) };
        let Some(has_output) = has_output else { return self.inner.call(call) };
        let mut call = call.clone();
        call.cx.insert(WholeWanted);
        self.inner.call(&call).map(move |reply| plain(reply, has_output))
    }
}

/// The result of a tool. One that failed is an error, so that nothing takes it for a good answer; its data is the result.
pub(super) fn whole(told: Json) -> Reply {
    match is_error(&told) {
        true => Reply::error(ErrorObject::new(Code::VALIDATION_FAILED, message(&told)).with_data(&told)),
        false => Reply::value(told),
    }
}

pub(crate) fn is_error(told: &Json) -> bool {
    told.kind() == Kind::Object && told.get("isError").is_some_and(|is_error| is_error.as_str() == "true")
}

/// The same as a plain value, or as an error with the text that the tool gave for models.
pub(super) fn plain(mut reply: Reply, has_output: bool) -> Reply {
    reply.outcome = match reply.outcome {
        Outcome::Value(told) => match value(&told, has_output) {
            Ok(value) => Outcome::Value(value),
            Err(error) => Outcome::Error(error),
        },
        Outcome::Error(error) => Outcome::Error(match error.data.as_ref().filter(|told| is_error(told)) {
            Some(told) => {
                let plain = ErrorObject::new(error.code, error.message.clone());
                match structured(told) {
                    Some(structured) => plain.with_data(&structured),
                    None => plain,
                }
            }
            None => error,
        }),
        stream @ Outcome::Stream(_) => stream,
    };
    reply
}

fn structured(told: &Json) -> Option<Json> {
    told.get("structuredContent").filter(|structured| structured.kind() != Kind::Null)
}

/// What a result means: its structured content, else its text, else its blocks.
fn value(told: &Json, has_output: bool) -> Result<Json, ErrorObject> {
    if let Some(structured) = structured(told) {
        return Ok(structured);
    }
    let content = told.get("content");
    let blocks: Vec<Json> = content.iter().flat_map(Json::elements).collect();
    match blocks.as_slice() {
        [] => Ok(Json::NULL),
        [block] => match text(block) {
            Some(text) if has_output => match Json::parse(text.clone()) {
                Ok(json) => Ok(json),
                Err(_) => Json::encode(&text).map_err(|error| ErrorObject::internal(&error)),
            },
            Some(text) => Json::encode(&text).map_err(|error| ErrorObject::internal(&error)),
            None => Ok(content.unwrap_or(Json::NULL)),
        },
        _ => Ok(content.unwrap_or(Json::NULL)),
    }
}

/// The text of a block.
fn text(block: &Json) -> Option<String> {
    let [kind, text] = block.pick(["type", "text"]);
    (kind?.decode::<String>().ok()? == "text").then_some(())?;
    text?.decode().ok()
}

/// The text that a tool gave for models.
fn message(told: &Json) -> String {
    let content = told.get("content");
    let texts: Vec<String> =
        content.iter().flat_map(Json::elements).filter_map(|block| text(&block)).collect();
    if texts.is_empty() { "the tool failed".to_owned() } else { texts.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_what_the_tool_means() {
        let check = |told: &'static str, has_output: bool, expected: Result<&str, &str>| {
            let told = match plain(whole(Json::parse(told).unwrap()), has_output).outcome {
                Outcome::Value(json) => Ok(json.to_string()),
                Outcome::Error(error) => Err(error.to_string()),
                Outcome::Stream(_) => Err("a stream".to_owned()),
            };
            assert_eq!(told.as_deref().map_err(String::as_str), expected);
        };
        let both = r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#;
        check(both, true, Ok(r#"{"a":1}"#));
        let text = r#"{"content":[{"type":"text","text":"5"}]}"#;
        check(text, true, Ok("5"));
        check(text, false, Ok("\"5\""));
        check(r#"{"content":[{"type":"text","text":"hi"}]}"#, true, Ok("\"hi\""));
        check(r#"{"content":[]}"#, false, Ok("null"));
        let image = r#"[{"type":"image","data":"AA==","mimeType":"image/png"}]"#;
        check(r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#, false, Ok(image));
        let failed = r#"{"content":[{"type":"text","text":"no such city"}],"isError":true}"#;
        check(failed, false, Err("no such city (-32001)"));
    }

    #[test]
    fn the_data_of_a_failed_tool_is_its_structured_content_for_plain_callers() {
        let told = r#"{"content":[],"structuredContent":{"left":1},"isError":true}"#;
        let Outcome::Error(error) = plain(whole(Json::parse(told).unwrap()), false).outcome else {
            panic!("it failed")
        };
        assert_eq!(
            (&*error.message, error.data.clone().unwrap().as_str()),
            ("the tool failed", r#"{"left":1}"#)
        );
    }
}
