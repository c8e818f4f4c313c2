//! Access control: who may call what.
//!
//! A [`Rule`] allows or denies methods to callers, with optional conditions on params. The order of rules does not matter: a deny that
//! matches wins; otherwise an allow must match. `rpc.discover` is always allowed; filter it with [`Access::is_visible`].
//!
//! A value that is missing, or of another type than its condition, never satisfies an allow and always satisfies a deny.
//! Positional params are found by name if their names are [known](Access::with_names).

mod condition;
mod decision;
mod layer;
mod pointer;
mod who;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use switchboard_core::{Context, Description, FromContext as _, Json};

pub use self::condition::{Condition, ConditionError};
pub use self::decision::{Decision, RuleOutcome, RuleReport};
pub use self::pointer::{Pointer, PointerError};
use self::who::is_local;
pub use self::who::{CallerFacts, Who, WhoError};
use crate::audit::Audit;
use crate::identity::Identity;
use crate::pattern::first_segment;
pub use crate::pattern::{Pattern, PatternError};

/// Allows or denies methods to callers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rule {
    /// Whether it allows or denies.
    pub effect: Effect,
    /// The methods it applies to.
    pub methods: Vec<Pattern>,
    /// The callers it applies to.
    pub who: Vec<Who>,
    /// The conditions on params, all of which must hold.
    pub when: Vec<(Pointer, Condition)>,
    /// Its name in logs and explanations.
    pub name: Option<String>,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It allows calls.
    Allow,
    /// It denies calls, whatever other rules allow.
    Deny,
}

impl Rule {
    /// Allows these methods to these callers.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_layers::access::{Condition, Rule};
    ///
    /// let rule = Rule::allow(["transfer".parse()?], ["role:teller".parse()?])
    ///     .when("/amount".parse()?, Condition::range(Some("1"), Some("100"))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn allow(methods: impl IntoIterator<Item = Pattern>, who: impl IntoIterator<Item = Who>) -> Rule {
        Rule::new(Effect::Allow, methods, who)
    }

    /// Denies these methods to these callers.
    #[must_use]
    pub fn deny(methods: impl IntoIterator<Item = Pattern>, who: impl IntoIterator<Item = Who>) -> Rule {
        Rule::new(Effect::Deny, methods, who)
    }

    fn new(
        effect: Effect,
        methods: impl IntoIterator<Item = Pattern>,
        who: impl IntoIterator<Item = Who>,
    ) -> Rule {
        let (methods, who) = (methods.into_iter().collect(), who.into_iter().collect());
        Rule { effect, methods, who, when: Vec::new(), name: None }
    }

    /// The same rule, but only for calls whose params meet this condition at this place.
    #[must_use]
    pub fn when(mut self, place: Pointer, condition: Condition) -> Rule {
        self.when.push((place, condition));
        self
    }

    /// The same rule with a name for logs and explanations.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Rule {
        self.name = Some(name.into());
        self
    }
}

/// Rules about who may call what. A [`Layer`](switchboard_core::Layer) that refuses all other calls. Cheap to clone.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Context, Json};
/// use switchboard_layers::access::{Access, Rule};
/// use switchboard_layers::identity::{Identity, Proof};
///
/// let access = Access::new([
///     Rule::allow(["math/*".parse()?], ["anyone".parse()?]),
///     Rule::allow(["admin/**".parse()?], ["role:admin".parse()?]),
/// ]);
/// let mut cx = Context::default();
/// assert!(access.decide(&cx, "math/add", None).is_allowed());
/// assert!(!access.decide(&cx, "admin/restart", None).is_allowed());
/// Identity::new("alice", Proof::Token).with_roles(["admin"]).attach(&mut cx);
/// assert!(access.decide(&cx, "admin/restart", None).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Access(Arc<AccessInner>);

#[derive(Clone, Debug, Default)]
struct AccessInner {
    rules: Vec<Rule>,
    /// Which rules may be about a method that some rule names literally.
    by_method: CompleteIndex,
    /// Which rules may be about other methods with a first segment that a pattern names without a star, by that segment.
    by_segment: Index,
    /// Which rules may be about any other method.
    by_pattern: Vec<Candidate>,
    /// Whether a rule asks if callers are on this machine.
    asks_where: bool,
    /// The names of the params of methods, by position.
    names: HashMap<Box<[u8]>, Vec<String>>,
    /// Which callers have which role, beside those that credentials name.
    roles: HashMap<Box<str>, Vec<String>>,
    audit: Audit,
}

/// Rules by a name. Only our own names are in it: callers cannot flood it, so a fixed hash will do.
type Index = HashMap<Box<[u8]>, Vec<Candidate>, FixedState>;

/// The same with all rules that may be about a name.
type CompleteIndex = HashMap<Box<[u8]>, Box<[Candidate]>, FixedState>;

/// A rule that may be about a method.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    rule: usize,
    /// Whether it surely is, so that its patterns need not be matched again.
    is_certain: bool,
}

