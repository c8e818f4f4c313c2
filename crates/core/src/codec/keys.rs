//! Member names: are two of one object the same?

use std::borrow::Cow;

use crate::codec::string::unescape;

/// The name of a member, between its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it is written with escapes, and must be read before it can be compared (J2-56).
    pub(super) escaped: bool,
}

impl Key {
    pub(super) fn raw<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.start..self.end]
    }

    /// One of 64 bits, told by the name's length and ends. A name with escapes may be any name and has all of them.
    #[inline(always)]
    pub(super) fn mark(&self, text: &[u8]) -> u64 {
        if self.escaped {
            return u64::MAX;
        }
        let (first, last) = (usize::from(text[self.start]), usize::from(text[self.end - 1]));
        // With these factors the names of a signature have different bits, and those of other usual objects.
        1 << (((self.end - self.start) * 4 + first + last * 11) % 64)
    }

    /// The name as it reads, without escapes.
    pub(super) fn read<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if self.escaped { Cow::Owned(unescape(self.raw(text))) } else { Cow::Borrowed(self.raw(text)) }
    }
}

/// Objects of up to this many members are compared pair by pair, larger ones by sorting.
const PAIRWISE: usize = 8;

/// Whether a name stands twice in the list. The order of the list is not kept.
///
/// The cost is bounded by n log n comparisons, whatever the names are: there is no hash to flood.
#[inline]
pub(super) fn has_duplicate(text: &[u8], keys: &mut [Key]) -> bool {
    if keys.len() < 2 {
        return false;
    }
    if keys.iter().any(|key| key.escaped) {
        let mut names: Vec<_> = keys.iter().map(|key| key.read(text)).collect();
        names.sort_unstable();
        return names.windows(2).any(|pair| pair[0] == pair[1]);
    }
    if keys.len() <= PAIRWISE {
        return pairwise(text, keys);
    }
    keys.sort_unstable_by(|a, b| a.raw(text).cmp(b.raw(text)));
    keys.windows(2).any(|pair| pair[0].raw(text) == pair[1].raw(text))
}

fn pairwise(text: &[u8], keys: &[Key]) -> bool {
    keys.iter().enumerate().any(|(n, key)| {
        let name = key.raw(text);
        keys[..n].iter().any(|other| other.end - other.start == name.len() && other.raw(text) == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of names one after the other, and their keys.
    fn names(list: &[String]) -> (Vec<u8>, Vec<Key>) {
        let mut text = Vec::new();
        let keys = list.iter().map(|name| {
            let start = text.len();
            text.extend_from_slice(name.as_bytes());
            Key { start, end: text.len(), escaped: name.contains('\\') }
        });
        let keys = keys.collect();
        (text, keys)
    }

    #[test]
    fn small_and_large_objects_give_the_same_verdict() {
        for count in 2..40 {
            let mut list: Vec<_> = (0..count).map(|n| format!("name{n}")).collect();
            let (text, mut keys) = names(&list);
            assert!(!has_duplicate(&text, &mut keys), "{count}");
            list[count - 1] = list[count / 2 - 1].clone();
            let (text, mut keys) = names(&list);
            assert!(has_duplicate(&text, &mut keys), "{count}");
        }
    }
}
