//! The model of an OpenRPC document (OR-01 to OR-22), as it is read and written.
//!
//! It takes documents of every version 1.x and is tolerant where they differ: members that it does not know are kept, those that
//! begin with `x-` among them. It is strict about the members it knows: a value of these types can be relied on.
//! References stand as they were written; [`Document::resolved`] puts what they name in their place.

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
    ADDITIONAL_PARAMS, DATA_SCHEMA, DEPRECATED_REASON, IDEMPOTENT, SAFE, STREAM, SUBSCRIPTION,
    UNKNOWN_PARAMS, VARIADIC,
};
pub use info::{Contact, ExternalDocs, Info, License, Server, Variable};
pub use method::{ErrorEntry, Link, Method, ParamStructure, Tag};
pub use parse::ParseError;
pub(crate) use parse::escaped;
pub(crate) use plain::Formats;
pub use referable::Referable;
#[cfg(feature = "validate")]
pub(crate) use resolve::decoded;
pub(crate) use resolve::{NODE, weight};
pub use resolve::{RefError, Resolver};
pub use version::{SpecVersion, UnknownVersion};

/// What an API offers.
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
    /// The version of the OpenRPC specification that it is written in.
    pub openrpc: String,
    /// What it is called.
    pub info: Info,
    /// Where it is served.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
    /// What can be called.
    pub methods: Vec<Referable<Method>>,
    /// What others refer to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<Components>,
    /// Where more is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_docs: Option<ExternalDocs>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Document {
    /// The methods that stand in the document themselves; after [`resolved`](Document::resolved), all.
    pub fn methods(&self) -> impl Iterator<Item = &Method> {
        self.methods.iter().filter_map(Referable::here)
    }

    /// The method of this name.
    #[must_use]
    pub fn method(&self, name: &str) -> Option<&Method> {
        self.methods().find(|method| method.name == name)
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}
