//! Schemas that are one of several: `anyOf`, `oneOf`, and a list of types beside one of those.
//!
//! The branches of both sides are matched by reference, title, constant or type. A branch without a match was
//! removed or added.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::below;
use super::schema::{At, Comparison, Effect, reference, types};

impl Comparison<'_> {
    /// Compares two schemas of which one at least is a union and nothing else. Whether that is so.
    pub(super) fn unions(&mut self, old: &Value, new: &Value, at: At<'_>) -> bool {
        let is_union = union(old).is_some() || union(new).is_some();
        match (self.split_up(old), self.split_up(new)) {
            (Some(before), Some(after)) if is_union => {
                self.branches(before.as_slice(), after.as_slice(), at);
                true
            }
            _ => {
                let (none, other) = (Map::new(), Map::new());
                self.mixed(old.as_object().unwrap_or(&none), new.as_object().unwrap_or(&other), at);
                false
            }
        }
    }

    /// The branches of a union; those of another schema are one for each of its types. None if it is a union with more beside it.
    fn split_up<'v>(&mut self, schema: &'v Value) -> Option<Branches<'v>> {
        if let Some(branches) = union(schema) {
            return Some(Branches::Given(branches));
        }
        if schema.get("anyOf").is_some() || schema.get("oneOf").is_some() {
            return None;
        }
        let Some(members) = schema.as_object().filter(|_| schema.get("type").is_some_and(Value::is_array))
        else {
            return Some(Branches::One(schema));
        };
        let one = |kind: &str| {
            let mut members = members.clone();
            members.insert("type".to_owned(), Value::from(kind));
            Value::Object(members)
        };
        let split = self.split.entry(std::ptr::from_ref(schema).addr());
        let split = split.or_insert_with(|| types(members).into_iter().map(one).collect());
        Some(Branches::Split(Rc::clone(split)))
    }

    /// Unions with more beside them are only compared for being equal, branch by branch where they have as many.
    fn mixed(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, at: At<'_>) {
        for keyword in ["anyOf", "oneOf"] {
            match (old.get(keyword), new.get(keyword)) {
                (Some(Value::Array(before)), Some(Value::Array(after))) if before.len() == after.len() => {
                    let place = below(at.place, keyword);
                    for (index, (before, after)) in before.iter().zip(after).enumerate() {
                        self.pair(before, after, At { place: &format!("{place}/{index}"), ..at });
                    }
                }
                (before, after) if before != after => self.unsure(at, keyword),
                _ => {}
            }
        }
    }

    fn branches(&mut self, before: &[Value], after: &[Value], at: At<'_>) {
        let subject = at.subject;
        let mut named: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
        for (index, branch) in after.iter().enumerate() {
            named.entry(name(branch)).or_default().push_back(index);
        }
        let mut alone = Vec::new();
        for branch in before {
            match named.get_mut(&name(branch)).and_then(VecDeque::pop_front) {
                Some(index) => self.pair(branch, &after[index], at),
                None => alone.push(branch),
            }
        }
        let mut left: Vec<usize> = named.into_values().flatten().collect();
        left.sort_unstable();
        let after: Vec<&Value> = left.into_iter().map(|index| &after[index]).collect();
        if let ([branch], [other]) = (&alone[..], &after[..])
            && before.len() == 1
        {
            return self.pair(branch, other, at);
        }
        for branch in alone {
            self.add(Effect::Narrower, at, format!("{subject} can no longer be {}", name(branch)));
        }
        for branch in after {
            self.add(Effect::Wider, at, format!("{subject} can now be {}", name(branch)));
        }
    }
}

/// What a schema is one of.
enum Branches<'v> {
    Given(&'v [Value]),
    One(&'v Value),
    Split(Rc<[Value]>),
}

impl Branches<'_> {
    fn as_slice(&self) -> &[Value] {
        match self {
            Branches::Given(branches) => branches,
            Branches::One(schema) => std::slice::from_ref(schema),
            Branches::Split(branches) => branches,
        }
    }
}

/// The branches of a schema that is a union and says nothing else about its values.
fn union(schema: &Value) -> Option<&[Value]> {
    let schema = schema.as_object()?;
    let (keyword, branches) =
        ["anyOf", "oneOf"].iter().find_map(|keyword| Some((*keyword, schema.get(*keyword)?.as_array()?)))?;
    let silent =
        ["title", "description", "default", "examples", "deprecated", "$comment", "definitions", keyword];
    let is_silent = |name: &String| silent.contains(&name.as_str()) || name.starts_with("x-");
    schema.keys().all(is_silent).then_some(branches)
}

/// What a branch is known by.
fn name(branch: &Value) -> String {
    if let Some(reference) = reference(branch) {
        return format!("`{}`", reference.rsplit('/').next().unwrap_or(reference));
    }
    let text = |member: &str| branch.get(member).and_then(Value::as_str);
    if let Some(value) = branch.get("const") {
        return value.to_string();
    }
    if let Some(values) = branch.get("enum").and_then(Value::as_array) {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" or ");
    }
    if let Some(title) = text("title") {
        return format!("`{title}`");
    }
    if let Some(tag) = tag(branch) {
        return format!("an object with {tag}");
    }
    let members = branch.get("properties").and_then(Value::as_object);
    match (text("type"), members) {
        (Some("object"), Some(members)) => {
            format!("an object with {}", members.keys().cloned().collect::<Vec<_>>().join(", "))
        }
        (Some(kind), _) => format!("of type {kind}"),
        _ => "something else".to_owned(),
    }
}

/// The member that tells an object from the others of its union: the first that is a constant.
fn tag(branch: &Value) -> Option<String> {
    let members = branch.get("properties")?.as_object()?;
    members.iter().find_map(|(name, schema)| {
        let one = schema.get("enum").and_then(Value::as_array).filter(|values| values.len() == 1);
        let value = schema.get("const").or_else(|| one?.first())?;
        Some(format!("`{name}` {value}"))
    })
}
