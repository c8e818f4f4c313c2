//! From schemas to types, the same for every language: nested types get names, and recursive ones end.
//!
//! A type may be wider than its schema, but never different: anything that cannot be expressed is any value. Bounds and patterns are not types.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use serde_json::{Map, Value, json};

use super::circles::end_circles;
use super::keywords::{is_put_together, is_unsigned, listed, text, values, variant};
use super::names::{Scope, inside, pascal};
use crate::document::{NODE, RefError, Resolver, weight};

/// How many schemas are put together at most for one that has to fit several.
const PARTS: usize = 64;

/// How many bytes of schemas are read at most, those that are read again counted again.
const BYTES: usize = 64_000_000;

/// A type that needs no name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Type {
    Any,
    Never,
    Null,
    Boolean,
    Integer {
        is_unsigned: bool,
    },
    Number,
    String,
    /// A string, a number or a boolean, and no other.
    Literal(Value),
    List(Box<Type>),
    Tuple(Vec<Type>),
    /// An object with any names.
    Map(Box<Type>),
    Named(String),
    Union(Vec<Type>),
}

impl Type {
    /// The types that this is one of: itself alone, unless it is a union.
    pub(super) fn branches(&self) -> &[Type] {
        match self {
            Type::Union(kinds) => kinds,
            kind => std::slice::from_ref(kind),
        }
    }

    /// Tells each name that stands in it, as often as it does.
    pub(super) fn each_name<'a>(&'a self, tell: &mut dyn FnMut(&'a str)) {
        match self {
            Type::Named(name) => tell(name),
            Type::List(kind) | Type::Map(kind) => kind.each_name(tell),
            Type::Tuple(kinds) | Type::Union(kinds) => kinds.iter().for_each(|kind| kind.each_name(tell)),
            _ => {}
        }
    }
}

impl Shape {
    /// Tells each name that stands in it, as often as it does.
    pub(super) fn each_name<'a>(&'a self, tell: &mut dyn FnMut(&'a str)) {
        match self {
            Shape::Record(fields) => fields.iter().for_each(|field| field.kind.each_name(tell)),
            Shape::OneOf(kinds) => kinds.iter().for_each(|kind| kind.each_name(tell)),
            Shape::Alias(kind) => kind.each_name(tell),
            Shape::Choice(_) => {}
        }
    }
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Record(Vec<Field>),
    /// One of some strings.
    Choice(Vec<Choice>),
    /// One of several types, none of them null.
    OneOf(Vec<Type>),
    Alias(Type),
}

/// One of some strings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) docs: String,
}

/// A member of a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    /// Its name in JSON.
    pub(super) key: String,
    pub(super) kind: Type,
    pub(super) is_required: bool,
    pub(super) docs: String,
}

/// A type with a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) docs: String,
    pub(super) shape: Shape,
}

/// Makes types of schemas.
pub(super) struct Types<'a> {
    resolver: &'a Resolver,
    /// Whether the language has no types like `"a" | "b"` without a name.
    names_unions: bool,
    scope: Scope,
    /// By a reference, or by the text of a schema that is put together from others.
    named: BTreeMap<String, String>,
    waiting: VecDeque<(String, Cow<'a, Value>)>,
    found: Vec<Definition>,
    /// How many bytes are left of [`BYTES`]; none once there were too few.
    left: usize,
}

impl<'a> Types<'a> {
    pub(super) fn new(resolver: &'a Resolver, names_unions: bool, reserved: &[&str]) -> Types<'a> {
        Types {
            resolver,
            names_unions,
            scope: Scope::new(reserved),
            named: BTreeMap::new(),
            waiting: VecDeque::new(),
            found: Vec::new(),
            left: BYTES,
        }
    }

    /// Whether this much may be read.
    fn spends(&mut self, bytes: usize) -> bool {
        self.left = self.left.saturating_sub(bytes);
        self.left > 0
    }

    /// The type of a schema. If it needs a name and has none, it gets this one.
    pub(super) fn of(&mut self, schema: &Value, name: &str) -> Type {
        if !self.spends(NODE) {
            return Type::Any;
        }
        let shape = match schema {
            Value::Bool(false) => return Type::Never,
            Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
                Some(reference) => return self.named(reference),
                None if is_put_together(members) => return self.put_together(schema, name),
                None => self.shape(members, name),
            },
            _ => return Type::Any,
        };
        match shape {
            Shape::Alias(kind) => kind,
            shape => {
                let title = text(schema, "title");
                let name = self.scope.take(&pascal(if title.is_empty() { name } else { &title }), &[]);
                self.found.push(Definition { name: name.clone(), docs: text(schema, "description"), shape });
                Type::Named(name)
            }
        }
    }

