//! Content blocks: the parts of tool results and messages.

use bytes::Bytes;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serializer};
use switchboard_core::Json;

use super::annotations::{Annotations, Role};
use super::media::Base64;
use super::meta::{META, Meta};
use super::{At, Audio, Block, Contents, Icon, Image, Link, Resource, Revision, Wire};

/// A content block. In revisions that lack its type, text replaces it.
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
    /// The type and data of the block.
    pub block: Block,
    /// The intended audience and the importance.
    pub annotations: Option<Annotations>,
    /// Metadata.
    pub meta: Meta,
}

impl Content {
    /// A text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Content {
        Content::from(Block::Text(text.into()))
    }

    /// An image block.
    #[must_use]
    pub fn image(image: Image) -> Content {
        Content::from(Block::Image(image))
    }

    /// An audio block.
    #[must_use]
    pub fn audio(audio: Audio) -> Content {
        Content::from(Block::Audio(audio))
    }

    /// An embedded resource.
    #[must_use]
    pub fn resource(contents: Contents) -> Content {
        Content::from(Block::Resource(contents))
    }

    /// A link to a resource that the client can read.
    #[must_use]
    pub fn link(uri: impl Into<String>, name: impl Into<String>) -> Content {
        Content::from(Block::Link(Link { uri: uri.into(), name: name.into(), ..Link::default() }))
    }

    /// Adds the user to the audience.
    #[must_use]
    pub fn for_user(mut self) -> Content {
        self.annotations.get_or_insert_default().add_audience(Role::User);
        self
    }

    /// Adds the model to the audience.
    #[must_use]
    pub fn for_assistant(mut self) -> Content {
        self.annotations.get_or_insert_default().add_audience(Role::Assistant);
        self
    }

    /// Sets the importance, from 0 (optional) to 1 (required). Other values are clamped.
    #[must_use]
    pub fn with_priority(mut self, priority: f64) -> Content {
        self.annotations.get_or_insert_default().set_priority(priority);
        self
    }

    /// Adds metadata under a [valid key](crate::model::meta::is_valid_key), such as `com.example/source`.
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

    /// Writes the members common to all types of blocks.
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

/// The members of all types of blocks. `type` says which of them apply, and may come last in the object.
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
    /// The content block made of these members.
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
