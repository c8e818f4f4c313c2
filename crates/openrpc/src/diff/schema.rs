//! Differences between two schemas of draft 7: which values no longer match, and which match now.
//!
//! A keyword is compared with itself, because each narrows a schema independently. Keywords whose effect cannot be determined that way are only
//! compared for equality. Each pair of references is compared once, and everything is bounded.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::{Severity, below};
use crate::document::Resolver;

/// How many pairs of schemas are compared at most, for one parameter or result.
const PAIRS: usize = 20_000;

/// How deep schemas may lie in others.
const DEPTH: usize = 100;

/// How many findings are reported at most, for one parameter or result.
const FINDINGS: usize = 200;

/// Which way values go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Direction {
    /// Callers give them.
    In,
    /// Callers get them.
    Out,
}

/// What a difference does to the set of values that fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Fewer fit.
    Narrower,
    /// More fit.
    Wider,
    /// Callers that follow the schemas do not notice.
    None,
    /// The effect is not known.
    Unknown,
}

impl Direction {
    pub(super) fn severity(self, effect: Effect) -> Severity {
        match (self, effect) {
            (Direction::In, Effect::Narrower) | (Direction::Out, Effect::Wider) => Severity::Breaking,
            (_, Effect::Unknown) => Severity::Unsure,
            _ => Severity::Harmless,
        }
    }
}

/// One difference.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) effect: Effect,
    pub(super) place: String,
    pub(super) what: String,
}

/// A comparison in progress.
pub(super) struct Comparison<'a> {
    old: &'a Resolver,
    new: &'a Resolver,
    /// Whether the same schema means the same in both.
    is_same: bool,
    seen: HashSet<(Key, Key)>,
    /// Schemas of several types, as one for each: kept, so that each is made once and stays where it is.
    pub(super) split: HashMap<usize, Rc<[Value]>>,
    left: usize,
    depth: usize,
    direction: Direction,
    found: Vec<Finding>,
    /// Whether there was more than is reported.
    is_cut: bool,
    /// The last finding of the least severity, once there is no room for more.
    least: Option<(usize, Severity)>,
}

/// What a schema is known by when it is met again: by its text only if that is short, so that nothing is read over and over.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Key {
    Reference(String),
    Boolean(bool),
    /// Where it stands in memory, in a document or among those that were split.
    Place(usize),
}

impl Key {
    fn of(schema: &Value) -> Key {
        match (schema, reference(schema)) {
            (_, Some(reference)) => Key::Reference(reference.to_owned()),
            (Value::Bool(value), None) => Key::Boolean(*value),
            (schema, None) => Key::Place(std::ptr::from_ref(schema).addr()),
        }
    }
}

/// Where a comparison is: the place in the document, and the same in words.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) place: &'a str,
    pub(super) subject: &'a str,
}

/// Says nothing about which values fit.
const ANNOTATIONS: &[&str] = &[
    "$comment",
    "$id",
    "$schema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "markdownDescription",
    "readOnly",
    "title",
    "writeOnly",
];

/// A lower or an upper bound, and what it bounds.
const BOUNDS: &[(&str, bool, &str)] = &[
    ("minimum", true, "the minimum value"),
    ("exclusiveMinimum", true, "the exclusive minimum"),
    ("minLength", true, "the minimum length"),
    ("minItems", true, "the minimum number of elements"),
    ("minProperties", true, "the minimum number of members"),
    ("maximum", false, "the maximum value"),
    ("exclusiveMaximum", false, "the exclusive maximum"),
    ("maxLength", false, "the maximum length"),
    ("maxItems", false, "the maximum number of elements"),
    ("maxProperties", false, "the maximum number of members"),
];

/// Keywords that are compared one by one, besides the bounds.
const COMPARED: &[&str] = &[
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "format",
    "items",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "type",
    "uniqueItems",
];

