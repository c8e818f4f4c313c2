//! From an OpenRPC document to the description of a service.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use switchboard_core::{
    DeclaredError, Description, Dialect, Marks, MethodDescription, Name, ParamDescription, ResultDescription,
    Subscription,
};
use switchboard_openrpc::{ContentDescriptor, Document, Example, MethodEntry, ParamStructure, Referable};

use super::positions::Slot;
use super::schema::{COMPONENTS, inlined, modern, plain};

/// How a method is called.
#[derive(Debug)]
pub(super) struct Calling {
    pub(super) slots: Vec<Slot>,
    pub(super) is_by_position: bool,
    pub(super) has_unknown_params: bool,
    /// The names of its stream, if it opens a subscription.
    pub(super) subscription: Option<Arc<Subscription>>,
}

impl Calling {
    pub(super) fn of(method: &MethodEntry) -> Calling {
        let slot =
            |param: &ContentDescriptor| Slot { name: param.name.clone(), is_variadic: param.is_variadic() };
        Calling {
            slots: method.params().map(slot).collect(),
            is_by_position: method.param_structure == ParamStructure::ByPosition,
            has_unknown_params: method.has_unknown_params(),
            subscription: subscription(method).map(Arc::new),
        }
    }
}

fn subscription(method: &MethodEntry) -> Option<Subscription> {
    let names = method.subscription()?;
    let usual = Subscription::by_name(&Name::from(method.name.as_str()));
    let named = || Subscription::named(names.notification, names.unsubscribe);
    Some(usual.filter(|usual| usual.item.as_str() == names.notification).unwrap_or_else(named))
}

/// How schemas are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    In(Dialect),
    /// Without references, in the dialect of the document.
    Inlined,
}

/// The methods of a document and their schemas.
pub(super) fn describe(document: &Document, form: Form) -> Description {
    let components = document.components.iter().flat_map(|components| &components.schemas);
    let schemas: Map<String, Value> =
        components.map(|(name, schema)| (name.clone(), schema.as_value().clone())).collect();
    let writer = Writer { form, schemas };
    let mut description = Description::default();
    description.methods = document.methods().map(|method| writer.method(method)).collect();
    description.methods.sort_by(|a, b| a.name.cmp(&b.name));
    if form == Form::In(Dialect::Draft2020) {
        let ends = |method: &MethodDescription| Some(method.subscription.as_ref()?.unsubscribe.clone());
        let ends: Vec<Name> = description.methods.iter().filter_map(ends).collect();
        // A subscription ends with the call of its tool.
        description.methods.retain(|method| ends.iter().all(|end| end.as_str() != method.name));
        description.methods.iter_mut().for_each(document_outcomes);
    }
    description.definitions = match form {
        Form::In(Dialect::OpenRpc) => writer.schemas,
        Form::Inlined => Map::new(),
        _ => writer.schemas.iter().map(|(name, schema)| (plain(name), writer.schema(schema))).collect(),
    };
    description
}

struct Writer {
    form: Form,
    schemas: Map<String, Value>,
}

impl Writer {
    fn schema(&self, schema: &Value) -> Value {
        match self.form {
            Form::In(Dialect::OpenRpc) => schema.clone(),
            Form::Inlined => inlined(schema, &[COMPONENTS], &self.schemas),
            Form::In(_) => modern(schema, &|name| self.schemas.contains_key(name)),
        }
    }

    fn method(&self, method: &MethodEntry) -> MethodDescription {
        let mut described = MethodDescription::default();
        described.name.clone_from(&method.name);
        described.summary = method.summary.clone().unwrap_or_default();
        described.description = method.description.clone().unwrap_or_default();
        described.params =
            (!method.has_unknown_params()).then(|| method.params().map(|param| self.param(param)).collect());
        described.allows_unknown_params = method.allows_additional_params();
        described.result = self.result(method);
        described.errors = method
            .errors()
            .map(|error| {
                let mut declared = DeclaredError::new(error.code, error.message.clone());
                declared.data = method.data_schema(error).map(|schema| self.schema(schema));
                declared
            })
            .collect();
        let mut marks = Marks::default();
        (marks.safe, marks.idempotent) = (method.is_safe(), method.is_idempotent());
        described.marks = marks;
        described.tags = method.tags().map(|tag| tag.name.clone()).collect();
        let reason = || method.deprecated_reason().unwrap_or("no longer recommended").to_owned();
        described.deprecated = method.deprecated.then(reason);
        described.subscription = subscription(method);
        let extensions = method.others.iter().filter(|(name, _)| name.starts_with("x-"));
        described.others = extensions.map(|(name, value)| (name.clone(), value.clone())).collect();
        // A server that offers the method as a tool itself says what the tool is called.
        if let Some(Value::Object(options)) = described.others.get_mut("x-mcp")
            && let Some(Value::String(name)) = options.get("tool").cloned()
        {
            options.entry("name").or_insert(Value::String(name));
        }
        method.examples().fold(described, |described, example| {
            let params = example.params.iter().filter_map(Referable::here);
            let params: Map<String, Value> =
                params.filter_map(|param| Some((param.name.clone(), param.value.clone()?))).collect();
            let result = example.result.as_ref().and_then(Referable::here);
            let result = result.and_then(|result: &Example| result.value.clone());
            described.example(example.name.clone(), Value::Object(params), result)
        })
    }

    fn param(&self, param: &ContentDescriptor) -> ParamDescription {
        let mut schema = self.schema(param.schema.as_value());
        if schema == Value::Bool(true) {
            schema = json!({});
        }
        let mut described = match (param.is_variadic(), param.required) {
            // Its schema is that of the array which it is by name.
            (true, _) => {
                let item = schema.get("items").cloned().unwrap_or_else(|| json!({}));
                ParamDescription::variadic(param.name.clone(), item)
            }
            (false, true) => ParamDescription::required(param.name.clone(), schema),
            (false, false) => ParamDescription::optional(param.name.clone(), schema),
        };
        let text = param.description.as_deref().or(param.summary.as_deref());
        described.description = text.unwrap_or_default().to_owned();
        described
    }

    fn result(&self, method: &MethodEntry) -> ResultDescription {
        if method.is_notification() {
            return ResultDescription::Nothing;
        }
        let value = method.result().map(|result| self.schema(result.schema.as_value()));
        let is_known = |schema: &Value| schema.as_object().is_some_and(|members| !members.is_empty());
        match (method.stream_item().map(|item| self.schema(item)), value) {
            (Some(item), Some(value)) if method.is_stream_optional() => {
                ResultDescription::Either { value, item }
            }
            (Some(item), _) => ResultDescription::Stream(item),
            (None, Some(value)) if is_known(&value) => ResultDescription::Value(value),
            _ => ResultDescription::Unknown,
        }
    }
}

/// Tells models what tools have no other place for: the errors to expect, and examples.
fn document_outcomes(method: &mut MethodDescription) {
    let mut parts: Vec<String> = Vec::new();
    if !method.description.is_empty() {
        parts.push(std::mem::take(&mut method.description));
    }
    if !method.errors.is_empty() {
        let errors = method.errors.iter().map(|error| format!("{} ({})", error.message, error.code));
        parts.push(format!("Errors: {}.", errors.collect::<Vec<_>>().join("; ")));
    }
    for example in method.examples.iter().take(2) {
        let call = format!("Example: {}", example.params);
        parts.push(match &example.result {
            Some(result) => format!("{call} returns {result}"),
            None => call,
        });
    }
    method.description = parts.join("\n\n");
}
