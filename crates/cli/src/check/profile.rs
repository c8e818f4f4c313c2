//! Profiles: what is required of servers of one kind, where good servers differ.

use clap::ValueEnum;

use super::case::{Level, Severity};

/// How the names of the areas begin that are about the Model Context Protocol.
pub(crate) const MCP: &str = "mcp-";

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// Treats recommendations as requirements
    Strict,
    /// The specification; a warning where it is silent and good servers differ
    Spec,
    /// Accepts anything that good servers do
    Lenient,
    /// Ethereum nodes and similar servers
    Ethereum,
    /// Model Context Protocol servers, with sessions or stateless
    Mcp,
    /// Language servers
    Lsp,
    /// Servers that only speak JSON-RPC 1.0
    V1,
}

/// Where good servers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Point {
    /// A call with the identifier null is refused, or treated as a notification.
    NullId,
    /// Identifiers that are negative, fractional or very large are refused.
    NumericIds,
    /// Batches are refused.
    Batches,
    /// Batches are dropped silently.
    NoWordOnBatches,
    /// Duplicate names are accepted, the first or the last.
    Duplicates,
    /// Escapes of lone surrogates are accepted.
    Surrogates,
    /// A byte order mark is accepted.
    ByteOrderMark,
    /// Numbers lose digits or their exponent.
    Numbers,
    /// An invalid message closes the connection.
    Closing,
    /// An invalid message is dropped silently.
    Silence,
    /// Errors have an HTTP status other than 200.
    HttpStatus,
    /// Invalid messages get an HTTP status without a response object.
    PlainHttp,
    /// Requests without an answer get status 200.
    EmptyOk,
    /// Any media type is accepted.
    MediaType,
    /// GET is answered, with a page or a stream.
    Get,
    /// Stray responses are answered.
    Strays,
    /// Clients have to accept event streams to be answered.
    Accept,
    /// Unknown members are refused.
    Members,
}

/// The verdict on an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Warn,
    Fail,
    Skip,
}

impl Profile {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Profile::Strict => "strict",
            Profile::Spec => "spec",
            Profile::Lenient => "lenient",
            Profile::Ethereum => "ethereum",
            Profile::Mcp => "mcp",
            Profile::Lsp => "lsp",
            Profile::V1 => "v1",
        }
    }

    /// The verdict on an answer of this level, in a case of this severity.
    pub(crate) fn verdict(self, level: Level, severity: Severity) -> Verdict {
        match level {
            Level::Right => Verdict::Pass,
            Level::Allowed if self == Profile::Strict => Verdict::Warn,
            Level::Allowed => Verdict::Pass,
            Level::Common(point) | Level::Special(point) if self.tolerates(point) => Verdict::Pass,
            Level::Special(_) => self.fault(severity),
            Level::Common(_) if self == Profile::Strict => Verdict::Fail,
            Level::Common(_) => Verdict::Warn,
        }
    }

    /// The verdict on a wrong answer.
    pub(crate) fn fault(self, severity: Severity) -> Verdict {
        match severity {
            Severity::Must => Verdict::Fail,
            Severity::Should if self == Profile::Strict => Verdict::Fail,
            Severity::Should => Verdict::Warn,
            Severity::Info if self == Profile::Strict => Verdict::Warn,
            Severity::Info => Verdict::Pass,
        }
    }

    /// Whether an area is checked.
    pub(crate) fn has(self, area: &str) -> bool {
        match self {
            // The others are sent in 2.0.
            Profile::V1 => matches!(area, "basics" | "v1" | "robustness" | "framing"),
            // Version 2025-06-18 removed batches; the areas of the protocol have cases about them.
            Profile::Mcp => area != "batches",
            _ => !area.starts_with(MCP),
        }
    }

    /// Whether a batch may be dropped silently.
    pub(crate) fn is_silent_on_batches(self) -> bool {
        self.tolerates(Point::NoWordOnBatches)
    }

    /// Whether identifiers that are numbers are 32-bit integers.
    pub(crate) fn has_small_ids(self) -> bool {
        self == Profile::Lsp
    }

    /// Whether parameters are always passed by name.
    pub(crate) fn is_by_name(self) -> bool {
        self == Profile::Mcp
    }

    fn tolerates(self, point: Point) -> bool {
        use Point::*;
        match self {
            Profile::Strict | Profile::Spec => false,
            Profile::Lenient => true,
            Profile::Ethereum => matches!(
                point,
                NullId | NumericIds | Duplicates | Closing | HttpStatus | EmptyOk | Get | Surrogates
            ),
            Profile::Mcp => matches!(
                point,
                NullId
                    | NumericIds
                    | Duplicates
                    | Silence
                    | HttpStatus
                    | PlainHttp
                    | Get
                    | Strays
                    | Accept
                    | Members
            ),
            Profile::Lsp => {
                matches!(
                    point,
                    NullId | NumericIds | Batches | NoWordOnBatches | Duplicates | Silence | Closing
                )
            }
            Profile::V1 => matches!(point, Closing | HttpStatus | PlainHttp),
        }
    }
}

impl Point {
    /// What servers do at this point.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Point::NullId => "a call with the identifier null is refused, or not answered",
            Point::NumericIds => "negative, fractional or huge numbers are refused as identifiers",
            Point::Batches => "batches are refused",
            Point::NoWordOnBatches => "batches are dropped silently",
            Point::Duplicates => "duplicate names are accepted",
            Point::Surrogates => "escapes of lone surrogates are accepted",
            Point::ByteOrderMark => "a byte order mark is accepted",
            Point::Numbers => "numbers lose digits or their exponent",
            Point::Closing => "an invalid message closes the connection",
            Point::Silence => "an invalid message is dropped silently",
            Point::HttpStatus => "errors have an HTTP status other than 200",
            Point::PlainHttp => "invalid messages get an HTTP status without a response object",
            Point::EmptyOk => "requests without an answer get status 200",
            Point::MediaType => "any media type is accepted",
            Point::Get => "HTTP methods other than POST are answered",
            Point::Strays => "stray responses are answered",
            Point::Accept => "clients have to accept event streams to be answered",
            Point::Members => "unknown members are refused",
        }
    }
}

impl Verdict {
    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
            Verdict::Skip => "skip",
        }
    }
}
