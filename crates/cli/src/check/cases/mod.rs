//! All cases, one file for each area.

mod basics;
mod batches;
mod duplex;
mod framing;
mod http;
mod http2;
mod ids;
mod mcp;
mod notifications;
mod requests;
mod robustness;
mod texts;
mod v1;

use super::case::{Case, Level};
pub(crate) use basics::{ERROR, RESPONSE};

/// Makes the cases of an area.
type Cases = fn() -> Vec<Case>;

/// Every area, in the order in which they run: what others rest on and what is harmless first.
const AREAS: [(&str, Cases); 17] = [
    ("basics", basics::cases),
    ("requests", requests::cases),
    ("ids", ids::cases),
    ("notifications", notifications::cases),
    ("batches", batches::cases),
    ("v1", v1::cases),
    ("http", http::cases),
    ("http2", http2::cases),
    ("mcp-sessions", mcp::sessions::cases),
    ("mcp-features", mcp::features::cases),
    ("mcp-http", mcp::http::cases),
    ("mcp-stateless", mcp::stateless::cases),
    ("mcp-stdio", mcp::stdio::cases),
    ("texts", texts::cases),
    ("duplex", duplex::cases),
    ("framing", framing::cases),
    ("robustness", robustness::cases),
];

/// Every case.
pub(crate) fn all() -> Vec<Case> {
    let areas = AREAS.into_iter().flat_map(|(area, cases)| {
        cases().into_iter().map(move |mut case| {
            case.area = area;
            case.rests_on = case.rests_on.or_else(|| base(&case));
            case
        })
    });
    areas.collect()
}

/// What a case rests on by what it expects.
fn base(case: &Case) -> Option<&'static str> {
    let mut right = case.outcomes.iter().filter(|(level, _)| *level == Level::Right);
    match case.name {
        RESPONSE => None,
        ERROR => Some(RESPONSE),
        _ if right.any(|(_, outcome)| outcome.has_error()) => Some(ERROR),
        _ => Some(RESPONSE),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_case_has_a_unique_name_and_cites_a_rule() {
        let mut names = HashSet::new();
        for case in all() {
            assert!(names.insert(case.name), "{} is listed twice", case.name);
            assert!(!case.rules.is_empty(), "{} cites no rule", case.name);
            assert!(!case.claim.is_empty() && !case.claim.ends_with('.'), "{}", case.name);
        }
    }

    #[test]
    fn a_case_rests_on_and_is_like_cases_that_run_before_it() {
        let all = all();
        for (index, case) in all.iter().enumerate() {
            for base in [case.rests_on, case.like].into_iter().flatten() {
                assert!(all[..index].iter().any(|it| it.name == base), "{} comes before {base}", case.name);
            }
        }
        let roots: Vec<_> = all.iter().filter(|case| case.rests_on.is_none()).map(|it| it.name).collect();
        assert_eq!(roots, [RESPONSE]);
    }
}
