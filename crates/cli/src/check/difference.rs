//! What is wrong with what came, in words: how it differs from what should have come.

use super::message::{Message, Response};
use super::outcome::{Back, Came, End, Kind, Outcome, Pattern, shortened};

/// How this differs from what should have come.
pub(crate) fn difference(expected: &Outcome, came: &Came) -> String {
    let messages = came.messages.as_slice();
    match (expected, messages) {
        (Outcome::Status(_), _) => match &came.head {
            Some(head) => format!("the status is {}", head.status),
            None => nothing(came),
        },
        (Outcome::Nothing, []) => match &came.head {
            Some(head) if head.status >= 400 => format!("the status is {}", head.status),
            _ => nothing(came),
        },
        (Outcome::Nothing, _) => "there is an answer, and there should be none".to_owned(),
        (Outcome::Closed, _) => "the connection did not end".to_owned(),
        (_, []) => nothing(came),
        (_, [Message::Garbage(_)]) => match &came.head {
            Some(head) if head.status >= 400 => {
                format!("the status is {}, without a response object", head.status)
            }
            _ => "what came is no JSON".to_owned(),
        },
        (Outcome::One(_), [Message::Many(_)]) => "an array came in the place of an object".to_owned(),
        (Outcome::One(pattern), [Message::One(response)]) => unlike(pattern, response),
        (Outcome::One(_), _) => format!("{} messages came in the place of one", messages.len()),
        (Outcome::Array(patterns), [Message::Many(responses)]) => {
            among(patterns, &responses.iter().collect::<Vec<_>>())
        }
        (Outcome::Array(_), [Message::One(_)]) => "an object came in the place of an array".to_owned(),
        (Outcome::Array(_), _) => format!("{} messages came in the place of one array", messages.len()),
        (Outcome::Each(patterns), _) => {
            among(patterns, &messages.iter().flat_map(Message::responses).collect::<Vec<_>>())
        }
    }
}

/// Why nothing came.
fn nothing(came: &Came) -> String {
    match &came.end {
        End::Open => "there is no answer".to_owned(),
        End::Closed => "the connection ended without an answer".to_owned(),
        End::Silent => "there is no answer in time".to_owned(),
        End::Unsent(why) => why.clone(),
    }
}

/// How responses differ from these.
fn among(patterns: &[Pattern], responses: &[&Response]) -> String {
    if patterns.len() != responses.len() {
        return format!("{} responses came where {} are due", responses.len(), patterns.len());
    }
    let is_missing = |pattern: &&Pattern| !responses.iter().any(|response| pattern.fits(response));
    match patterns.iter().find(is_missing) {
        Some(pattern) => format!("none of them is {pattern}"),
        None => "one of them came twice in the place of another".to_owned(),
    }
}

/// How a response differs from this one.
fn unlike(pattern: &Pattern, response: &Response) -> String {
    let parts: Vec<String> =
        [unlike_in_kind(pattern, response), unlike_in_id(pattern, response)].into_iter().flatten().collect();
    parts.join("; ")
}

fn unlike_in_id(pattern: &Pattern, response: &Response) -> Option<String> {
    if pattern.has_its_id(response) {
        return None;
    }
    let (Back::Id(due) | Back::OrNull(due)) = &pattern.id;
    let due = shortened(due, 40);
    Some(match &response.id {
        Some(id) => format!("its id is {}, and should be {due}", shortened(id, 40)),
        None => format!("it has no id, which should be {due}"),
    })
}

fn unlike_in_kind(pattern: &Pattern, response: &Response) -> Option<String> {
    let text = match (&pattern.kind, response.code()) {
        _ if pattern.has_its_kind(response) => return None,
        (Kind::Error(due), Some(code)) => {
            let due: Vec<String> = due.iter().map(i64::to_string).collect();
            format!("its code is {code}, and should be {}", due.join(" or "))
        }
        (Kind::Error(_), None) if response.is_error() => "its error has no code".to_owned(),
        (Kind::Error(_), None) if response.result.is_some() => {
            "it is a result, and should be an error".to_owned()
        }
        (Kind::Value(_) | Kind::Echo(_), None) if response.result.is_some() => {
            "its result is another".to_owned()
        }
        (Kind::OldError, _) => "it is no error in the shape of 1.0".to_owned(),
        (Kind::OldResult, _) => "it is no result in the shape of 1.0".to_owned(),
        (_, Some(code)) => format!("it is error {code}, and should be a result"),
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
    fn what_is_wrong_is_said() {
        check(error(&[-32601], "1"), "", "there is no answer");
        let unknown = || error(&[-32601], "1");
        check(unknown(), r#"{"id":"1","error":{"code":-32601}}"#, "its id is \"1\", and should be 1");
        check(
            unknown(),
            r#"{"error":{"code":-5}}"#,
            "its code is -5, and should be -32601; it has no id, which should be 1",
        );
        check(error(&[-32601], "1"), r#"{"id":1,"result":5}"#, "it is a result, and should be an error");
        check(result("1"), r#"{"id":1,"error":{"code":-5}}"#, "it is error -5, and should be a result");
        check(result("1"), r#"{"id":1}"#, "it has neither result nor error");
        check(result("1"), "[]", "an array came in the place of an object");
        check(result("1"), "<html>", "what came is no JSON");
        check(Outcome::Nothing, "{}", "there is an answer, and there should be none");
        let two = || Outcome::Array(vec![result("1"), result("2")]);
        check(two(), r#"[{"id":1,"result":0}]"#, "1 responses came where 2 are due");
        check(two(), r#"[{"id":1,"result":0},{"id":3,"result":0}]"#, "none of them is a result with id 2");
        check(two(), r#"{"id":1,"result":0}"#, "an object came in the place of an array");
    }
}
