//! Tools: methods that models call.

use serde_json::Value;
use switchboard_core::{MethodDescription, ResultDescription};

use super::entry::{Handler, Listed};
use super::header::HeaderParam;
use super::schema::mark;
use crate::model::Tool;

/// A tool.
pub(crate) struct ToolEntry {
    pub(crate) tool: Tool,
    pub(crate) handler: Handler,
    pub(crate) output: Output,
    pub(crate) task: TaskMode,
    /// The arguments that travel in headers too.
    pub(crate) headers: Vec<HeaderParam>,
}

/// What a tool's results are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Data, which is structured content and a text. The schema of the tool describes it, if the result is not unknown.
    Data { is_object: bool, has_schema: bool },
    /// A text.
    Text,
    /// Nothing.
    Nothing,
    /// A content block.
    Block,
    /// A list of content blocks.
    Blocks,
    /// A whole result.
    Whole,
}

/// Whether calls of a tool may become tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TaskMode {
    #[default]
    Never,
    Optional,
    Required,
    /// The method says when.
    Manual,
}

impl Listed for ToolEntry {
    type Shown = Tool;

    fn shown(&self) -> &Tool {
        &self.tool
    }
}

impl Output {
    /// What the results of a method are.
    pub(super) fn of(method: &MethodDescription, schema: Option<&Value>) -> Output {
        if matches!(method.result, ResultDescription::Nothing) {
            return Output::Nothing;
        }
        let Some(schema) = schema else { return Output::Data { is_object: false, has_schema: false } };
        let is_type = |name: &str| schema.get("type").is_some_and(|kind| kind == name);
        let items = schema.get("items").filter(|_| is_type("array"));
        match (mark(schema), items.and_then(mark)) {
            (Some("content"), _) => Output::Block,
            (Some("result"), _) => Output::Whole,
            (_, Some("content")) => Output::Blocks,
            _ if is_type("string") => Output::Text,
            // The items of a stream of texts are one text.
            _ if items.is_some_and(|items| items["type"] == "string") && is_stream(method) => Output::Text,
            _ if is_type("null") => Output::Nothing,
            _ => Output::Data { is_object: is_type("object"), has_schema: true },
        }
    }
}

fn is_stream(method: &MethodDescription) -> bool {
    matches!(method.result, ResultDescription::Stream(_))
}

/// The schema of a method's result: of the list of its items, if it streams.
pub(super) fn result_schema(method: &MethodDescription) -> Option<Value> {
    match &method.result {
        ResultDescription::Value(schema) | ResultDescription::Either { value: schema, .. } => {
            Some(schema.clone())
        }
        ResultDescription::Stream(item) => Some(serde_json::json!({"type": "array", "items": item})),
        _ => None,
    }
}
