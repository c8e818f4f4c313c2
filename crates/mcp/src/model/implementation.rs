//! Who a client or a server says it is, and the icons that things have.

use super::wire::{tokens, wire};

wire! {
    /// The name and version of a client or a server. It is what the program says of itself: use it for display and logs, not
    /// for decisions (MCP-M-07).
    #[derive(Default)]
    pub struct Implementation {
        required {
            /// The name of the program.
            name: String = "name",
            /// Its version.
            version: String = "version",
        }
        optional {
            /// The name to show to people.
            title: Option<String> = "title" since V2025_06_18,
            /// What the program does.
            description: Option<String> = "description" since V2025_11_25,
            /// The home page of the program.
            website_url: Option<String> = "websiteUrl" since V2025_11_25,
            /// Icons to show with the name.
            icons: Vec<Icon> = "icons" since V2025_11_25,
        }
    }
}

impl Implementation {
    /// A program of this name and version.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Implementation {
        Implementation { name: name.into(), version: version.into(), ..Implementation::default() }
    }

    /// The name to show to people: the title, or else the name (MCP-B-09).
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

wire! {
    /// An icon. Whoever shows it must check the address and the image (MCP-B-10).
    #[derive(Default)]
    pub struct Icon {
        required {
            /// Where the image is: an `https:` or `data:` URI.
            src: String = "src",
        }
        optional {
            /// The media type, if the address does not tell it.
            mime_type: Option<String> = "mimeType",
            /// The sizes it is made for, such as `48x48`, or `any`.
            sizes: Vec<String> = "sizes",
            /// The background it is made for.
            theme: Option<Theme> = "theme",
        }
    }
}

impl Icon {
    /// An icon at this address.
    #[must_use]
    pub fn new(src: impl Into<String>) -> Icon {
        Icon { src: src.into(), ..Icon::default() }
    }
}

tokens! {
    /// The background that an icon is made for.
    pub enum Theme {
        /// A light background.
        Light = "light",
        /// A dark background.
        Dark = "dark",
    }
}
