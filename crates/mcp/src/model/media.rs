//! Images and audio, Base64-encoded on the wire.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

use super::{Content, Revision, Wire};

/// Writes padding; accepts input with and without it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An image.
///
/// # Examples
///
/// ```
/// use switchboard_mcp::model::{Content, Image};
///
/// let map = Content::image(Image::png(&b"\x89PNG"[..])).for_user();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Image {
    /// The media type, such as `image/png`.
    pub mime_type: String,
    /// The bytes of the file.
    pub data: Bytes,
}

impl Image {
    /// An image of this media type.
    #[must_use]
    pub fn new(mime_type: impl Into<String>, data: impl Into<Bytes>) -> Image {
        Image { mime_type: mime_type.into(), data: data.into() }
    }

    /// A PNG file.
    #[must_use]
    pub fn png(data: impl Into<Bytes>) -> Image {
        Image::new("image/png", data)
    }

    /// A JPEG file.
    #[must_use]
    pub fn jpeg(data: impl Into<Bytes>) -> Image {
        Image::new("image/jpeg", data)
    }
}

/// Audio.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Audio {
    /// The media type, such as `audio/wav`.
    pub mime_type: String,
    /// The bytes of the file.
    pub data: Bytes,
}

impl Audio {
    /// Audio of this media type.
    #[must_use]
    pub fn new(mime_type: impl Into<String>, data: impl Into<Bytes>) -> Audio {
        Audio { mime_type: mime_type.into(), data: data.into() }
    }

    /// A WAV file.
    #[must_use]
    pub fn wav(data: impl Into<Bytes>) -> Audio {
        Audio::new("audio/wav", data)
    }

    /// An MP3 file.
    #[must_use]
    pub fn mp3(data: impl Into<Bytes>) -> Audio {
        Audio::new("audio/mpeg", data)
    }
}

impl Wire for Image {
    /// Writes the value as a content block.
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        Content::from(self.clone()).write(revision, serializer)
    }
}

impl Wire for Audio {
    /// Writes the value as a content block.
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        Content::from(self.clone()).write(revision, serializer)
    }
}

/// Bytes, Base64-encoded on the wire.
pub(super) struct Base64(pub(super) Bytes);

impl Base64 {
    /// Encodes bytes.
    pub(super) fn encode(bytes: &[u8]) -> String {
        BASE64.encode(bytes)
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Base64, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let bytes = BASE64.decode(text.as_bytes()).map_err(|_| D::Error::custom("the data is not Base64"))?;
        Ok(Base64(bytes.into()))
    }
}
