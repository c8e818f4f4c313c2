//! Which types hold themselves: a value of such a type needs a box to have a size.

use std::collections::{BTreeMap, BTreeSet};

use crate::clients::types::{Definition, Shape, Type};

/// What each type leads to, one through another.
pub(super) struct Cycles<'a> {
    /// By what a value holds in itself.
    direct: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// By what stands in a list or a map, too.
    all: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Cycles<'a> {
    pub(super) fn new(definitions: &'a [Definition]) -> Cycles<'a> {
        let edges = |is_direct: bool| {
            let of = |definition: &'a Definition| {
                let mut names = BTreeSet::new();
                match &definition.shape {
                    Shape::Record(fields) => {
                        fields.iter().for_each(|field| collect(&field.kind, is_direct, &mut names));
                    }
                    Shape::OneOf(kinds) => kinds.iter().for_each(|kind| collect(kind, is_direct, &mut names)),
                    Shape::Alias(kind) => collect(kind, is_direct, &mut names),
                    Shape::Choice(_) => {}
                }
                (definition.name.as_str(), names)
            };
            definitions.iter().map(of).collect()
        };
        Cycles { direct: edges(true), all: edges(false) }
    }

    /// Whether a value of the one holds one of the other in itself.
    pub(super) fn needs_box(&self, from: &str, to: &str) -> bool {
        reaches(&self.direct, from, to)
    }

    /// Whether a type stands for something in which it stands itself.
    pub(super) fn is_endless(&self, name: &str) -> bool {
        self.all.get(name).is_some_and(|next| next.iter().any(|next| reaches(&self.all, next, name)))
    }
}

fn collect<'a>(kind: &'a Type, is_direct: bool, names: &mut BTreeSet<&'a str>) {
    match kind {
        Type::Named(name) => {
            names.insert(name);
        }
        Type::Tuple(kinds) | Type::Union(kinds) => {
            kinds.iter().for_each(|kind| collect(kind, is_direct, names));
        }
        Type::List(kind) | Type::Map(kind) if !is_direct => collect(kind, is_direct, names),
        _ => {}
    }
}

fn reaches(edges: &BTreeMap<&str, BTreeSet<&str>>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(name) = waiting.pop() {
        if name == to {
            return true;
        }
        if seen.insert(name) {
            waiting.extend(edges.get(name).into_iter().flatten());
        }
    }
    false
}
