//! The parts of messages and artifacts.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde::{Deserialize, Serialize};
use switchboard_core::Json;

use super::wire::present;

/// A part of a message or an artifact (A2A-D-04).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Wire", into = "Wire")]
#[non_exhaustive]
pub struct Part {
    /// What it holds.
    pub content: Content,
    /// Its media type.
    pub media_type: Option<String>,
    /// The name of the file that it is.
    pub filename: Option<String>,
    /// More about it, an object.
    pub metadata: Option<Json>,
}

/// What a part holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// A text.
    Text(String),
    /// The bytes of a file.
    Raw(Vec<u8>),
    /// Where a file is.
    Url(String),
    /// Any JSON.
    Data(Json),
}

impl Part {
    /// A part that holds this.
    #[must_use]
    pub fn new(content: Content) -> Part {
        Part { content, media_type: None, filename: None, metadata: None }
    }

    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Part {
        Part::new(Content::Text(text.into()))
    }

    /// A JSON value.
    #[must_use]
    pub fn data(data: Json) -> Part {
        Part::new(Content::Data(data))
    }

    /// Bytes of this media type.
    #[must_use]
    pub fn raw(bytes: impl Into<Vec<u8>>, media_type: impl Into<String>) -> Part {
        Part::new(Content::Raw(bytes.into())).with_media_type(media_type)
    }

    /// A file at this URL.
    #[must_use]
    pub fn url(url: impl Into<String>) -> Part {
        Part::new(Content::Url(url.into()))
    }

    /// Sets the media type.
    #[must_use]
    pub fn with_media_type(self, media_type: impl Into<String>) -> Part {
        Part { media_type: Some(media_type.into()), ..self }
    }

    /// Sets the name of the file.
    #[must_use]
    pub fn with_filename(self, filename: impl Into<String>) -> Part {
        Part { filename: Some(filename.into()), ..self }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        64 + match &self.content {
            Content::Text(text) | Content::Url(text) => text.len(),
            Content::Raw(bytes) => bytes.len() * 4 / 3,
            Content::Data(data) => data.as_bytes().len(),
        }
    }
}

#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Wire {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    data: Option<Json>,
    #[serde(alias = "media_type", skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Json>,
}

impl TryFrom<Wire> for Part {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Part, String> {
        let Wire { text, raw, url, data, media_type, filename, metadata } = wire;
        let content = match (text, raw, url, data) {
            (Some(text), None, None, None) => Content::Text(text),
            (None, Some(raw), None, None) => Content::Raw(bytes(&raw)?),
            (None, None, Some(url), None) => Content::Url(url),
            (None, None, None, Some(data)) => Content::Data(data.detached()),
            _ => return Err("a part has exactly one of text, raw, url and data".to_owned()),
        };
        Ok(Part { content, media_type, filename, metadata: metadata.map(|json| json.detached()) })
    }
}

/// ProtoJSON takes both alphabets, with and without padding.
fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let alphabet = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    let mut padded = text.trim_end_matches('=').to_owned();
    while !padded.len().is_multiple_of(4) {
        padded.push('=');
    }
    alphabet.decode(padded).map_err(|_| "raw must be Base64".to_owned())
}

impl From<Part> for Wire {
    fn from(part: Part) -> Wire {
        let Part { content, media_type, filename, metadata } = part;
        let wire = Wire { media_type, filename, metadata, ..Wire::default() };
        match content {
            Content::Text(text) => Wire { text: Some(text), ..wire },
            Content::Raw(bytes) => Wire { raw: Some(STANDARD.encode(bytes)), ..wire },
            Content::Url(url) => Wire { url: Some(url), ..wire },
            Content::Data(data) => Wire { data: Some(data), ..wire },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A2A-D-04, A2A-B-05
    #[test]
    fn a_part_holds_exactly_one_thing_and_is_written_as_it_is_read() {
        for text in [
            r#"{"text":"hi"}"#,
            r#"{"raw":"aGk=","mediaType":"text/plain","filename":"a.txt"}"#,
            r#"{"url":"https://example.com/a","metadata":{"n":1.50}}"#,
            r#"{"data":{"big":12345678901234567890123}}"#,
            r#"{"data":null}"#,
        ] {
            let part: Part = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&part).unwrap(), text);
        }
        for wrong in [r"{}", r#"{"text":"a","data":1}"#, r#"{"raw":"?"}"#, r#"{"kind":"text"}"#] {
            assert!(serde_json::from_str::<Part>(wrong).is_err(), "{wrong}");
        }
        let part: Part = serde_json::from_str(r#"{"raw":"-_8"}"#).unwrap();
        assert_eq!(part.content, Content::Raw(vec![0xfb, 0xff]));
    }
}
