//! What can be called (OR-10 to OR-15, OR-19).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ContentDescriptor, ExamplePairing, ExternalDocs, Referable, Server, is_false};

/// A method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Method {
    /// Its name, which no other has.
    pub name: String,
    /// What it does, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What it does, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Words to group methods by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Referable<Tag>>,
    /// How its parameters are given.
    #[serde(default, skip_serializing_if = "ParamStructure::is_either")]
    pub param_structure: ParamStructure,
    /// Its parameters in the order of their positions; those that must be given stand first.
    pub params: Vec<Referable<ContentDescriptor>>,
    /// What it answers with; nothing, if it can only be [notified](Method::is_notification).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Referable<ContentDescriptor>>,
    /// The errors that callers can expect, besides those of the protocol.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Referable<ErrorEntry>>,
    /// What could be called next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Referable<Link>>,
    /// Calls and their answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Referable<ExamplePairing>>,
    /// Whether it should not be used any more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deprecated: bool,
    /// Where it is served, if not where the others are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
    /// Where more is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_docs: Option<ExternalDocs>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Method {
    /// A method of this name, without parameters and without a result.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Method {
        Method { name: name.into(), ..Method::default() }
    }

    /// The parameters that stand here themselves; in a [resolved](super::Document::resolved) document, all.
    pub fn params(&self) -> impl Iterator<Item = &ContentDescriptor> {
        self.params.iter().filter_map(Referable::here)
    }

    /// The result, if it has one and it stands here itself.
    #[must_use]
    pub fn result(&self) -> Option<&ContentDescriptor> {
        if self.is_notification() { None } else { self.result.as_ref().and_then(Referable::here) }
    }

    /// The errors that stand here themselves.
    pub fn errors(&self) -> impl Iterator<Item = &ErrorEntry> {
        self.errors.iter().filter_map(Referable::here)
    }

    /// The examples that stand here themselves.
    pub fn examples(&self) -> impl Iterator<Item = &ExamplePairing> {
        self.examples.iter().filter_map(Referable::here)
    }

    /// The tags that stand here themselves.
    pub fn tags(&self) -> impl Iterator<Item = &Tag> {
        self.tags.iter().filter_map(Referable::here)
    }
}

/// How the parameters of a method are given (OR-13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ParamStructure {
    /// As an object with their names, or as an array in their order.
    #[default]
    Either,
    /// As an object with their names.
    ByName,
    /// As an array in their order.
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
    /// Its usual sentence.
    pub message: String,
    /// Its details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl ErrorEntry {
    /// An error with this code and sentence.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> ErrorEntry {
        ErrorEntry { code, message: message.into(), ..ErrorEntry::default() }
    }
}

/// A word to group methods by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tag {
    /// The word.
    pub name: String,
    /// What it stands for, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What it stands for, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where more is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_docs: Option<ExternalDocs>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Tag {
    /// This word.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Tag {
        Tag { name: name.into(), ..Tag::default() }
    }
}

/// What could be called next, with what (OR-19).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Link {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it leads to, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What it leads to, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The method to call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// What to give it: values, or expressions such as `${result.id}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// Where to call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Server>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}
