//! The shapes of results: each function says what is wrong with one.

use serde_json::Value;

use crate::check::era::REVISIONS;
use crate::check::outcome::shortened;

type Shape = Result<(), String>;

/// The result of `initialize`.
pub(super) fn initialized(result: &Value) -> Shape {
    let version = text(result, "protocolVersion")?;
    if !REVISIONS.contains(&version) {
        return Err(format!("protocolVersion is {version:?}, which is not a revision with `initialize`"));
    }
    object(result, "capabilities")?;
    let server = object(result, "serverInfo")?;
    text(server, "name").and_then(|_| text(server, "version")).map_err(|why| format!("serverInfo: {why}"))?;
    optional(result, "instructions", Value::is_string, "a string")
}

/// The result of `server/discover`.
pub(super) fn discovered(result: &Value) -> Shape {
    let versions = list(result, "supportedVersions")?;
    if !versions.iter().any(|version| version == "2026-07-28") {
        return Err("supportedVersions does not have the version of the request, 2026-07-28".to_owned());
    }
    if !versions.iter().all(Value::is_string) {
        return Err("supportedVersions has values that are not strings".to_owned());
    }
    object(result, "capabilities")?;
    optional(result, "instructions", Value::is_string, "a string")
}

/// The result of `tools/list`.
pub(super) fn tools(result: &Value) -> Shape {
    each(result, "tools", |tool| {
        text(tool, "name").and_then(filled)?;
        let schema = object(tool, "inputSchema")?;
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err("inputSchema does not have the type \"object\"".to_owned());
        }
        optional(tool, "title", Value::is_string, "a string")?;
        optional(tool, "description", Value::is_string, "a string")?;
        optional(tool, "outputSchema", Value::is_object, "an object")?;
        optional(tool, "annotations", Value::is_object, "an object")
    })
}

/// The names in the result of `tools/list`.
pub(super) fn tool_names(result: &Value) -> Shape {
    each(result, "tools", |tool| {
        let name = text(tool, "name")?;
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if (1..=128).contains(&name.len()) && name.bytes().all(is_fit) {
            return Ok(());
        }
        Err("the name is longer than 128 characters, or has others than letters, digits, `_`, `-` and `.`"
            .to_owned())
    })
}

/// The result of `tools/call`.
pub(super) fn called(result: &Value) -> Shape {
    if asks(result) {
        return Ok(());
    }
    each(result, "content", content)?;
    optional(result, "isError", Value::is_boolean, "true or false")
}

/// A call that the server refuses because of its arguments: an error of the tool.
pub(super) fn failed_call(result: &Value) -> Shape {
    called(result)?;
    match result.get("isError") {
        Some(Value::Bool(true)) => Ok(()),
        _ => Err("the call succeeded".to_owned()),
    }
}

/// The result of `resources/list`.
pub(super) fn resources(result: &Value) -> Shape {
    each(result, "resources", |resource| {
        text(resource, "uri").and_then(has_scheme)?;
        text(resource, "name").map(|_| ())?;
        optional(resource, "mimeType", Value::is_string, "a string")?;
        optional(resource, "size", Value::is_number, "a number")
    })
}

/// The result of `resources/templates/list`.
pub(super) fn templates(result: &Value) -> Shape {
    each(result, "resourceTemplates", |template| {
        text(template, "uriTemplate").and_then(filled)?;
        text(template, "name").map(|_| ())
    })
}

/// The result of `resources/read`.
pub(super) fn contents(result: &Value) -> Shape {
    if asks(result) {
        return Ok(());
    }
    if list(result, "contents")?.is_empty() {
        return Err("contents is empty".to_owned());
    }
    each(result, "contents", contents_entry)
}

/// The result of `prompts/list`.
pub(super) fn prompts(result: &Value) -> Shape {
    each(result, "prompts", |prompt| {
        text(prompt, "name").and_then(filled)?;
        match prompt.get("arguments") {
            Some(_) => each(prompt, "arguments", |argument| text(argument, "name").and_then(filled)),
            None => Ok(()),
        }
    })
}

