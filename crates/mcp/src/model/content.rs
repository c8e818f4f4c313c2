//! Blocks of content: what tools return and what messages are made of.

use bytes::Bytes;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serializer};
use switchboard_core::Json;

use super::annotations::{Annotations, Role};
use super::media::Base64;
use super::meta::{META, Meta};
use super::{At, Audio, Block, Contents, Icon, Image, Link, Resource, Revision, Wire};

/// A block of content. A revision that does not know its kind gets a text in its place.
///
/// # Examples
///
/// ```
/// use switchboard_mcp::model::{Content, Image};
///
/// let blocks = vec![
///     Content::text("Mild, some rain.").for_assistant(),
///     Content::image(Image::png(&b"\x89PNG"[..])).for_user().with_priority(0.5),
///     Content::link("desk://cities/oslo", "Oslo"),
/// ];
/// assert_eq!(blocks[0].as_text(), Some("Mild, some rain."));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Content {
    /// What the block holds.
    pub block: Block,
    /// Who it is for, and how much it matters.
    pub annotations: Option<Annotations>,
    /// Metadata.
    pub meta: Meta,
}

impl Content {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Content {
        Content::from(Block::Text(text.into()))
    }

    /// A picture.
    #[must_use]
    pub fn image(image: Image) -> Content {
        Content::from(Block::Image(image))
    }

    /// A recording.
    #[must_use]
    pub fn audio(audio: Audio) -> Content {
        Content::from(Block::Audio(audio))
    }

    /// The contents of a resource.
    #[must_use]
    pub fn resource(contents: Contents) -> Content {
        Content::from(Block::Resource(contents))
    }

    /// The address and name of a resource that the client may read.
    #[must_use]
    pub fn link(uri: impl Into<String>, name: impl Into<String>) -> Content {
        Content::from(Block::Link(Link { uri: uri.into(), name: name.into(), ..Link::default() }))
    }

    /// Marks the block as one for the user. A block may be for both.
    #[must_use]
    pub fn for_user(mut self) -> Content {
        self.annotations.get_or_insert_default().add_audience(Role::User);
        self
    }

    /// Marks the block as one for the model. A block may be for both.
    #[must_use]
    pub fn for_assistant(mut self) -> Content {
        self.annotations.get_or_insert_default().add_audience(Role::Assistant);
        self
    }

    /// Says how much the block matters, from 0 to 1. Values outside become the nearer of the two.
    #[must_use]
    pub fn with_priority(mut self, priority: f64) -> Content {
        self.annotations.get_or_insert_default().set_priority(priority);
        self
    }

    /// Adds metadata. Use a [key](crate::model::meta::is_valid_key) with a prefix of your own, such as `com.example/source`.
    #[must_use]
    pub fn with_meta(mut self, key: impl Into<String>, value: Json) -> Content {
        self.meta.insert(key.into(), value);
        self
    }

    /// The text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.block {
            Block::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Writes the members that blocks of every kind have.
    fn write_common<M: SerializeMap>(&self, revision: Revision, map: &mut M) -> Result<(), M::Error> {
        if let Some(annotations) = &self.annotations {
            map.serialize_entry("annotations", &At(annotations, revision))?;
        }
        if !self.meta.is_empty() && revision >= Revision::V2025_06_18 {
            map.serialize_entry(META, &self.meta)?;
        }
        Ok(())
    }
}

