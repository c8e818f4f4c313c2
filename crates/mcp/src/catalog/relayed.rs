//! What another MCP server offers, through methods that pass requests on to it. It is offered as that server lists it.
//!
//! Descriptions of such methods have the lists as further members. They do not begin with `x-`, so they do not get into documents: only a
//! caller in this process gets results that fit them.

use serde_json::Value;
use switchboard_core::MethodDescription;

use super::Catalog;
use super::build::public_name;
use super::entry::{Entry, Handler};
use super::header::header_params;
use super::prompt::PromptEntry;
use super::resource::{ResourceEntry, Source, TemplateEntry};
use super::template::UriTemplate;
use super::tool::{Output, TaskMode, ToolEntry};
use crate::model::{Prompt, Resource, ResourceTemplate, Tool, methods};

/// The tool behind a method.
pub(crate) const RELAYED_TOOL: &str = "mcp-tool";
/// The resources that the method reads.
pub(crate) const RELAYED_RESOURCES: &str = "mcp-resources";
/// The templates of resources that the method reads.
pub(crate) const RELAYED_TEMPLATES: &str = "mcp-templates";
/// The prompts that the method fills in.
pub(crate) const RELAYED_PROMPTS: &str = "mcp-prompts";

/// The tool behind a method, under the name that clients see: the prefix of the method, and its own name as it is.
pub(super) fn tool(method: &MethodDescription) -> Option<Tool> {
    let mut tool: Tool = read(method.others.get(RELAYED_TOOL)?)?;
    tool.name = match method.name.strip_suffix(&tool.name) {
        Some(prefix) => format!("{}{}", public_name(prefix), tool.name),
        // The method was renamed on its way.
        None => public_name(&method.name),
    };
    // Calls are made while the client waits.
    tool.execution = None;
    Some(tool)
}

/// Adds a tool of another server.
pub(super) fn add_tool(catalog: &mut Catalog, tool: Tool, handler: Handler, method: &str) {
    let (key, input) = (tool.name.clone(), tool.input_schema.decode::<Value>().unwrap_or_default());
    let headers = header_params(&input).unwrap_or_default();
    let entry = ToolEntry { tool, handler, output: Output::Whole, task: TaskMode::Never, headers };
    let is_new = catalog.tools.add(Entry::new(key.clone(), entry));
    first(catalog, is_new, &key, method);
}

/// Adds the resources and prompts behind a method. A name or a URI that is taken already is left out, since it would hide the other one.
pub(super) fn add(catalog: &mut Catalog, method: &MethodDescription, handler: &Handler) {
    let entries = |name: &str| method.others.get(name).and_then(Value::as_array).into_iter().flatten();
    let prefix = |own: &str| public_name(method.name.strip_suffix(own).unwrap_or_default());
    for mut prompt in entries(RELAYED_PROMPTS).filter_map(read::<Prompt>) {
        let own = prompt.name.clone();
        prompt.name.insert_str(0, &prefix(methods::GET_PROMPT));
        let (key, handler) = (prompt.name.clone(), handler.clone());
        let entry = PromptEntry { prompt, handler, relayed: Some(own) };
        let is_new = catalog.prompts.add(Entry::new(key.clone(), entry));
        first(catalog, is_new, &key, &method.name);
    }
    for mut resource in entries(RELAYED_RESOURCES).filter_map(read::<Resource>) {
        resource.name.insert_str(0, &prefix(methods::READ_RESOURCE));
        let (key, source) = (resource.uri.clone(), Source::Relayed(handler.clone()));
        let is_new = catalog.resources.add(Entry::new(key.clone(), ResourceEntry { resource, source }));
        first(catalog, is_new, &key, &method.name);
    }
    for mut shown in entries(RELAYED_TEMPLATES).filter_map(read::<ResourceTemplate>) {
        shown.name.insert_str(0, &prefix(methods::READ_RESOURCE));
        let (key, handler) = (shown.uri_template.clone(), handler.clone());
        let Ok(template) = UriTemplate::parse(&key) else {
            tracing::warn!(template = key, "left out a resource template that cannot be read");
            continue;
        };
        let entry = TemplateEntry { shown, template, handler, is_relayed: true };
        let is_new = catalog.templates.add(Entry::new(key.clone(), entry));
        first(catalog, is_new, &key, &method.name);
    }
    if method.others.get("x-mcp").is_some() {
        match &method.name {
            name if name.ends_with(methods::READ_RESOURCE) => catalog.readers.push(handler.clone()),
            name if name.ends_with(methods::COMPLETE) => catalog.completers.push(handler.clone()),
            _ => {}
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(entry: &Value) -> Option<T> {
    T::deserialize(entry).inspect_err(|error| tracing::warn!(%error, "left out an entry of a list")).ok()
}

/// What other servers offer under the same name is left out, whether or not that is an error otherwise.
fn first(catalog: &mut Catalog, is_new: bool, key: &str, method: &str) {
    if !is_new {
        catalog.leave_out(key, method);
    }
}
