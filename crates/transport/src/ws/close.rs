//! How a WebSocket connection says that it ends.

use std::fmt;

/// The number with which a connection is closed (RFC 6455, section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CloseCode(pub u16);

impl CloseCode {
    /// All is done.
    pub const NORMAL: CloseCode = CloseCode(1000);
    /// A server that stops, or a page that is left.
    pub const GOING_AWAY: CloseCode = CloseCode(1001);
    /// The far side broke the protocol.
    pub const PROTOCOL: CloseCode = CloseCode(1002);
    /// A kind of data that is not understood.
    pub const UNSUPPORTED: CloseCode = CloseCode(1003);
    /// A text that is not UTF-8.
    pub const INVALID_TEXT: CloseCode = CloseCode(1007);
    /// The far side does what it may not: it sends too slowly, or does not read.
    pub const POLICY: CloseCode = CloseCode(1008);
    /// A message that is too long.
    pub const TOO_BIG: CloseCode = CloseCode(1009);
    /// A failure of this side.
    pub const INTERNAL: CloseCode = CloseCode(1011);
    /// Too much is going on; another time may be better.
    pub const TRY_AGAIN_LATER: CloseCode = CloseCode(1013);

    /// Whether a close frame may hold this code: some are reserved, and some only stand for having received none.
    #[must_use]
    pub fn is_sendable(self) -> bool {
        matches!(self.0, 1000..=1003 | 1007..=1014 | 3000..=4999)
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a close frame of the far side held.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Close {
    /// Its code.
    pub code: CloseCode,
    /// Words for whoever reads logs, at most 123 bytes.
    pub reason: String,
}

impl fmt::Display for Close {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason.as_str() {
            "" => write!(f, "code {}", self.code),
            reason => write!(f, "code {}, {reason:?}", self.code),
        }
    }
}

/// What the far side did that the protocol does not allow, or that is too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A bit for extensions is set, and there are none.
    #[error("a reserved bit is set, but no extension was agreed on")]
    ReservedBits,
    /// An opcode that has no meaning.
    #[error("a frame has the unknown opcode {0}")]
    Opcode(u8),
    /// A client's frame without a mask.
    #[error("a client's frame is not masked")]
    Unmasked,
    /// A server's frame with a mask.
    #[error("a server's frame is masked")]
    Masked,
    /// A length that is not written as shortly as can be, or has its highest bit set.
    #[error("the length of a frame is not written as it must be")]
    Length,
    /// A control frame in parts.
    #[error("a control frame is fragmented")]
    FragmentedControl,
    /// A control frame of more than 125 bytes.
    #[error("a control frame has more than 125 bytes")]
    LongControl,
    /// A continuation of nothing.
    #[error("a continuation frame continues nothing")]
    NothingToContinue,
    /// A new message within another.
    #[error("a message begins within another")]
    Interleaved,
    /// A close frame with half a code, or one that may not be sent.
    #[error("a close frame holds no valid code")]
    Close,
    /// A text, or the reason of a close frame, that is not UTF-8.
    #[error("a text is not UTF-8")]
    Text,
    /// A message that is longer than it may be.
    #[error("a message of {length} bytes exceeds the limit of {limit} bytes")]
    TooLong {
        /// How many bytes it has, as far as they are announced.
        length: u64,
        /// How many it may have.
        limit: usize,
    },
}

impl Violation {
    /// The code that the connection is closed with (JT-01).
    #[must_use]
    pub fn code(self) -> CloseCode {
        match self {
            Violation::Text => CloseCode::INVALID_TEXT,
            Violation::TooLong { .. } => CloseCode::TOO_BIG,
            _ => CloseCode::PROTOCOL,
        }
    }
}
