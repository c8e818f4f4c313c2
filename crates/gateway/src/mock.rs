//! A server that exists only as a description: its answers are made up.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use switchboard_core::{
    Call, Describe, Description, Dialect, ErrorObject, ExampleDescription, Json, MethodDescription, Reply,
    ReplyFuture, ResultDescription, Schemas, Service,
};
use switchboard_openrpc::remote::{self, Calling, Form, RemoteError, by_name};
use switchboard_openrpc::{Document, Info};

/// How deep made-up values are nested.
const DEEPEST: usize = 8;

/// Answers calls from an OpenRPC document, so that a client can be written before its server: with the result of the example that has the same
/// params, with that of the first example, or with a value that fits the schema. Methods that stream send each item of such a list.
///
/// Params are checked for their names only. Cheap to clone.
///
/// # Examples
///
/// ```
/// use switchboard_core::Peer;
/// use switchboard_gateway::Mock;
/// use switchboard_openrpc::Document;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let document = Document::parse(
///     r#"{"openrpc": "1.3.2", "info": {"title": "Prices", "version": "1"}, "methods": [
///         {"name": "price", "params": [], "result": {"name": "price", "schema": {"type": "number", "minimum": 3}}}
///     ]}"#,
/// )?;
/// let price: f64 = Peer::local(Mock::new(document)?).call("price", ()).await?;
/// assert!(price >= 3.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Mock(Arc<Inner>);

struct Inner {
    document: Document,
    methods: HashMap<String, (MethodDescription, Calling)>,
}

impl Mock {
    /// A server with the methods of this document.
    ///
    /// # Errors
    ///
    /// When a reference of the document cannot be resolved.
    pub fn new(document: Document) -> Result<Mock, RemoteError> {
        let document = document.resolved()?;
        let described = remote::describe(&document, Form::Inlined).methods.into_iter();
        let calling: HashMap<&str, Calling> =
            document.methods().map(|method| (method.name.as_str(), Calling::of(method))).collect();
        let mut calling: HashMap<String, Calling> =
            calling.into_iter().map(|(name, calling)| (name.to_owned(), calling)).collect();
        let methods = described.filter_map(|method| {
            let calling = calling.remove(&method.name)?;
            Some((method.name.clone(), (method, calling)))
        });
        Ok(Mock(Arc::new(Inner { methods: methods.collect(), document })))
    }

    /// Title, version and description of the server.
    #[must_use]
    pub fn info(&self) -> Info {
        self.0.document.info.clone()
    }
}

impl Service for Mock {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some((method, calling)) = self.0.methods.get(call.method.as_str()) else {
            return ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()));
        };
        let given = match calling.has_unknown_params {
            true => Ok(Value::Null),
            false => by_name(call.params.as_ref(), &calling.slots)
                .map(|named| named.decode::<Value>().unwrap_or_default()),
        };
        let given = match given {
            Ok(given) => given,
            Err(error) => return ReplyFuture::ready(error),
        };
        let missing = method
            .params
            .iter()
            .flatten()
            .find(|param| param.is_required && given.get(&param.name).is_none());
        if let Some(param) = missing {
            let text = format!("the parameter {:?} is missing", param.name);
            return ReplyFuture::ready(ErrorObject::invalid_params(text));
        }
        ReplyFuture::ready(answer(method, &given, call.cx.wants_stream()))
    }
}

/// What a method answers.
fn answer(method: &MethodDescription, given: &Value, wants_stream: bool) -> Reply {
    let example = example(&method.examples, given);
    let list = |item: &Value| match &example {
        Some(Value::Array(items)) => items.clone(),
        _ => (0..3).map(|_| made_up(item, 0)).collect(),
    };
    match &method.result {
        ResultDescription::Stream(item) => stream(list(item)),
        ResultDescription::Either { item, .. } if wants_stream => stream(list(item)),
        ResultDescription::Value(schema) | ResultDescription::Either { value: schema, .. } => {
            Reply::of(&example.unwrap_or_else(|| made_up(schema, 0)))
        }
        ResultDescription::Unknown | ResultDescription::Nothing => Reply::of(&example),
        _ => Reply::value(Json::NULL),
    }
}

fn stream(items: Vec<Value>) -> Reply {
    Reply::stream(futures_util::stream::iter(items))
}

/// The result of the example with these params, or of the first one that has a result.
fn example(examples: &[ExampleDescription], given: &Value) -> Option<Value> {
    let same = examples.iter().find(|example| example.params == *given);
    let any = || examples.iter().find(|example| example.result.is_some());
    same.filter(|example| example.result.is_some()).or_else(any)?.result.clone()
}

/// A value that fits a schema, as far as common keywords go.
fn made_up(schema: &Value, depth: usize) -> Value {
    let Value::Object(members) = schema else { return Value::Null };
    if depth > DEEPEST {
        return Value::Null;
    }
    if let Some(value) = members.get("const").or_else(|| members.get("default")) {
        return value.clone();
    }
    for list in ["examples", "enum"] {
        if let Some(first) = members.get(list).and_then(Value::as_array).and_then(|list| list.first()) {
            return first.clone();
        }
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(first) = members.get(choice).and_then(Value::as_array).and_then(|list| list.first()) {
            return made_up(first, depth + 1);
        }
    }
    if let Some(all) = members.get("allOf").and_then(Value::as_array) {
        let merged = all.iter().filter_map(Value::as_object).flatten();
        let merged: Map<String, Value> = merged.map(|(name, value)| (name.clone(), value.clone())).collect();
        return made_up(&Value::Object(merged), depth + 1);
    }
    match kind(members) {
        Some("object") => object(members, depth),
        Some("array") => {
            let least = members.get("minItems").and_then(Value::as_u64).unwrap_or(1).clamp(1, 8);
            let item = members.get("items").unwrap_or(&Value::Null);
            (0..least).map(|_| made_up(item, depth + 1)).collect()
        }
        Some("string") => json!(text(members)),
        Some("integer" | "number") => number(members),
        Some("boolean") => json!(true),
        _ => Value::Null,
    }
}

