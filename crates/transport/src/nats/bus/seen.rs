//! What the numbers of publishers say about messages that did not arrive.

use std::collections::HashMap;

use async_nats::HeaderMap;
use switchboard_core::{Gap, GapReason};

use super::publisher::{PUBLISHER, SEQUENCE};
use crate::nats::token::Token;

/// How many publishers are remembered at least. Twice as many are at most.
const REMEMBERED: usize = 4096;

/// The last number of each publisher, for those that published lately.
#[derive(Default)]
pub(super) struct Seen {
    recent: HashMap<Token, u64>,
    older: HashMap<Token, u64>,
}

impl Seen {
    /// How many messages of its publisher are missing before this one.
    pub(super) fn missing(&mut self, headers: Option<&HeaderMap>) -> Option<u64> {
        let headers = headers?;
        let publisher = Token::read(headers.get(PUBLISHER)?.as_str())?;
        let number: u64 = headers.get(SEQUENCE)?.as_str().parse().ok()?;
        let last = self.recent.remove(&publisher).or_else(|| self.older.remove(&publisher));
        if self.recent.len() >= REMEMBERED {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(publisher, last.map_or(number, |last| last.max(number)));
        // The first message of a publisher tells nothing: its subscriber may have come late.
        last.and_then(|last| number.checked_sub(last))
            .and_then(|ahead| ahead.checked_sub(1))
            .filter(|n| *n > 0)
    }

    /// The same as a gap.
    pub(super) fn gap(&mut self, headers: Option<&HeaderMap>, reason: GapReason) -> Option<Gap> {
        self.missing(headers).map(|lost| Gap::new(Some(lost), reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nats::token::Tokens;

    fn headers(token: Token, number: &str) -> HeaderMap {
        let mut text = String::new();
        token.write(&mut text);
        let mut headers = HeaderMap::new();
        headers.insert(PUBLISHER, text);
        headers.insert(SEQUENCE, number);
        headers
    }

    #[test]
    fn a_number_that_is_skipped_was_lost() {
        let (mut seen, mut tokens) = (Seen::default(), Tokens::default());
        let (one, other) = (tokens.next(), tokens.next());
        let mut check = |token: Token, number: &str, expected: Option<u64>| {
            assert_eq!(seen.missing(Some(&headers(token, number))), expected, "{number}");
        };
        check(one, "5", None);
        check(one, "6", None);
        check(other, "1", None);
        check(one, "9", Some(2));
        check(one, "9", None);
        check(one, "3", None);
        check(one, "11", Some(1));
        check(one, "x", None);
        check(one, "18446744073709551615", Some(u64::MAX - 12));
        check(one, "18446744073709551615", None);
        check(other, "2", None);
    }

    #[test]
    fn publishers_are_forgotten_when_there_are_too_many() {
        let (mut seen, mut tokens) = (Seen::default(), Tokens::default());
        for _ in 0..REMEMBERED * 5 {
            seen.missing(Some(&headers(tokens.next(), "1")));
        }
        assert!(seen.recent.len() + seen.older.len() <= REMEMBERED * 2);
    }
}
