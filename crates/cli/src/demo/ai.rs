//! A stand-in for a language model, so that its clients can be tried without one.

use futures_util::stream;
use serde_json::json;
use switchboard::{
    Arguments, Call, Code, ErrorObject, Method, MethodDescription, ParamDescription, Reply, ReplyFuture,
    ResultDescription, Schemas, service_fn,
};

use super::faults::detailed;
use super::text::Text;

/// Maximum number of characters in a prompt.
const LONGEST: usize = 4000;

/// `ai/generate(prompt)`: by hand, because it returns either a value or a stream.
pub(super) fn generate() -> Method {
    Method::new("ai/generate", service_fn(|call| ReplyFuture::ready(answer(call)))).described(describe)
}

const DOCS: &str = "\
Echoes the prompt, as a stand-in for a language model.

A plain call returns one string. A caller that asks for a stream gets it token by token: a token is a word with the white space \
after it, so that all tokens joined are the prompt. A prompt that is too long is refused with -32602 and the details \
\"Prompt too long\".";

fn describe(schemas: &mut Schemas) -> MethodDescription {
    let mut text = schemas.of::<Text>();
    text["maxLength"] = LONGEST.into();
    let prompt =
        ParamDescription::required("prompt", text).documented("Text to echo; at most 4000 characters.");
    MethodDescription::documented(DOCS)
        .param(prompt)
        .no_more_params()
        .result(ResultDescription::Either { value: schemas.of::<String>(), item: schemas.of::<String>() })
        .errors(vec![detailed(Code::INVALID_PARAMS)])
        .safe()
        .tag("streams")
        .example("a few words", json!(["to be or"]), Some(json!("to be or")))
}

fn answer(call: &Call) -> Reply {
    match prompt(call) {
        Ok(prompt) if call.cx.wants_stream() => Reply::stream(stream::iter(tokens(&prompt))),
        Ok(prompt) => Reply::of(&prompt),
        Err(error) => Reply::error(error),
    }
}

fn prompt(call: &Call) -> Result<String, ErrorObject> {
    let Text(prompt) = Arguments::read(call.params.as_ref(), &["prompt"])?.required(0)?;
    match prompt.chars().nth(LONGEST) {
        None => Ok(prompt),
        Some(_) => Err(ErrorObject::invalid_params("Prompt too long")),
    }
}

/// The words of a text, each with the white space after it.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for part in text.split_inclusive(char::is_whitespace) {
        match tokens.last_mut() {
            Some(last) if part.trim().is_empty() => last.push_str(part),
            _ => tokens.push(part.to_owned()),
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use switchboard::{Json, Peer};

    fn peer() -> Peer {
        Peer::local(switchboard::Router::builder().add(generate()).build().unwrap())
    }

    #[test]
    fn tokens_joined_are_the_text() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(tokens(text), expected);
            assert_eq!(tokens(text).concat(), text);
        };
        check("", &[]);
        check("one", &["one"]);
        check("one two\n\nthree ", &["one ", "two\n\n", "three "]);
        check("  one", &["  ", "one"]);
        check("é\u{3000}ü", &["é\u{3000}", "ü"]);
    }

    #[tokio::test]
    async fn a_plain_call_has_one_answer_and_a_reader_its_tokens() {
        // LLM-01
        let answer: String = peer().call("ai/generate", ["to be or"]).await.unwrap();
        assert_eq!(answer, "to be or");
        let items: Vec<String> = peer()
            .stream("ai/generate", ["to be or"])
            .await
            .unwrap()
            .map(|item| item.unwrap())
            .collect()
            .await;
        assert_eq!(items, ["to ", "be ", "or"]);
    }

    #[tokio::test]
    async fn a_prompt_has_at_most_4000_characters() {
        let longest: String = peer().call("ai/generate", ["é".repeat(LONGEST)]).await.unwrap();
        assert_eq!(longest.chars().count(), LONGEST);
        let error = peer().call::<Json>("ai/generate", ["é".repeat(LONGEST + 1)]).await.unwrap_err();
        let error = error.rejection().unwrap();
        assert_eq!(error.code, Code::INVALID_PARAMS);
        assert_eq!(error.data.as_ref().unwrap().as_str(), r#"{"details":"Prompt too long"}"#);
    }
}
