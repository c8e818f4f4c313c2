//! The result of a tool.

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use switchboard_core::Json;

use super::meta::{META, Meta};
use super::wire::null_is_absent;
use super::{At, Content, Revision, Wire, lower};

/// The member that holds the type of a result, since 2026-07-28 (MCP-M-06).
pub const RESULT_TYPE: &str = "resultType";
/// The type of a complete result.
pub const COMPLETE: &str = "complete";

/// The result of a tool: content blocks, a structured value, or both (MCP-T-05).
///
/// # Examples
///
/// ```
/// use switchboard_mcp::model::{Content, ToolResult};
///
/// let mut result = ToolResult::structured(&[1, 2])?;
/// assert_eq!(result.text(), "[1,2]");
/// result.content.push(Content::link("desk://numbers", "Numbers"));
/// let failed = ToolResult::error("The city has no airport.");
/// assert!(failed.is_error);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The content blocks.
    #[serde(default, deserialize_with = "null_is_absent")]
    pub content: Vec<Content>,
    /// The structured value. Before 2026-07-28 it must be an object: other values are written as `{"result": value}`.
    #[serde(rename = "structuredContent")]
    pub structured: Option<Json>,
    /// Whether the tool failed, in a way that the model should see.
    #[serde(rename = "isError", default, deserialize_with = "null_is_absent")]
    pub is_error: bool,
    /// Metadata.
    #[serde(rename = "_meta", default, deserialize_with = "null_is_absent")]
    pub meta: Meta,
}

impl ToolResult {
    /// A result with these content blocks.
    #[must_use]
    pub fn new(content: Vec<Content>) -> ToolResult {
        ToolResult { content, ..ToolResult::default() }
    }

    /// A structured value, repeated as text for clients that read only text (MCP-T-06).
    ///
    /// # Errors
    ///
    /// When the value cannot be serialized as JSON.
    pub fn structured<T: Serialize + ?Sized>(value: &T) -> Result<ToolResult, serde_json::Error> {
        let value = Json::encode_ref(value)?;
        let content = vec![Content::text(value.as_str())];
        Ok(ToolResult { content, structured: Some(value), ..ToolResult::default() })
    }

    /// A failure that the model should see, so that it can correct itself.
    #[must_use]
    pub fn error(text: impl Into<String>) -> ToolResult {
        ToolResult { content: vec![Content::text(text)], is_error: true, ..ToolResult::default() }
    }

    /// The text blocks, joined with newlines.
    #[must_use]
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
    }
}

impl Wire for ToolResult {
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if revision.is_stateless() {
            map.serialize_entry(RESULT_TYPE, COMPLETE)?;
        }
        map.serialize_entry("content", &At(&self.content, revision))?;
        if let Some(structured) = &self.structured
            && revision >= Revision::V2025_06_18
        {
            map.serialize_entry("structuredContent", &lower::structured(structured, revision))?;
        }
        if self.is_error {
            map.serialize_entry("isError", &true)?;
        }
        if !self.meta.is_empty() {
            map.serialize_entry(META, &self.meta)?;
        }
        map.end()
    }
}

impl<T: Into<Content>> From<T> for ToolResult {
    fn from(content: T) -> ToolResult {
        ToolResult::new(vec![content.into()])
    }
}

impl From<Vec<Content>> for ToolResult {
    fn from(content: Vec<Content>) -> ToolResult {
        ToolResult::new(content)
    }
}
