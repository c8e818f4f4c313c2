//! What is wrong with an answer, in words: how it differs from the correct one.

use super::message::{Message, Response};
use super::outcome::{Back, Came, End, Kind, Outcome, Pattern, shortened};

/// How this answer differs from the correct one.
pub(crate) fn difference(expected: &Outcome, came: &Came) -> String {
    let messages = came.messages.as_slice();
    match (expected, messages) {
        (Outcome::Status(_), _) => match &came.head {
            Some(head) => format!("the status is {}", head.status),
            None => nothing(came),
        },
        (Outcome::Events, _) => match &came.head {
            Some(head) => format!("the status is {}, without an event stream", head.status),
            None => nothing(came),
        },
        (Outcome::Accepted, []) => match &came.head {
            Some(head) => format!("the status is {} instead of 202", head.status),
            None => nothing(came),
        },
        (Outcome::Accepted, _) => "an answer came, although none is allowed".to_owned(),
        (Outcome::Nothing, []) => match &came.head {
            Some(head) if head.status >= 400 => format!("the status is {}", head.status),
            _ => nothing(came),
        },
        (Outcome::Nothing, [Message::One(value)]) if !value.is_object() => surplus(came, value),
        (Outcome::Nothing, _) => "an answer came, although none is allowed".to_owned(),
        (Outcome::Closed, _) => "the connection stayed open".to_owned(),
        (_, []) => nothing(came),
        (_, [Message::Garbage(_)]) => match &came.head {
            Some(head) if head.status >= 400 => {
                format!("the status is {}, without a response object", head.status)
            }
            _ => "the answer is not JSON".to_owned(),
        },
        (Outcome::One(pattern), [Message::One(response)]) => unlike(pattern, response),
        (Outcome::Refused(status, pattern), [Message::One(response)]) => {
            let head = came.head.as_ref().filter(|head| head.status != *status);
            let wrong = head.map(|head| format!("the status is {} instead of {status}", head.status));
            let texts = [wrong, Some(unlike(pattern, response)).filter(|text| !text.is_empty())];
            texts.into_iter().flatten().collect::<Vec<_>>().join("; ")
        }
        (Outcome::One(_) | Outcome::Refused(..), [Message::Many(_)]) => {
            "the answer is an array instead of an object".to_owned()
        }
        (Outcome::One(_) | Outcome::Refused(..), _) => {
            format!("{} messages came instead of one", messages.len())
        }
        (Outcome::Array(patterns), [Message::Many(responses)]) => {
            among(patterns, &responses.iter().collect::<Vec<_>>())
        }
        (Outcome::Array(_), [Message::One(response)]) if !response.is_object() => bare(response),
        (Outcome::Array(_), [Message::One(_)]) => "the answer is an object instead of an array".to_owned(),
        (Outcome::Array(_), _) => format!("{} messages came instead of one array", messages.len()),
        (Outcome::Each(patterns), _) => {
            among(patterns, &messages.iter().flat_map(Message::responses).collect::<Vec<_>>())
        }
    }
}

/// Why there is no answer.
fn nothing(came: &Came) -> String {
    match &came.end {
        End::Open => "no answer came".to_owned(),
        End::Closed => "the connection was closed without an answer".to_owned(),
        End::Silent => "no answer came in time".to_owned(),
        End::Unsent(why) => why.clone(),
    }
}

/// A value where nothing should be: some libraries write out a result that does not exist, as `null`.
fn surplus(came: &Came, value: &Response) -> String {
    let text = shortened(&value.text, 40);
    match came.head {
        Some(_) => format!("the body is `{text}`, and should be empty"),
        None => format!("`{text}` was sent, although no answer is allowed"),
    }
}

/// A value where a response should be.
fn bare(value: &Response) -> String {
    format!("the answer is `{}`, which is not a response object", shortened(&value.text, 40))
}

/// How responses differ from these.
fn among(patterns: &[Pattern], responses: &[&Response]) -> String {
    if patterns.len() != responses.len() {
        return format!("expected {} responses, got {}", patterns.len(), responses.len());
    }
    let is_missing = |pattern: &&Pattern| !responses.iter().any(|response| pattern.fits(response));
    match patterns.iter().find(is_missing) {
        Some(pattern) => format!("none of them is {pattern}"),
        None => "one of them came twice, and another is missing".to_owned(),
    }
}