    /// The name of a class, which no type has.
    pub(super) fn class(&mut self, name: &str) -> String {
        self.scope.take(name, &[])
    }

    /// All types with names, those that were met first before others.
    ///
    /// # Errors
    ///
    /// When they are too many.
    pub(super) fn definitions(mut self) -> Result<Vec<Definition>, RefError> {
        while let Some((name, schema)) = self.waiting.pop_front() {
            if self.left == 0 {
                break;
            }
            let shape = match &*schema {
                Value::Object(members) => self.shape(members, &name),
                other => Shape::Alias(self.of(other, &name)),
            };
            self.found.push(Definition { name, docs: text(&schema, "description"), shape });
        }
        if self.left == 0 {
            return Err(RefError::TooLarge(BYTES));
        }
        self.found.sort_by(|a, b| a.name.cmp(&b.name));
        end_circles(&mut self.found);
        Ok(self.found)
    }

    /// The type that a reference names. It is made later, for it may hold itself.
    fn named(&mut self, reference: &str) -> Type {
        if let Some(name) = self.named.get(reference) {
            return Type::Named(name.clone());
        }
        let first = self.resolver.lookup(reference);
        let Ok(schema) = first.and_then(|schema| self.resolver.follow(schema)) else { return Type::Any };
        let name = self.scope.take(&pascal(reference.rsplit('/').next().unwrap_or(reference)), &[]);
        self.named.insert(reference.to_owned(), name.clone());
        self.waiting.push_back((name.clone(), Cow::Borrowed(schema)));
        Type::Named(name)
    }

    /// The type of a schema that is put together from others. It is made later, for those may hold it.
    fn put_together(&mut self, schema: &Value, name: &str) -> Type {
        // It is kept twice: as what it is known by, and until it is made.
        if !self.spends(2 * weight(schema)) {
            return Type::Any;
        }
        let key = schema.to_string();
        if let Some(name) = self.named.get(&key) {
            return Type::Named(name.clone());
        }
        let title = text(schema, "title");
        let name = self.scope.take(&pascal(if title.is_empty() { name } else { &title }), &[]);
        self.named.insert(key, name.clone());
        self.waiting.push_back((name.clone(), Cow::Owned(schema.clone())));
        Type::Named(name)
    }

