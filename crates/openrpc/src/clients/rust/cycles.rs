//! Finds types that contain themselves: such a type needs a box to have a size.

use std::collections::BTreeSet;

use crate::clients::circles::{Circles, Ways};
use crate::clients::types::{Definition, Shape, Type};

/// What types hold themselves, one through another.
pub(super) struct Cycles {
    /// By what a value holds in itself.
    direct: Circles,
    /// Also through the items of a list or a map.
    all: Circles,
}

impl Cycles {
    pub(super) fn new(definitions: &[Definition]) -> Cycles {
        Cycles {
            direct: Circles::new(&ways(definitions, true)),
            all: Circles::new(&ways(definitions, false)),
        }
    }

    /// Whether a type, which another holds in itself, holds that one too.
    pub(super) fn needs_box(&self, held: &str, by: &str) -> bool {
        self.direct.join(held, by)
    }

    /// Whether a type stands for something in which it stands itself.
    pub(super) fn is_endless(&self, name: &str) -> bool {
        self.all.has(name)
    }
}

fn ways(definitions: &[Definition], is_direct: bool) -> Ways<'_> {
    let mut ways = Ways::new();
    for definition in definitions {
        let names = ways.entry(definition.name.as_str()).or_default();
        match &definition.shape {
            Shape::Record(fields) => {
                fields.iter().for_each(|field| collect(&field.kind, is_direct, names));
            }
            Shape::OneOf(kinds) => kinds.iter().for_each(|kind| collect(kind, is_direct, names)),
            Shape::Alias(kind) => collect(kind, is_direct, names),
            Shape::Choice(_) => {}
        }
    }
    ways
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
