//! Roots: the folders that a client works in.

use super::meta::Meta;
use super::wire::wire;

wire! {
    /// A folder that a client works in. It guides servers and grants nothing (MCP-RO-01).
    #[derive(Default)]
    pub struct Root {
        required {
            /// The address of the folder, a `file:` URI.
            uri: String = "uri",
        }
        optional {
            /// The name to show to people.
            name: Option<String> = "name",
            /// Metadata.
            meta: Meta = "_meta" since V2025_06_18,
        }
    }
}

impl Root {
    /// A folder at this address.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Root {
        Root { uri: uri.into(), ..Root::default() }
    }
}

wire! {
    /// The folders that a client works in: the result of `roots/list`.
    #[derive(Default)]
    pub struct Roots {
        required {
            /// The folders.
            roots: Vec<Root> = "roots",
        }
        optional {
            /// Metadata. Later revisions have none.
            meta: Meta = "_meta" until V2025_11_25,
        }
    }
}

impl Roots {
    /// These folders.
    #[must_use]
    pub fn new(roots: Vec<Root>) -> Roots {
        Roots { roots, ..Roots::default() }
    }
}
