//! The results that are stated for the cases.

use std::collections::BTreeMap;
use std::fmt;

/// The result of a case, in the words of Autobahn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    NonStrict,
    Failed,
}

/// What `results.txt` states: each line names a case, the results of Autobahn itself and of this suite, and the reason.
pub(crate) struct Results(BTreeMap<&'static str, Outcome>);

impl Results {
    pub(crate) fn read() -> Results {
        let lines = include_str!("results.txt").lines().filter(|line| !line.starts_with('#'));
        Results(lines.filter(|line| !line.is_empty()).map(|line| entry(line).expect(line)).collect())
    }

    /// What is not listed is OK.
    pub(crate) fn of(&self, id: &str) -> Outcome {
        self.0.get(id).copied().unwrap_or(Outcome::Ok)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().copied()
    }
}

fn entry(line: &'static str) -> Option<(&'static str, Outcome)> {
    let mut words = line.split_whitespace();
    let (id, _autobahn, here) = (words.next()?, words.next()?, words.next()?);
    let outcome = match here {
        "OK" => Outcome::Ok,
        "NON-STRICT" => Outcome::NonStrict,
        "FAILED" => Outcome::Failed,
        _ => return None,
    };
    // A reason is not optional.
    words.next().map(|_| (id, outcome))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Ok => "OK",
            Outcome::NonStrict => "NON-STRICT",
            Outcome::Failed => "FAILED",
        })
    }
}
