//! How a WebSocket connection is closed.

use std::fmt;

/// The code of a close frame (RFC 6455, section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CloseCode(pub u16);

impl CloseCode {
    /// Normal closure.
    pub const NORMAL: CloseCode = CloseCode(1000);
    /// A server that shuts down, or a page that is left.
    pub const GOING_AWAY: CloseCode = CloseCode(1001);
    /// The peer violated the protocol.
    pub const PROTOCOL: CloseCode = CloseCode(1002);
    /// An unsupported kind of data.
    pub const UNSUPPORTED: CloseCode = CloseCode(1003);
    /// A text message that is not UTF-8.
    pub const INVALID_TEXT: CloseCode = CloseCode(1007);
    /// The peer violated a policy: it sends too slowly, or does not read.
    pub const POLICY: CloseCode = CloseCode(1008);
    /// A message that is too long.
    pub const TOO_BIG: CloseCode = CloseCode(1009);
    /// A failure on this side.
    pub const INTERNAL: CloseCode = CloseCode(1011);
    /// Overloaded; try again later.
    pub const TRY_AGAIN_LATER: CloseCode = CloseCode(1013);

    /// Whether a close frame may contain this code: some are reserved, and some only mean that none was received.
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

/// The content of a close frame from the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Close {
    /// Its code.
    pub code: CloseCode,
    /// A text for logs, at most 123 bytes.
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

/// A violation of the protocol or of a limit by the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A bit for extensions is set without an extension.
    #[error("a reserved bit is set, but no extension was negotiated")]
    ReservedBits,
    /// An unknown opcode.
    #[error("a frame has the unknown opcode {0}")]
    Opcode(u8),
    /// A client's frame without a mask.
    #[error("a client's frame is not masked")]
    Unmasked,
    /// A server's frame with a mask.
    #[error("a server's frame is masked")]
    Masked,
    /// A length that is not encoded in the shortest form, or has its highest bit set.
    #[error("the length of a frame is not encoded correctly")]
    Length,
    /// A fragmented control frame.
    #[error("a control frame is fragmented")]
    FragmentedControl,
    /// A control frame of more than 125 bytes.
    #[error("a control frame exceeds 125 bytes")]
    LongControl,
    /// A continuation frame without a message to continue.
    #[error("a continuation frame continues nothing")]
    NothingToContinue,
    /// A new message inside another.
    #[error("a message starts inside another")]
    Interleaved,
    /// A close frame with half a code, or an invalid one.
    #[error("a close frame has no valid code")]
    Close,
    /// A text, or the reason of a close frame, that is not UTF-8.
    #[error("a text message is not UTF-8")]
    Text,
    /// A message that exceeds the limit.
    #[error("a message of {length} bytes exceeds the limit of {limit} bytes")]
    TooLong {
        /// Its size in bytes, as far as announced.
        length: u64,
        /// The limit in bytes.
        limit: usize,
    },
}

impl Violation {
    /// The close code for this violation (JT-01).
    #[must_use]
    pub fn code(self) -> CloseCode {
        match self {
            Violation::Text => CloseCode::INVALID_TEXT,
            Violation::TooLong { .. } => CloseCode::TOO_BIG,
            _ => CloseCode::PROTOCOL,
        }
    }
}
