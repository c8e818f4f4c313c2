//! The rules that cases cite: what each says, and where it stands.

mod carriers;
mod safety;
mod v1;
mod v2;

/// A rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// As cases cite it.
    pub(crate) id: &'static str,
    /// What it says.
    pub(crate) text: &'static str,
    /// The specification and its section, or that there is none.
    pub(crate) source: &'static str,
}

const SILENT: &str = "recommended; the specification is silent";

const fn rule(id: &'static str, text: &'static str, source: &'static str) -> Rule {
    Rule { id, text, source }
}

/// Every rule, in the order of the areas.
pub(crate) fn all() -> impl Iterator<Item = Rule> {
    let parts: [&[Rule]; 5] = [&v2::MESSAGES, &v2::TEXTS, &v1::RULES, &carriers::RULES, &safety::RULES];
    parts.into_iter().flatten().copied()
}

/// The rule of this name, in any case.
pub(crate) fn find(id: &str) -> Option<Rule> {
    all().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

/// The rule in two lines.
pub(crate) fn lines(rule: &Rule) -> String {
    format!("{:<9} {}\n{:<9} ({})\n", rule.id, rule.text, "", rule.source)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::check::{cases, watch};

    #[test]
    fn the_rules_are_those_that_are_cited() {
        let known: BTreeSet<&str> = all().map(|rule| rule.id).collect();
        assert_eq!(known.len(), all().count(), "a rule stands twice");
        let cited = cases::all().into_iter().flat_map(|case| case.rules.iter().copied());
        let cited: BTreeSet<&str> =
            cited.chain(watch::claims().into_iter().flat_map(|(_, _, rules)| rules).copied()).collect();
        let missing: Vec<_> = cited.difference(&known).collect();
        let surplus: Vec<_> = known.difference(&cited).collect();
        assert!(missing.is_empty() && surplus.is_empty(), "not known: {missing:?}, not cited: {surplus:?}");
    }

    #[test]
    fn the_documentation_has_each_rule() {
        let page = include_str!("../../../../../docs/checking-rules.md");
        for rule in all() {
            let row = format!("| `{}` | {} | {} |", rule.id, rule.text, rule.source);
            assert!(page.contains(&row), "docs/checking-rules.md lacks {row}");
        }
        let rows = page.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, all().count(), "docs/checking-rules.md has rows of no rule");
    }
}
