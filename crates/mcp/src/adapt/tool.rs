//! Tools as methods: their descriptions, and their results.

use serde_json::{Map, Value, json};
use switchboard_core::{Json, Kind, Marks, MethodDescription, ParamDescription, ResultDescription};
use switchboard_openrpc::remote::{Slot, inlined};

use super::approval::ToolDefinition;
use crate::catalog::{HeaderParam, RELAYED_TOOL, header_params, public_name};
use crate::model::Tool;

/// The parameter that is all arguments, where the schema does not name them one by one.
const WHOLE: &str = "arguments";

const DEFINITIONS: &[&str] = &["#/$defs/", "#/definitions/"];

/// A tool as a method.
#[derive(Debug)]
pub(super) struct ToolMethod {
    /// The tool as the server lists it.
    pub(super) listed: Json,
    pub(super) definition: ToolDefinition,
    pub(super) described: MethodDescription,
    pub(super) slots: Vec<Slot>,
    pub(super) headers: Vec<HeaderParam>,
    /// Whether the tool says what its results are.
    pub(super) has_output: bool,
}

impl ToolMethod {
    /// # Errors
    ///
    /// When the schema of the tool is not one that clients may list (MCP-N-11).
    pub(super) fn new(tool: &Tool, listed: &Json) -> Result<ToolMethod, String> {
        let input: Value = tool.input_schema.decode().unwrap_or_else(|_| json!({"type": "object"}));
        let mut described = MethodDescription::documented(tool.description.as_deref().unwrap_or_default());
        described.name.clone_from(&tool.name);
        (described.params, described.allows_unknown_params) = params(&input);
        let output: Option<Value> = tool.output_schema.as_ref().and_then(|schema| schema.decode().ok());
        described.result = match &output {
            Some(schema) => ResultDescription::Value(self_contained(schema)),
            None => ResultDescription::Unknown,
        };
        described.marks = marks(tool);
        described.others = extensions(tool, &input);
        if let Ok(listed) = listed.decode::<Value>() {
            described.others.insert(RELAYED_TOOL.to_owned(), listed);
        }
        let slots = described.params.iter().flatten().map(|param| Slot::new(param.name.clone())).collect();
        let (headers, has_output) = (header_params(&input)?, output.is_some());
        let definition = ToolDefinition::read(&tool.name, listed);
        Ok(ToolMethod { listed: listed.clone(), definition, described, slots, headers, has_output })
    }

    /// The arguments in the params of a call.
    pub(super) fn arguments(&self, params: &Json) -> Json {
        let is_whole = matches!(self.slots.as_slice(), [slot] if slot.name == WHOLE);
        let mut members = params.entries();
        match (members.next(), members.next()) {
            (Some((name, value)), None) if is_whole && name == WHOLE && value.kind() == Kind::Object => value,
            _ => params.clone(),
        }
    }
}

impl PartialEq for ToolMethod {
    fn eq(&self, other: &ToolMethod) -> bool {
        self.listed == other.listed
    }
}

/// The properties of a schema as parameters, those that are required first and in their order.
fn params(input: &Value) -> (Option<Vec<ParamDescription>>, bool) {
    let is_composed =
        ["allOf", "anyOf", "oneOf", "$ref", "if"].iter().any(|keyword| input.get(keyword).is_some());
    let Some(properties) = input.get("properties").and_then(Value::as_object).filter(|_| !is_composed) else {
        return match is_composed {
            true => (Some(vec![ParamDescription::required(WHOLE, self_contained(input))]), false),
            false => (Some(Vec::new()), input.get("additionalProperties") != Some(&Value::Bool(false))),
        };
    };
    let required: Vec<&str> = input
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let definitions = definitions(input);
    let schema = |name: &str| inlined(&properties[name], DEFINITIONS, &definitions);
    let first = required.iter().filter(|name| properties.contains_key(**name));
    let first = first.map(|name| ParamDescription::required(*name, schema(name)));
    let rest = properties.keys().filter(|name| !required.contains(&name.as_str()));
    let rest = rest.map(|name| ParamDescription::optional(name.as_str(), schema(name)));
    let documented = |param: ParamDescription| {
        let text = param.schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        param.documented(&text)
    };
    let allows_unknown = input.get("additionalProperties") != Some(&Value::Bool(false));
    (Some(first.chain(rest).map(documented).collect()), allows_unknown)
}

