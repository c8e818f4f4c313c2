//! The rules of JSON-RPC 1.0.

use super::{Rule, SILENT, rule};

const REQUEST: &str = "JSON-RPC 1.0, section 1.1 (Request)";
const RESPONSE: &str = "JSON-RPC 1.0, section 1.2 (Response)";
const NOTIFICATION: &str = "JSON-RPC 1.0, section 1.3 (Notification)";
const BOTH: &str = "recommended for servers of both versions; JSON-RPC 2.0, section 3 (Compatibility)";

/// The rules.
pub(super) const RULES: [Rule; 14] = [
    rule("J1-02", "`method` is a string.", REQUEST),
    rule("J1-03", "`params` is an array; there are no parameters by name.", REQUEST),
    rule("J1-04", "`id` is anything, and comes back equal.", REQUEST),
    rule("J1-05", "A request has all of its members; others are ignored.", SILENT),
    rule("J1-06", "A response has exactly `result`, `error` and `id`, and no version.", RESPONSE),
    rule("J1-07", "The identifier of a response is that of its request.", RESPONSE),
    rule("J1-08", "With a result `error` is null, with an error `result` is null.", RESPONSE),
    rule("J1-09", "A failure has an error that is not null. What it holds is not defined.", RESPONSE),
    rule("J1-11", "A request with the identifier null is a notification, and is not answered.", NOTIFICATION),
    rule(
        "J1-16",
        "An invalid request ends the connection, or is an error of HTTP.",
        "JSON-RPC 1.0, section 2 (JSON-RPC over Streams/HTTP)",
    ),
    rule("J1-30", "Each message is answered in its own version; without `jsonrpc` it is 1.0.", BOTH),
    rule("J1-31", "The identifier null means what the version of its message says.", BOTH),
    rule("J1-33", "In a batch each entry has its own version, or entries of 1.0 are refused.", BOTH),
    rule("J1-36", "What has no version to be seen is answered in 2.0, unless only 1.0 is spoken.", BOTH),
];
