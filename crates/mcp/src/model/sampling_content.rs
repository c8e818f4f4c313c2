//! The content of sampling messages: content blocks, tool use and tool results.

use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serializer};
use switchboard_core::{Json, Kind};

use super::content::Parts;
use super::meta::{META, Meta};
use super::{At, Content, Revision, ToolResult, Wire, lower};

/// A block of a sampling message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SamplingContent {
    /// Text, an image or audio. Resources and links are written as text.
    Content(Content),
    /// The model calls a tool, since 2025-11-25.
    ToolUse(ToolUse),
    /// The result of a tool that the model called, since 2025-11-25.
    ToolResult(ToolUseResult),
}

/// A tool call by the model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolUse {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, an object.
    pub input: Json,
    /// Metadata.
    pub meta: Meta,
}

impl ToolUse {
    /// A call of the tool with these arguments.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: Json) -> ToolUse {
        ToolUse { id: id.into(), name: name.into(), input, meta: Meta::new() }
    }
}

/// The result of a tool call by the model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolUseResult {
    /// The id of the call.
    pub tool_use_id: String,
    /// The result.
    pub result: ToolResult,
}

impl ToolUseResult {
    /// The result of the call with this id.
    #[must_use]
    pub fn new(tool_use_id: impl Into<String>, result: impl Into<ToolResult>) -> ToolUseResult {
        ToolUseResult { tool_use_id: tool_use_id.into(), result: result.into() }
    }
}

impl SamplingContent {
    /// The text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            SamplingContent::Content(content) => content.as_text(),
            _ => None,
        }
    }

    /// The text block that replaces this one if the revision does not allow it in a sampling message.
    fn stand_in(&self, revision: Revision) -> Option<Content> {
        match self {
            SamplingContent::Content(content) => {
                let text = content.block.spoken()?;
                Some(Content { block: super::Block::Text(text), ..content.clone() })
            }
            _ if revision >= Revision::V2025_11_25 => None,
            SamplingContent::ToolUse(used) => {
                Some(Content::text(format!("[call of the tool {} with {}]", used.name, used.input)))
            }
            SamplingContent::ToolResult(used) => Some(Content::text(used.result.text())),
        }
    }
}

impl<T: Into<Content>> From<T> for SamplingContent {
    fn from(content: T) -> SamplingContent {
        SamplingContent::Content(content.into())
    }
}

impl From<ToolUse> for SamplingContent {
    fn from(tool_use: ToolUse) -> SamplingContent {
        SamplingContent::ToolUse(tool_use)
    }
}

impl From<ToolUseResult> for SamplingContent {
    fn from(result: ToolUseResult) -> SamplingContent {
        SamplingContent::ToolResult(result)
    }
}

impl Wire for SamplingContent {
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(stand_in) = self.stand_in(revision) {
            return stand_in.write(revision, serializer);
        }
        match self {
            SamplingContent::Content(content) => content.write(revision, serializer),
            SamplingContent::ToolUse(used) => used.write(revision, serializer),
            SamplingContent::ToolResult(used) => used.write(revision, serializer),
        }
    }
}

impl Wire for ToolUse {
    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "tool_use")?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("input", &self.input)?;
        if !self.meta.is_empty() {
            map.serialize_entry(META, &self.meta)?;
        }
        map.end()
    }
}

impl Wire for ToolUseResult {
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let ToolResult { content, structured, is_error, meta } = &self.result;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "tool_result")?;
        map.serialize_entry("toolUseId", &self.tool_use_id)?;
        map.serialize_entry("content", &At(content, revision))?;
        if let Some(structured) = structured {
            map.serialize_entry("structuredContent", &lower::structured(structured, revision))?;
        }
        if *is_error {
            map.serialize_entry("isError", &true)?;
        }
        if !meta.is_empty() {
            map.serialize_entry(META, meta)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SamplingContent, D::Error> {
        let missing = |name| move || D::Error::missing_field(name);
        let parts = Parts::deserialize(deserializer)?;
        match parts.kind.as_str() {
            "tool_use" => Ok(SamplingContent::ToolUse(ToolUse {
                id: parts.id.ok_or_else(missing("id"))?,
                name: parts.name.ok_or_else(missing("name"))?,
                input: parts.input.ok_or_else(missing("input"))?,
                meta: parts.meta.unwrap_or_default(),
            })),
            "tool_result" => Ok(SamplingContent::ToolResult(ToolUseResult {
                tool_use_id: parts.tool_use_id.ok_or_else(missing("toolUseId"))?,
                result: ToolResult {
                    content: parts.content.unwrap_or_default(),
                    structured: parts.structured_content,
                    is_error: parts.is_error.unwrap_or_default(),
                    meta: parts.meta.unwrap_or_default(),
                },
            })),
            _ => parts.into_content().map(SamplingContent::Content),
        }
    }
}

/// The text blocks, joined with newlines.
pub(super) fn texts(content: &[SamplingContent]) -> String {
    content.iter().filter_map(SamplingContent::as_text).collect::<Vec<_>>().join("\n")
}

/// Blocks that are written without a list if there is only one.
pub(super) struct OneOrMany<'a>(&'a [SamplingContent]);

pub(super) fn one_or_many_at(content: &[SamplingContent], _: Revision) -> OneOrMany<'_> {
    OneOrMany(content)
}

impl Wire for OneOrMany<'_> {
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            [one] => one.write(revision, serializer),
            many if revision >= Revision::V2025_11_25 => {
                serializer.collect_seq(many.iter().map(|block| At(block, revision)))
            }
            // These revisions allow one block, so the text is joined and images and audio are dropped.
            many => {
                let in_words = many.iter().map(|block| match block.stand_in(revision) {
                    Some(text) => SamplingContent::Content(text),
                    None => block.clone(),
                });
                Content::text(texts(&in_words.collect::<Vec<_>>())).write(revision, serializer)
            }
        }
    }
}

/// Reads a block or a list of blocks.
pub(super) fn one_or_many<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<SamplingContent>, D::Error> {
    let json = Json::deserialize(deserializer)?;
    let content = match json.kind() {
        Kind::Array => json.decode(),
        _ => json.decode().map(|one| vec![one]),
    };
    content.map_err(D::Error::custom)
}