/// The definitions of a schema, by name.
fn definitions(schema: &Value) -> Map<String, Value> {
    let all = ["definitions", "$defs"].iter().filter_map(|keyword| schema.get(keyword)?.as_object());
    all.flatten().map(|(name, schema)| (name.clone(), schema.clone())).collect()
}

/// A schema for another document. It stays as it is, unless it refers to its own definitions.
fn self_contained(schema: &Value) -> Value {
    let definitions = definitions(schema);
    let mut whole =
        if definitions.is_empty() { schema.clone() } else { inlined(schema, DEFINITIONS, &definitions) };
    if let Value::Object(members) = &mut whole {
        for keyword in ["$schema", "$id", "$defs", "definitions"] {
            members.remove(keyword);
        }
    }
    whole
}

fn marks(tool: &Tool) -> Marks {
    let mut marks = Marks::default();
    if let Some(hints) = &tool.annotations {
        marks.safe = hints.read_only == Some(true);
        marks.idempotent = marks.safe || hints.idempotent == Some(true);
    }
    marks
}

/// What MCP says about a tool and JSON-RPC does not, so that it can become a tool again.
fn extensions(tool: &Tool, input: &Value) -> Map<String, Value> {
    let mut options = Map::new();
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            options.insert(name.to_owned(), value);
        }
    };
    add("name", (public_name(&tool.name) != tool.name).then(|| json!(tool.name)));
    add("title", tool.title.as_ref().map(|title| json!(title)));
    let hints = tool.annotations.as_ref();
    add("destructiveHint", hints.and_then(|hints| hints.destructive).map(Value::Bool));
    add("openWorldHint", hints.and_then(|hints| hints.open_world).map(Value::Bool));
    let mut others = Map::from_iter([("x-mcp-input-schema".to_owned(), input.clone())]);
    if !options.is_empty() {
        others.insert("x-mcp".to_owned(), Value::Object(options));
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_parameters_and_compositions_one_parameter() {
        let names = |schema: Value| {
            let tool = Tool::new("t", Json::encode(&schema).unwrap());
            let method = ToolMethod::new(&tool, &Json::NULL).unwrap();
            let params = method.described.params.clone().unwrap_or_default();
            let names = params.iter().map(|param| (param.name.clone(), param.is_required));
            (names.collect::<Vec<_>>(), method.described.allows_unknown_params)
        };
        let check = |schema: Value, expected: &[(&str, bool)], allows_unknown: bool| {
            let expected: Vec<_> = expected.iter().map(|(name, is)| ((*name).to_owned(), *is)).collect();
            assert_eq!(names(schema), (expected, allows_unknown));
        };
        check(
            json!({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["c", "b"]}),
            &[("c", true), ("b", true), ("a", false)],
            true,
        );
        check(json!({"type": "object", "additionalProperties": false}), &[], false);
        check(json!({"type": "object"}), &[], true);
        check(
            json!({"type": "object", "anyOf": [{}], "properties": {"a": {}}}),
            &[("arguments", true)],
            false,
        );
    }

    #[test]
    fn schemas_are_complete_in_themselves() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"p": {"$ref": "#/$defs/P"}, "q": {"type": "string", "minLength": 1}},
            "$defs": {"P": {"type": "integer"}},
        });
        let method = ToolMethod::new(&Tool::new("t", Json::encode(&schema).unwrap()), &Json::NULL).unwrap();
        let params = method.described.params.unwrap();
        assert_eq!(params[0].schema, json!({"type": "integer"}));
        assert_eq!(params[1].schema, schema["properties"]["q"]);
        assert_eq!(method.described.others["x-mcp-input-schema"], schema);
    }
}
