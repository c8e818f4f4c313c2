//! From an OpenRPC document to the description of a service.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use switchboard_core::{
    DeclaredError, Description, Dialect, Marks, MethodDescription, Name, ParamDescription, ResultDescription,
    Subscription,
};

use super::positions::Slot;
use super::schema::{COMPONENTS, inlined, modern, plain};
use crate::document::{ContentDescriptor, Document, Example, MethodEntry, ParamStructure, Referable};

/// How a method is called, as its entry in a document says.
#[derive(Debug)]
#[non_exhaustive]
pub struct Calling {
    /// Its parameters.
    pub slots: Vec<Slot>,
    /// Whether it takes them only by position.
    pub is_by_position: bool,
    /// Whether its parameters are not described.
    pub has_unknown_params: bool,
    /// The names of its stream, if it opens a subscription.
    pub subscription: Option<Arc<Subscription>>,
    /// Whether it answers with a stream.
    pub is_stream: bool,
    /// Its guarantees.
    pub marks: Marks,
}

impl Calling {
    /// How this method is called.
    #[must_use]
    pub fn of(method: &MethodEntry) -> Calling {
        let slot =
            |param: &ContentDescriptor| Slot { name: param.name.clone(), is_variadic: param.is_variadic() };
        Calling {
            slots: method.params().map(slot).collect(),
            is_by_position: method.param_structure == ParamStructure::ByPosition,
            has_unknown_params: method.has_unknown_params(),
            subscription: subscription(method).map(Arc::new),
            is_stream: method.stream_item().is_some() || method.subscription().is_some(),
            marks: marks(method),
        }
    }
}

fn marks(method: &MethodEntry) -> Marks {
    let mut marks = Marks::default();
    (marks.safe, marks.idempotent, marks.durable) =
        (method.is_safe(), method.is_idempotent(), method.is_durable());
    marks
}

fn subscription(method: &MethodEntry) -> Option<Subscription> {
    let names = method.subscription()?;
    let usual = Subscription::by_name(&Name::from(method.name.as_str()));
    let named = || Subscription::named(names.notification, names.unsubscribe);
    Some(usual.filter(|usual| usual.item.as_str() == names.notification).unwrap_or_else(named))
}

/// How schemas are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// In this dialect.
    In(Dialect),
    /// Without references, in the dialect of the document.
    Inlined,
}

/// The methods of a document and their schemas.
#[must_use]
pub fn describe(document: &Document, form: Form) -> Description {
    let components = document.components.iter().flat_map(|components| &components.schemas);
    let schemas: Map<String, Value> =
        components.map(|(name, schema)| (name.clone(), schema.as_value().clone())).collect();
    let writer = Writer { form, schemas };
    let mut description = Description::default();
    description.methods = document.methods().map(|method| writer.method(method)).collect();
    description.methods.sort_by(|a, b| a.name.cmp(&b.name));
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
        described.marks = marks(method);
        described.tags = method.tags().map(|tag| tag.name.clone()).collect();
        let reason = || method.deprecated_reason().unwrap_or("no longer recommended").to_owned();
        described.deprecated = method.deprecated.then(reason);
        described.subscription = subscription(method);
        let extensions = method.others.iter().filter(|(name, _)| name.starts_with("x-"));
        described.others = extensions.map(|(name, value)| (name.clone(), value.clone())).collect();
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
