//! Methods (OR-10 to OR-15, OR-19).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ContentDescriptor, ExamplePairing, ExternalDocs, Referable, ServerEntry, is_false};

/// A method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MethodEntry {
    /// Its unique name.
    pub name: String,
    /// A short summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its description, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Referable<Tag>>,
    /// How its parameters are passed.
    #[serde(default, skip_serializing_if = "ParamStructure::is_either")]
    pub param_structure: ParamStructure,
    /// Its parameters in positional order; required ones come first.
    pub params: Vec<Referable<ContentDescriptor>>,
    /// Its result; none, if it can only be [notified](MethodEntry::is_notification).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Referable<ContentDescriptor>>,
    /// The errors that callers can expect, besides those of the protocol.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Referable<ErrorEntry>>,
    /// Links to methods to call next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Referable<Link>>,
    /// Example calls with their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Referable<ExamplePairing>>,
    /// Whether it is deprecated.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deprecated: bool,
    /// Its servers, if not those of the API.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerEntry>,
    /// External documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_docs: Option<ExternalDocs>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl MethodEntry {
    /// A method with this name, without parameters and without a result.
    #[must_use]
    pub fn new(name: impl Into<String>) -> MethodEntry {
        MethodEntry { name: name.into(), ..MethodEntry::default() }
    }

    /// The parameters that are not references; in a [resolved](super::Document::resolved) document, all.
    pub fn params(&self) -> impl Iterator<Item = &ContentDescriptor> {
        self.params.iter().filter_map(Referable::here)
    }

    /// The result, if it has one that is not a reference.
    #[must_use]
    pub fn result(&self) -> Option<&ContentDescriptor> {
        if self.is_notification() { None } else { self.result.as_ref().and_then(Referable::here) }
    }

    /// The errors that are not references.
    pub fn errors(&self) -> impl Iterator<Item = &ErrorEntry> {
        self.errors.iter().filter_map(Referable::here)
    }

    /// The examples that are not references.
    pub fn examples(&self) -> impl Iterator<Item = &ExamplePairing> {
        self.examples.iter().filter_map(Referable::here)
    }

    /// The tags that are not references.
    pub fn tags(&self) -> impl Iterator<Item = &Tag> {
        self.tags.iter().filter_map(Referable::here)
    }
}

/// How the parameters of a method are passed (OR-13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ParamStructure {
    /// By name or by position.
    #[default]
    Either,
    /// By name, as an object.
    ByName,
    /// By position, as an array.
    ByPosition,
}

impl ParamStructure {
    fn is_either(&self) -> bool {
        *self == ParamStructure::Either
    }
}

/// An error that callers can expect (OR-14).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorEntry {
    /// Its code.
    pub code: i64,
    /// Its default message.
    pub message: String,
    /// Its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl ErrorEntry {
    /// An error with this code and message.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> ErrorEntry {
        ErrorEntry { code, message: message.into(), ..ErrorEntry::default() }
    }
}

/// A tag of methods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// A short summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its description, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// External documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_docs: Option<ExternalDocs>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Tag {
    /// A tag with this name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Tag {
        Tag { name: name.into(), ..Tag::default() }
    }
}

/// A method to call next, with its arguments (OR-19).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Link {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A short summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its description, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The method to call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The arguments: values, or expressions such as `${result.id}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// The server to call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerEntry>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}
