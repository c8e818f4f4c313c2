//! Answers of clients as typed values.

use serde::de::DeserializeOwned;
use switchboard_core::Json;

use crate::model::{Root, Sampled};

/// How a user answered a form, or the offer to open a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// The user filled in the form, or agreed to open the page.
    Accept(T),
    /// The user said no.
    Decline,
    /// The user closed the dialog without an answer.
    Cancel,
}

impl<T> Answer<T> {
    /// The content, if the user accepted.
    pub fn accepted(self) -> Option<T> {
        match self {
            Answer::Accept(content) => Some(content),
            Answer::Decline | Answer::Cancel => None,
        }
    }
}

/// A type that answers of a kind are read as. None if an answer does not fit: a stateless client is then asked again.
pub trait FromAnswer: Sized {
    /// Reads the result that the client sent.
    fn from_answer(result: &Json) -> Option<Self>;
}

impl<T: DeserializeOwned + 'static> FromAnswer for Answer<T> {
    fn from_answer(result: &Json) -> Option<Answer<T>> {
        let [action, content] = result.pick(["action", "content"]);
        match action?.as_str() {
            "\"accept\"" => accepted(&content.unwrap_or(Json::NULL)).map(Answer::Accept),
            "\"decline\"" => Some(Answer::Decline),
            "\"cancel\"" => Some(Answer::Cancel),
            _ => None,
        }
    }
}

/// The content of a form, or its only field, for a type that is not an object.
fn accepted<T: DeserializeOwned + 'static>(content: &Json) -> Option<T> {
    content.decode().ok().or_else(|| content.get("value")?.decode().ok())
}

impl FromAnswer for Sampled {
    fn from_answer(result: &Json) -> Option<Sampled> {
        result.decode().ok()
    }
}

impl FromAnswer for Vec<Root> {
    fn from_answer(result: &Json) -> Option<Vec<Root>> {
        result.get("roots")?.decode().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-EL-02
    #[test]
    fn answers_are_accepted_declined_or_cancelled() {
        let check = |text: &'static str, expected: Option<Answer<u8>>| {
            assert_eq!(Answer::from_answer(&Json::parse(text).unwrap()), expected, "{text}");
        };
        check(r#"{"action":"accept","content":7}"#, Some(Answer::Accept(7)));
        check(r#"{"action":"accept","content":{"value":7}}"#, Some(Answer::Accept(7)));
        check(r#"{"action":"accept","content":"x"}"#, None);
        check(r#"{"action":"accept"}"#, None);
        check(r#"{"action":"decline"}"#, Some(Answer::Decline));
        check(r#"{"action":"cancel","content":1}"#, Some(Answer::Cancel));
        check(r#"{"action":"maybe"}"#, None);
        check("{}", None);
        assert_eq!(
            Answer::<()>::from_answer(&Json::parse(r#"{"action":"accept"}"#).unwrap()),
            Some(Answer::Accept(()))
        );
    }
}
