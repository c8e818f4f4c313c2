//! The title of an API, its servers, and external documentation (OR-04, OR-05).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// General information about an API.
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
    /// The URL of its terms of service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms_of_service: Option<String>,
    /// Its contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<Contact>,
    /// Its licence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<License>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Info {
    /// An API with this title and version.
    #[must_use]
    pub fn new(title: impl Into<String>, version: impl Into<String>) -> Info {
        Info { title: title.into(), version: version.into(), ..Info::default() }
    }

    /// Sets its description, in Markdown.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Info {
        self.description = Some(description.into());
        self
    }
}

/// The contact for an API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Contact {
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The URL of a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The email address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// The licence of an API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct License {
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The URL of its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// A server of an API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerEntry {
    /// Its URL; may contain expressions such as `${port}`.
    pub url: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A short summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its description, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The variables in the URL.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Variable>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl ServerEntry {
    /// A server with this name and URL.
    #[must_use]
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> ServerEntry {
        ServerEntry { url: url.into(), name: Some(name.into()), ..ServerEntry::default() }
    }
}

/// A variable in the URL of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Variable {
    /// Its default value.
    pub default: String,
    /// The allowed values; any, if the list is empty.
    #[serde(rename = "enum", default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Its description, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// External documentation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExternalDocs {
    /// Its URL.
    pub url: String,
    /// Its description, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}
