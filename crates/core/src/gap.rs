//! Items of a stream that its reader does not get, and how it is told.

use std::fmt;

/// A place in a stream where items may be missing. The stream goes on after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Gap {
    /// How many items are missing, if that is known.
    pub lost: Option<u64>,
    /// Why they are.
    pub reason: GapReason,
}

/// Why items are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GapReason {
    /// The connection was lost and made again.
    Reconnected,
}

impl Gap {
    /// The connection was lost and made again; nobody knows what was missed meanwhile.
    #[must_use]
    pub fn reconnected() -> Gap {
        Gap { lost: None, reason: GapReason::Reconnected }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lost {
            Some(lost) => write!(f, "{lost} items were lost"),
            None => f.write_str("items may have been lost"),
        }?;
        match self.reason {
            GapReason::Reconnected => f.write_str(" while the connection was made again"),
        }
    }
}
