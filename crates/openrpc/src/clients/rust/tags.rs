//! Unions whose branches are distinguished by a member: serde calls it a tag, and writes it by itself.

use std::collections::{BTreeMap, BTreeSet};

use super::definition;
use super::uses::Uses;
use crate::clients::types::{Definition, Field, Shape, Type};

/// How many members of a branch are tried as a tag.
const TRIED: usize = 16;

/// The unions with tags. What only they use loses the member that says which it is.
#[derive(Default)]
pub(super) struct Tags<'a> {
    /// The tag of each such union.
    unions: BTreeMap<&'a str, &'a str>,
    /// The tag and its value for each of their branches.
    branches: BTreeMap<&'a str, (&'a str, &'a str)>,
    /// The types that only tags had.
    needless: BTreeSet<&'a str>,
}

impl<'a> Tags<'a> {
    pub(super) fn new(all: &'a [Definition], uses: &Uses<'_>) -> Tags<'a> {
        let mut tags = Tags::default();
        for definition in all {
            if let Shape::OneOf(kinds) = &definition.shape {
                tags.add(definition, kinds, all, uses);
            }
        }
        tags
    }

    /// The name of the member that tells the branches of this union apart.
    pub(super) fn of(&self, union: &str) -> Option<&'a str> {
        self.unions.get(union).copied()
    }

    /// What the tag says of this branch.
    pub(super) fn value(&self, branch: &str) -> Option<&'a str> {
        self.branches.get(branch).map(|(_, value)| *value)
    }

    /// Whether this type is not needed: tags are written by serde, and a branch that has nothing besides is only a name.
    pub(super) fn is_needless(&self, name: &str) -> bool {
        self.needless.contains(name)
    }

    /// The members of a record that are not a tag.
    pub(super) fn fields<'f>(&self, record: &str, fields: &'f [Field]) -> Vec<&'f Field> {
        let tag = self.branches.get(record).map(|(key, _)| *key);
        fields.iter().filter(|field| Some(field.key.as_str()) != tag).collect()
    }

    fn add(&mut self, union: &'a Definition, kinds: &'a [Type], all: &'a [Definition], uses: &Uses<'_>) {
        let branches: Option<Vec<(&str, &[Field])>> =
            kinds.iter().map(|kind| record(kind, all, uses)).collect();
        let Some(branches) = branches.filter(|branches| branches.len() > 1) else { return };
        let keys = branches[0].1.iter().filter(|field| constant(field, all, uses).is_some());
        let keys = keys.map(|field| field.key.as_str()).take(TRIED);
        let tagged = keys.filter_map(|key| {
            let of = |fields: &'a [Field]| fields.iter().find(|field| field.key == key);
            let values = branches.iter().map(|(_, fields)| constant(of(fields)?, all, uses));
            let values: Vec<(&str, &str)> = values.collect::<Option<_>>()?;
            let distinct: BTreeSet<&str> = values.iter().map(|(_, value)| *value).collect();
            (distinct.len() == values.len()).then_some((key, values))
        });
        let Some((key, values)) = { tagged }.next() else { return };
        self.unions.insert(&union.name, key);
        for ((name, fields), (kind, value)) in branches.into_iter().zip(values) {
            self.branches.insert(name, (key, value));
            self.needless.insert(kind);
            if fields.len() == 1 {
                self.needless.insert(name);
            }
        }
    }
}

/// The members of a record that stands nowhere else.
fn record<'a>(kind: &'a Type, all: &'a [Definition], uses: &Uses<'_>) -> Option<(&'a str, &'a [Field])> {
    let Type::Named(name) = kind else { return None };
    match &definition(all, name)?.shape {
        Shape::Record(fields) if uses.is_single(name) => Some((name, fields)),
        _ => None,
    }
}

/// The one value that a member has, which must be there, and its type.
fn constant<'a>(field: &'a Field, all: &'a [Definition], uses: &Uses<'_>) -> Option<(&'a str, &'a str)> {
    let Type::Named(name) = &field.kind else { return None };
    match &definition(all, name)?.shape {
        Shape::Choice(choices) if field.is_required && uses.is_single(name) => match &choices[..] {
            [only] => Some((name, &only.value)),
            _ => None,
        },
        _ => None,
    }
}
