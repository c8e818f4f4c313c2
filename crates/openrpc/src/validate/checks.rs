//! The compiled checks of one method's calls.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::{Draft, PatternOptions, Registry, Validator};
use serde_json::{Map, Value, json};
use switchboard_core::Json;

use super::expected::{Schemas, push};
use super::{Misfit, ValidationError};
use crate::document::{ContentDescriptor, Document, MethodEntry, ParamStructure, Resolver, escaped};

/// What the document goes by while its schemas are compiled.
const DOCUMENT: &str = "urn:switchboard:document";

/// The most memory that a compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;

/// The checks of one method.
pub(super) struct Checks {
    /// None if nothing is known about them.
    params: Option<Params>,
    result: Option<Schema>,
    item: Option<Schema>,
}

/// A schema, with the document that it stands in to explain it by.
struct Schema {
    compiled: Validator,
    document: Arc<Value>,
}

struct Params {
    each: Vec<Param>,
    structure: ParamStructure,
    allows_unknown: bool,
}

/// The named parameter that every method accepts: metadata of protocols on top of JSON-RPC.
const META: &str = "_meta";

struct Param {
    name: String,
    is_required: bool,
    is_variadic: bool,
    schema: Schema,
}

/// Compiles the schemas of all methods of a resolved document, by name.
pub(super) fn compile(methods: &Document) -> Result<HashMap<String, Arc<Checks>>, ValidationError> {
    let resolver = Resolver::new(methods);
    let unusable = |error: jsonschema::ReferencingError| ValidationError::Schema {
        place: String::new(),
        reason: error.to_string(),
    };
    let document = Arc::new(resolver.document().clone());
    let resource = Draft::Draft7.create_resource((*document).clone());
    let registry = Registry::new().draft(Draft::Draft7).add(DOCUMENT, resource).map_err(unusable)?;
    let registry = registry.prepare().map_err(unusable)?;
    let compiler = Compiler { registry: &registry, document: &document };
    let methods = methods.methods().enumerate();
    methods.map(|(at, method)| Ok((method.name.clone(), Arc::new(compiler.checks(at, method)?)))).collect()
}

struct Compiler<'a> {
    registry: &'a Registry<'a>,
    document: &'a Arc<Value>,
}

impl Compiler<'_> {
    fn checks(&self, at: usize, method: &MethodEntry) -> Result<Checks, ValidationError> {
        let place = format!("/methods/{at}");
        let param = |(at, param): (usize, &ContentDescriptor)| {
            Ok(Param {
                name: param.name.clone(),
                is_required: param.required,
                is_variadic: param.is_variadic(),
                schema: self.schema(format!("{place}/params/{at}/schema"))?,
            })
        };
        let each = method.params().enumerate().map(param).collect::<Result<_, ValidationError>>()?;
        let item = match (method.stream_item(), method.subscription()) {
            (None, _) => None,
            (Some(_), None) => Some(self.schema(format!("{place}/x-stream/item"))?),
            (Some(_), Some(_)) => Some(self.schema(format!("{place}/x-subscription/item"))?),
        };
        let result = method.result().map(|_| self.schema(format!("{place}/result/schema"))).transpose()?;
        let params = (!method.has_unknown_params()).then_some(Params {
            each,
            structure: method.param_structure,
            allows_unknown: method.allows_additional_params(),
        });
        Ok(Checks { params, result, item })
    }

    fn schema(&self, place: String) -> Result<Schema, ValidationError> {
        let compiled = jsonschema::options()
            .offline()
            .with_draft(Draft::Draft7)
            .with_registry(self.registry)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
            .build(&json!({"$ref": format!("{DOCUMENT}#{place}")}))
            .map_err(|error| ValidationError::Schema { reason: error.to_string(), place })?;
        Ok(Schema { compiled, document: Arc::clone(self.document) })
    }
}

impl Checks {
    /// Checks the params of a call.
    pub(super) fn params(&self, params: Option<&Json>) -> Result<(), Misfit> {
        let Some(known) = &self.params else { return Ok(()) };
        match params.map(value).transpose()? {
            None | Some(Value::Null) => known.by_name(&Map::new()),
            Some(Value::Object(members)) => known.by_name(&members),
            Some(Value::Array(values)) => known.by_position(&values),
            Some(_) => Err(misfit_at("", "an array or an object")),
        }
    }