/// How a response differs from this one.
fn unlike(pattern: &Pattern, response: &Response) -> String {
    if !response.is_object() {
        return bare(response);
    }
    let parts: Vec<String> =
        [unlike_in_kind(pattern, response), unlike_in_id(pattern, response)].into_iter().flatten().collect();
    parts.join("; ")
}

fn unlike_in_id(pattern: &Pattern, response: &Response) -> Option<String> {
    if pattern.has_its_id(response) {
        return None;
    }
    let (Back::Id(correct) | Back::OrNull(correct)) = &pattern.id;
    let correct = shortened(correct, 40);
    Some(match &response.id {
        Some(id) => format!("its id is {} instead of {correct}", shortened(id, 40)),
        None => format!("it has no id, which should be {correct}"),
    })
}

fn unlike_in_kind(pattern: &Pattern, response: &Response) -> Option<String> {
    let text = match (&pattern.kind, response.code()) {
        _ if pattern.has_its_kind(response) => return None,
        (Kind::Error(correct), Some(code)) => {
            let correct: Vec<String> = correct.iter().map(i64::to_string).collect();
            format!("its code is {code} instead of {}", correct.join(" or "))
        }
        (Kind::Error(_), None) if response.is_error() => "its error has no code".to_owned(),
        (Kind::Error(_), None) if response.result.is_some() => {
            "it is a result instead of an error".to_owned()
        }
        (Kind::Value(_) | Kind::Echo(_), None) if response.result.is_some() => {
            "its result is a different value".to_owned()
        }
        (Kind::Shape(_, shape), None) if response.result.is_some() => {
            response.value.get("result").and_then(|result| shape(result).err()).unwrap_or_default()
        }
        (Kind::OldError, _) => "it is not a 1.0 error response".to_owned(),
        (Kind::OldResult, _) => "it is not a 1.0 response with a result".to_owned(),
        (_, Some(code)) => format!("it is error {code} instead of a result"),
        (_, None) => "it has neither result nor error".to_owned(),
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::outcome::{error, result};

    fn check(expected: impl Into<Outcome>, came: &str, difference: &str) {
        let mut all = Came::default();
        if !came.is_empty() {
            all.take(came.as_bytes());
        }
        assert_eq!(super::difference(&expected.into(), &all), difference, "{came}");
    }

    #[test]
    fn the_difference_is_said() {
        let unknown = || error(&[-32601], "1");
        check(unknown(), "", "no answer came");
        check(unknown(), r#"{"id":"1","error":{"code":-32601}}"#, "its id is \"1\" instead of 1");
        check(
            unknown(),
            r#"{"error":{"code":-5}}"#,
            "its code is -5 instead of -32601; it has no id, which should be 1",
        );
        check(unknown(), r#"{"id":1,"result":5}"#, "it is a result instead of an error");
        check(result("1"), r#"{"id":1,"error":{"code":-5}}"#, "it is error -5 instead of a result");
        check(result("1"), r#"{"id":1}"#, "it has neither result nor error");
        check(result("1"), "[]", "the answer is an array instead of an object");
        check(result("1"), "<html>", "the answer is not JSON");
        check(Outcome::Nothing, "{}", "an answer came, although none is allowed");
        let two = || Outcome::Array(vec![result("1"), result("2")]);
        check(two(), r#"[{"id":1,"result":0}]"#, "expected 2 responses, got 1");
        check(two(), r#"[{"id":1,"result":0},{"id":3,"result":0}]"#, "none of them is a result with id 2");
        check(two(), r#"{"id":1,"result":0}"#, "the answer is an object instead of an array");
    }

    #[test]
    fn a_bare_value_is_not_taken_for_a_response() {
        check(result("1"), "null", "the answer is `null`, which is not a response object");
        check(Outcome::Array(vec![result("1")]), "7", "the answer is `7`, which is not a response object");
        check(Outcome::Nothing, "null", "`null` was sent, although no answer is allowed");
        let mut came = Came { head: Some(Default::default()), ..Came::default() };
        came.take(b"null");
        assert_eq!(difference(&Outcome::Nothing, &came), "the body is `null`, and should be empty");
    }
}
