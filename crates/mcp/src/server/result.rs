//! From the reply of a method to the result of a tool (MCP-T-05 to MCP-T-07).

use std::sync::Arc;

use switchboard_core::{Code, ErrorObject, Json, Kind, Outcome, Reply};

use super::request::Request;
use super::snapshot::Snapshot;
use crate::adapt::is_error;
use crate::catalog::{Entry, Output, ToolEntry};
use crate::model::meta::SERVER_INFO;
use crate::model::{COMPLETE, Mark, Revision, error, lower};
use crate::object::{Object, Part};

/// How the results of a tool are written for a client.
pub(super) struct Shape {
    pub(super) tool: Arc<Entry<ToolEntry>>,
    pub(super) revision: Revision,
    pub(super) snapshot: Arc<Snapshot>,
}

impl Shape {
    pub(super) fn new(tool: &Arc<Entry<ToolEntry>>, request: &Request<'_>) -> Shape {
        let (tool, snapshot) = (Arc::clone(tool), Arc::clone(&request.snapshot));
        Shape { tool, revision: request.revision(), snapshot }
    }

    fn begin<'a>(&self) -> Object<'a> {
        self.snapshot.complete(self.revision)
    }
}

/// The result of a tool, as the reply to its client.
pub(super) fn tool_reply(reply: Reply, shape: &Shape) -> Reply {
    let result = match reply.outcome {
        Outcome::Value(value) => value_result(&value, shape),
        Outcome::Error(error) => error_result(&error, shape),
        Outcome::Stream(_) => Err(ErrorObject::internal(&"a stream was not collected")),
    };
    Reply { extra: reply.extra, ..Reply::from(result) }
}

fn text_block<'a>(text: impl Into<Part<'a>>) -> Object<'a> {
    Object::new().with("type", "text").with("text", text)
}

fn value_result(value: &Json, shape: &Shape) -> Result<Json, ErrorObject> {
    let revision = shape.revision;
    let begin = || shape.begin();
    match shape.tool.value.output {
        Output::Nothing => begin().with("content", Vec::<Part<'_>>::new()).json(),
        // The text of a string is its text in a block, too.
        Output::Text | Output::Data { has_schema: false, .. } if value.kind() == Kind::String => {
            begin().with("content", vec![text_block(value.clone())]).json()
        }
        Output::Text => {
            let joined: String = value.decode::<Vec<String>>().unwrap_or_default().concat();
            begin().with("content", vec![text_block(joined.as_str())]).json()
        }
        Output::Block => begin().with("content", vec![blocks(value, revision)?]).json(),
        Output::Blocks => begin().with("content", blocks(value, revision)?).json(),
        Output::Whole => whole_result(value, shape),
        Output::Data { is_object, has_schema } => {
            let result = begin().with("content", vec![text_block(value.as_str())]);
            // A value that is not an object cannot be structured content before 2026-07-28; it is put into one, as the schema says.
            let is_any = is_object || value.kind() == Kind::Object || revision.is_stateless();
            let structured = match (revision >= Revision::V2025_06_18, is_any) {
                (false, _) => None,
                (true, true) if has_schema || value.kind() == Kind::Object => Some(value.clone()),
                (true, false) if has_schema => Some(Object::new().with("result", value.clone()).json()?),
                (true, _) => None,
            };
            result.with_some("structuredContent", structured).json()
        }
    }
}

/// A content block, or a list of them, as the revision has it.
fn blocks(value: &Json, revision: Revision) -> Result<Json, ErrorObject> {
    let lowered = match value.kind() {
        Kind::Array => lower::neutral_list(Mark::Content, value, revision),
        _ => lower::neutral(Mark::Content, value, revision),
    };
    lowered.map_err(|error| ErrorObject::internal(&error))
}

/// A result that the method has made as a whole.
fn whole_result(value: &Json, shape: &Shape) -> Result<Json, ErrorObject> {
    let [content, structured, is_error, meta] =
        value.pick(["content", "structuredContent", "isError", "_meta"]);
    let content = content.unwrap_or_else(|| Json::parse("[]").unwrap_or(Json::NULL));
    let is_error = is_error.filter(|is_error| is_error.as_str() == "true").map(|_| Part::True);
    let revision = shape.revision;
    let structured = structured.filter(|_| revision >= Revision::V2025_06_18);
    let structured = structured.map(|structured| match &shape.tool.value.tool.output_schema {
        Some(schema) if lower::wraps(schema, revision) => lower::wrap(&structured),
        Some(_) => structured,
        None => lower::structured(&structured, revision),
    });
    // Ours says who answers.
    let meta: Vec<_> = meta.iter().flat_map(Json::entries).collect();
    let others = meta.iter().filter(|(name, _)| name != SERVER_INFO);
    let begin = match revision.is_stateless() {
        true => Object::new().with(SERVER_INFO, shape.snapshot.server_json.clone()),
        false => Object::new(),
    };
    let meta = others.fold(begin, |meta, (name, value)| meta.with(name, value.clone()));
    let result =
        if revision.is_stateless() { Object::new().with("resultType", COMPLETE) } else { Object::new() };
    let result = if meta.is_empty() { result } else { result.with("_meta", meta) };
    let result = result.with("content", blocks(&content, revision)?);
    result.with_some("structuredContent", structured).with_some("isError", is_error).json()
}

/// Errors of the method are results that the model can read, unless the call itself was wrong or the server failed.
fn error_result(error: &ErrorObject, shape: &Shape) -> Result<Json, ErrorObject> {
    if shape.tool.value.output == Output::Whole
        && let Some(told) = error.data.as_ref().filter(|told| is_error(told))
    {
        return whole_result(told, shape);
    }
    let is_for_model = match error.code {
        // MCP-T-07: from 2025-11-25 on models are to correct their arguments.
        Code::INVALID_PARAMS => shape.revision >= Revision::V2025_11_25,
        Code::INTERNAL_ERROR | Code::PARSE_ERROR | Code::INVALID_REQUEST | Code::CANCELLED => false,
        Code::METHOD_NOT_FOUND => return Err(ErrorObject::new(Code::INVALID_PARAMS, "Unknown tool")),
        // In MCP this code says that there is no such resource.
        Code::UNAUTHORIZED => return Err(ErrorObject::new(Code::INTERNAL_ERROR, "not authorized")),
        error::MISSING_CAPABILITY => !shape.revision.is_stateless(),
        _ => true,
    };
    if !is_for_model {
        return Err(error.clone());
    }
    let text = describe(error);
    let result = shape.begin().with("content", vec![text_block(text.as_str())]);
    result.with("isError", Part::True).json()
}

/// An error as a text: its message, and what its data says.
pub(super) fn describe(error: &ErrorObject) -> String {
    let Some(data) = &error.data else { return error.message.to_string() };
    let details = data.get("details").unwrap_or_else(|| data.clone());
    match details.kind() {
        Kind::String => format!("{}: {}", error.message, details.decode::<String>().unwrap_or_default()),
        _ => format!("{}: {data}", error.message),
    }
}
