//! Descriptions of methods: the source of OpenRPC documents, tool lists and documentation.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::DeclaredError;
use crate::schemas::{Dialect, Schemas};
use crate::service::Service;
use crate::subscription::Subscription;

/// A service that can list its methods, such as a [`Router`](crate::Router) with or without layers around it.
///
/// OpenRPC documents are generated from it, and a router that [mounts](crate::RouterBuilder::mount_described) such a service
/// describes its methods too.
pub trait Describe: Service {
    /// The methods, in the order of their names. Types that appear in several services are defined once if all use the
    /// same `schemas`.
    fn describe_methods(&self, schemas: &mut Schemas) -> Vec<MethodDescription>;

    /// The methods and the schemas of their types, in this dialect.
    fn describe_in(&self, dialect: Dialect) -> Description {
        Description::of(dialect, |schemas| self.describe_methods(schemas))
    }
}

impl<S: Describe + ?Sized> Describe for Arc<S> {
    fn describe_methods(&self, schemas: &mut Schemas) -> Vec<MethodDescription> {
        (**self).describe_methods(schemas)
    }

    fn describe_in(&self, dialect: Dialect) -> Description {
        (**self).describe_in(dialect)
    }
}

/// The methods of a service that [describes](Describe) itself.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Description {
    /// Each method, in the order of their names.
    pub methods: Vec<MethodDescription>,
    /// The schemas that others refer to, by name.
    pub definitions: Map<String, Value>,
}

impl Description {
    /// The methods that a function describes with these schemas.
    pub(crate) fn of(
        dialect: Dialect,
        describe: impl FnOnce(&mut Schemas) -> Vec<MethodDescription>,
    ) -> Description {
        let mut schemas = Schemas::new(dialect);
        let methods = describe(&mut schemas);
        Description { methods, definitions: schemas.into_definitions() }
    }
}

/// One method.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MethodDescription {
    /// Its full name, with its namespace.
    pub name: String,
    /// The first paragraph of its documentation, as one line.
    pub summary: String,
    /// The rest of its documentation.
    pub description: String,
    /// Its parameters in positional order. None if they are unknown.
    pub params: Option<Vec<ParamDescription>>,
    /// Whether it ignores unknown named parameters instead of rejecting them.
    pub allows_unknown_params: bool,
    /// What it returns.
    pub result: ResultDescription,
    /// The errors that callers can expect.
    pub errors: Vec<DeclaredError>,
    /// Its guarantees.
    pub marks: Marks,
    /// Tags that group methods.
    pub tags: Vec<String>,
    /// Why it is deprecated.
    pub deprecated: Option<String>,
    /// Example calls with their results.
    pub examples: Vec<ExampleDescription>,
    /// The method names of its stream on a connection, if not the default ones.
    pub subscription: Option<Subscription>,
    /// Extensions: members of the method's entry in an OpenRPC document, whose names start with `x-`.
    pub others: Map<String, Value>,
}

/// An example call with its result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExampleDescription {
    /// What it shows.
    pub name: String,
    /// The parameters: an array, or an object.
    pub params: Value,
    /// The result; for a stream, its items. None if the example does not show it.
    pub result: Option<Value>,
}

/// One parameter.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ParamDescription {
    /// Its name.
    pub name: String,
    /// Its documentation.
    pub description: String,
    /// The JSON Schema of its values; of one value, for a variadic parameter.
    pub schema: Value,
    /// Whether it is required.
    pub is_required: bool,
    /// Whether it takes all remaining positions.
    pub is_variadic: bool,
    /// Its default value.
    pub default: Option<Value>,
}

/// What a method returns.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum ResultDescription {
    /// Unknown.
    #[default]
    Unknown,
    /// One value with this JSON Schema.
    Value(Value),
    /// A stream of values with this JSON Schema.
    Stream(Value),
    /// One value, or a stream for [callers that want one](crate::Context::wants_stream).
    Either {
        /// The JSON Schema of the value.
        value: Value,
        /// The JSON Schema of an item of the stream.
        item: Value,
    },
    /// Nothing: it is a notification.
    Nothing,
}

/// Guarantees of a method, for callers that want to retry it, cache it or show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Marks {
    /// It changes no state.
    pub safe: bool,
    /// Calling it twice does the same as calling it once.
    pub idempotent: bool,
    /// Its calls are stored before they run, and run until they are done, if the server has a queue.
    pub durable: bool,
}

