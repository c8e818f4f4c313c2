//! The rules of JSON-RPC 2.0, and of JSON as it is used there.

use super::{Rule, SILENT, rule};

const CONVENTIONS: &str = "JSON-RPC 2.0, section 2 (Conventions)";
const REQUEST: &str = "JSON-RPC 2.0, section 4 (Request object)";
const NOTIFICATION: &str = "JSON-RPC 2.0, section 4.1 (Notification)";
const PARAMS: &str = "JSON-RPC 2.0, section 4.2 (Parameter Structures)";
const RESPONSE: &str = "JSON-RPC 2.0, section 5 (Response object)";
const ERROR: &str = "JSON-RPC 2.0, section 5.1 (Error object)";
const BATCH: &str = "JSON-RPC 2.0, section 6 (Batch)";
const EXAMPLES: &str = "JSON-RPC 2.0, section 7 (Examples)";
const EXTENSIONS: &str = "JSON-RPC 2.0, section 8 (Extensions)";
const GRAMMAR: &str = "RFC 8259, section 2 (JSON Grammar)";
const NUMBERS: &str = "RFC 8259, section 6 (Numbers); JSON-RPC 2.0 is silent";
const STRINGS: &str = "RFC 8259, section 7 (Strings)";
const ENCODING: &str = "RFC 8259, section 8.1 (Character Encoding)";
const UNICODE: &str = "RFC 8259, section 8.2 (Unicode Characters); JSON-RPC 2.0 is silent";
const NAMES: &str = "RFC 8259, section 4 (Objects); JSON-RPC 2.0 is silent";
const DEPTH: &str = "RFC 8259, section 9 (Parsers) allows a limit; JSON-RPC 2.0 is silent";

/// The rules about messages.
pub(super) const MESSAGES: [Rule; 45] = [
    rule(
        "J2-01",
        "Names of members are matched with their case, and their order means nothing.",
        CONVENTIONS,
    ),
    rule(
        "J2-02",
        "`jsonrpc` is exactly the string \"2.0\", in requests and responses. Anything else is no request of 2.0: -32600.",
        REQUEST,
    ),
    rule("J2-03", "A member in the wrong case, such as `ID` or `Method`, counts as absent.", CONVENTIONS),
    rule(
        "J2-04",
        "`method` is a string; missing or of another type it is -32600. An empty string is a method that is not there.",
        REQUEST,
    ),
    rule(
        "J2-05",
        "Names of methods match by their exact characters: nothing is trimmed, folded or normalised.",
        CONVENTIONS,
    ),
    rule(
        "J2-06",
        "Names that begin with `rpc.` are kept for extensions; one that is not provided is -32601.",
        EXTENSIONS,
    ),
    rule("J2-07", "Parameters by position are an array, in the order that the server expects.", PARAMS),
    rule("J2-08", "Parameters by name are an object whose names match exactly, with their case.", PARAMS),
    rule(
        "J2-10",
        "`params`, if there, is an array or an object. For anything else -32600 is recommended.",
        REQUEST,
    ),
    rule(
        "J2-11",
        "`params: null` is no array and no object; servers refuse it, or take it as absent.",
        REQUEST,
    ),
    rule(
        "J2-13",
        "`id` is a string, a number or null. Anything else is -32600, with the identifier null.",
        REQUEST,
    ),
    rule(
        "J2-14",
        "A number comes back as the same number, also with a fraction; a server that cannot hold it refuses it.",
        REQUEST,
    ),
    rule(
        "J2-15",
        "A request with the identifier null is a call, which is answered, and no notification.",
        REQUEST,
    ),
    rule(
        "J2-16",
        "Two calls with one identifier are both answered, or both refused. \"1\" and 1 are different identifiers.",
        SILENT,
    ),
    rule(
        "J2-17",
        "A request without `id` is a notification, and is not answered, in a batch neither.",
        NOTIFICATION,
    ),
    rule("J2-18", "The failure of a notification is not told to who sent it.", NOTIFICATION),
    rule(
        "J2-20",
        "What is no valid request is no notification, even without `id`: it is answered with -32600 and null.",
        EXAMPLES,
    ),
    rule("J2-24", "Every call has exactly one response, which says that it is 2.0.", RESPONSE),
    rule("J2-25", "Success has `result`, whatever its value: null, false, 0 and \"\" are results.", RESPONSE),
    rule("J2-26", "Failure has `error`, which is an object.", RESPONSE),
    rule(
        "J2-27",
        "A response has exactly one of `result` and `error`; `\"error\": null` beside a result is one too many.",
        RESPONSE,
    ),
    rule("J2-28", "The identifier of a response is that of its request, in type and value.", RESPONSE),
    rule("J2-29", "The identifier is null only where none could be read, or where it was null.", RESPONSE),
    rule(
        "J2-30",
        "Codes from -32768 to -32000 are reserved; those that are not defined are kept for the future.",
        ERROR,
    ),
    rule("J2-31", "Codes from -32099 to -32000 are for servers to define.", ERROR),
    rule("J2-32", "-32700: the text is no JSON.", ERROR),
    rule("J2-33", "-32600: it is JSON, and no valid request.", ERROR),
    rule("J2-34", "-32601: there is no such method.", ERROR),
    rule("J2-35", "-32602: the parameters do not fit the method.", ERROR),
    rule(
        "J2-36",
        "-32603: something failed inside. What it was, and how the server is made, is not told to callers.",
        "JSON-RPC 2.0, section 5.1 (Error object), for the code; recommended for the rest",
    ),
    rule("J2-38", "`code` is a whole number, `message` a string; `data` may be there, and anything.", ERROR),
    rule("J2-41", "A batch is answered with an array, also if it has one entry.", BATCH),
    rule(
        "J2-42",
        "Each call of a batch has one response, notifications have none, and the failure of one touches no other.",
        BATCH,
    ),
    rule("J2-44", "A batch of notifications is not answered, not even with an empty array.", BATCH),
    rule("J2-45", "A batch that is no JSON is answered with one -32700 object, and no array.", EXAMPLES),
    rule("J2-46", "An empty array is answered with one -32600 object, and no array.", EXAMPLES),
    rule("J2-47", "Each entry that is no request has a -32600 of its own in the array.", EXAMPLES),
    rule("J2-48", "What is valid beside what is not is carried out.", EXAMPLES),
    rule("J2-49", "An array in a batch is an entry that is no request.", BATCH),
    rule(
        "J2-50",
        "A response that nobody waits for is refused by a server or dropped; an error without identifier is never answered.",
        SILENT,
    ),
    rule("J2-51", "A request that has `result` or `error` as well is invalid.", SILENT),
    rule("J2-62", "Members of a request that are not known are ignored.", SILENT),
    rule("J2-67", "A response to no call under way is dropped, and ends nothing.", SILENT),
    rule("J2-70", "A batch has a limit, which is checked before any entry runs.", SILENT),
    rule("J2-75", "Reading does not wait for what is carried out.", SILENT),
];

