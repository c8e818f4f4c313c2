//! From the descriptions of methods to the tables.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use switchboard_core::{Describe, Description, Dialect, Json, MethodDescription, ResultDescription, Service};

use super::Catalog;
use super::entry::{Entry, Handler, Param};
use super::header::header_params;
use super::prompt::PromptEntry;
use super::relayed;
use super::resource::{ResourceEntry, Source, TemplateEntry};
use super::schema::{complete, open_object, without_nulls};
use super::template::UriTemplate;
use super::tool::{Output, TaskMode, ToolEntry, result_schema};
use crate::model::{
    Contents, Icon, Prompt, PromptArgument, Resource, ResourceTemplate, TaskSupport, Tool, ToolAnnotations,
    ToolExecution,
};
use crate::server::BuildError;

/// Everything that a server offers.
#[derive(Clone, Default)]
pub(crate) struct Offers {
    /// Services whose methods are offered, in the order in which they were added.
    pub(crate) services: Vec<Arc<dyn Describe>>,
    pub(crate) resources: Vec<(Resource, Contents)>,
    /// Tools, prompts and resources that are not offered now.
    pub(crate) disabled: HashSet<String>,
    /// Whether a name that is taken already is left out, instead of being an error.
    pub(crate) is_lenient: bool,
}

impl Offers {
    /// Takes out what was added under this name or URI, and returns whether there was anything. A service that offers more stays.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let before = self.services.len() + self.resources.len();
        self.resources.retain(|(resource, _)| resource.uri != name);
        self.services.retain(|service| {
            let alone = Offers { services: vec![Arc::clone(service)], ..Offers::default() };
            !build(&alone).is_ok_and(|catalog| catalog.offers_only(name))
        });
        self.disabled.remove(name);
        before > self.services.len() + self.resources.len()
    }
}

/// Builds the tables.
pub(crate) fn build(offers: &Offers) -> Result<Catalog, BuildError> {
    let mut catalog = Catalog::default();
    for service in &offers.services {
        let description = service.describe_in(Dialect::Draft2020);
        let service: Arc<dyn Service> = Arc::new(Arc::clone(service));
        add_service(&mut catalog, &service, &description, offers)?;
    }
    for (resource, contents) in &offers.resources {
        if !offers.disabled.contains(&resource.uri) {
            let value = ResourceEntry { resource: resource.clone(), source: Source::Fixed(contents.clone()) };
            let entry = Entry::new(resource.uri.clone(), value);
            let is_new = catalog.resources.add(entry);
            unique(&mut catalog, offers, is_new, &resource.uri, "")?;
        }
    }
    catalog.tools.sort();
    catalog.resources.sort();
    catalog.templates.sort();
    catalog.prompts.sort();
    Ok(catalog)
}

/// What happens to an entry whose key may be taken.
fn unique(
    catalog: &mut Catalog,
    offers: &Offers,
    is_new: bool,
    key: &str,
    method: &str,
) -> Result<(), BuildError> {
    match (is_new, offers.is_lenient) {
        (true, _) => {}
        (false, true) => catalog.leave_out(key, method),
        (false, false) => return Err(BuildError::Duplicate(key.to_owned())),
    }
    Ok(())
}

fn add_service(
    catalog: &mut Catalog,
    service: &Arc<dyn Service>,
    description: &Description,
    offers: &Offers,
) -> Result<(), BuildError> {
    for method in &description.methods {
        let options = Options(method.others.get("x-mcp").and_then(Value::as_object));
        if method.name.starts_with("rpc.") {
            continue;
        }
        let handler = handler(service, method, options);
        if options.is_off() {
            relayed::add(catalog, method, &handler);
            continue;
        }
        if let Some(uri) = options.text("resource") {
            if !offers.disabled.contains(uri) {
                let is_new = add_resource(catalog, method, options, uri, handler)?;
                unique(catalog, offers, is_new, uri, &method.name)?;
            }
        } else if options.has("prompt") {
            let name = options.name(method);
            if !offers.disabled.contains(&name) {
                let is_new = add_prompt(catalog, method, options, &name, handler);
                unique(catalog, offers, is_new, &name, &method.name)?;
            }
        } else if options.has("completes") {
            add_completions(catalog, description, method, options, &handler);
        } else if !matches!(method.result, ResultDescription::Nothing) {
            let relayed = relayed::tool(method);
            let name = relayed.as_ref().map_or_else(|| options.name(method), |tool| tool.name.clone());
            if offers.disabled.contains(&name) {
                continue;
            }
            if let Some(tool) = relayed {
                relayed::add_tool(catalog, tool, handler, &method.name);
            } else {
                let is_new = add_tool(catalog, &description.definitions, method, options, &name, handler)?;
                unique(catalog, offers, is_new, &name, &method.name)?;
            }
        }
    }
    Ok(())
}

