//! Where certain methods go, and how their calls are changed.

use std::collections::HashMap;
use std::fmt;

use switchboard_core::{Call, ErrorObject, Kind, Name};
use switchboard_layers::access::Pattern;

use crate::conditions::Conditions;
use crate::discovered::Discovered;
use crate::rewrite::Rewrite;
use crate::stack::Stack;

/// What holds for the methods that match a pattern: which upstream they go to, which service with its policies, and how their
/// calls are rewritten.
///
/// Of several routes that match a method, the most specific one counts: a name before a pattern, and a pattern with a longer beginning before one
/// with a shorter one.
#[derive(Clone)]
pub struct Route {
    pub(crate) pattern: Pattern,
    pub(crate) upstream: Option<Box<str>>,
    pub(crate) is_closed: bool,
    pub(crate) conditions: Conditions,
    /// Where it is configured, for explanations.
    pub(crate) source: Option<Box<str>>,
    stacks: HashMap<Box<str>, Stack>,
    rename: Option<Box<str>>,
    rewrite: Rewrite,
    pub(crate) params: Option<ParamsForm>,
}

/// How params are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParamsForm {
    /// By name: an object.
    Named,
    /// By position: an array.
    Positional,
}

impl Route {
    /// A route for methods that match.
    #[must_use]
    pub fn new(pattern: Pattern) -> Route {
        Route {
            pattern,
            upstream: None,
            is_closed: false,
            conditions: Conditions::default(),
            source: None,
            stacks: HashMap::new(),
            rename: None,
            rewrite: Rewrite::default(),
            params: None,
        }
    }

    /// Sends them to this upstream, whatever their prefix is.
    #[must_use]
    pub fn to(mut self, upstream: impl Into<Box<str>>) -> Route {
        self.upstream = Some(upstream.into());
        self
    }

    /// Does not serve them: callers get -32601.
    #[must_use]
    pub fn closed(mut self) -> Route {
        self.is_closed = true;
        self
    }

    /// Applies only to calls that meet these conditions; others take the next most specific route.
    #[must_use]
    pub fn when(mut self, conditions: Conditions) -> Route {
        self.conditions = conditions;
        self
    }

