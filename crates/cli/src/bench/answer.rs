//! Just enough of an answer to know that it is one: which call it is for, and whether it is a result or an error.
//!
//! What a result holds is skipped, not checked. A load generator that read it all would measure itself.

use serde::Deserialize;
use serde_json::value::RawValue;

/// What a message is.
#[derive(Debug, PartialEq)]
pub(crate) enum Message<'a> {
    /// The answer to a call.
    Answer(Answer<'a>),
    /// A call of the server, with this identifier.
    Call(&'a [u8]),
    /// A notification of the server: all of its text.
    Notice(&'a [u8]),
}

/// The answer to a call.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer<'a> {
    /// The identifier, if it is a number of ours.
    pub(crate) id: Option<u32>,
    pub(crate) outcome: Outcome<'a>,
}

/// How a call ended.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome<'a> {
    /// With a result.
    Result,
    /// With a stream that has this identifier; its items follow.
    Stream(&'a [u8]),
    /// With an error: its message, and the beginning of its data.
    Error { code: i64, message: String },
}

/// Why a text is not a message.
pub(crate) type Fault = &'static str;

/// Reads one message that is not an array.
pub(crate) fn read(text: &[u8]) -> Result<Message<'_>, Fault> {
    let mut scan = Scan { text, at: 0 };
    let message = scan.message()?;
    scan.blank();
    if scan.at == text.len() { Ok(message) } else { Err("more than one JSON text") }
}

/// Reads the answers of an array, one after the other, and gives each to `each`.
pub(crate) fn read_array<'a>(
    text: &'a [u8],
    mut each: impl FnMut(Answer<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut scan = Scan { text, at: 0 };
    scan.blank();
    scan.expect(b'[')?;
    scan.blank();
    if scan.peek() == Some(b']') {
        return Err("an empty array");
    }
    loop {
        match scan.message()? {
            Message::Answer(answer) => each(answer)?,
            _ => return Err("requests instead of responses"),
        }
        scan.blank();
        match scan.next() {
            Some(b',') => {}
            Some(b']') => break,
            _ => return Err(NO_JSON),
        }
    }
    scan.blank();
    if scan.at == text.len() { Ok(()) } else { Err("more than one JSON text") }
}

/// Whether a message is an array, and so the answer to a batch.
pub(crate) fn is_array(text: &[u8]) -> bool {
    text.iter().find(|byte| !is_blank(**byte)) == Some(&b'[')
}

/// How many characters of an error's data are shown.
const MOST_DATA: usize = 120;

const NO_JSON: Fault = "not JSON";
const NO_RESPONSE: Fault = "not a response object";

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

/// The members of an envelope that matter.
#[derive(Default)]
struct Envelope<'a> {
    id: Option<&'a [u8]>,
    result: Option<&'a [u8]>,
    error: Option<&'a [u8]>,
    is_stream: bool,
    is_call: bool,
}