/// What `#[mcp(…)]` says about a method.
#[derive(Clone, Copy)]
struct Options<'a>(Option<&'a Map<String, Value>>);

impl<'a> Options<'a> {
    fn get(self, name: &str) -> Option<&'a Value> {
        self.0?.get(name)
    }

    fn text(self, name: &str) -> Option<&'a str> {
        self.get(name)?.as_str()
    }

    fn owned(self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    fn has(self, name: &str) -> bool {
        self.get(name).is_some_and(|value| *value != Value::Bool(false))
    }

    fn is_off(self) -> bool {
        self.get("tool") == Some(&Value::Bool(false))
    }

    fn icons(self) -> Vec<Icon> {
        let sources = self.get("icons").and_then(Value::as_array).into_iter().flatten();
        sources.filter_map(|icon| icon.get("src")?.as_str()).map(Icon::new).collect()
    }

    /// The name that clients see: letters, digits, `_` and `-`, which is what every host accepts (MCP-T-03).
    fn name(self, method: &MethodDescription) -> String {
        self.owned("name").unwrap_or_else(|| public_name(&method.name))
    }
}

/// The name of the tool that a method becomes.
pub(crate) fn public_name(method: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let plain: String = method.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    plain.chars().take(64).collect()
}

fn handler(service: &Arc<dyn Service>, method: &MethodDescription, options: Options<'_>) -> Handler {
    let kind = |schema: &Value| schema.get("type").and_then(Value::as_str).map(str::to_owned);
    let params = method.params.iter().flatten();
    Handler {
        service: Arc::clone(service),
        method: method.name.as_str().into(),
        params: params.map(|param| Param { name: param.name.clone(), kind: kind(&param.schema) }).collect(),
        scope: options.owned("scope"),
        is_stream: matches!(method.result, ResultDescription::Stream(_)),
        is_durable: method.marks.durable,
    }
}

