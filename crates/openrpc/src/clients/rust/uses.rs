//! Where types are used: how often, and whether callers create them.

use std::collections::{BTreeMap, BTreeSet};

use super::definition;
use crate::clients::api::{Answer, Api, Group};
use crate::clients::types::Definition;

/// How types are used.
pub(super) struct Uses<'a> {
    /// How often each name stands somewhere.
    counts: BTreeMap<&'a str, usize>,
    /// The names in what methods take, one through another.
    given: BTreeSet<&'a str>,
}

impl<'a> Uses<'a> {
    pub(super) fn new(api: &'a Api) -> Uses<'a> {
        let mut uses = Uses { counts: BTreeMap::new(), given: BTreeSet::new() };
        for definition in &api.definitions {
            definition.shape.each_name(&mut |name| *uses.counts.entry(name).or_default() += 1);
        }
        uses.add(&api.root);
        uses.follow(&api.definitions);
        uses
    }

    /// Whether this name stands in one place only.
    pub(super) fn is_single(&self, name: &str) -> bool {
        self.counts.get(name) == Some(&1)
    }

    /// Whether callers make values of this name.
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.given.contains(name)
    }

    fn add(&mut self, group: &'a Group) {
        for method in &group.methods {
            for param in method.params.all() {
                param.kind.each_name(&mut |name| {
                    *self.counts.entry(name).or_default() += 1;
                    self.given.insert(name);
                });
            }
            match &method.answer {
                Answer::Value(kind) | Answer::Stream { item: kind, .. } => {
                    kind.each_name(&mut |name| *self.counts.entry(name).or_default() += 1);
                }
                Answer::Nothing => {}
            }
        }
        group.groups.iter().for_each(|group| self.add(group));
    }

    /// Adds the parts of these types.
    fn follow(&mut self, all: &'a [Definition]) {
        let mut waiting: Vec<&str> = self.given.iter().copied().collect();
        while let Some(name) = waiting.pop() {
            let Some(definition) = definition(all, name) else { continue };
            definition.shape.each_name(&mut |inner| {
                if self.given.insert(inner) {
                    waiting.push(inner);
                }
            });
        }
    }
}
