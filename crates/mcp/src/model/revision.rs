//! The published revisions of the protocol.

use std::fmt;
use std::str::FromStr;

/// A published revision of the protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// 2024-11-05: the first one, with HTTP and SSE on two paths.
    V2024_11_05,
    /// 2025-03-26: streamable HTTP, batches, audio.
    V2025_03_26,
    /// 2025-06-18: structured results, elicitation, resource links.
    V2025_06_18,
    /// 2025-11-25: icons, elicitation by URL, tasks.
    V2025_11_25,
    /// 2026-07-28: stateless, without a handshake.
    V2026_07_28,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Revision; 5] = [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];

    /// The newest revision.
    pub const LATEST: Revision = Revision::V2026_07_28;

    /// The newest revision with a handshake.
    pub const LATEST_STATEFUL: Revision = Revision::V2025_11_25;

    /// Its date, which is its name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether requests stand alone, without a handshake and a session.
    #[must_use]
    pub fn is_stateless(self) -> bool {
        self >= Revision::V2026_07_28
    }
}

/// The text is not a published revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown protocol version; expected one of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28"
)]
#[non_exhaustive]
pub struct UnknownRevision;

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Revision, UnknownRevision> {
        Revision::ALL.into_iter().find(|revision| revision.as_str() == text).ok_or(UnknownRevision)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
