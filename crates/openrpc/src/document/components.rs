//! Shared components (OR-21).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ContentDescriptor, ErrorEntry, Example, ExamplePairing, Link, Referable, Schema, Tag};

/// Components that others refer to, by kind and by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Components {
    /// Schemas.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub schemas: BTreeMap<String, Schema>,
    /// Parameters and results.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub content_descriptors: BTreeMap<String, Referable<ContentDescriptor>>,
    /// Errors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, Referable<ErrorEntry>>,
    /// Example values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub examples: BTreeMap<String, Referable<Example>>,
    /// Example calls with their results.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub example_pairings: BTreeMap<String, Referable<ExamplePairing>>,
    /// Links to methods to call next.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, Referable<Link>>,
    /// Tags of methods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, Referable<Tag>>,
    /// All other members, by name.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}
