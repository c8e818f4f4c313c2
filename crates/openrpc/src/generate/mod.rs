//! From the methods of a router to a document (OR-40 to OR-49).
//!
//! The same methods give the same bytes: everything is ordered by name. What OpenRPC cannot express
//! is in members that start with `x-`; see `document/extensions.rs`.

mod examples;
mod method;
mod params;

use std::collections::HashMap;

use serde_json::{Map, Value};
use switchboard_core::{Describe, Description, Dialect, MethodDescription};

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
    extensions: HashMap<String, Map<String, Value>>,
}

impl Generator {
    /// Generates documents of an API with this title.
    #[must_use]
    pub fn new(info: Info) -> Generator {
        Generator { info, servers: Vec::new(), version: SpecVersion::default(), extensions: HashMap::new() }
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

    /// Adds an extension, whose name starts with `x-`, to a method. If the method describes itself with one of that name and both are
    /// objects, the members of this one are added to it.
    #[must_use]
    pub fn extension(
        mut self,
        method: impl Into<String>,
        name: impl Into<String>,
        value: impl Into<Value>,
    ) -> Generator {
        self.extensions.entry(method.into()).or_default().insert(name.into(), value.into());
        self
    }

    /// The document of a router, or of another service that describes itself.
    #[must_use]
    pub fn document(&self, service: &(impl Describe + ?Sized)) -> Document {
        self.describe(service.describe_in(Dialect::OpenRpc))
    }

    /// The document of what is described, with schemas in the dialect of OpenRPC.
    pub(crate) fn describe(&self, description: Description) -> Document {
        let Description { mut methods, definitions, .. } = description;
        methods.iter_mut().for_each(|method| self.extend(method));
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

    fn extend(&self, method: &mut MethodDescription) {
        for (name, value) in self.extensions.get(&method.name).into_iter().flatten() {
            match (method.others.get_mut(name), value) {
                (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
                _ => drop(method.others.insert(name.clone(), value.clone())),
            }
        }
    }
}