impl MethodDescription {
    /// A description from this documentation, as written in a doc comment.
    #[must_use]
    pub fn documented(docs: &str) -> MethodDescription {
        let (summary, description) = docs.trim().split_once("\n\n").unwrap_or((docs.trim(), ""));
        MethodDescription {
            summary: summary.split_whitespace().collect::<Vec<_>>().join(" "),
            description: description.trim().to_owned(),
            ..MethodDescription::default()
        }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn param(mut self, param: ParamDescription) -> MethodDescription {
        self.params.get_or_insert_default().push(param);
        self
    }

    /// Declares the list of parameters complete, even if it is empty.
    #[must_use]
    pub fn no_more_params(mut self) -> MethodDescription {
        self.params.get_or_insert_default();
        self
    }

    /// Makes it ignore unknown named parameters.
    #[must_use]
    pub fn allow_unknown_params(mut self) -> MethodDescription {
        self.allows_unknown_params = true;
        self
    }

    /// The JSON Schema of its parameters by name, as one object. Its `additionalProperties` say whether unknown names are
    /// allowed. None if the parameters are unknown.
    #[must_use]
    pub fn params_schema(&self) -> Option<Value> {
        let params = self.params.as_ref()?;
        let properties: Map<String, Value> =
            params.iter().map(|param| (param.name.clone(), param.schema_by_name())).collect();
        let required: Vec<&str> =
            params.iter().filter(|param| param.is_required).map(|param| param.name.as_str()).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema["additionalProperties"] = Value::Bool(self.allows_unknown_params);
        Some(schema)
    }

    /// Sets what it returns.
    #[must_use]
    pub fn result(mut self, result: ResultDescription) -> MethodDescription {
        self.result = result;
        self
    }

    /// Adds errors that callers can expect.
    #[must_use]
    pub fn errors(mut self, errors: Vec<DeclaredError>) -> MethodDescription {
        self.errors.extend(errors);
        self
    }

    /// Guarantees that it changes no state, and so that it can be called twice.
    #[must_use]
    pub fn safe(mut self) -> MethodDescription {
        (self.marks.safe, self.marks.idempotent) = (true, true);
        self
    }

    /// Guarantees that calling it twice does the same as calling it once.
    #[must_use]
    pub fn idempotent(mut self) -> MethodDescription {
        self.marks.idempotent = true;
        self
    }

    /// Has its calls stored before they run, and run until they are done, if the server has a queue.
    #[must_use]
    pub fn durable(mut self) -> MethodDescription {
        self.marks.durable = true;
        self
    }

    /// Adds a tag.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> MethodDescription {
        self.tags.push(tag.into());
        self
    }

    /// Adds an example call, with its result if known.
    #[must_use]
    pub fn example(
        mut self,
        name: impl Into<String>,
        params: Value,
        result: Option<Value>,
    ) -> MethodDescription {
        self.examples.push(ExampleDescription { name: name.into(), params, result });
        self
    }

    /// Adds an extension: a member of the method's entry in an OpenRPC document. Names that do not start with `x-` are
    /// left out there.
    #[must_use]
    pub fn extension(mut self, name: impl Into<String>, value: impl Into<Value>) -> MethodDescription {
        self.others.insert(name.into(), value.into());
        self
    }

    /// Marks it as deprecated, with the reason.
    #[must_use]
    pub fn deprecated(mut self, reason: impl Into<String>) -> MethodDescription {
        self.deprecated = Some(reason.into());
        self
    }
}

impl ParamDescription {
    /// A required parameter.
    #[must_use]
    pub fn required(name: impl Into<String>, schema: Value) -> ParamDescription {
        ParamDescription {
            name: name.into(),
            description: String::new(),
            schema,
            is_required: true,
            is_variadic: false,
            default: None,
        }
    }

    /// An optional parameter.
    #[must_use]
    pub fn optional(name: impl Into<String>, schema: Value) -> ParamDescription {
        ParamDescription { is_required: false, ..ParamDescription::required(name, schema) }
    }

    /// A parameter that takes all remaining positions.
    #[must_use]
    pub fn variadic(name: impl Into<String>, schema: Value) -> ParamDescription {
        ParamDescription { is_variadic: true, ..ParamDescription::optional(name, schema) }
    }

    /// The JSON Schema of its value when passed by name: an array for a variadic parameter, and with its default.
    #[must_use]
    pub fn schema_by_name(&self) -> Value {
        let schema = match self.is_variadic {
            true => json!({"type": "array", "items": self.schema}),
            false => self.schema.clone(),
        };
        match &self.default {
            Some(default) => with_member(schema, "default", default.clone()),
            None => schema,
        }
    }

    /// Sets its documentation.
    #[must_use]
    pub fn documented(mut self, docs: &str) -> ParamDescription {
        self.description = docs.trim().to_owned();
        self
    }

    /// Adds an extension: a member of its JSON Schema, with a name that starts with `x-`. A variadic parameter has it in the
    /// schema of one value.
    #[must_use]
    pub fn extension(mut self, name: impl Into<String>, value: impl Into<Value>) -> ParamDescription {
        self.schema = with_member(self.schema, name, value.into());
        self
    }

    /// Sets its default value.
    #[must_use]
    pub fn with_default(mut self, default: &impl Serialize) -> ParamDescription {
        self.default = serde_json::to_value(default).ok();
        self.is_required = false;
        self
    }
}

/// The schema with one more member, which does not change the values that it accepts.
fn with_member(schema: Value, name: impl Into<String>, value: Value) -> Value {
    let mut members = match schema {
        // In draft 7, members beside a reference are ignored.
        Value::Object(members) if members.contains_key("$ref") => {
            Map::from_iter([("allOf".to_owned(), json!([members]))])
        }
        Value::Object(members) => members,
        Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
        _ => Map::new(),
    };
    members.insert(name.into(), value);
    Value::Object(members)
}
