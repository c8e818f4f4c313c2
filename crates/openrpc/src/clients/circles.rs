//! Finds names that refer to themselves through others, in time linear in the names and references.

use std::collections::{BTreeMap, BTreeSet};

use super::types::{Definition, Shape, Type, simple};

/// What each name leads to.
pub(super) type Ways<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The names that lead to themselves, each with the number of the circle it is in.
#[derive(Debug, Default)]
pub(super) struct Circles {
    numbers: BTreeMap<String, usize>,
}

impl Circles {
    /// Finds all circles: names are in one if they lead to each other (Kosaraju's algorithm, without recursion).
    pub(super) fn new(ways: &Ways<'_>) -> Circles {
        let mut back: Ways<'_> = Ways::new();
        for (from, all) in ways {
            for to in all {
                back.entry(to).or_default().insert(from);
            }
        }
        let mut numbers = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for (number, last) in left_in_order(ways).into_iter().rev().enumerate() {
            let mut waiting = vec![last];
            let mut circle = Vec::new();
            while let Some(name) = waiting.pop() {
                if seen.insert(name) {
                    circle.push(name);
                    waiting.extend(back.get(name).into_iter().flatten());
                }
            }
            let is_circle = match circle[..] {
                [one] => ways.get(one).is_some_and(|all| all.contains(one)),
                _ => true,
            };
            if is_circle {
                numbers.extend(circle.into_iter().map(|name| (name.to_owned(), number)));
            }
        }
        Circles { numbers }
    }

    /// Whether a name leads to itself.
    pub(super) fn has(&self, name: &str) -> bool {
        self.numbers.contains_key(name)
    }

    /// Whether two names lead to each other.
    pub(super) fn join(&self, one: &str, other: &str) -> bool {
        self.numbers.get(one).is_some_and(|number| self.numbers.get(other) == Some(number))
    }
}

/// Puts any value in the place of a name that would mean itself, through other names and unions alone: no language has such types.
pub(super) fn end_circles(definitions: &mut [Definition]) {
    let mut ways = Ways::new();
    for definition in definitions.iter() {
        let names = ways.entry(definition.name.as_str()).or_default();
        let kinds = match &definition.shape {
            Shape::Alias(kind) => std::slice::from_ref(kind),
            Shape::OneOf(kinds) => kinds,
            Shape::Record(_) | Shape::Choice(_) => &[],
        };
        names.extend(kinds.iter().flat_map(Type::branches).filter_map(|kind| match kind {
            Type::Named(name) => Some(name.as_str()),
            _ => None,
        }));
    }
    let circles = Circles::new(&ways);
    for Definition { name, shape, .. } in definitions.iter_mut().filter(|one| circles.has(&one.name)) {
        let kinds = match shape {
            Shape::Alias(kind) => std::slice::from_ref(kind),
            Shape::OneOf(kinds) => kinds,
            Shape::Record(_) | Shape::Choice(_) => continue,
        };
        let ended = kinds.iter().flat_map(Type::branches).map(|kind| match kind {
            Type::Named(other) if circles.join(name, other) => Type::Any,
            kind => kind.clone(),
        });
        // Where anything fits, nothing else has to be said.
        *shape = Shape::Alias(simple(ended.collect()));
    }
}

/// The names in the order in which a walk leaves them for good.
fn left_in_order<'a>(ways: &Ways<'a>) -> Vec<&'a str> {
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    for (start, all) in ways {
        if !seen.insert(*start) {
            continue;
        }
        let mut path = vec![(*start, all.iter())];
        while let Some((name, rest)) = path.last_mut() {
            let Some(next) = rest.next() else {
                order.push(*name);
                path.pop();
                continue;
            };
            if let Some(all) = ways.get(next).filter(|_| seen.insert(*next)) {
                path.push((*next, all.iter()));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_to_each_other_are_in_one_circle() {
        let ways =
            [("a", vec!["b"]), ("b", vec!["c", "d"]), ("c", vec!["a"]), ("d", vec!["e"]), ("e", vec!["e"])];
        let ways: Ways<'_> = ways.into_iter().map(|(from, to)| (from, to.into_iter().collect())).collect();
        let circles = Circles::new(&ways);
        assert_eq!(
            ["a", "b", "c", "d", "e", "f"].map(|name| circles.has(name)),
            [true, true, true, false, true, false]
        );
        assert!(circles.join("a", "c") && circles.join("e", "e"));
        assert!(!circles.join("a", "e") && !circles.join("d", "d"));
    }
}
