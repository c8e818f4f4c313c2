//! What was expected of a parameter, in words that any caller understands.

use serde::Serialize;

use crate::code::Code;
use crate::error::ErrorObject;

/// -32602 with the path to the fault and what was expected there; never what was received (SEC-E-03).
pub(crate) fn fault(path: String, expected: &str) -> ErrorObject {
    #[derive(Serialize)]
    struct Data {
        path: String,
        expected: String,
    }
    let expected = expected.to_owned();
    ErrorObject::from_code(Code::INVALID_PARAMS).with_data(&Data { path, expected })
}

pub(crate) fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let segments = path.iter().map(|segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } => format!("/{}", escape_pointer(key)),
        Segment::Enum { variant } => format!("/{}", escape_pointer(variant)),
        Segment::Unknown => String::new(),
    });
    segments.collect()
}

/// A name as a segment of a path. A name as long as no parameter's was made up by the caller, and is not sent back.
pub(crate) fn escape_pointer(segment: &str) -> String {
    if segment.len() > LONGEST_SEGMENT {
        return "…".to_owned();
    }
    segment.replace('~', "~0").replace('/', "~1")
}

/// How many bytes of a name in a path are sent back.
const LONGEST_SEGMENT: usize = 64;

/// What serde_json expected, without what it found: its messages quote the received value, and names of types are ours
/// to know (SEC-E-02).
pub(crate) fn expectation(message: &str) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(text, _)| text);
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("the member {field}");
    }
    if message.starts_with("unknown field") || message.starts_with("unknown variant") {
        // The received name comes first and may itself look like a list.
        let is_list =
            !message.ends_with("there are no fields") && !message.ends_with("there are no variants");
        let list = message.rsplit_once("`, expected ").filter(|_| is_list);
        return list.map_or_else(
            || "a valid value".to_owned(),
            |(_, choices)| format!("one of {}", choices.trim_start_matches("one of ")),
        );
    }
    match message.rsplit_once(", expected ") {
        Some((_, expected)) => plain_kind(expected).to_owned(),
        None if message.starts_with("number out of range") => "a number in range".to_owned(),
        None => "a valid value".to_owned(),
    }
}

/// Says what kind of JSON is meant where serde names a Rust type.
fn plain_kind(expected: &str) -> &str {
    let kinds = [
        ("struct variant", "an object"),
        ("tuple", "an array"),
        ("struct", "an object"),
        ("unit", "null"),
        ("enum", "one of its variants"),
        ("internally tagged enum", "an object"),
        ("adjacently tagged enum", "an object"),
        ("newtype", "a valid value"),
    ];
    let kind = kinds.iter().find(|(begin, _)| expected.starts_with(begin));
    match kind {
        // A plain tuple says how long it is, and names nothing.
        Some(_) if expected.starts_with("a tuple") => expected,
        Some((_, kind)) => kind,
        None => plain_number(expected),
    }
}

/// Says which numbers fit where serde names a type of number.
fn plain_number(expected: &str) -> &str {
    match expected {
        "i8" => "a whole number from -128 to 127",
        "u8" => "a whole number from 0 to 255",
        "i16" => "a whole number from -32768 to 32767",
        "u16" => "a whole number from 0 to 65535",
        "i32" => "a whole number from -2147483648 to 2147483647",
        "u32" => "a whole number from 0 to 4294967295",
        "i64" | "i128" | "isize" => "a whole number",
        "u64" | "u128" | "usize" => "a whole number of at least 0",
        "f32" | "f64" => "a number",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_expected_is_said_without_what_was_received_or_what_types_are_called() {
        // SEC-E-02, SEC-E-03
        for (message, expected) in [
            (
                "invalid type: string \"a, expected hunter2\", expected i64 at line 1 column 2",
                "a whole number",
            ),
            ("invalid type: map, expected struct Secret at line 1 column 2", "an object"),
            ("invalid type: integer `1`, expected tuple struct Secret", "an array"),
            ("invalid length 1, expected a tuple of size 2", "a tuple of size 2"),
            ("invalid type: integer `1`, expected enum Secret", "one of its variants"),
            ("unknown field `a`, expected secret`, there are no fields", "a valid value"),
            ("unknown field `hunter2`, expected `a` or `b`", "one of `a` or `b`"),
            ("unknown variant `hunter2`, expected one of `a`, `b`", "one of `a`, `b`"),
            ("missing field `name`", "the member `name`"),
            ("hunter2 is bad", "a valid value"),
        ] {
            assert_eq!(expectation(message), expected, "{message}");
        }
        assert_eq!(escape_pointer(&"x".repeat(100)), "…");
    }
}
