//! The types of content blocks, and the text that replaces a block in revisions that lack its type.

use super::wire::wire;
use super::{Audio, Body, Contents, Icon, Image, Revision};

/// The type and data of a content block.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Block {
    /// Text.
    Text(String),
    /// An image.
    Image(Image),
    /// Audio, since 2025-03-26.
    Audio(Audio),
    /// An embedded resource.
    Resource(Contents),
    /// A link to a resource, since 2025-06-18.
    Link(Link),
}

wire! {
    /// A link to a resource that the client can read.
    #[derive(Default)]
    pub struct Link {
        required {
            /// The URI of the resource.
            uri: String = "uri",
            /// The name of the resource.
            name: String = "name",
        }
        optional {
            /// The display name.
            title: Option<String> = "title",
            /// A description for the model.
            description: Option<String> = "description",
            /// The media type.
            mime_type: Option<String> = "mimeType",
            /// The size in bytes.
            size: Option<u64> = "size",
            /// Icons for user interfaces.
            icons: Vec<Icon> = "icons" since V2025_11_25,
        }
    }
}

impl Block {
    /// The replacement text if the revision lacks this type of block.
    pub(super) fn stand_in(&self, revision: Revision) -> Option<String> {
        match self {
            Block::Audio(audio) if revision < Revision::V2025_03_26 => Some(audio_stand_in(audio)),
            Block::Link(link) if revision < Revision::V2025_06_18 => Some(link_stand_in(link)),
            _ => None,
        }
    }

    /// The replacement text in sampling messages, which allow only text, images and audio.
    pub(super) fn spoken(&self) -> Option<String> {
        match self {
            Block::Link(link) => Some(link_stand_in(link)),
            Block::Resource(contents) => Some(match &contents.body {
                Body::Text(text) => format!("{}:\n{text}", contents.uri),
                Body::Blob(_) => contents.uri.clone(),
            }),
            _ => None,
        }
    }
}

fn audio_stand_in(audio: &Audio) -> String {
    format!("[audio of type {}, {} bytes]", audio.mime_type, audio.data.len())
}

fn link_stand_in(link: &Link) -> String {
    let name = link.title.as_ref().unwrap_or(&link.name);
    let description = link.description.as_ref().map(|text| format!("\n{text}")).unwrap_or_default();
    format!("{name}: {}{description}", link.uri)
}
