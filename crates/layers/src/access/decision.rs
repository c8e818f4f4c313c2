//! How a decision about a call comes about.

use std::fmt;

use switchboard_core::Json;

use super::condition::Met;
use super::{Access, CallerFacts, Effect, Rule};

/// Whether a call is allowed, and by which rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// This rule allows it, and none denies it.
    Allowed {
        /// Its number in [`Access::rules`].
        rule: usize,
    },
    /// This rule denies it.
    Denied {
        /// Its number in [`Access::rules`].
        rule: usize,
    },
    /// No rule allows it.
    NotAllowed,
}

impl Decision {
    /// Whether the call is allowed.
    #[must_use]
    pub fn is_allowed(self) -> bool {
        matches!(self, Decision::Allowed { .. })
    }
}

/// What one rule says about a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RuleReport<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// What it says.
    pub outcome: RuleOutcome,
}

/// What a rule says about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleOutcome {
    /// It applies to the call.
    Matches,
    /// It applies to other methods.
    OtherMethod,
    /// It applies to other callers.
    OtherCaller,
    /// A condition does not hold; says which in words.
    Condition(String),
}

impl fmt::Display for RuleOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleOutcome::Matches => f.write_str("matches"),
            RuleOutcome::OtherMethod => f.write_str("method does not match"),
            RuleOutcome::OtherCaller => f.write_str("caller does not match"),
            RuleOutcome::Condition(text) => f.write_str(text),
        }
    }
}

impl Access {
    /// Decides whether this caller may make a call.
    #[must_use]
    pub fn decide_for(
        &self,
        caller: &CallerFacts<'_>,
        method: impl AsRef<[u8]>,
        params: Option<&Json>,
    ) -> Decision {
        let (method, mut decision) = (method.as_ref(), Decision::NotAllowed);
        for candidate in self.candidates(method) {
            let index = candidate.rule;
            let rule = &self.0.rules[index];
            if decision.is_allowed() && rule.effect == Effect::Allow {
                continue;
            }
            if candidate.is_about(rule, method, caller)
                && (rule.when.is_empty() || self.unmet(rule, method, params).is_none())
            {
                match rule.effect {
                    Effect::Deny => return Decision::Denied { rule: index },
                    Effect::Allow => decision = Decision::Allowed { rule: index },
                }
            }
        }
        decision
    }

    /// What each rule says about a call of this caller.
    #[must_use]
    pub fn explain(
        &self,
        caller: &CallerFacts<'_>,
        method: impl AsRef<[u8]>,
        params: Option<&Json>,
    ) -> Vec<RuleReport<'_>> {
        let method = method.as_ref();
        let outcome = |rule: &Rule| {
            if !rule.has_method(method) {
                return RuleOutcome::OtherMethod;
            }
            if !rule.who.iter().any(|who| who.matches(caller)) {
                return RuleOutcome::OtherCaller;
            }
            self.unmet(rule, method, params).map_or(RuleOutcome::Matches, RuleOutcome::Condition)
        };
        self.0.rules.iter().map(|rule| RuleReport { rule, outcome: outcome(rule) }).collect()
    }

    /// The first condition that does not hold, in words. What is unfit fails an allow and holds for a deny.
    #[inline(never)]
    fn unmet(&self, rule: &Rule, method: &[u8], params: Option<&Json>) -> Option<String> {
        let names = self.0.names.get(method).map(Vec::as_slice).unwrap_or_default();
        rule.when.iter().find_map(|(pointer, condition)| {
            let value = pointer.find(params, names);
            let met = condition.is_met(value.as_ref());
            if met == Met::Yes || met == Met::Unfit && rule.effect == Effect::Deny {
                return None;
            }
            let value = value.map_or_else(|| "missing".to_owned(), |value| shortened(value.as_str()));
            let verb = match rule.effect {
                Effect::Allow => "allows",
                Effect::Deny => "denies",
            };
            Some(format!("{pointer} is {value}; this rule {verb} {condition}"))
        })
    }
}

/// The beginning of a text that may be long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
