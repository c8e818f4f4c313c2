//! What an API is called, where it is served, and where more is said about it (OR-04, OR-05).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What an API is called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Info {
    /// Its title.
    pub title: String,
    /// Its own version, not that of OpenRPC.
    pub version: String,
    /// What it is for, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The address of its terms of service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms_of_service: Option<String>,
    /// Whom to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<Contact>,
    /// Under which licence it may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<License>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Info {
    /// An API of this title and version.
    #[must_use]
    pub fn new(title: impl Into<String>, version: impl Into<String>) -> Info {
        Info { title: title.into(), version: version.into(), ..Info::default() }
    }

    /// Says what it is for, in Markdown.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Info {
        self.description = Some(description.into());
        self
    }
}

/// Whom to ask about an API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Contact {
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The address of a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The address for mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// Under which licence an API may be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct License {
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The address of its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// A place where an API is served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Server {
    /// Its address; may hold expressions such as `${port}`.
    pub url: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What it is, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What stands for the names in the address.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Variable>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Server {
    /// A server of this name at this address.
    #[must_use]
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Server {
        Server { url: url.into(), name: Some(name.into()), ..Server::default() }
    }
}

/// What stands for a name in the address of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Variable {
    /// What it is unless something else is chosen.
    pub default: String,
    /// What can be chosen; anything, if nothing is listed.
    #[serde(rename = "enum", default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// What it is, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// Where more is said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExternalDocs {
    /// The address of a page.
    pub url: String,
    /// What is there, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}
