//! Error codes, in one table.

use std::fmt;

/// The code of an error: any integer.
///
/// The specification defines five. -32000 to -32099 belong to servers: Switchboard defines those
/// listed here, and leaves -32020 to -32099 to protocols on top. Everything outside -32768 to -32000 belongs to
/// applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub i64);

impl Code {
    /// The text is not JSON.
    pub const PARSE_ERROR: Code = Code(-32700);
    /// The text is JSON but not a valid request.
    pub const INVALID_REQUEST: Code = Code(-32600);
    /// No such method.
    pub const METHOD_NOT_FOUND: Code = Code(-32601);
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: Code = Code(-32602);
    /// An internal failure; the details are in the log.
    pub const INTERNAL_ERROR: Code = Code(-32603);
    /// A failure without a more specific code.
    pub const SERVER_ERROR: Code = Code(-32000);
    /// The data is well-formed but not acceptable.
    pub const VALIDATION_FAILED: Code = Code(-32001);
    /// The caller may not do this.
    pub const UNAUTHORIZED: Code = Code(-32002);
    /// The call exceeded its time limit.
    pub const TIMED_OUT: Code = Code(-32003);
    /// Something this service depends on failed.
    pub const UPSTREAM_FAILED: Code = Code(-32004);
    /// A limit is reached; `data.limit` names it and `data.retryAfterMs` may say when to try again.
    pub const OVER_LIMIT: Code = Code(-32005);
    /// The service is shutting down and accepts no new calls.
    pub const SHUTTING_DOWN: Code = Code(-32006);
    /// The reply exceeds the size limit.
    pub const REPLY_TOO_LARGE: Code = Code(-32007);
    /// Items were lost from a stream collected into one reply; `data.lost` may say how many.
    pub const ITEMS_LOST: Code = Code(-32008);
    /// The caller cancelled the call. The number is the one the Language Server Protocol uses.
    pub const CANCELLED: Code = Code(-32800);

    /// The default message of a code in the table.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Code::PARSE_ERROR => "Parse error",
            Code::INVALID_REQUEST => "Invalid Request",
            Code::METHOD_NOT_FOUND => "Method not found",
            Code::INVALID_PARAMS => "Invalid params",
            Code::INTERNAL_ERROR => "Internal error",
            Code::VALIDATION_FAILED => "Invalid user data",
            Code::UNAUTHORIZED => "Unauthorized",
            Code::TIMED_OUT => "Request timeout",
            Code::UPSTREAM_FAILED => "Upstream service failed",
            Code::OVER_LIMIT => "Over a limit",
            Code::SHUTTING_DOWN => "Shutting down",
            Code::REPLY_TOO_LARGE => "Reply too large",
            Code::ITEMS_LOST => "Items lost",
            Code::CANCELLED => "Cancelled",
            _ => "Server error",
        }
    }

    /// Whether the specification reserves this code for the protocol or for servers (J2-30), so that applications must not
    /// define it.
    #[must_use]
    pub fn is_reserved(self) -> bool {
        (-32768..=-32000).contains(&self.0)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<i64> for Code {
    fn from(code: i64) -> Code {
        Code(code)
    }
}
