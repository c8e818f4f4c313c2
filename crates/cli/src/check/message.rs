//! What the server sent, read with as few assumptions as possible.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::same::same;

/// A message as it arrived.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// One value that is not an array.
    One(Response),
    /// An array.
    Many(Vec<Response>),
    /// Not JSON.
    Garbage(String),
}

/// One value, hopefully a response object.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    /// As it arrived.
    pub(crate) text: String,
    /// The same as a value; numbers may have lost digits.
    pub(crate) value: Value,
    /// The text of the identifier, if there is one.
    pub(crate) id: Option<String>,
    /// The text of the result, if there is one.
    pub(crate) result: Option<String>,
}

impl Message {
    /// Reads a message.
    pub(crate) fn parse(bytes: &[u8]) -> Message {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Message::Garbage(String::from_utf8_lossy(bytes).into_owned());
        };
        if let Ok(entries) = serde_json::from_str::<Vec<&RawValue>>(text) {
            let entries: Option<Vec<Response>> =
                entries.into_iter().map(|entry| Response::parse(entry.get())).collect();
            return entries.map_or_else(|| Message::Garbage(text.to_owned()), Message::Many);
        }
        Response::parse(text).map_or_else(|| Message::Garbage(text.to_owned()), Message::One)
    }

    /// Reads a message as far as it can be understood, and says what is wrong with its text. So text before or after every
    /// answer of a server is one fault, and not a fault of each case.
    pub(crate) fn read(bytes: &[u8]) -> (Message, Option<&'static str>) {
        let message = Message::parse(bytes);
        if !matches!(message, Message::Garbage(_)) {
            return (message, None);
        }
        if let Some(rest) = bytes.strip_prefix("\u{feff}".as_bytes())
            && let understood @ (Message::One(_) | Message::Many(_)) = Message::parse(rest)
        {
            return (understood, Some("it begins with a byte order mark"));
        }
        let mut texts = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
        match texts.next() {
            Some(Ok(first)) if first.get().starts_with(['{', '[']) => {
                (Message::parse(first.get().as_bytes()), Some("text follows the JSON value"))
            }
            _ => (message, Some("it is not JSON")),
        }
    }

    /// The responses in it.
    pub(crate) fn responses(&self) -> &[Response] {
        match self {
            Message::One(response) => std::slice::from_ref(response),
            Message::Many(responses) => responses,
            Message::Garbage(_) => &[],
        }
    }

    /// The same with this code replaced by another.
    pub(crate) fn recoded(self, code: i64, other: i64) -> Message {
        match self {
            Message::One(response) => Message::One(response.recoded(code, other)),
            Message::Many(all) => {
                Message::Many(all.into_iter().map(|response| response.recoded(code, other)).collect())
            }
            garbage => garbage,
        }
    }

    /// The same with this code in an error that has none.
    pub(crate) fn with_code(mut self, code: i64) -> Message {
        if let Message::One(response) = &mut self
            && response.is_error()
            && response.code().is_none()
        {
            response.value["error"] = serde_json::json!({ "code": code });
        }
        self
    }

    /// The same with identifiers that are strings of digits turned into numbers.
    pub(crate) fn renumbered(self) -> Message {
        match self {
            Message::One(response) => Message::One(response.renumbered()),
            Message::Many(all) => Message::Many(all.into_iter().map(Response::renumbered).collect()),
            garbage => garbage,
        }
    }

    /// Whether it is a request or notification from the server.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Message::One(response) if response.value.get("method").is_some())
    }

    /// The text, for people.
    pub(crate) fn text(&self) -> String {
        match self {
            Message::One(response) => response.text.clone(),
            Message::Many(entries) => {
                let texts: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
                format!("[{}]", texts.join(","))
            }
            Message::Garbage(text) => text.clone(),
        }
    }
}

impl Response {
    fn parse(text: &str) -> Option<Response> {
        let text = text.trim();
        let Ok(members) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text) else {
            let value = read(serde_json::from_str::<&RawValue>(text).ok()?.get());
            return Some(Response { text: text.to_owned(), value, id: None, result: None });
        };
        let member = |name: &str| members.get(name).map(|raw| raw.get().to_owned());
        let (id, result) = (member("id"), member("result"));
        let value = members.iter().map(|(name, raw)| (name.clone(), read(raw.get()))).collect();
        Some(Response { text: text.to_owned(), value: Value::Object(value), id, result })
    }

    /// The code of the error, if it has one.
    pub(crate) fn code(&self) -> Option<i64> {
        self.value.get("error")?.get("code")?.as_i64()
    }

    /// The same with this code replaced by another.
    pub(crate) fn recoded(mut self, code: i64, other: i64) -> Response {
        if self.code() == Some(code) {
            self.value["error"]["code"] = other.into();
        }
        self
    }

    fn renumbered(mut self) -> Response {
        let is_digits = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let inner = self.id.as_deref().and_then(|id| id.strip_prefix('"')?.strip_suffix('"'));
        if let Some(digits) = inner.filter(is_digits) {
            self.id = Some(digits.to_owned());
        }
        self
    }

    /// Whether it is an object, as every response has to be.
    pub(crate) fn is_object(&self) -> bool {
        self.value.is_object()
    }

    /// Whether it has an error that is not null.
    pub(crate) fn is_error(&self) -> bool {
        self.value.get("error").is_some_and(|error| !error.is_null())
    }

    /// Whether its identifier is this one, given as JSON.
    pub(crate) fn has_id(&self, id: &str) -> bool {
        self.id.as_deref().is_some_and(|own| same(own, id))
    }
}

/// The value, or its text if it is too large or too deep to be read.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_around_a_message_is_reported_and_the_message_is_read() {
        let check = |text: &str, expected: Option<&str>, is_understood: bool| {
            let (message, flaw) = Message::read(text.as_bytes());
            assert_eq!(flaw, expected, "{text}");
            assert_eq!(matches!(message, Message::One(_)), is_understood, "{text}");
        };
        check(r#" {"id":1} "#, None, true);
        check("\u{feff}{\"id\":1}", Some("it begins with a byte order mark"), true);
        check(r#"{"id":1}}"#, Some("text follows the JSON value"), true);
        check(r#"{"id":1,"result":Infinity}"#, Some("it is not JSON"), false);
        check("1 1", Some("it is not JSON"), false);
    }

    #[test]
    fn null_differs_from_absent() {
        let Message::One(response) = Message::parse(br#"{"id":null,"error":{"code":-32700}}"#) else {
            panic!()
        };
        assert_eq!((response.id.as_deref(), response.result), (Some("null"), None));
        let Message::One(response) = Message::parse(br#"{"result":1e400}"#) else { panic!() };
        assert_eq!(response.result.as_deref(), Some("1e400"));
        let Message::One(response) = Message::parse(br#"{"result":null}"#) else { panic!() };
        assert_eq!((response.id, response.result.as_deref()), (None, Some("null")));
    }
}
