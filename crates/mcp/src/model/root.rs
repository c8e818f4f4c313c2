//! Roots: the folders a client works in.

use super::meta::Meta;
use super::wire::wire;

wire! {
    /// A folder the client works in. Roots are guidance, not access control (MCP-RO-01).
    #[derive(Default)]
    pub struct Root {
        required {
            /// The `file:` URI of the folder.
            uri: String = "uri",
        }
        optional {
            /// The display name.
            name: Option<String> = "name",
            /// Metadata.
            meta: Meta = "_meta" since V2025_06_18,
        }
    }
}

impl Root {
    /// A root with this URI.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Root {
        Root { uri: uri.into(), ..Root::default() }
    }
}

wire! {
    /// The result of `roots/list`.
    #[derive(Default)]
    pub struct Roots {
        required {
            /// The roots.
            roots: Vec<Root> = "roots",
        }
        optional {
            /// Metadata, until 2025-11-25.
            meta: Meta = "_meta" until V2025_11_25,
        }
    }
}

impl Roots {
    /// A result with these roots.
    #[must_use]
    pub fn new(roots: Vec<Root>) -> Roots {
        Roots { roots, ..Roots::default() }
    }
}
