//! The rules that cases cite, with their sources. The page `rules.md` is the only list of them.

const PAGE: &str = include_str!("rules.md");

/// A rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// The identifier that cases cite.
    pub(crate) id: &'static str,
    /// Its text.
    pub(crate) text: &'static str,
    /// The specification and section, or that it is a recommendation.
    pub(crate) source: &'static str,
}

/// Every rule, in the order of the page.
pub(crate) fn all() -> impl Iterator<Item = Rule> {
    PAGE.lines().filter_map(row)
}

/// A row of a table on the page.
fn row(line: &'static str) -> Option<Rule> {
    let mut cells = line.strip_prefix("| `")?.strip_suffix(" |")?.split(" | ");
    Some(Rule { id: cells.next()?.strip_suffix('`')?, text: cells.next()?, source: cells.next()? })
}

/// The rule with this identifier, in upper or lower case.
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
    fn every_rule_is_cited_and_every_cited_rule_is_listed() {
        let known: BTreeSet<&str> = all().map(|rule| rule.id).collect();
        assert_eq!(known.len(), all().count(), "a rule is listed twice");
        let cited = cases::all().into_iter().flat_map(|case| case.rules.iter().copied());
        let cited: BTreeSet<&str> =
            cited.chain(watch::claims().into_iter().flat_map(|(_, _, rules)| rules).copied()).collect();
        let missing: Vec<_> = cited.difference(&known).collect();
        let surplus: Vec<_> = known.difference(&cited).collect();
        assert!(missing.is_empty() && surplus.is_empty(), "not known: {missing:?}, not cited: {surplus:?}");
    }

    #[test]
    fn every_row_of_the_page_is_a_rule() {
        for line in PAGE.lines().filter(|line| line.starts_with("| `")) {
            assert!(row(line).is_some() && line.matches(" | ").count() == 2, "{line}");
        }
    }
}
