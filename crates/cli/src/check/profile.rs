//! Profiles: what is asked of servers of one kind, at the points where good servers differ.

use clap::ValueEnum;

use super::case::{Level, Severity};

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// Everything that is recommended is demanded.
    Strict,
    /// What the specification says; where it is silent and good servers differ, a warning.
    Spec,
    /// Whatever good servers do is good.
    Lenient,
    /// Nodes of Ethereum and servers like them.
    Ethereum,
    /// Servers of the Model Context Protocol.
    Mcp,
    /// Language servers.
    Lsp,
    /// Servers that speak 1.0 only.
    V1,
}

/// Where good servers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Point {
    /// A call with the identifier null is refused, or taken for a notification.
    NullId,
    /// Identifiers that are negative, fractional or very large are refused.
    NumericIds,
    /// Batches are refused.
    Batches,
    /// Batches are dropped without a word.
    NoWordOnBatches,
    /// Names that stand twice are taken, the first or the last.
    Duplicates,
    /// Escapes of lone surrogates are taken.
    Surrogates,
    /// A mark of the byte order is taken.
    ByteOrderMark,
    /// Numbers lose digits or their exponent.
    Numbers,
    /// A faulty message ends the connection.
    Closing,
    /// A faulty message is dropped without a word.
    Silence,
    /// Errors have another status of HTTP than 200.
    HttpStatus,
    /// Faults are told by HTTP alone, without a response object.
    PlainHttp,
    /// What has no answer has status 200.
    EmptyOk,
    /// Any media type is taken.
    MediaType,
    /// GET is answered, with a page or a stream.
    Get,
    /// Stray responses are answered.
    Strays,
    /// Only those are answered who say that they accept streams of events, too.
    Accept,
    /// Members that are not known are refused.
    Members,
}

/// What is thought of what came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Warn,
    Fail,
    Skip,
}

impl Profile {
    /// Its name, as it is written on the command line.
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

    /// What to think of an outcome of this level, in a case of this severity.
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

    /// What to think of what should not have come.
    pub(crate) fn fault(self, severity: Severity) -> Verdict {
        match severity {
            Severity::Must => Verdict::Fail,
            Severity::Should if self == Profile::Strict => Verdict::Fail,
            Severity::Should => Verdict::Warn,
            Severity::Info if self == Profile::Strict => Verdict::Warn,
            Severity::Info => Verdict::Pass,
        }
    }

    /// Whether an area is looked at.
    pub(crate) fn has(self, area: &str) -> bool {
        match self {
            // The others are sent in 2.0.
            Profile::V1 => matches!(area, "v1" | "robustness" | "framing"),
            // There are none since 2025-06-18, and what a server does about them is its own business.
            Profile::Mcp => area != "batches",
            _ => true,
        }
    }

    /// Whether a batch may be dropped without a word.
    pub(crate) fn is_silent_on_batches(self) -> bool {
        self.tolerates(Point::NoWordOnBatches)
    }

    /// Whether identifiers are whole numbers of 32 bits, besides strings.
    pub(crate) fn has_small_ids(self) -> bool {
        self == Profile::Lsp
    }

    /// Whether parameters are always given by name.
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
            Point::NoWordOnBatches => "batches are dropped without a word",
            Point::Duplicates => "names that stand twice are taken",
            Point::Surrogates => "escapes of lone surrogates are taken",
            Point::ByteOrderMark => "a mark of the byte order is taken",
            Point::Numbers => "numbers lose digits, or their exponent",
            Point::Closing => "a faulty message ends the connection",
            Point::Silence => "a faulty message is dropped without a word",
            Point::HttpStatus => "errors have a status of HTTP other than 200",
            Point::PlainHttp => "faults are told by HTTP alone, without a response object",
            Point::EmptyOk => "what has no answer has status 200",
            Point::MediaType => "any media type is taken",
            Point::Get => "methods of HTTP other than POST are answered",
            Point::Strays => "stray responses are answered",
            Point::Accept => "only who accepts event streams is answered",
            Point::Members => "members that are not known are refused",
        }
    }
}

impl Verdict {
    /// As it is written in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
            Verdict::Skip => "skip",
        }
    }
}
