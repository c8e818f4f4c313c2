//! The kinds of content, and the texts that take their place where a revision does not know them.

use super::wire::wire;
use super::{Audio, Body, Contents, Icon, Image, Revision};

/// What a block of content holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Block {
    /// A text.
    Text(String),
    /// A picture.
    Image(Image),
    /// A recording, from 2025-03-26 on.
    Audio(Audio),
    /// The contents of a resource.
    Resource(Contents),
    /// The address of a resource, from 2025-06-18 on.
    Link(Link),
}

wire! {
    /// The address of a resource that the client may read, as a block of content.
    #[derive(Default)]
    pub struct Link {
        required {
            /// The address of the resource.
            uri: String = "uri",
            /// The name of the resource.
            name: String = "name",
        }
        optional {
            /// The name to show to people.
            title: Option<String> = "title",
            /// What the resource is.
            description: Option<String> = "description",
            /// The media type.
            mime_type: Option<String> = "mimeType",
            /// The size in bytes.
            size: Option<u64> = "size",
            /// Icons to show with the name.
            icons: Vec<Icon> = "icons" since V2025_11_25,
        }
    }
}

impl Block {
    /// The text that a revision gets that does not know this kind of block. None if it knows it.
    pub(super) fn stand_in(&self, revision: Revision) -> Option<String> {
        match self {
            Block::Audio(audio) if revision < Revision::V2025_03_26 => Some(audio_stand_in(audio)),
            Block::Link(link) if revision < Revision::V2025_06_18 => Some(link_stand_in(link)),
            _ => None,
        }
    }

    /// The text that takes the place of a block where only texts, pictures and recordings may be.
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
