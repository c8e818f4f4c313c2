//! The contents of a resource: text or bytes.

use bytes::Bytes;
use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serializer};

use super::media::Base64;
use super::meta::{META, Meta};
use super::{Revision, Wire};

/// The contents of a resource.
///
/// # Examples
///
/// ```
/// use switchboard_mcp::model::Contents;
///
/// let city = Contents::text("desk://cities/oslo", "# Oslo").with_mime_type("text/markdown");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Contents {
    /// The URI of the resource or of a part of it.
    pub uri: String,
    /// The media type.
    pub mime_type: Option<String>,
    /// The text or bytes.
    pub body: Body,
    /// Metadata.
    pub meta: Meta,
}

/// The text or bytes of a resource.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Text.
    Text(String),
    /// Bytes, Base64-encoded on the wire.
    Blob(Bytes),
}

impl Contents {
    /// Text.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Contents {
        Contents { uri: uri.into(), mime_type: None, body: Body::Text(text.into()), meta: Meta::new() }
    }

    /// Binary contents.
    #[must_use]
    pub fn blob(uri: impl Into<String>, bytes: impl Into<Bytes>) -> Contents {
        Contents { uri: uri.into(), mime_type: None, body: Body::Blob(bytes.into()), meta: Meta::new() }
    }

    /// Sets the media type.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Contents {
        self.mime_type = Some(mime_type.into());
        self
    }
}

impl Wire for Contents {
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("uri", &self.uri)?;
        if let Some(mime_type) = &self.mime_type {
            map.serialize_entry("mimeType", mime_type)?;
        }
        match &self.body {
            Body::Text(text) => map.serialize_entry("text", text)?,
            Body::Blob(bytes) => map.serialize_entry("blob", &Base64::encode(bytes))?,
        }
        if !self.meta.is_empty() && revision >= Revision::V2025_06_18 {
            map.serialize_entry(META, &self.meta)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Contents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Contents, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Parts {
            uri: String,
            mime_type: Option<String>,
            text: Option<String>,
            blob: Option<Base64>,
            #[serde(rename = "_meta")]
            meta: Option<Meta>,
        }
        let parts = Parts::deserialize(deserializer)?;
        let body = match (parts.text, parts.blob) {
            (Some(text), _) => Body::Text(text),
            (None, Some(Base64(bytes))) => Body::Blob(bytes),
            (None, None) => return Err(D::Error::custom("the contents have neither `text` nor `blob`")),
        };
        let meta = parts.meta.unwrap_or_default();
        Ok(Contents { uri: parts.uri, mime_type: parts.mime_type, body, meta })
    }
}
