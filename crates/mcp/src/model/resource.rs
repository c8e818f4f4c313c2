//! Resources and resource templates.

use super::meta::Meta;
use super::wire::wire;
use super::{Annotations, Icon};

wire! {
    /// A resource, as listed by `resources/list` (MCP-RES-01).
    #[derive(Default)]
    pub struct Resource {
        required {
            /// The URI.
            uri: String = "uri",
            /// The name.
            name: String = "name",
        }
        optional {
            /// The display name.
            title: Option<String> = "title" since V2025_06_18,
            /// A description for the model.
            description: Option<String> = "description",
            /// The media type.
            mime_type: Option<String> = "mimeType",
            /// The size in bytes, before Base64 encoding.
            size: Option<u64> = "size",
            /// The intended audience and the importance.
            annotations: Option<Annotations> = "annotations",
            /// Icons for user interfaces.
            icons: Vec<Icon> = "icons" since V2025_11_25,
            /// Metadata.
            meta: Meta = "_meta" since V2025_06_18,
        }
    }
}

impl Resource {
    /// A resource with this URI and name.
    #[must_use]
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Resource {
        Resource { uri: uri.into(), name: name.into(), ..Resource::default() }
    }

    /// The display name: the title if there is one, otherwise the name (MCP-B-09).
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

wire! {
    /// A template for the URIs of resources, as listed by `resources/templates/list` (MCP-RES-01).
    #[derive(Default)]
    pub struct ResourceTemplate {
        required {
            /// The URI template (RFC 6570).
            uri_template: String = "uriTemplate",
            /// The name.
            name: String = "name",
        }
        optional {
            /// The display name.
            title: Option<String> = "title" since V2025_06_18,
            /// A description for the model.
            description: Option<String> = "description",
            /// The media type, if all matching resources share it.
            mime_type: Option<String> = "mimeType",
            /// The intended audience and the importance.
            annotations: Option<Annotations> = "annotations",
            /// Icons for user interfaces.
            icons: Vec<Icon> = "icons" since V2025_11_25,
            /// Metadata.
            meta: Meta = "_meta" since V2025_06_18,
        }
    }
}

impl ResourceTemplate {
    /// A template with this URI template and name.
    #[must_use]
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> ResourceTemplate {
        ResourceTemplate {
            uri_template: uri_template.into(),
            name: name.into(),
            ..ResourceTemplate::default()
        }
    }

    /// The display name: the title if there is one, otherwise the name (MCP-B-09).
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}
