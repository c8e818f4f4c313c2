//! Items of a stream that its reader does not get, and how it finds out.

use serde::{Deserialize, Serialize};

/// A place in a stream where items are missing. The stream continues after it.
///
/// Among the items of a stream it is an error that does not end it, see [`ErrorObject::from`](crate::ErrorObject) and
/// [`ErrorObject::gap`](crate::ErrorObject::gap); a reader of [`Values`](crate::Values) finds it as
/// [`CallError::Gap`](crate::CallError::Gap). On a connection it travels as the member `gap` of the next item's params,
/// or of the message that ends the stream; peers that do not know it ignore it. A stream collected into one
/// reply fails at a gap, with -32008: an array must not miss elements silently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Gap {
    /// How many items are missing, if known.
    pub lost: Option<u64>,
    /// Why they are missing.
    #[serde(default)]
    pub reason: GapReason,
}

/// Why items are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GapReason {
    /// The reader was too slow.
    #[default]
    Overflow,
    /// The client lost its connection and reconnected.
    Reconnected,
    /// They were lost on their way from the publisher.
    Lost,
    /// They are no longer kept.
    Expired,
    /// They are not what the reader expects: not JSON, or of another type.
    Invalid,
    /// A reason that this version does not know.
    #[serde(other)]
    Other,
}

impl Gap {
    /// This many items were dropped because the reader was too slow.
    #[must_use]
    pub fn overflow(lost: u64) -> Gap {
        Gap { lost: Some(lost), reason: GapReason::Overflow }
    }

    /// The client lost its connection and reconnected. The number of lost items is unknown.
    #[must_use]
    pub fn reconnected() -> Gap {
        Gap { lost: None, reason: GapReason::Reconnected }
    }

    /// Items are missing for this reason; how many, if known.
    #[must_use]
    pub fn new(lost: Option<u64>, reason: GapReason) -> Gap {
        Gap { lost, reason }
    }

    /// Merges two adjacent gaps.
    #[must_use]
    pub fn and(self, later: Gap) -> Gap {
        let lost = self.lost.zip(later.lost).map(|(one, other)| one.saturating_add(other));
        let reason = if self.reason == GapReason::Overflow { later.reason } else { self.reason };
        Gap { lost, reason }
    }
}

impl std::fmt::Display for Gap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lost {
            Some(lost) => write!(f, "{lost} items were lost"),
            None => f.write_str("items may have been lost"),
        }?;
        match self.reason {
            GapReason::Overflow => f.write_str(" because they were read too slowly"),
            GapReason::Reconnected => f.write_str(" while reconnecting"),
            GapReason::Lost => f.write_str(" on their way"),
            GapReason::Expired => f.write_str(" because they are no longer kept"),
            GapReason::Invalid => f.write_str(" because they were invalid"),
            GapReason::Other => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_error::CallError;
    use crate::error::ErrorObject;
    use crate::json::Json;

    #[test]
    fn a_gap_survives_the_way_through_an_error() {
        let error = ErrorObject::from(CallError::Gap(Gap::overflow(3)));
        assert_eq!(error.gap(), Some(Gap::overflow(3)));
        assert_eq!(CallError::from(error), CallError::Gap(Gap::overflow(3)));
    }

    #[test]
    fn gaps_are_written_and_read_in_words_that_may_grow() {
        assert_eq!(
            Json::encode(&Gap::reconnected()).unwrap().as_str(),
            r#"{"lost":null,"reason":"reconnected"}"#
        );
        let check = |text: &'static str, expected: Gap| {
            assert_eq!(Json::parse(text).unwrap().decode::<Gap>().unwrap(), expected, "{text}");
        };
        check(r#"{"lost":3}"#, Gap::overflow(3));
        check(r#"{"lost":3,"reason":"gremlins"}"#, Gap { lost: Some(3), reason: GapReason::Other });
    }

    #[test]
    fn two_gaps_in_a_row_are_one() {
        assert_eq!(Gap::overflow(3).and(Gap::overflow(4)), Gap::overflow(7));
        assert_eq!(Gap::overflow(3).and(Gap::reconnected()), Gap::reconnected());
    }
}