    fn shape(&mut self, schema: &Map<String, Value>, name: &str) -> Shape {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return Shape::Alias(self.named(reference));
        }
        if let Some(values) = values(schema) {
            return self.literals(&values.into_iter().map(|value| (value, "")).collect::<Vec<_>>());
        }
        for keyword in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = schema.get(keyword) {
                return self.branches(schema, keyword, branches, name);
            }
        }
        if let Some(Value::Array(parts)) = schema.get("allOf") {
            return self.whole(schema, parts, name);
        }
        match schema.get("type") {
            Some(Value::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                let kinds = kinds.map(|kind| match self.one(schema, Some(kind), name) {
                    Shape::Alias(kind) => kind,
                    shape => self.hoist(shape, schema, name),
                });
                let kinds = kinds.collect();
                self.union(kinds, name)
            }
            Some(Value::String(kind)) => self.one(schema, Some(kind), name),
            _ => self.one(schema, None, name),
        }
    }

    fn hoist(&mut self, shape: Shape, schema: &Map<String, Value>, name: &str) -> Type {
        let name = self.scope.take(&pascal(name), &[]);
        let docs = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.found.push(Definition { name: name.clone(), docs, shape });
        Type::Named(name)
    }

    /// A schema of one type, or of one that its keywords tell.
    fn one(&mut self, schema: &Map<String, Value>, kind: Option<&str>, name: &str) -> Shape {
        let kind = kind.or_else(|| {
            let tells = [
                ("properties", "object"),
                ("additionalProperties", "object"),
                ("patternProperties", "object"),
                ("items", "array"),
            ];
            tells.iter().find(|(keyword, _)| schema.contains_key(*keyword)).map(|(_, kind)| *kind)
        });
        Shape::Alias(match kind {
            Some("null") => Type::Null,
            Some("boolean") => Type::Boolean,
            Some("integer") => Type::Integer { is_unsigned: is_unsigned(schema) },
            Some("number") => Type::Number,
            Some("string") => Type::String,
            Some("array") => self.array(schema, name),
            Some("object") => return self.object(schema, name),
            _ => Type::Any,
        })
    }

    fn array(&mut self, schema: &Map<String, Value>, name: &str) -> Type {
        match schema.get("items") {
            Some(Value::Array(items)) => {
                let kinds: Vec<Type> = items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| self.of(item, &inside(name, &format!("Item{at}"))))
                    .collect();
                let count = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
                let is_exact = count("minItems") == Some(items.len() as u64) && !items.is_empty();
                if is_exact { Type::Tuple(kinds) } else { Type::List(Box::new(Type::Any)) }
            }
            Some(item) => Type::List(Box::new(self.of(item, &inside(name, "Item")))),
            None => Type::List(Box::new(Type::Any)),
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, name: &str) -> Shape {
        let none = Map::new();
        let members = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        if members.is_empty() {
            // A map that restricts its names has a pattern.
            let by_pattern = schema.get("patternProperties").and_then(Value::as_object);
            let by_pattern = by_pattern.filter(|all| all.len() == 1).and_then(|all| all.values().next());
            let others = match (by_pattern, schema.get("additionalProperties")) {
                (Some(others), None | Some(Value::Bool(false))) => self.of(others, &inside(name, "Value")),
                (None, Some(others @ Value::Object(_))) => self.of(others, &inside(name, "Value")),
                _ => Type::Any,
            };
            return Shape::Alias(Type::Map(Box::new(others)));
        }
        let must = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let must: BTreeSet<&str> = must.iter().filter_map(Value::as_str).collect();
        let fields = members.iter().map(|(key, member)| Field {
            key: key.clone(),
            kind: self.of(member, &inside(name, key)),
            is_required: must.contains(key.as_str()),
            docs: text(member, "description"),
        });
        Shape::Record(fields.collect())
    }

    /// One of these values, each with what is said about it.
    fn literals(&mut self, values: &[(&Value, &str)]) -> Shape {
        let choice = |(value, docs): &(&Value, &str)| {
            Some(Choice { value: value.as_str()?.to_owned(), docs: (*docs).to_owned() })
        };
        let choices: Option<Vec<Choice>> = values.iter().map(choice).collect();
        if let Some(choices) = choices.filter(|choices| self.names_unions && !choices.is_empty()) {
            return Shape::Choice(choices);
        }
        let kinds = values.iter().map(|(value, _)| match value {
            Value::Null => Type::Null,
            Value::Array(_) | Value::Object(_) => Type::Any,
            Value::String(_) if self.names_unions => Type::String,
            Value::Bool(_) if self.names_unions => Type::Boolean,
            Value::Number(number) if self.names_unions || number.is_f64() => {
                if number.is_f64() {
                    Type::Number
                } else {
                    Type::Integer { is_unsigned: false }
                }
            }
            literal => Type::Literal((*literal).clone()),
        });
        Shape::Alias(simple(kinds.collect()))
    }

    /// `oneOf` and `anyOf`; keywords beside them apply to each.
    fn branches(
        &mut self,
        schema: &Map<String, Value>,
        keyword: &str,
        branches: &[Value],
        name: &str,
    ) -> Shape {
        if let Some(all) = listed(branches) {
            return self.literals(&all);
        }
        let mut beside = schema.clone();
        beside.remove(keyword);
        let has_members = beside.contains_key("properties");
        let beside = Value::Object(beside);
        let kinds = branches.iter().enumerate().map(|(at, branch)| {
            let name = inside(name, &variant(branch, at));
            match has_members.then(|| self.merged(&[&beside, branch])).flatten() {
                Some(merged) => self.of(&merged, &name),
                None => self.of(branch, &name),
            }
        });
        let kinds = kinds.collect();
        self.union(kinds, name)
    }

    fn union(&mut self, kinds: Vec<Type>, name: &str) -> Shape {
        let kind = simple(kinds);
        let Type::Union(kinds) = kind else { return Shape::Alias(kind) };
        if !self.names_unions {
            return Shape::Alias(Type::Union(kinds));
        }
        let (null, rest): (Vec<Type>, Vec<Type>) = kinds.into_iter().partition(|kind| *kind == Type::Null);
        match (null.is_empty(), rest.len()) {
            (true, _) => Shape::OneOf(rest),
            (false, 1) => Shape::Alias(Type::Union([rest, null].concat())),
            (false, _) => {
                let inner = self.hoist(Shape::OneOf(rest), &Map::new(), &inside(name, "Value"));
                Shape::Alias(Type::Union(vec![inner, Type::Null]))
            }
        }
    }

    /// `allOf`: a record of all their members, or else what the first says.
    fn whole(&mut self, schema: &Map<String, Value>, parts: &[Value], name: &str) -> Shape {
        let mut beside = schema.clone();
        beside.remove("allOf");
        let beside = Value::Object(beside);
        if let ([one], false) = (parts, beside.get("properties").is_some()) {
            return Shape::Alias(self.of(one, name));
        }
        let all: Vec<&Value> = std::iter::once(&beside).chain(parts).collect();
        match self.merged(&all) {
            Some(Value::Object(merged)) => self.one(&merged, None, name),
            _ => {
                let kinds = parts.iter().map(|part| self.of(part, name));
                let first = kinds.collect::<Vec<_>>().into_iter().find(|kind| *kind != Type::Any);
                Shape::Alias(first.unwrap_or(Type::Any))
            }
        }
    }

    /// One object of the members of several, if any has members.
    fn merged(&mut self, parts: &[&Value]) -> Option<Value> {
        let resolver = self.resolver;
        let (mut members, mut required) = (Map::new(), Vec::new());
        let mut waiting: VecDeque<&Value> = parts.iter().copied().collect();
        let mut count = 0;
        while let Some(part) = waiting.pop_front() {
            count += 1;
            let Some(part) = resolver.follow(part).ok().filter(|_| count <= PARTS) else { continue };
            let copied = ["properties", "required"].iter().filter_map(|keyword| part.get(*keyword));
            if !self.spends(copied.map(weight).sum()) {
                return None;
            }
            if let Some(more) = part.get("properties").and_then(Value::as_object) {
                members.extend(more.clone());
            }
            if let Some(more) = part.get("required").and_then(Value::as_array) {
                required.extend(more.clone());
            }
            if let Some(more) = part.get("allOf").and_then(Value::as_array) {
                waiting.extend(more);
            }
        }
        (!members.is_empty()).then(|| json!({"type": "object", "properties": members, "required": required}))
    }
}

/// The types of a union without those that others hold; the only one, if there is one.
pub(super) fn simple(kinds: Vec<Type>) -> Type {
    let mut simple: Vec<Type> = Vec::new();
    let mut seen = HashSet::new();
    let flat = kinds.into_iter().flat_map(|kind| match kind {
        Type::Union(kinds) => kinds,
        kind => vec![kind],
    });
    for kind in flat {
        if kind != Type::Never && seen.insert(kind.clone()) {
            simple.push(kind);
        }
    }
    let has_number = simple.contains(&Type::Number);
    simple.retain(|kind| !(has_number && matches!(kind, Type::Integer { .. })));
    if simple.contains(&Type::Any) {
        return Type::Any;
    }
    match simple.len() {
        0 => Type::Never,
        1 => simple.remove(0),
        _ => Type::Union(simple),
    }
}
