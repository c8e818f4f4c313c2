//! The name and version of clients and servers, and icons.

use super::wire::{tokens, wire};

wire! {
    /// The name and version of a client or server. It is self-reported: use it for display and logs, not for decisions
    /// (MCP-M-07).
    #[derive(Default)]
    pub struct Implementation {
        required {
            /// The name of the program.
            name: String = "name",
            /// Its version.
            version: String = "version",
        }
        optional {
            /// The display name.
            title: Option<String> = "title" since V2025_06_18,
            /// A description of the program.
            description: Option<String> = "description" since V2025_11_25,
            /// The home page of the program.
            website_url: Option<String> = "websiteUrl" since V2025_11_25,
            /// Icons for user interfaces.
            icons: Vec<Icon> = "icons" since V2025_11_25,
        }
    }
}

impl Implementation {
    /// A program with this name and version.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Implementation {
        Implementation { name: name.into(), version: version.into(), ..Implementation::default() }
    }

    /// The display name: the title if there is one, otherwise the name (MCP-B-09).
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

wire! {
    /// An icon. Clients must check the URI and the image before they show it (MCP-B-10).
    #[derive(Default)]
    pub struct Icon {
        required {
            /// The image, as an `https:` or `data:` URI.
            src: String = "src",
        }
        optional {
            /// The media type, if the URI does not reveal it.
            mime_type: Option<String> = "mimeType",
            /// The sizes it is designed for, such as `48x48`, or `any`.
            sizes: Vec<String> = "sizes",
            /// The theme it is designed for.
            theme: Option<Theme> = "theme",
        }
    }
}

impl Icon {
    /// An icon with this URI.
    #[must_use]
    pub fn new(src: impl Into<String>) -> Icon {
        Icon { src: src.into(), ..Icon::default() }
    }
}

tokens! {
    /// The theme that an icon is designed for.
    pub enum Theme {
        /// A light background.
        Light = "light",
        /// A dark background.
        Dark = "dark",
    }
}