    /// Checks a result.
    pub(super) fn result(&self, json: &Json) -> Result<(), Misfit> {
        self.result.as_ref().map_or(Ok(()), |schema| schema.check(&value(json)?, ""))
    }

    /// Checks an item of a stream.
    pub(super) fn item(&self, json: &Json) -> Result<(), Misfit> {
        self.item.as_ref().map_or(Ok(()), |schema| schema.check(&value(json)?, ""))
    }
}

impl Params {
    fn by_name(&self, members: &Map<String, Value>) -> Result<(), Misfit> {
        if self.structure == ParamStructure::ByPosition && members.keys().any(|name| name != META) {
            return Err(misfit_at("", "the parameters by position, in an array"));
        }
        let is_unknown = |name: &&String| {
            !self.allows_unknown && *name != META && self.each.iter().all(|param| param.name != **name)
        };
        if let Some(name) = members.keys().find(is_unknown) {
            return Err(misfit_at(&pointer(name), &self.only_names()));
        }
        self.each.iter().try_for_each(|param| {
            param.check(members.get(&param.name), &format!("/{}", escaped(&param.name)))
        })
    }

    fn by_position(&self, values: &[Value]) -> Result<(), Misfit> {
        let last = self.each.last().filter(|param| param.is_variadic);
        if self.structure == ParamStructure::ByName && last.is_none() && !values.is_empty() {
            return Err(misfit_at("", "the parameters by name, in an object"));
        }
        let fixed = self.each.len() - usize::from(last.is_some());
        for (at, param) in self.each[..fixed].iter().enumerate() {
            param.check(values.get(at), &format!("/{at}"))?;
        }
        match (last, values.get(fixed..)) {
            (None, Some([_, ..])) => Err(misfit_at(&format!("/{fixed}"), &at_most(fixed))),
            (Some(rest), Some(values)) => rest.check_rest(values, fixed),
            _ => Ok(()),
        }
    }

    fn only_names(&self) -> String {
        match &*self.each {
            [] => "no parameters".to_owned(),
            each => {
                let names: Vec<_> = each.iter().map(|param| param.name.as_str()).collect();
                format!("only the parameters {}", names.join(", "))
            }
        }
    }
}

impl Param {
    fn check(&self, given: Option<&Value>, path: &str) -> Result<(), Misfit> {
        match given {
            None if self.is_required => Err(misfit_at(path, "a value; this parameter is required")),
            // By position there is no other way to leave it out.
            None => Ok(()),
            Some(Value::Null) if !self.is_required => Ok(()),
            Some(value) => self.schema.check(value, path),
        }
    }

    /// Checks the values from this position on as the array that they would be by name.
    fn check_rest(&self, values: &[Value], from: usize) -> Result<(), Misfit> {
        self.schema.check(&Value::from(values.to_vec()), "").map_err(|misfit| {
            let mut parts = misfit.path.splitn(3, '/').skip(1);
            let first = parts.next().and_then(|at| at.parse::<usize>().ok());
            let rest = parts.next().map(|rest| format!("/{rest}")).unwrap_or_default();
            let path = first.map_or(String::new(), |at| format!("/{}{rest}", at + from));
            Misfit { path, ..misfit }
        })
    }
}

impl Schema {
    fn check(&self, value: &Value, path: &str) -> Result<(), Misfit> {
        let explain = |error| Schemas { document: &self.document }.misfit(&error, path);
        self.compiled.validate(value).map_err(explain)
    }
}

/// The place of an unknown member.
fn pointer(name: &str) -> String {
    let mut path = String::new();
    push(&mut path, &escaped(name));
    path
}

fn at_most(count: usize) -> String {
    match count {
        0 => "no parameters".to_owned(),
        1 => "at most 1 parameter".to_owned(),
        more => format!("at most {more} parameters"),
    }
}

/// The text as a value. Numbers that are none to most programs are refused, lest they slip by.
fn value(json: &Json) -> Result<Value, Misfit> {
    json.decode().map_err(|_| misfit_at("", "numbers in the range of a 64-bit float"))
}

fn misfit_at(path: &str, expected: &str) -> Misfit {
    Misfit { path: path.to_owned(), expected: expected.to_owned() }
}
