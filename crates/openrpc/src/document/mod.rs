//! The model of an OpenRPC document (OR-01 to OR-22), as it is read and written.
//!
//! It reads documents of every version 1.x and is tolerant where they differ: unknown members are kept, including those that
//! start with `x-`. It is strict about the members it knows: a value of these types can be relied on.
//! References are kept as written; [`Document::resolved`] replaces them with their targets.

mod components;
mod content;
mod example;
mod extensions;
mod info;
mod method;
mod parse;
mod plain;
mod referable;
mod resolve;
mod retain;
mod version;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use components::Components;
pub use content::{ContentDescriptor, Schema};
pub use example::{Example, ExamplePairing};
pub use extensions::SubscriptionNames;
pub(crate) use extensions::{
    ADDITIONAL_PARAMS, DATA_SCHEMA, DEPRECATED_REASON, DURABLE, IDEMPOTENT, SAFE, STREAM, SUBSCRIPTION,
    UNKNOWN_PARAMS, VARIADIC,
};
pub use info::{Contact, ExternalDocs, Info, License, ServerEntry, Variable};
pub use method::{ErrorEntry, Link, MethodEntry, ParamStructure, Tag};
pub use parse::ParseError;
pub(crate) use parse::escaped;
pub(crate) use plain::Formats;
pub use referable::Referable;
#[cfg(feature = "validate")]
pub(crate) use resolve::decoded;
pub(crate) use resolve::{NODE, weight};
pub use resolve::{RefError, Resolver};
pub use version::{SpecVersion, UnknownVersion};

/// The description of an API.
///
/// # Examples
///
/// ```
/// use switchboard_openrpc::Document;
///
/// let text = r##"{"openrpc": "1.3.2", "info": {"title": "Adder", "version": "1.0.0"}, "methods": [
///     {"name": "add", "params": [{"$ref": "#/components/contentDescriptors/a"}]}
/// ], "components": {"contentDescriptors": {"a": {"name": "a", "schema": {"type": "integer"}}}}}"##;
/// let document = Document::parse(text)?.resolved()?;
/// let add = document.method("add").expect("it is there");
/// assert_eq!(add.params().next().expect("it has one").name, "a");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Document {
    /// Its version of the OpenRPC specification.
    pub openrpc: String,
    /// General information.
    pub info: Info,
    /// Its servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerEntry>,
    /// Its methods.
    pub methods: Vec<Referable<MethodEntry>>,
    /// Shared components.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<Components>,
    /// External documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_docs: Option<ExternalDocs>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Document {
    /// The methods that are not references; after [`resolved`](Document::resolved), all.
    pub fn methods(&self) -> impl Iterator<Item = &MethodEntry> {
        self.methods.iter().filter_map(Referable::here)
    }

    /// The method with this name.
    #[must_use]
    pub fn method(&self, name: &str) -> Option<&MethodEntry> {
        self.methods().find(|method| method.name == name)
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}