/// The result of `prompts/get`.
pub(super) fn messages(result: &Value) -> Shape {
    if asks(result) {
        return Ok(());
    }
    each(result, "messages", |message| {
        if !matches!(text(message, "role")?, "user" | "assistant") {
            return Err("role is neither \"user\" nor \"assistant\"".to_owned());
        }
        content(object(message, "content")?)
    })
}

/// The result of `completion/complete`.
pub(super) fn completion(result: &Value) -> Shape {
    let completion = object(result, "completion")?;
    let values = list(completion, "values")?;
    if values.len() > 100 || !values.iter().all(Value::is_string) {
        return Err("values has more than 100 entries, or others than strings".to_owned());
    }
    Ok(())
}

/// Hints for caches.
pub(super) fn cache_hints(result: &Value) -> Shape {
    if result.get("ttlMs").and_then(Value::as_u64).is_none() {
        return Err("ttlMs is not an integer of at least 0".to_owned());
    }
    match text(result, "cacheScope")? {
        "public" | "private" => Ok(()),
        other => Err(format!("cacheScope is {other:?}, neither \"public\" nor \"private\"")),
    }
}

/// Whether the server asks the client to call again, in place of a result.
fn asks(result: &Value) -> bool {
    result["resultType"] == "input_required" && result["requestState"].is_string()
}

/// A content block.
fn content(block: &Value) -> Shape {
    match text(block, "type")? {
        "text" => text(block, "text").map(|_| ()),
        "image" | "audio" => text(block, "data").and_then(|_| text(block, "mimeType")).map(|_| ()),
        "resource" => contents_entry(object(block, "resource")?),
        "resource_link" => text(block, "uri").and_then(has_scheme),
        other => Err(format!("unknown content type {other:?}")),
    }
}

fn contents_entry(entry: &Value) -> Shape {
    text(entry, "uri").and_then(has_scheme)?;
    match (entry.get("text"), entry.get("blob")) {
        (Some(Value::String(_)), None) | (None, Some(Value::String(_))) => Ok(()),
        _ => Err("it has neither text nor blob, or both".to_owned()),
    }
}

/// Tests each entry of a list, and names the one that is wrong.
fn each(value: &Value, member: &str, shape: impl Fn(&Value) -> Shape) -> Shape {
    list(value, member)?.iter().try_for_each(|entry| {
        shape(entry).map_err(|why| format!("{why}, in {member}: {}", shortened(&entry.to_string(), 80)))
    })
}

fn list<'a>(value: &'a Value, member: &str) -> Result<&'a Vec<Value>, String> {
    value.get(member).and_then(Value::as_array).ok_or_else(|| format!("{member} is not an array"))
}

fn object<'a>(value: &'a Value, member: &str) -> Result<&'a Value, String> {
    let found = value.get(member).filter(|value| value.is_object());
    found.ok_or_else(|| format!("{member} is not an object"))
}

fn text<'a>(value: &'a Value, member: &str) -> Result<&'a str, String> {
    value.get(member).and_then(Value::as_str).ok_or_else(|| format!("{member} is not a string"))
}

fn filled(text: &str) -> Shape {
    if text.is_empty() { Err("a name is empty".to_owned()) } else { Ok(()) }
}

fn has_scheme(uri: &str) -> Shape {
    match uri.split_once(':') {
        Some((scheme, _)) if scheme.starts_with(|c: char| c.is_ascii_alphabetic()) => Ok(()),
        _ => Err(format!("{uri:?} is not a URI")),
    }
}

fn optional(value: &Value, member: &str, is_right: fn(&Value) -> bool, what: &str) -> Shape {
    match value.get(member) {
        Some(found) if !is_right(found) => Err(format!("{member} is not {what}")),
        _ => Ok(()),
    }
}
