//! All cases, one file an area.

mod batches;
mod duplex;
mod framing;
mod http;
mod ids;
mod notifications;
mod requests;
mod robustness;
mod texts;
mod v1;

use super::case::Case;

/// Makes the cases of an area.
type Cases = fn() -> Vec<Case>;

/// Every area, in the order in which they are tried: the harmless ones first.
const AREAS: [(&str, Cases); 10] = [
    ("requests", requests::cases),
    ("ids", ids::cases),
    ("notifications", notifications::cases),
    ("batches", batches::cases),
    ("v1", v1::cases),
    ("http", http::cases),
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
            case
        })
    });
    areas.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own_and_cites_a_rule() {
        let mut names = HashSet::new();
        for case in all() {
            assert!(names.insert(case.name), "{} stands twice", case.name);
            assert!(!case.rules.is_empty(), "{} cites no rule", case.name);
            assert!(!case.claim.is_empty() && !case.claim.ends_with('.'), "{}", case.name);
        }
    }
}