impl<'a> Comparison<'a> {
    pub(super) fn new(
        (old, new): (&'a Resolver, &'a Resolver),
        is_same: bool,
        direction: Direction,
    ) -> Comparison<'a> {
        Comparison {
            old,
            new,
            is_same,
            seen: HashSet::new(),
            split: HashMap::new(),
            left: PAIRS,
            depth: 0,
            direction,
            found: Vec::new(),
            is_cut: false,
            least: None,
        }
    }

    /// All differences between these two; if there are too many, the worst of them, and at the end that there are more.
    pub(super) fn of(mut self, old: &Value, new: &Value, place: &str, subject: &str) -> Vec<Finding> {
        self.pair(old, new, At { place, subject });
        if self.is_cut {
            let what = format!("more differences of {subject} are not listed");
            self.found.push(Finding { effect: Effect::Unknown, place: place.to_owned(), what });
        }
        self.found
    }

    pub(super) fn add(&mut self, effect: Effect, at: At<'_>, what: impl Into<String>) {
        if self.found.len() >= FINDINGS {
            self.is_cut = true;
            let severity = |effect: Effect| self.direction.severity(effect);
            // Looked for again only if it was replaced: many findings may come.
            let least = self.least.take().or_else(|| {
                let all = self.found.iter().map(|found| severity(found.effect)).enumerate();
                all.rev().min_by_key(|(_, severity)| *severity)
            });
            match least {
                Some((index, least)) if least < severity(effect) => self.found.remove(index),
                least => {
                    self.least = least;
                    return;
                }
            };
        }
        self.found.push(Finding { effect, place: at.place.to_owned(), what: what.into() });
    }

    /// Two schemas that stand in the same place.
    pub(super) fn pair(&mut self, old: &Value, new: &Value, at: At<'_>) {
        if (self.is_same && old == new) || self.is_seen(old, new) || self.left == 0 {
            return;
        }
        self.left -= 1;
        if self.left == 0 || self.depth == DEPTH {
            return self.add(Effect::Unknown, at, "the schemas are too large to compare completely");
        }
        self.depth += 1;
        self.followed(old, new, at);
        self.depth -= 1;
    }

    /// Whether these two were met before, which can be again only where a reference leads.
    fn is_seen(&mut self, old: &Value, new: &Value) -> bool {
        let is_reached_again = reference(old).is_some() || reference(new).is_some();
        is_reached_again && !self.seen.insert((Key::of(old), Key::of(new)))
    }

    fn followed(&mut self, old: &Value, new: &Value, at: At<'_>) {
        let (before, after) = match (self.old.follow(old), self.new.follow(new)) {
            (Ok(before), Ok(after)) => (bare(before), bare(after)),
            _ if old == new => return,
            _ => {
                return self.add(
                    Effect::Unknown,
                    at,
                    format!("{} has a reference that cannot be resolved", at.subject),
                );
            }
        };
        if reference(before).is_some() || reference(after).is_some() {
            return self.pair(before, after, at);
        }
        let anything = Map::new();
        match (kind(before, &anything), kind(after, &anything)) {
            (Kind::Members(_), Kind::Members(_)) if self.unions(before, after, at) => {}
            (Kind::Members(before), Kind::Members(after)) => self.members(before, after, at),
            (Kind::Nothing, Kind::Nothing) => {}
            (_, Kind::Nothing) => {
                self.add(Effect::Narrower, at, format!("{} can no longer have any value", at.subject));
            }
            (Kind::Nothing, _) => self.add(Effect::Wider, at, format!("{} can now have a value", at.subject)),
        }
    }

    /// Two schemas that are objects, and no unions.
    fn members(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, at: At<'_>) {
        self.types(old, new, at);
        self.values(old, new, at);
        self.bounds(old, new, at);
        self.texts(old, new, at);
        self.properties(old, new, at);
        self.items(old, new, at);
        self.all_of(old, new, at);
        let keywords: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for keyword in keywords {
            let name = keyword.as_str();
            let is_known = ANNOTATIONS.contains(&name)
                || COMPARED.contains(&name)
                || BOUNDS.iter().any(|(bound, ..)| *bound == name)
                || name.starts_with("x-");
            if !is_known && old.get(keyword) != new.get(keyword) {
                self.unsure(at, name);
            }
        }
        if old.get("not") != new.get("not") {
            self.unsure(at, "not");
        }
    }

    /// A keyword that differs, with an unknown effect.
    pub(super) fn unsure(&mut self, at: At<'_>, keyword: &str) {
        let place = below(at.place, keyword);
        let what = format!("`{keyword}` of {} changed", at.subject);
        self.add(Effect::Unknown, At { place: &place, ..at }, what);
    }

    fn types(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, at: At<'_>) {
        let (before, after) = (types(old), types(new));
        let place = below(at.place, "type");
        let at = At { place: &place, ..at };
        let lost: Vec<&str> = before.iter().filter(|kind| !has(&after, kind)).copied().collect();
        let gained: Vec<&str> = after.iter().filter(|kind| !has(&before, kind)).copied().collect();
        if !lost.is_empty() {
            let what = format!("{} can no longer be of type {}", at.subject, lost.join(", "));
            self.add(Effect::Narrower, at, what);
        }
        if !gained.is_empty() {
            let what = format!("{} can now be of type {}", at.subject, gained.join(", "));
            self.add(Effect::Wider, at, what);
        }
    }

    /// `enum` and `const`.
    fn values(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, at: At<'_>) {
        match (listed(old), listed(new)) {
            (None, None) => {}
            (None, Some(_)) => {
                self.add(Effect::Narrower, at, format!("{} is now limited to certain values", at.subject));
            }
            (Some(_), None) => {
                self.add(Effect::Wider, at, format!("{} is no longer limited to certain values", at.subject));
            }
            (Some(before), Some(after)) => {
                let (before_all, after_all): (HashSet<_>, HashSet<_>) =
                    (before.iter().collect(), after.iter().collect());
                for lost in before.iter().filter(|value| !after_all.contains(value)) {
                    self.add(
                        Effect::Narrower,
                        at,
                        format!("{} can no longer be {}", at.subject, shown(lost)),
                    );
                }
                for gained in after.iter().filter(|value| !before_all.contains(value)) {
                    self.add(Effect::Wider, at, format!("{} can now be {}", at.subject, shown(gained)));
                }
            }
        }
    }

    fn bounds(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, at: At<'_>) {
        for (keyword, is_lower, name) in BOUNDS {
            let (before, after) = (number(old, keyword), number(new, keyword));
            if before == after {
                continue;
            }
            let is_tighter = match (before, after) {
                (None, _) => true,
                (_, None) => false,
                (Some(before), Some(after)) => (after > before) == *is_lower,
            };
            let place = below(at.place, keyword);
            let at = At { place: &place, ..at };
            let subject = at.subject;
            let what = match (before, after) {
                (None, Some(after)) => format!("{name} of {subject} is now {after}"),
                (Some(before), None) => format!("{name} of {subject} is no longer {before}"),
                (before, after) => {
                    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
                    format!("{name} of {subject} changed from {before} to {after}")
                }
            };
            self.add(if is_tighter { Effect::Narrower } else { Effect::Wider }, at, what);
        }
    }

    /// `pattern`, `format`, `multipleOf` and `uniqueItems`: there or not, the same or others.
    fn texts(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, at: At<'_>) {
        for keyword in ["pattern", "format", "multipleOf", "uniqueItems"] {
            let is_there = |value: &&Value| **value != Value::Bool(false);
            let before = old.get(keyword).filter(is_there);
            let after = new.get(keyword).filter(is_there);
            let place = below(at.place, keyword);
            let below = At { place: &place, ..at };
            let subject = at.subject;
            match (before, after) {
                (Some(before), Some(after)) if before != after => self.unsure(at, keyword),
                (None, Some(_)) => {
                    self.add(Effect::Narrower, below, format!("{subject} must now match a `{keyword}`"));
                }
                (Some(_), None) => {
                    self.add(Effect::Wider, below, format!("{subject} no longer has to match a `{keyword}`"));
                }
                _ => {}
            }
        }
    }
}

