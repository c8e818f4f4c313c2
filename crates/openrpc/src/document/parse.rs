//! From a text to a document, with errors that name the place.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};
use switchboard_core::Json;

use super::Document;

/// How much of a text is repeated in an error.
const SHOWN: usize = 200;

/// Why a text is not a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", PathPrefix(.place))]
#[non_exhaustive]
pub struct ParseError {
    /// The place, as a JSON pointer; empty for the document as a whole.
    pub place: String,
    /// What is wrong there.
    pub reason: String,
}

impl Document {
    /// Reads a document of any version 1.x.
    ///
    /// # Errors
    ///
    /// When the text is not JSON or is nested too deeply, or when a member is missing or
    /// invalid; says which.
    pub fn parse(text: impl Into<Bytes>) -> Result<Document, ParseError> {
        let whole = |reason: String| ParseError { place: String::new(), reason };
        let json = Json::parse(text).map_err(|error| whole(format!("not JSON: {error}")))?;
        let value: Value = json.decode().map_err(|error| whole(format!("not JSON: {error}")))?;
        Document::from_value(value)
    }

    /// Reads a document from a value.
    ///
    /// # Errors
    ///
    /// As for [`parse`](Document::parse).
    pub fn from_value(value: Value) -> Result<Document, ParseError> {
        let document: Document = read(value, "")?;
        if !document.openrpc.starts_with("1.") {
            let reason =
                format!("unsupported version {:?}; OpenRPC 1.x is supported", cut(&document.openrpc));
            return Err(ParseError { place: "/openrpc".to_owned(), reason });
        }
        Ok(document)
    }
}

/// Reads a part of a document that stands at this place.
pub(super) fn read<T: DeserializeOwned>(value: Value, place: &str) -> Result<T, ParseError> {
    serde_path_to_error::deserialize(value).map_err(|error| ParseError {
        place: format!("{place}{}", pointer(error.path())),
        reason: cut(&plainly(&error.inner().to_string())).to_owned(),
    })
}

/// What serde says, in the words of JSON, and without the names of our types.
fn plainly(reason: &str) -> String {
    if let Some(name) = reason.strip_prefix("missing field ") {
        return format!("the member {name} is missing");
    }
    let kinds = [
        ("string", "a string"),
        ("integer", "a number"),
        ("floating point", "a number"),
        ("boolean", "a boolean"),
        ("sequence", "an array"),
        ("map", "an object"),
        ("null", "null"),
        ("unit", "null"),
    ];
    let wanted = [
        ("a sequence", "an array"),
        ("a map", "an object"),
        ("struct", "an object"),
        ("enum", "a string"),
        ("i64", "a whole number"),
    ];
    let said = |words: &[(&str, &'static str)], text: &str| {
        words.iter().find(|(word, _)| text.starts_with(word)).map(|(_, plain)| *plain)
    };
    let parts = reason.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "));
    let Some((found, expected)) = parts else { return reason.to_owned() };
    let found = said(&kinds, found).unwrap_or(found);
    format!("expected {}, found {found}", said(&wanted, expected).unwrap_or(expected))
}

fn pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => pointer.push_str(&format!("/{}", escaped(key))),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    pointer
}

/// A name as a part of a JSON pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(SHOWN).map_or(text, |(end, _)| &text[..end])
}

/// Shows a place and a colon, or nothing.
struct PathPrefix<'a>(&'a str);

impl std::fmt::Display for PathPrefix<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "{}: ", self.0) }
    }
}