/// The documentation of a method, for models.
fn documentation(method: &MethodDescription) -> Option<String> {
    let deprecated = method.deprecated.as_ref().map(|reason| format!("Deprecated: {reason}"));
    let parts = [deprecated.as_deref(), Some(&method.summary), Some(&method.description)];
    let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn add_tool(
    catalog: &mut Catalog,
    definitions: &Map<String, Value>,
    method: &MethodDescription,
    options: Options<'_>,
    name: &str,
    handler: Handler,
) -> Result<bool, BuildError> {
    let mut input = match method.params_schema() {
        Some(schema) => complete(&with_descriptions(schema, method), definitions),
        None => open_object(),
    };
    without_nulls(&mut input);
    if let Some(schema) = method.others.get("x-mcp-input-schema") {
        input = schema.clone();
    }
    let result = result_schema(method).map(|schema| complete(&schema, definitions));
    let output = Output::of(method, result.as_ref());
    let headers = header_params(&input).map_err(|why| BuildError::Header(name.to_owned(), why))?;
    let mut tool = Tool::new(name, text_of(&input)?);
    tool.title = options.owned("title");
    tool.description = documentation(method);
    tool.icons = options.icons();
    tool.annotations = Some(annotations(method, options));
    if matches!(output, Output::Data { has_schema: true, .. })
        && let Some(result) = &result
    {
        tool.output_schema = Some(text_of(result)?);
    }
    let task = match options.text("task") {
        Some("required") => TaskMode::Required,
        Some("manual") => TaskMode::Manual,
        Some(_) => TaskMode::Optional,
        None if method.marks.durable => TaskMode::Optional,
        None => TaskMode::Never,
    };
    let support = match task {
        TaskMode::Never => None,
        TaskMode::Optional | TaskMode::Manual => Some(TaskSupport::Optional),
        TaskMode::Required => Some(TaskSupport::Required),
    };
    tool.execution = support.map(|support| ToolExecution { task_support: Some(support) });
    let entry = Entry::new(name, ToolEntry { tool, handler, output, task, headers });
    Ok(catalog.tools.add(entry))
}

fn text_of(schema: &Value) -> Result<Json, BuildError> {
    Json::encode(schema).map_err(|error| BuildError::Schema(error.to_string()))
}

/// Adds the documentation of the parameters to their schemas.
fn with_descriptions(mut schema: Value, method: &MethodDescription) -> Value {
    for param in method.params.iter().flatten().filter(|param| !param.description.is_empty()) {
        if let Some(Value::Object(property)) = schema["properties"].get_mut(&param.name) {
            property.entry("description").or_insert_with(|| json!(param.description));
        }
    }
    schema
}

/// Hints for hosts. A safe method changes nothing, so it cannot be destructive.
fn annotations(method: &MethodDescription, options: Options<'_>) -> ToolAnnotations {
    let hint = |name: &str| options.get(name).and_then(Value::as_bool);
    ToolAnnotations {
        title: None,
        read_only: method.marks.safe.then_some(true),
        idempotent: method.marks.idempotent.then_some(true),
        destructive: hint("destructiveHint").or(method.marks.safe.then_some(false)),
        open_world: hint("openWorldHint"),
    }
}

fn add_resource(
    catalog: &mut Catalog,
    method: &MethodDescription,
    options: Options<'_>,
    uri: &str,
    handler: Handler,
) -> Result<bool, BuildError> {
    let template = UriTemplate::parse(uri).map_err(|error| BuildError::Template(error.to_string()))?;
    let name = options.owned("name").unwrap_or_else(|| method.name.clone());
    if template.has_variables() {
        let mut shown = ResourceTemplate::new(uri, name);
        shown.title = options.owned("title");
        shown.description = documentation(method);
        shown.mime_type = options.owned("mimeType");
        shown.icons = options.icons();
        let entry = Entry::new(uri, TemplateEntry { shown, template, handler, is_relayed: false });
        return Ok(catalog.templates.add(entry));
    }
    let mut resource = Resource::new(uri, name);
    resource.title = options.owned("title");
    resource.description = documentation(method);
    resource.mime_type = options.owned("mimeType");
    resource.icons = options.icons();
    let entry = Entry::new(uri, ResourceEntry { resource, source: Source::Method(handler) });
    Ok(catalog.resources.add(entry))
}

fn add_prompt(
    catalog: &mut Catalog,
    method: &MethodDescription,
    options: Options<'_>,
    name: &str,
    handler: Handler,
) -> bool {
    let mut prompt = Prompt::new(name);
    prompt.title = options.owned("title");
    prompt.description = documentation(method);
    prompt.icons = options.icons();
    for param in method.params.iter().flatten() {
        let mut argument = PromptArgument::new(param.name.clone());
        argument.description = Some(param.description.clone()).filter(|text| !text.is_empty());
        argument.required = param.is_required;
        prompt.arguments.push(argument);
    }
    let entry = Entry::new(name, PromptEntry { prompt, handler, relayed: None });
    catalog.prompts.add(entry)
}

/// Registers a method that completes arguments of other methods: pairs of a method in the same namespace and its parameter.
fn add_completions(
    catalog: &mut Catalog,
    description: &Description,
    method: &MethodDescription,
    options: Options<'_>,
    handler: &Handler,
) {
    let namespace = method.name.rfind('/').map_or("", |end| &method.name[..=end]);
    let pairs = options.get("completes").and_then(Value::as_array).into_iter().flatten();
    for pair in pairs {
        let (Some(target), Some(param)) = (pair[0].as_str(), pair[1].as_str()) else { continue };
        let full = format!("{namespace}{target}");
        let found = description.methods.iter().find(|method| method.name == full || method.name == target);
        let Some(found) = found else { continue };
        let options = Options(found.others.get("x-mcp").and_then(Value::as_object));
        let key = options.owned("resource").unwrap_or_else(|| options.name(found));
        catalog.completions.insert((key, param.to_owned()), handler.clone());
    }
}
