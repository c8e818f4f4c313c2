//! Recordings: the calls between a client and a server, as `tap --record` writes them and `replay` reads them.
//!
//! A recording is a file of JSON lines, described in `docs/tapping.md`. The first line is a [`Header`]; a file that was appended to
//! has one for each run of `tap`. Each other line is an [`Entry`]: one call with its answer, written when the call has ended.
//! A line `{"lost": 3}` stands for calls that were not written in time.
//!
//! Headers, metadata and other credentials are not recorded.

mod reader;
mod writer;

use std::time::SystemTime;

use serde::{Deserialize, Deserializer, Serialize};
use switchboard::lines::rfc3339;
use switchboard::{ErrorObject, Json};

pub(crate) use self::reader::{Run, read};
pub(crate) use self::writer::start;
use crate::layout::Layout;

/// The name of the format.
const FORMAT: &str = "switchboard-recording";
/// The version that this program writes, and the newest that it reads.
const VERSION: u64 = 1;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) format: String,
    pub(crate) version: u64,
    /// When the recording began, in UTC. Offsets count from here.
    #[serde(default)]
    pub(crate) time: String,
}

impl Header {
    /// The header of a recording that began at this time.
    pub(crate) fn new(began: SystemTime) -> Header {
        Header { format: FORMAT.to_owned(), version: VERSION, time: rfc3339(began) }
    }
}

/// A call with its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Its number: calls are numbered from 1 in the order in which they began.
    pub(crate) id: u64,
    /// When it began, in milliseconds after the start.
    pub(crate) at: f64,
    /// The session that it belongs to, numbered from 1.
    pub(crate) session: u64,
    pub(crate) to: Side,
    pub(crate) method: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) params: Option<Json>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) notification: bool,
    /// The batch that it came in, and its position there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) batch: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) entry: Option<usize>,
    /// The answer: a result, the items of a stream, an error, or items and the error that ended them.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<Vec<Json>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<RecordedError>,
    /// It was cancelled, or its connection broke, before it was answered.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) cancelled: bool,
    /// What was too large to be recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) omitted: Vec<Part>,
    /// How long it took, in milliseconds.
    pub(crate) ms: f64,
}

/// The side that a call goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Server,
    Client,
}

impl Side {
    /// The side that its answer goes to.
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Server => Side::Client,
            Side::Client => Side::Server,
        }
    }
}

/// A part of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Part {
    Params,
    Answer,
}

/// An error object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecordedError {
    pub(crate) code: i64,
    pub(crate) message: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Json>,
}

impl Entry {
    /// When it ended, in milliseconds after the start.
    pub(crate) fn end(&self) -> f64 {
        self.at + self.ms
    }

    /// Whether it ended with an error.
    pub(crate) fn has_failed(&self) -> bool {
        self.error.is_some()
    }
}

impl From<&ErrorObject> for RecordedError {
    fn from(error: &ErrorObject) -> RecordedError {
        let data = error.data.as_ref().map(Json::detached);
        RecordedError { code: error.code.0, message: error.message.to_string(), data }
    }
}

impl From<RecordedError> for ErrorObject {
    fn from(error: RecordedError) -> ErrorObject {
        let object = ErrorObject::new(error.code, error.message);
        match error.data {
            Some(data) => object.with_data(&data),
            None => object,
        }
    }
}

/// A value as a line. The JSON in it stays as it was received, but for white space.
pub(crate) fn line(value: &impl Serialize) -> String {
    let json = Json::encode_ref(value).expect("the names of its members are strings");
    Layout::Line.of(&json) + "\n"
}

/// Reads a member whose value may be `null`, which is not the same as no member.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(value).map(Some)
}

fn is_false(value: &bool) -> bool {
    !value
}