enum Kind<'a> {
    Members(&'a Map<String, Value>),
    Nothing,
}

fn kind<'a>(schema: &'a Value, anything: &'a Map<String, Value>) -> Kind<'a> {
    match schema {
        Value::Object(members) => Kind::Members(members),
        Value::Bool(false) => Kind::Nothing,
        _ => Kind::Members(anything),
    }
}

/// What a schema is that holds one other and says nothing itself, as is written to put words beside a reference.
fn bare(schema: &Value) -> &Value {
    let Some(members) = schema.as_object() else { return schema };
    let says_more = |name: &str| name != "allOf" && !ANNOTATIONS.contains(&name) && !name.starts_with("x-");
    match members.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
        Some([one]) if !members.keys().any(|name| says_more(name)) => one,
        _ => schema,
    }
}

pub(super) fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()
}

const TYPES: &[&str] = &["array", "boolean", "null", "number", "object", "string"];

/// The types that a schema lets pass; all, if it does not say.
pub(super) fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        // Each once, and only types: a list may be long.
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            let kinds = kinds.filter(|kind| *kind == "integer" || TYPES.contains(kind));
            kinds.collect::<BTreeSet<_>>().into_iter().collect()
        }
        _ => match listed(schema) {
            Some(values) => values.into_iter().map(type_of).collect::<BTreeSet<_>>().into_iter().collect(),
            None => TYPES.to_vec(),
        },
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether values of this type pass. Every integer is a number.
fn has(types: &[&str], kind: &str) -> bool {
    types.contains(&kind) || (kind == "integer" && types.contains(&"number"))
}

