//! From the methods of a router to a document (OR-40 to OR-49).
//!
//! The same methods give the same bytes: everything is ordered by name. What OpenRPC cannot express
//! is in members that start with `x-`; see `document/extensions.rs`.

mod examples;
mod method;
mod params;

use switchboard_core::{Describe, Description, Dialect};

use crate::document::{Components, Document, Formats, Info, Schema, ServerEntry, SpecVersion};

/// Generates a document from the methods of a router.
///
/// # Examples
///
/// ```
/// use switchboard_core::{ErrorObject, Router};
/// use switchboard_openrpc::{Generator, Info};
///
/// let router = Router::builder().method("ping", |(): (), _| Ok::<_, ErrorObject>("pong")).build()?;
/// let document = Generator::new(Info::new("Ping", "1.0.0")).document(&router);
/// assert_eq!(document.openrpc, "1.3.2");
/// assert!(document.method("ping").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Generator {
    info: Info,
    servers: Vec<ServerEntry>,
    version: SpecVersion,
}

impl Generator {
    /// Generates documents of an API with this title.
    #[must_use]
    pub fn new(info: Info) -> Generator {
        Generator { info, servers: Vec::new(), version: SpecVersion::default() }
    }

    /// Adds a server of the API.
    #[must_use]
    pub fn server(mut self, server: ServerEntry) -> Generator {
        self.servers.push(server);
        self
    }

    /// Sets the version of OpenRPC to write: 1.3.2 by default.
    #[must_use]
    pub fn version(mut self, version: SpecVersion) -> Generator {
        self.version = version;
        self
    }

    /// The document of a router, or of another service that describes itself.
    #[must_use]
    pub fn document(&self, service: &(impl Describe + ?Sized)) -> Document {
        self.describe(service.describe_in(Dialect::OpenRpc))
    }

    /// The document of what is described, with schemas in the dialect of OpenRPC.
    pub(crate) fn describe(&self, description: Description) -> Document {
        let Description { methods, definitions, .. } = description;
        let schemas = definitions.into_iter().filter_map(|(name, value)| Some((name, Schema::new(value)?)));
        let components = Components { schemas: schemas.collect(), ..Components::default() };
        let mut document = Document {
            info: self.info.clone(),
            servers: self.servers.clone(),
            methods: method::methods(methods).into_iter().map(Into::into).collect(),
            components: (!components.schemas.is_empty()).then_some(components),
            ..Document::default()
        };
        document.write_schemas_plainly(Formats::All);
        document.written_in(self.version)
    }
}
