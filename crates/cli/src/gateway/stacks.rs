//! The stacks of policies in use, so that a reload keeps those that stay the same, with their caches.

use switchboard::access::Pattern;
use switchboard::gateway::Stack;

use super::upstreams::{Upstream, Version};
use crate::config::PolicyConfig;

/// The stacks of a gateway, and those of the gateway before it.
#[derive(Default)]
pub(super) struct Stacks {
    before: Vec<(Which, Stack)>,
    now: Vec<(Which, Stack)>,
}

/// What a stack depends on.
#[derive(Clone, PartialEq)]
struct Which {
    upstream: Version,
    /// The methods that it is for, if not for all.
    methods: Option<Pattern>,
    policy: PolicyConfig,
    /// Whether its cache is that of the whole upstream.
    is_general: bool,
    mirror: Option<Version>,
}

impl Stacks {
    /// None yet, but these can be used again.
    pub(super) fn after(before: &Stacks) -> Stacks {
        Stacks { before: before.now.clone(), now: Vec::new() }
    }

    /// The stack of these policies, with the state that it had.
    pub(super) fn stack(
        &mut self,
        upstream: &Upstream,
        methods: Option<&Pattern>,
        policy: &PolicyConfig,
        all: &[Upstream],
        make: impl FnOnce() -> Stack,
    ) -> Stack {
        let mirror = policy.mirror.iter().flatten().find_map(|mirror| {
            all.iter().find(|other| other.name == mirror.upstream).map(|other| other.version.clone())
        });
        let which = Which {
            upstream: upstream.version.clone(),
            methods: methods.cloned(),
            policy: policy.clone(),
            is_general: upstream.policy.cache == policy.cache,
            mirror,
        };
        let same = self.before.iter().position(|(other, _)| *other == which);
        let stack = same.map_or_else(make, |index| self.before.swap_remove(index).1);
        self.now.push((which, stack.clone()));
        stack
    }

    /// Forgets those that are not used again.
    pub(super) fn done(mut self) -> Stacks {
        self.before.clear();
        self
    }
}
