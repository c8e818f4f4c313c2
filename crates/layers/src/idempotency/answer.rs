//! An answer as it is stored.

use std::time::Duration;

use serde::Deserialize;
use switchboard_core::codec::encode_error;
use switchboard_core::{CallError, Code, ErrorObject, Json, Outcome, Reply};

use crate::clock::millis_of;

/// By how much the clocks of two servers may differ.
const SLACK: Duration = Duration::from_secs(5);

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
    Running(Run),
    Value(Json),
    Error(ErrorObject),
    /// The call ran, and its answer cannot be repeated: it was too large, or a stream.
    Unrepeatable,
}

/// A call that runs, or whose server has died.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// When it is over in any case, in milliseconds since 1970.
    until: u64,
    /// Tells it from all others with this key.
    mark: u64,
}

impl Run {
    /// A call that takes this time at most, from now on.
    pub(super) fn new(now: u64, time: Duration) -> Run {
        Run { until: now.saturating_add(millis_of(time + SLACK)), mark: fastrand::u64(..) }
    }

    fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.until.to_le_bytes());
        bytes[8..].copy_from_slice(&self.mark.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Run> {
        let (until, rest) = bytes.split_first_chunk()?;
        let (mark, _) = rest.split_first_chunk()?;
        Some(Run { until: u64::from_le_bytes(*until), mark: u64::from_le_bytes(*mark) })
    }
}

impl State {
    /// What to remember of a reply; none if the call did not run to its end, so that it may be sent again.
    pub(super) fn of(reply: &Reply, largest: usize) -> Option<State> {
        match &reply.outcome {
            Outcome::Value(json) if json.as_bytes().len() <= largest => Some(State::Value(json.detached())),
            Outcome::Error(error) if has_no_answer(error) => None,
            Outcome::Error(error) => {
                let size = error.data.as_ref().map_or(0, |data| data.as_bytes().len()) + error.message.len();
                Some(if size <= largest { State::Error(error.clone()) } else { State::Unrepeatable })
            }
            Outcome::Value(_) | Outcome::Stream(_) => Some(State::Unrepeatable),
        }
    }
}

/// Whether an error says that the call was refused before it ran, or given up.
fn has_no_answer(error: &ErrorObject) -> bool {
    error.local().is_some_and(CallError::is_unsent)
        || error.is_refused_at_shutdown()
        || [Code::OVER_LIMIT, Code::UNAUTHORIZED, Code::CANCELLED].contains(&error.code)
}

impl Record {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.body.to_vec();
        match &self.state {
            State::Running(run) => {
                bytes.push(b'r');
                bytes.extend_from_slice(&run.to_bytes());
            }
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
            b'r' => State::Running(Run::from_bytes(rest)?),
            b'u' => State::Unrepeatable,
            b'v' => State::Value(json()?),
            b'e' => State::Error(error_of(&json()?)?),
            _ => return None,
        };
        Some(Record { body: *body, state })
    }

    /// The answer to a call with this body at this time.
    pub(super) fn reply(&self, body: &BodyDigest, now: u64) -> Reply {
        if self.body != *body {
            let text = "the idempotency key was used for a call with another method or other params";
            return Reply::error(ErrorObject::invalid_request(text)).with_status(422);
        }
        match &self.state {
            State::Value(json) => Reply::value(json.clone()),
            State::Error(error) => Reply::error(error.clone()),
            State::Running(run) if now < run.until => in_progress(),
            State::Running(_) => {
                let text = "the call may have run, but its answer was lost: its server stopped, or could not keep it";
                Reply::error(ErrorObject::invalid_request(text)).with_status(409)
            }
            State::Unrepeatable => {
                let text = "the call ran, but its answer cannot be repeated: it is too large or a stream";
                Reply::error(ErrorObject::invalid_request(text)).with_status(409)
            }
        }
    }
}

/// The answer while the first call runs in another process.
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
            State::Running(Run::new(7, Duration::from_secs(1))),
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
