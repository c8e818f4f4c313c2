//! Suggestions for misspelled words.

use std::fmt;

/// A similar word, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suggestion(Option<&'static str>);

impl Suggestion {
    /// The word that is at most two changes away from this one, if there is one.
    pub(crate) fn of(written: &str, words: impl Iterator<Item = &'static str>) -> Suggestion {
        let distances = words.map(|word| (distance(written, word), word));
        let nearest = distances.min().filter(|(count, word)| *count <= 2 && *count < word.len());
        Suggestion(nearest.map(|(_, word)| word))
    }

    pub(super) fn is_some(self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |word| write!(f, " (did you mean {word:?}?)"))
    }
}

/// How many letters have to be added, removed or changed to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    // Only short words are compared.
    if a.len() > 16 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let change = corner + if x == y { 0 } else { 1 };
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
