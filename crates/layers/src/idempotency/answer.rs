//! An answer as it is stored.

use serde::Deserialize;
use switchboard_core::codec::encode_error;
use switchboard_core::{Code, ErrorObject, Json, Outcome, Reply};

/// The digest of what is called.
pub(super) type BodyDigest = [u8; 32];

/// What is known about a key.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) body: BodyDigest,
    pub(super) state: State,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    Running,
    Value(Json),
    Error(ErrorObject),
    /// The call ran, and its answer cannot be repeated: it was too large, or a stream.
    Unrepeatable,
}

impl State {
    /// What to remember of a reply; none if the call did not run to its end, so that it may be sent again.
    pub(super) fn of(reply: &Reply, largest: usize) -> Option<State> {
        match &reply.outcome {
            Outcome::Value(json) if json.as_bytes().len() <= largest => Some(State::Value(json.detached())),
            Outcome::Error(error) if has_no_answer(error.code) => None,
            Outcome::Error(error) => {
                let size = error.data.as_ref().map_or(0, |data| data.as_bytes().len()) + error.message.len();
                Some(if size <= largest { State::Error(error.clone()) } else { State::Unrepeatable })
            }
            Outcome::Value(_) | Outcome::Stream(_) => Some(State::Unrepeatable),
        }
    }
}

/// Whether an error says that the call was refused before it ran, or given up.
fn has_no_answer(code: Code) -> bool {
    [Code::OVER_LIMIT, Code::SHUTTING_DOWN, Code::UNAUTHORIZED, Code::CANCELLED].contains(&code)
}

impl Record {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.body.to_vec();
        match &self.state {
            State::Running => bytes.push(b'r'),
            State::Unrepeatable => bytes.push(b'u'),
            State::Value(json) => {
                bytes.push(b'v');
                bytes.extend_from_slice(json.as_bytes());
            }
            State::Error(error) => {
                bytes.push(b'e');
                encode_error(&mut bytes, error);
            }
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Record> {
        let (body, rest) = bytes.split_first_chunk::<32>()?;
        let (kind, rest) = rest.split_first()?;
        let json = || Json::parse(rest.to_vec()).ok();
        let state = match kind {
            b'r' => State::Running,
            b'u' => State::Unrepeatable,
            b'v' => State::Value(json()?),
            b'e' => State::Error(error_of(&json()?)?),
            _ => return None,
        };
        Some(Record { body: *body, state })
    }

    /// The answer to a call with this body.
    pub(super) fn reply(&self, body: &BodyDigest) -> Reply {
        if self.body != *body {
            let text = "the idempotency key was used for a call with another method or other params";
            return Reply::error(ErrorObject::invalid_request(text)).with_status(422);
        }
        match &self.state {
            State::Value(json) => Reply::value(json.clone()),
            State::Error(error) => Reply::error(error.clone()),
            State::Running => in_progress(),
            State::Unrepeatable => {
                let text = "the call ran, but its answer cannot be repeated: it is too large or a stream";
                Reply::error(ErrorObject::invalid_request(text)).with_status(409)
            }
        }
    }
}

/// The answer while the first call runs in another process, or its outcome is not known.
pub(super) fn in_progress() -> Reply {
    let text = "a call with the same idempotency key is in progress; try again later";
    Reply::error(ErrorObject::over_limit("idempotency", text)).with_status(409)
}

fn error_of(json: &Json) -> Option<ErrorObject> {
    #[derive(Deserialize)]
    struct Fields {
        code: i64,
        message: String,
    }
    let fields: Fields = json.decode().ok()?;
    let mut error = ErrorObject::new(fields.code, fields.message);
    error.data = json.get("data");
    Some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let error = ErrorObject::new(-31_000, "no \u{e4}").with_data(&[1, 2]);
        for state in [
            State::Running,
            State::Unrepeatable,
            State::Value(Json::parse("{\"a\": 1.50}").unwrap()),
            State::Error(error),
        ] {
            let record = Record { body: [7; 32], state };
            let read = Record::from_bytes(&record.to_bytes()).unwrap();
            assert_eq!(read.to_bytes(), record.to_bytes());
        }
        assert!(Record::from_bytes(b"short").is_none());
    }
}
