//! What is checked about the calls of one method, compiled.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::{Draft, PatternOptions, Registry, Validator};
use serde_json::{Map, Value, json};
use switchboard_core::Json;

use super::expected::misfit;
use super::{Misfit, ValidationError};
use crate::document::{ContentDescriptor, Document, Method, ParamStructure, Resolver};

/// What the document goes by while its schemas are compiled.
const DOCUMENT: &str = "urn:switchboard:document";

/// The most memory that a compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;

/// The checks of one method.
pub(super) struct Checks {
    /// None if nothing is known about them.
    params: Option<Params>,
    result: Option<Validator>,
    item: Option<Validator>,
}

struct Params {
    each: Vec<Param>,
    structure: ParamStructure,
}

struct Param {
    name: String,
    is_required: bool,
    is_variadic: bool,
    schema: Validator,
}

/// Compiles the schemas of all methods of a resolved document, by name.
pub(super) fn compile(document: &Document) -> Result<HashMap<String, Arc<Checks>>, ValidationError> {
    let resolver = Resolver::new(document);
    let unusable = |error: jsonschema::ReferencingError| ValidationError::Schema {
        place: String::new(),
        reason: error.to_string(),
    };
    let resource = Draft::Draft7.create_resource(resolver.document().clone());
    let registry = Registry::new().draft(Draft::Draft7).add(DOCUMENT, resource).map_err(unusable)?;
    let registry = registry.prepare().map_err(unusable)?;
    let compiler = Compiler { registry: &registry };
    let methods = document.methods().enumerate();
    methods.map(|(at, method)| Ok((method.name.clone(), Arc::new(compiler.checks(at, method)?)))).collect()
}

struct Compiler<'a> {
    registry: &'a Registry<'a>,
}

impl Compiler<'_> {
    fn checks(&self, at: usize, method: &Method) -> Result<Checks, ValidationError> {
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
        let params =
            (!method.has_unknown_params()).then_some(Params { each, structure: method.param_structure });
        Ok(Checks { params, result, item })
    }

    fn schema(&self, place: String) -> Result<Validator, ValidationError> {
        jsonschema::options()
            .offline()
            .with_draft(Draft::Draft7)
            .with_registry(self.registry)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
            .build(&json!({"$ref": format!("{DOCUMENT}#{place}")}))
            .map_err(|error| ValidationError::Schema { reason: error.to_string(), place })
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
        self.result.as_ref().map_or(Ok(()), |schema| check(schema, &value(json)?, ""))
    }

    /// Checks an item of a stream.
    pub(super) fn item(&self, json: &Json) -> Result<(), Misfit> {
        self.item.as_ref().map_or(Ok(()), |schema| check(schema, &value(json)?, ""))
    }
}

impl Params {
    fn by_name(&self, members: &Map<String, Value>) -> Result<(), Misfit> {
        if self.structure == ParamStructure::ByPosition && !members.is_empty() {
            return Err(misfit_at("", "the parameters by position, in an array"));
        }
        if members.keys().any(|name| self.each.iter().all(|param| param.name != *name)) {
            return Err(misfit_at("", &self.only_names()));
        }
        self.each.iter().try_for_each(|param| {
            let path = format!("/{}", param.name.replace('~', "~0").replace('/', "~1"));
            param.check(members.get(&param.name), &path)
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
            (None, Some([_, ..])) => Err(misfit_at("", &format!("at most {fixed} parameters"))),
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
            Some(value) => check(&self.schema, value, path),
        }
    }

    /// Checks the values from this position on as the array that they would be by name.
    fn check_rest(&self, values: &[Value], from: usize) -> Result<(), Misfit> {
        check(&self.schema, &Value::from(values.to_vec()), "").map_err(|misfit| {
            let mut parts = misfit.path.splitn(3, '/').skip(1);
            let first = parts.next().and_then(|at| at.parse::<usize>().ok());
            let rest = parts.next().map(|rest| format!("/{rest}")).unwrap_or_default();
            let path = first.map_or(String::new(), |at| format!("/{}{rest}", at + from));
            Misfit { path, ..misfit }
        })
    }
}

fn check(schema: &Validator, value: &Value, path: &str) -> Result<(), Misfit> {
    schema.validate(value).map_err(|error| misfit(&error, path))
}

/// The text as a value. Numbers that are none to most programs are refused, lest they slip by.
fn value(json: &Json) -> Result<Value, Misfit> {
    json.decode().map_err(|_| misfit_at("", "numbers in the range of a 64-bit float"))
}

fn misfit_at(path: &str, expected: &str) -> Misfit {
    Misfit { path: path.to_owned(), expected: expected.to_owned() }
}