/// The type of the values, where it is said or follows from other keywords.
fn kind(members: &Map<String, Value>) -> Option<&str> {
    match members.get("type") {
        Some(Value::String(kind)) => Some(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ if members.contains_key("properties") => Some("object"),
        _ if members.contains_key("items") => Some("array"),
        _ => None,
    }
}

fn object(members: &Map<String, Value>, depth: usize) -> Value {
    let properties = members.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.map(|(name, schema)| (name.clone(), made_up(schema, depth + 1))).collect()
}

fn text(members: &Map<String, Value>) -> String {
    let known = match members.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-01-01T12:00:00Z",
        Some("date") => "2026-01-01",
        Some("time") => "12:00:00Z",
        Some("email") => "someone@example.com",
        Some("uri" | "url") => "https://example.com/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("ipv4") => "192.0.2.1",
        _ => "text",
    };
    let bound =
        |name: &str| members.get(name).and_then(Value::as_u64).and_then(|bound| usize::try_from(bound).ok());
    let (least, most) = (bound("minLength").unwrap_or(0).min(1000), bound("maxLength").unwrap_or(usize::MAX));
    let missing = least.saturating_sub(known.len());
    let long: String = known.chars().chain(std::iter::repeat_n('x', missing)).collect();
    long.chars().take(most).collect()
}

fn number(members: &Map<String, Value>) -> Value {
    let first = |names: [&str; 2]| names.iter().find_map(|name| members.get(*name)).cloned();
    if let Some(Value::Number(least)) = first(["minimum", "exclusiveMinimum"]) {
        let is_exclusive = members.contains_key("exclusiveMinimum");
        return match (least.as_i64(), is_exclusive) {
            (Some(least), true) => json!(least + 1),
            _ => Value::Number(least),
        };
    }
    match first(["maximum", "exclusiveMaximum"]).as_ref().and_then(Value::as_i64) {
        Some(most) if most <= 1 => json!(most - 1),
        _ => json!(1),
    }
}

impl Describe for Mock {
    fn describe_methods(&self, _: &mut Schemas) -> Vec<MethodDescription> {
        remote::describe(&self.0.document, Form::Inlined).methods
    }

    fn describe_in(&self, dialect: Dialect) -> Description {
        remote::describe(&self.0.document, Form::In(dialect))
    }
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mock").field("title", &self.0.document.info.title).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use switchboard_core::{CallError, Code, Peer};

    use super::*;

    fn mock() -> Peer {
        let document = Document::parse(
            json!({"openrpc": "1.3.2", "info": {"title": "T", "version": "1"}, "methods": [
                {"name": "add", "params": [
                    {"name": "a", "required": true, "schema": {"type": "integer"}},
                    {"name": "b", "schema": {"type": "integer"}},
                ], "result": {"name": "sum", "schema": {"type": "integer"}}, "examples": [
                    {"name": "one", "params": [{"name": "a", "value": 1}, {"name": "b", "value": 2}], "result": {"name": "r", "value": 3}},
                    {"name": "two", "params": [{"name": "a", "value": 5}, {"name": "b", "value": 5}], "result": {"name": "r", "value": 10}},
                ]},
                {"name": "user", "params": [], "result": {"name": "user", "schema": {"$ref": "#/components/schemas/User"}}},
                {"name": "ticks", "params": [], "result": {"name": "items", "schema": {"type": "array"}},
                 "x-stream": {"item": {"type": "integer", "minimum": 4}}},
            ], "components": {"schemas": {"User": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string", "minLength": 6}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
            }}}}})
            .to_string(),
        );
        Peer::local(Mock::new(document.expect("a document")).expect("all references"))
    }

    #[tokio::test]
    async fn examples_come_first_and_then_schemas() {
        let mock = mock();
        assert_eq!(mock.call::<i64>("add", [5, 5]).await, Ok(10));
        assert_eq!(mock.call::<i64>("add", json!({"a": 5, "b": 5})).await, Ok(10));
        assert_eq!(mock.call::<i64>("add", [7]).await, Ok(3));
        let user: Value = mock.call("user", ()).await.expect("an answer");
        assert_eq!(user, json!({"name": "textxx", "tags": ["a"]}));
        let mut ticks = mock.stream::<i64>("ticks", ()).await.expect("a stream");
        assert_eq!(ticks.next().await, Some(Ok(4)));
    }

    #[tokio::test]
    async fn wrong_params_and_unknown_methods_are_refused() {
        let mock = mock();
        let code = async |method: &'static str, params: Value| {
            let error: CallError = mock.call::<Value>(method, params).await.expect_err(method);
            error.rejection().map(|error| error.code)
        };
        assert_eq!(code("add", json!([])).await, Some(Code::INVALID_PARAMS));
        assert_eq!(code("add", json!([1, 2, 3])).await, Some(Code::INVALID_PARAMS));
        assert_eq!(code("sub", json!([])).await, Some(Code::METHOD_NOT_FOUND));
    }
}