/// The values of `enum` or `const`.
fn listed(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

fn number(schema: &Map<String, Value>, keyword: &str) -> Option<f64> {
    schema.get(keyword)?.as_f64()
}

/// A value in a sentence, not longer than fits there.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use serde_json::json;

    /// How many pairs are compared, and how many bytes are kept to know them again, when a tree that refers to itself is compared
    /// with one that is written out this deep.
    fn work(depth: usize) -> (usize, usize) {
        let node =
            |child: Value| json!({"properties": {"child": child, "note": {"description": "x".repeat(1000)}}});
        let tree = json!({"$ref": "#/components/schemas/Tree"});
        let value = json!({"openrpc": "1.3.2", "info": {"title": "T", "version": "1"}, "methods": [],
            "components": {"schemas": {"Tree": node(tree.clone())}}});
        let resolver = Resolver::new(&Document::from_value(value).unwrap());
        let deep = (0..depth).fold(tree.clone(), |child, _| node(child));
        let mut comparison = Comparison::new((&resolver, &resolver), false, Direction::In);
        comparison.pair(&tree, &deep, At { place: "", subject: "it" });
        assert!(comparison.found.is_empty(), "{:?}", comparison.found);
        let bytes = |key: &Key| match key {
            Key::Reference(text) => text.len(),
            _ => size_of::<Key>(),
        };
        let kept = comparison.seen.iter().map(|(old, new)| bytes(old) + bytes(new)).sum();
        (PAIRS - comparison.left, kept)
    }

    #[test]
    fn twice_as_deep_is_twice_the_work() {
        let (pairs, bytes) = work(40);
        let (more_pairs, more_bytes) = work(80);
        assert!(
            more_pairs <= 2 * pairs && more_bytes <= 2 * bytes,
            "{pairs} {more_pairs} {bytes} {more_bytes}"
        );
    }
}
