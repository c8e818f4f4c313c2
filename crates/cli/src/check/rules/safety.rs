//! The rules that keep a server safe. No specification of JSON-RPC has them.

use super::{Rule, rule};

const LIMIT: &str = "recommended; CWE-400 (Uncontrolled Resource Consumption)";
const RECURSION: &str = "recommended; CWE-674 (Uncontrolled Recursion)";
const SMUGGLING: &str = "RFC 9112, section 6.3 (Message Body Length); CWE-444 (HTTP Request Smuggling)";

/// The rules.
pub(super) const RULES: [Rule; 13] = [
    rule("SEC-H-01", "A request that can be read in two ways, by its lengths, is refused.", SMUGGLING),
    rule(
        "SEC-L-01",
        "A message has a limit in bytes: what exceeds it is refused, and the server goes on.",
        LIMIT,
    ),
    rule("SEC-L-02", "A batch has a limit in entries.", LIMIT),
    rule("SEC-L-05", "Nesting has a limit, and no depth brings the server down.", RECURSION),
    rule("SEC-L-06", "Many members of an object do not keep the server.", LIMIT),
    rule("SEC-L-07", "A long number does not keep the server.", LIMIT),
    rule("SEC-L-08", "A long name of a method is unknown or refused.", LIMIT),
    rule("SEC-L-11", "Many connections, also silent ones, do not keep others from being served.", LIMIT),
    rule("SEC-L-14", "Who does not read is not kept at the cost of others.", LIMIT),
    rule("SEC-L-16", "The head of a request has a limit.", LIMIT),
    rule("SEC-L-20", "Limits hold while reading, before anything is kept or parsed.", LIMIT),
    rule(
        "SEC-O-06",
        "Forms and plain text, which pages of any site can send, call nothing.",
        "recommended; the Fetch standard, CORS-safelisted request-header",
    ),
    rule(
        "SEC-O-08",
        "Answers keep browsers from guessing their type.",
        "recommended; the Fetch standard, X-Content-Type-Options",
    ),
];