impl<'a> Scan<'a> {
    fn message(&mut self) -> Result<Message<'a>, Fault> {
        self.blank();
        let start = self.at;
        let envelope = self.envelope()?;
        if envelope.is_call {
            return Ok(match envelope.id {
                Some(id) => Message::Call(id),
                None => Message::Notice(&self.text[start..self.at]),
            });
        }
        let id = envelope.id.ok_or(NO_RESPONSE)?;
        let outcome = match (envelope.error, envelope.result) {
            // In 1.0 both are always there, and one of them is null.
            (Some(error), _) if error != b"null" => rejection(error)?,
            (_, Some(id)) if envelope.is_stream => Outcome::Stream(id),
            (_, Some(_)) => Outcome::Result,
            _ => return Err(NO_RESPONSE),
        };
        Ok(Message::Answer(Answer { id: number(id), outcome }))
    }

    fn envelope(&mut self) -> Result<Envelope<'a>, Fault> {
        let mut envelope = Envelope::default();
        if self.peek() != Some(b'{') {
            // A value of another kind is JSON, too; garbage is not worth telling apart here.
            return Err(NO_RESPONSE);
        }
        self.at += 1;
        self.blank();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(envelope);
        }
        loop {
            self.blank();
            let name = self.string()?;
            self.blank();
            self.expect(b':')?;
            self.blank();
            let value = self.value()?;
            match name {
                b"id" => envelope.id = Some(value),
                b"result" => envelope.result = Some(value),
                b"error" => envelope.error = Some(value),
                b"stream" => envelope.is_stream = value != b"false" && value != b"null",
                b"method" => envelope.is_call = true,
                _ => {}
            }
            self.blank();
            match self.next() {
                Some(b',') => {}
                Some(b'}') => return Ok(envelope),
                _ => return Err(NO_JSON),
            }
        }
    }

    /// Skips a value and gives its text.
    fn value(&mut self) -> Result<&'a [u8], Fault> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                self.string()?;
            }
            Some(b'{' | b'[') => self.nested()?,
            _ => {
                let rest = &self.text[start..];
                let length = rest.iter().position(|byte| !is_token(*byte)).unwrap_or(rest.len());
                if length == 0 {
                    return Err(NO_JSON);
                }
                self.at += length;
            }
        }
        Ok(&self.text[start..self.at])
    }

    /// Skips an object or array: to where as many brackets are closed as were opened.
    fn nested(&mut self) -> Result<(), Fault> {
        let mut depth = 0usize;
        loop {
            match self.peek().ok_or(NO_JSON)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Skips a string and returns the text between its quotes.
    fn string(&mut self) -> Result<&'a [u8], Fault> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            let rest = &self.text[self.at..];
            let special = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).ok_or(NO_JSON)?;
            self.at += special + 1;
            if rest[special] == b'"' {
                return Ok(&self.text[start..self.at - 1]);
            }
            // Whatever is escaped is no end.
            self.next().ok_or(NO_JSON)?;
        }
    }

    fn blank(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.next() == Some(byte) { Ok(()) } else { Err(NO_JSON) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// A number of digits alone.
fn number(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 9 {
        return None;
    }
    text.iter().try_fold(0u32, |number, byte| match byte {
        b'0'..=b'9' => Some(number * 10 + u32::from(byte - b'0')),
        _ => None,
    })
}

#[cold]
fn rejection(error: &[u8]) -> Result<Outcome<'static>, Fault> {
    #[derive(Deserialize)]
    struct Rejection<'a> {
        code: i64,
        #[serde(default)]
        message: String,
        #[serde(borrow)]
        data: Option<&'a RawValue>,
    }
    match serde_json::from_slice::<Rejection<'_>>(error) {
        Ok(Rejection { code, message, data: None }) => Ok(Outcome::Error { code, message }),
        Ok(Rejection { code, message, data: Some(data) }) => {
            let data: String = data.get().chars().take(MOST_DATA).collect();
            Ok(Outcome::Error { code, message: format!("{message} {data}") })
        }
        Err(_) => Err("an error without a code"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> (Option<u32>, String) {
        match read(text.as_bytes()) {
            Ok(Message::Answer(Answer { id, outcome })) => (id, format!("{outcome:?}")),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn answers_are_told_apart() {
        let result = "Result".to_owned();
        assert_eq!(
            answer(r#"{"jsonrpc":"2.0","result":5,"id":100000001}"#),
            (Some(100_000_001), result.clone())
        );
        assert_eq!(
            answer(r#" { "id" : 7 , "result" : {"a":["}",{"b":"\""}]} } "#),
            (Some(7), result.clone())
        );
        assert_eq!(answer(r#"{"result":1,"error":null,"id":1}"#), (Some(1), result.clone()));
        assert_eq!(answer(r#"{"result":1,"id":"a"}"#), (None, result));
        let (id, error) = answer(r#"{"error":{"code":-5,"message":"no","data":[]},"id":null}"#);
        assert_eq!((id, error), (None, "Error { code: -5, message: \"no []\" }".to_owned()));
        assert!(answer(r#"{"result":"s1","stream":true,"id":3}"#).1.starts_with("Stream"));
    }

    #[test]
    fn what_the_far_side_says_of_its_own_is_no_answer() {
        assert_eq!(read(br#"{"method":"x","id":4}"#), Ok(Message::Call(b"4")));
        assert_eq!(read(br#"{"method":"x"}"#), Ok(Message::Notice(br#"{"method":"x"}"#)));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for text in [
            "",
            "1",
            "null",
            "<html>",
            "{",
            "{}",
            "[]",
            r#"{"id":1}"#,
            r#"{"result":1}"#,
            r#"{"result":1,"id":1"#,
            r#"{"result":,"id":1}"#,
            r#"{"result":1,"id":1}{}"#,
            r#"{"result":[1,"id":1}"#,
            r#"{"result":"x\"#,
            r#"{"error":"it failed","id":1}"#,
            r#"{"error":{"message":"x"},"id":1}"#,
            r#"{"error":null,"id":1}"#,
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_answers_of_a_batch_are_read_one_by_one() {
        let mut ids = Vec::new();
        let text = br#" [{"result":1,"id":1}, {"result":[[]],"id":2}] "#;
        assert!(is_array(text));
        let read = read_array(text, |answer| {
            ids.push(answer.id);
            Ok(())
        });
        assert_eq!(read, Ok(()));
        assert_eq!(ids, [Some(1), Some(2)]);
        for text in ["[", "[]", "[1]", "[{}]", r#"[{"result":1,"id":1}"#, r#"[{"result":1,"id":1}]x"#] {
            assert!(read_array(text.as_bytes(), |_| Ok(())).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_comes_makes_it_panic(text in proptest::collection::vec(proptest::num::u8::ANY, 0..60)) {
            let _ = read(&text);
            let _ = read_array(&text, |_| Ok(()));
        }

        #[test]
        fn every_response_is_read_as_what_it_is(id in 0u32..999_999_999, text in ".{0,20}", is_error: bool) {
            let response = match is_error {
                true => serde_json::json!({"id": id, "error": {"code": -3, "message": text}}),
                false => serde_json::json!({"id": id, "result": [text, {"a": text}]}),
            };
            let text = response.to_string();
            let found = read(text.as_bytes());
            let is_found = match &found {
                Ok(Message::Answer(Answer { id: Some(own), outcome })) => {
                    *own == id && matches!(outcome, Outcome::Error { .. }) == is_error
                }
                _ => false,
            };
            proptest::prop_assert!(is_found, "{} {:?}", text, found);
        }
    }
}