impl Wire for Content {
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let media = |map: &mut S::SerializeMap, kind, mime_type: &str, data: &Bytes| {
            map.serialize_entry("type", kind)?;
            map.serialize_entry("data", &Base64::encode(data))?;
            map.serialize_entry("mimeType", mime_type)
        };
        let text = |map: &mut S::SerializeMap, text: &str| {
            map.serialize_entry("type", "text")?;
            map.serialize_entry("text", text)
        };
        if let Some(stand_in) = self.block.stand_in(revision) {
            text(&mut map, &stand_in)?;
        } else {
            match &self.block {
                Block::Text(own) => text(&mut map, own)?,
                Block::Image(image) => media(&mut map, "image", &image.mime_type, &image.data)?,
                Block::Audio(audio) => media(&mut map, "audio", &audio.mime_type, &audio.data)?,
                Block::Resource(contents) => {
                    map.serialize_entry("type", "resource")?;
                    map.serialize_entry("resource", &At(contents, revision))?;
                }
                Block::Link(link) => {
                    map.serialize_entry("type", "resource_link")?;
                    link.write_members(revision, &mut map)?;
                }
            }
        }
        self.write_common(revision, &mut map)?;
        map.end()
    }
}

/// The members of every kind of block at once: which of them count depends on `type`, which may come last.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Parts {
    #[serde(rename = "type")]
    pub(super) kind: String,
    text: Option<String>,
    data: Option<Base64>,
    mime_type: Option<String>,
    resource: Option<Contents>,
    uri: Option<String>,
    title: Option<String>,
    description: Option<String>,
    size: Option<u64>,
    icons: Option<Vec<Icon>>,
    annotations: Option<Annotations>,
    #[serde(rename = "_meta")]
    pub(super) meta: Option<Meta>,
    pub(super) name: Option<String>,
    pub(super) id: Option<String>,
    pub(super) input: Option<Json>,
    pub(super) tool_use_id: Option<String>,
    pub(super) content: Option<Vec<Content>>,
    pub(super) structured_content: Option<Json>,
    pub(super) is_error: Option<bool>,
}

impl Parts {
    /// The block that the parts make, if they are one.
    pub(super) fn into_content<E: serde::de::Error>(self) -> Result<Content, E> {
        let block = match self.kind.as_str() {
            "text" => Block::Text(self.text.ok_or_else(|| E::missing_field("text"))?),
            "image" | "audio" => {
                let Base64(data) = self.data.ok_or_else(|| E::missing_field("data"))?;
                let mime_type = self.mime_type.ok_or_else(|| E::missing_field("mimeType"))?;
                match self.kind.as_str() {
                    "image" => Block::Image(Image::new(mime_type, data)),
                    _ => Block::Audio(Audio::new(mime_type, data)),
                }
            }
            "resource" => Block::Resource(self.resource.ok_or_else(|| E::missing_field("resource"))?),
            "resource_link" => Block::Link(Link {
                uri: self.uri.ok_or_else(|| E::missing_field("uri"))?,
                name: self.name.ok_or_else(|| E::missing_field("name"))?,
                title: self.title,
                description: self.description,
                mime_type: self.mime_type,
                size: self.size,
                icons: self.icons.unwrap_or_default(),
            }),
            _ => return Err(E::custom("the content is of an unknown type")),
        };
        Ok(Content { block, annotations: self.annotations, meta: self.meta.unwrap_or_default() })
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Content, D::Error> {
        Parts::deserialize(deserializer)?.into_content()
    }
}

impl From<Block> for Content {
    fn from(block: Block) -> Content {
        Content { block, annotations: None, meta: Meta::new() }
    }
}

impl From<String> for Content {
    fn from(text: String) -> Content {
        Content::text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Content {
        Content::text(text)
    }
}

impl From<Image> for Content {
    fn from(image: Image) -> Content {
        Content::image(image)
    }
}

impl From<Audio> for Content {
    fn from(audio: Audio) -> Content {
        Content::audio(audio)
    }
}

impl From<Contents> for Content {
    fn from(contents: Contents) -> Content {
        Content::resource(contents)
    }
}

impl From<Resource> for Content {
    /// A link to the resource.
    fn from(resource: Resource) -> Content {
        let Resource { uri, name, title, description, mime_type, size, annotations, icons, meta } = resource;
        let link = Link { uri, name, title, description, mime_type, size, icons };
        Content { block: Block::Link(link), annotations, meta }
    }
}