/// The rules about texts.
pub(super) const TEXTS: [Rule; 15] = [
    rule("J2-52", "Nothing at all is no JSON. Empty lines between messages are skipped.", GRAMMAR),
    rule("J2-53", "Nothing but white space follows a value.", GRAMMAR),
    rule(
        "J2-54",
        "Two values in one message are no JSON. On a stream of JSON each value is a message.",
        GRAMMAR,
    ),
    rule(
        "J2-55",
        "JSON is strict: no comments, no comma before the end, no single quotes, no NaN, no raw control characters.",
        GRAMMAR,
    ),
    rule(
        "J2-56",
        "Strings are equal by their characters, however they are written.",
        "RFC 8259, section 8.3 (String Comparison)",
    ),
    rule(
        "J2-57",
        "A pair of surrogate escapes is one character, and \\u0000 is a character like any other.",
        STRINGS,
    ),
    rule("J2-58", "An escape of half a character is refused, since UTF-8 cannot hold it.", UNICODE),
    rule("J2-59", "Nobody sends a mark of the byte order; who receives one refuses or ignores it.", ENCODING),
    rule(
        "J2-60",
        "Texts are UTF-8. What is none is refused with -32700, and not replaced without a word.",
        ENCODING,
    ),
    rule("J2-61", "White space is blank, tab, LF and CR, and as much of it as one likes.", GRAMMAR),
    rule("J2-63", "Numbers keep their value, or are refused where they cannot be held.", NUMBERS),
    rule(
        "J2-64",
        "A name that stands twice in an object is refused: two readers would take different values.",
        NAMES,
    ),
    rule(
        "J2-65",
        "Nesting has a limit, at least 64, and what exceeds it does not bring the server down.",
        DEPTH,
    ),
    rule(
        "J2-76",
        "What is written is UTF-8, with control characters escaped, and nothing around it.",
        STRINGS,
    ),
    rule(
        "J1-24",
        "An object that names a class to make is plain data.",
        "recommended; JSON-RPC 1.0, section 3 (JSON Class hinting) describes it",
    ),
];