    /// Sets where it is configured, such as `gateway.toml:15`, for explanations.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<str>>) -> Route {
        self.source = Some(source.into());
        self
    }

    /// Uses this service for the calls that go to this upstream, instead of the default one: with other policies, for instance.
    #[must_use]
    pub fn through(mut self, upstream: impl Into<Box<str>>, service: impl Into<Stack>) -> Route {
        self.stacks.insert(upstream.into(), service.into());
        self
    }

    /// Calls another method of the upstream. A `*` in the new name stands for what the first `*` of the pattern matched.
    #[must_use]
    pub fn rename(mut self, method: impl Into<Box<str>>) -> Route {
        self.rename = Some(method.into());
        self
    }

    /// Changes the params of the calls.
    #[must_use]
    pub fn with_rewrite(mut self, rewrite: Rewrite) -> Route {
        self.rewrite = rewrite;
        self
    }

    /// Passes params in this form, where the upstream describes the parameters of the method.
    #[must_use]
    pub fn with_params(mut self, form: ParamsForm) -> Route {
        self.params = Some(form);
        self
    }

    /// The same without the values that it sets, to show what it does.
    pub(crate) fn masked(&self) -> Route {
        Route { rewrite: self.rewrite.masked(), ..self.clone() }
    }

    pub(crate) fn literal(&self) -> Option<&str> {
        self.pattern.literal()
    }

    pub(crate) fn matches(&self, method: &str) -> bool {
        self.pattern.matches(method)
    }

    /// Names come before patterns, longer beginnings before shorter ones, and routes with a condition before those without.
    pub(crate) fn specificity(&self) -> (bool, usize, bool, bool) {
        let text = self.pattern.to_string();
        let stem = text.find('*').unwrap_or(text.len());
        (self.literal().is_some(), stem, !text.contains("**"), !self.conditions.is_empty())
    }

    pub(crate) fn stack(&self, upstream: &str) -> Option<&Stack> {
        self.stacks.get(upstream)
    }

    /// The name of a method for all callers, and what it is called at which upstream, if this route changes that.
    pub(crate) fn renamed(&self) -> Option<(&str, &str, &str)> {
        let (outside, inside) = (self.literal()?, self.rename.as_deref()?);
        let is_for_all = self.conditions.is_empty() && !self.is_closed && !inside.contains('*');
        is_for_all.then_some((outside, self.upstream.as_deref()?, inside))
    }

    pub(crate) fn has_rename(&self) -> bool {
        self.rename.is_some()
    }

    /// Renames a call on its way to the upstream. It came under this name.
    pub(crate) fn rename_call(&self, call: &mut Call, outside: &str) {
        if let Some(rename) = &self.rename {
            call.method = Name::from(match rename.contains('*') {
                false => rename.to_string(),
                true => rename.replacen('*', matched(&self.pattern.to_string(), outside), 1),
            });
        }
    }

    /// Changes the params of a call, whose method is known under the name that the upstream gives it. Changes by name need named params, so
    /// that no caller avoids them by passing its params by position.
    pub(crate) fn rewrite(
        &self,
        call: &mut Call,
        discovered: Option<&Discovered>,
    ) -> Result<(), ErrorObject> {
        let convert = |call: &mut Call, form| discovered.map_or(Ok(()), |known| known.convert(call, form));
        let (by_name, was_list) = (self.rewrite.has_names(), is_list(call));
        match self.params {
            Some(ParamsForm::Named) => convert(call, ParamsForm::Named)?,
            _ if by_name && was_list => convert(call, ParamsForm::Named)?,
            Some(ParamsForm::Positional) if !by_name => convert(call, ParamsForm::Positional)?,
            _ => {}
        }
        if by_name && is_list(call) {
            let detail = "the gateway changes params of this method by their names; pass them by name";
            return Err(ErrorObject::invalid_params(detail));
        }
        self.rewrite.apply(call)?;
        let takes_list = || discovered.is_some_and(|known| known.takes_only_positions(&call.method));
        match self.params {
            Some(ParamsForm::Positional) => convert(call, ParamsForm::Positional),
            None if by_name && was_list && takes_list() => convert(call, ParamsForm::Positional),
            _ => Ok(()),
        }
    }
}

/// Whether a call has params by position.
fn is_list(call: &Call) -> bool {
    call.params.as_ref().is_some_and(|params| params.kind() == Kind::Array && params.element(0).is_some())
}

/// What the first star of a pattern matched.
fn matched<'a>(pattern: &str, method: &'a str) -> &'a str {
    let Some((before, after)) = pattern.split_once('*') else { return "" };
    let after = after.trim_start_matches('*');
    let rest = method.strip_prefix(before).unwrap_or(method);
    match after.split('*').next().unwrap_or_default() {
        "" => rest,
        end => rest.find(end).map_or(rest, |at| &rest[..at]),
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Route { pattern, upstream, is_closed, rename, .. } = self;
        f.debug_struct("Route")
            .field("pattern", &pattern.to_string())
            .field("upstream", upstream)
            .field("is_closed", is_closed)
            .field("rename", rename)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_star_of_a_new_name_is_what_the_pattern_matched() {
        let check = |pattern: &str, method: &str, expected: &str| {
            assert_eq!(matched(pattern, method), expected, "{pattern} {method}");
        };
        check("old_*", "old_add", "add");
        check("old/*/get", "old/user/get", "user");
        check("old/**", "old/a/b", "a/b");
        check("plain", "plain", "");
    }

    #[test]
    fn names_come_before_patterns_and_longer_ones_before_shorter_ones() {
        let of = |pattern: &str| Route::new(pattern.parse().expect(pattern)).specificity();
        let order = ["math/add", "math/a*", "math/*", "math/**", "**"];
        for pair in order.windows(2) {
            assert!(of(pair[0]) > of(pair[1]), "{} {}", pair[0], pair[1]);
        }
    }
}
