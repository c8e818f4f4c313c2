//! The rules of what carries messages: HTTP, WebSocket, lines, the framing of language servers.

use super::{Rule, rule};

const HTTP: &str = "recommended, after the drafts of JSON-RPC over HTTP; RFC 9110";
const FRAMING: &str = "Language Server Protocol 3.17, Base Protocol";
const FRAMING_FAULTS: &str = "recommended, after the Language Server Protocol 3.17, Base Protocol";

/// The rules.
pub(super) const RULES: [Rule; 17] = [
    rule("JH-20", "Calls are made by POST. Other methods are refused with 405.", HTTP),
    rule("JH-21", "A body has a media type of JSON, in UTF-8; others are refused with 415.", HTTP),
    rule("JH-22", "A response object has status 200, be it a result or an error.", HTTP),
    rule("JH-23", "What has no answer has status 204 or 202, and no body.", HTTP),
    rule("JH-24", "What HTTP refuses has a status of HTTP; a text that is no JSON has 200 or 400.", HTTP),
    rule(
        "JH-25",
        "Answers say that they are application/json, that nobody stores them or guesses their type.",
        HTTP,
    ),
    rule(
        "JH-26",
        "Without `Accept` anything is accepted; 406 is for who excludes all that is offered.",
        HTTP,
    ),
    rule(
        "JT-01",
        "Over WebSocket a message of JSON-RPC is one message; faults of frames end the connection with a code.",
        "RFC 6455; for one message each, custom",
    ),
    rule(
        "JT-02",
        "In lines each message is one line, ended by LF or CRLF; the last may lack its end.",
        "recommended; custom of stdio, TCP and Unix sockets",
    ),
    rule("LSP-F-01", "A message is a header, an empty line and the content.", FRAMING),
    rule("LSP-F-03", "`Content-Length` has to be there, and counts the bytes of the content.", FRAMING),
    rule("LSP-F-04", "`Content-Type` may be there; its charset is utf-8, or utf8 as an old name.", FRAMING),
    rule(
        "LSP-F-06",
        "Names of fields are the same in any case; fields that are not known are ignored.",
        FRAMING,
    ),
    rule(
        "LSP-F-07",
        "A length that is missing, ambiguous, no number or too large ends the connection: nothing after it can be read.",
        FRAMING_FAULTS,
    ),
    rule("LSP-F-08", "A header has a limit.", FRAMING_FAULTS),
    rule(
        "LSP-F-09",
        "Messages are the same however their bytes arrive: in parts, or many at once.",
        FRAMING_FAULTS,
    ),
    rule(
        "LSP-F-12",
        "The end of a connection in the middle of a message is a fault of it, and harms nobody else.",
        FRAMING_FAULTS,
    ),
];
