//! Resources and templates of resources, as lists show them.

use super::meta::Meta;
use super::wire::wire;
use super::{Annotations, Icon};

wire! {
    /// A resource that a client can read (MCP-RES-01).
    #[derive(Default)]
    pub struct Resource {
        required {
            /// The address.
            uri: String = "uri",
            /// The name.
            name: String = "name",
        }
        optional {
            /// The name to show to people.
            title: Option<String> = "title" since V2025_06_18,
            /// What the resource is.
            description: Option<String> = "description",
            /// The media type.
            mime_type: Option<String> = "mimeType",
            /// The size in bytes, before it is encoded.
            size: Option<u64> = "size",
            /// Who it is for, and how much it matters.
            annotations: Option<Annotations> = "annotations",
            /// Icons to show with the name.
            icons: Vec<Icon> = "icons" since V2025_11_25,
            /// Metadata.
            meta: Meta = "_meta" since V2025_06_18,
        }
    }
}

impl Resource {
    /// A resource with this address and name.
    #[must_use]
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Resource {
        Resource { uri: uri.into(), name: name.into(), ..Resource::default() }
    }

    /// The name to show to people: the title, or else the name (MCP-B-09).
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

wire! {
    /// A family of resources whose addresses have variables (MCP-RES-01).
    #[derive(Default)]
    pub struct ResourceTemplate {
        required {
            /// The address with variables, as RFC 6570 has them.
            uri_template: String = "uriTemplate",
            /// The name.
            name: String = "name",
        }
        optional {
            /// The name to show to people.
            title: Option<String> = "title" since V2025_06_18,
            /// What the resources are.
            description: Option<String> = "description",
            /// The media type, if all of them have the same.
            mime_type: Option<String> = "mimeType",
            /// Who they are for, and how much they matter.
            annotations: Option<Annotations> = "annotations",
            /// Icons to show with the name.
            icons: Vec<Icon> = "icons" since V2025_11_25,
            /// Metadata.
            meta: Meta = "_meta" since V2025_06_18,
        }
    }
}

impl ResourceTemplate {
    /// A template with this address and name.
    #[must_use]
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> ResourceTemplate {
        ResourceTemplate {
            uri_template: uri_template.into(),
            name: name.into(),
            ..ResourceTemplate::default()
        }
    }

    /// The name to show to people: the title, or else the name (MCP-B-09).
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}