impl Access {
    /// Allows only what these rules allow.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Access {
        let mut inner = AccessInner { rules: rules.into_iter().collect(), ..AccessInner::default() };
        let mut by_method = Index::default();
        for (index, rule) in inner.rules.iter().enumerate() {
            inner.asks_where |= rule.who.iter().any(|who| matches!(who, Who::Local | Who::Remote));
            // A rule is found in one place for each method, so that no method has it twice.
            let is_literal = rule.methods.iter().all(|pattern| pattern.literal().is_some());
            let keys: Option<Vec<_>> = match is_literal {
                true => rule.methods.iter().map(|pattern| pattern.literal().map(str::as_bytes)).collect(),
                false => rule.methods.iter().map(Pattern::first_segment).collect(),
            };
            let is_for_all = rule.methods.iter().any(Pattern::is_anything);
            let candidate = Candidate { rule: index, is_certain: is_literal || is_for_all };
            let Some(keys) = keys else {
                inner.by_pattern.push(candidate);
                continue;
            };
            let by_name = if is_literal { &mut by_method } else { &mut inner.by_segment };
            for key in keys {
                let rules = by_name.entry(key.into()).or_default();
                if rules.last() != Some(&candidate) {
                    rules.push(candidate);
                }
            }
        }
        inner.complete_index(by_method);
        Access(Arc::new(inner))
    }

    /// The same rules with the names of positional params, so that `/amount` finds them.
    #[must_use]
    pub fn with_names(self, description: &Description) -> Access {
        let mut inner = Arc::unwrap_or_clone(self.0);
        for method in &description.methods {
            if let Some(params) = &method.params {
                let names = params.iter().map(|param| param.name.clone()).collect();
                inner.names.insert(method.name.as_bytes().into(), names);
            }
        }
        Access(Arc::new(inner))
    }

    /// The same rules, with these additional roles for this caller.
    #[must_use]
    pub fn with_roles<R: Into<String>>(self, subject: &str, roles: impl IntoIterator<Item = R>) -> Access {
        let mut inner = Arc::unwrap_or_clone(self.0);
        inner.roles.entry(subject.into()).or_default().extend(roles.into_iter().map(Into::into));
        Access(Arc::new(inner))
    }

    /// The same rules, with a record of the calls that they deny.
    #[must_use]
    pub fn with_audit(self, audit: Audit) -> Access {
        let mut inner = Arc::unwrap_or_clone(self.0);
        inner.audit = audit;
        Access(Arc::new(inner))
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.0.rules
    }

    /// Decides whether a call is allowed.
    #[must_use]
    pub fn decide(&self, cx: &Context, method: impl AsRef<[u8]>, params: Option<&Json>) -> Decision {
        self.decide_for(&self.facts(cx), method, params)
    }

    /// Whether a caller may call a method with at least some params. Use it to filter `rpc.discover`.
    #[must_use]
    pub fn is_visible(&self, cx: &Context, method: impl AsRef<[u8]>) -> bool {
        let (facts, method) = (self.facts(cx), method.as_ref());
        let mut is_allowed = false;
        for candidate in self.candidates(method) {
            let rule = &self.0.rules[candidate.rule];
            if !candidate.is_about(rule, method, &facts) {
                continue;
            }
            match rule.effect {
                Effect::Allow => is_allowed = true,
                Effect::Deny if rule.when.is_empty() => return false,
                Effect::Deny => {}
            }
        }
        is_allowed
    }

    /// What rules ask about the caller of this context.
    #[inline]
    fn facts<'a>(&'a self, cx: &'a Context) -> CallerFacts<'a> {
        let identity = Identity::from_context(cx);
        let granted = if self.0.roles.is_empty() { &[][..] } else { self.granted(identity) };
        let is_local = self.0.asks_where && is_local(cx);
        CallerFacts::new(identity, granted, is_local)
    }

    /// The roles of a caller beside those that its credential names.
    #[inline(never)]
    fn granted(&self, identity: Option<&Identity>) -> &[String] {
        let granted = identity.and_then(|identity| self.0.roles.get(identity.subject.as_str()));
        granted.map(Vec::as_slice).unwrap_or_default()
    }

    /// The rules that may be about a method.
    #[inline]
    fn candidates(&self, method: &[u8]) -> &[Candidate] {
        match self.0.by_method.get(method) {
            Some(named) => named,
            None => self.0.unnamed(method),
        }
    }
}

impl AccessInner {
    /// The rules that may be about a method that none names literally.
    #[inline(never)]
    fn unnamed(&self, method: &[u8]) -> &[Candidate] {
        self.by_segment.get(first_segment(method)).unwrap_or(&self.by_pattern)
    }

    /// Adds to the rules of every name those that are found by less of it, so that one lookup finds them all.
    fn complete_index(&mut self, by_method: Index) {
        for rules in self.by_segment.values_mut() {
            rules.extend(&self.by_pattern);
        }
        for (method, mut rules) in by_method {
            rules.extend(self.unnamed(&method));
            self.by_method.insert(method, rules.into());
        }
    }
}

impl Candidate {
    /// Whether its rule is about this call.
    #[inline]
    fn is_about(self, rule: &Rule, method: &[u8], caller: &CallerFacts<'_>) -> bool {
        (self.is_certain || rule.has_method(method)) && rule.who.iter().any(|who| who.matches(caller))
    }
}

impl Rule {
    #[inline(never)]
    fn has_method(&self, method: &[u8]) -> bool {
        self.methods.iter().any(|pattern| pattern.matches(method))
    }
}
