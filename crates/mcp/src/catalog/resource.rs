//! Resources: texts and files that clients read.

use super::entry::{Handler, Listed};
use super::template::UriTemplate;
use crate::model::{Contents, Resource, ResourceTemplate};

/// A resource with a fixed URI.
pub(crate) struct ResourceEntry {
    pub(crate) resource: Resource,
    pub(crate) source: Source,
}

/// What a resource is read from.
pub(crate) enum Source {
    Fixed(Contents),
    Method(Handler),
    /// Another server, which this method passes requests on to.
    Relayed(Handler),
}

/// Resources whose URIs follow a template.
pub(crate) struct TemplateEntry {
    pub(crate) shown: ResourceTemplate,
    pub(crate) template: UriTemplate,
    pub(crate) handler: Handler,
    /// Whether the method passes requests on to another server.
    pub(crate) is_relayed: bool,
}

impl Listed for ResourceEntry {
    type Shown = Resource;

    fn shown(&self) -> &Resource {
        &self.resource
    }
}

impl Listed for TemplateEntry {
    type Shown = ResourceTemplate;

    fn shown(&self) -> &ResourceTemplate {
        &self.shown
    }
}
