//! Identifiers: which values are valid, and that they come back unchanged.

use crate::check::case::{Case, Need, case};
use crate::check::outcome::{Outcome, answer, error};
use crate::check::profile::Point;

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    [texts_and_numbers(), numbers(), others()].into_iter().flatten().collect()
}

/// A call of an unknown method with this identifier.
macro_rules! with_id {
    ($id:expr) => {
        concat!(r#"{"jsonrpc":"2.0","method":"@none","id":"#, $id, "}")
    };
}

/// A case whose identifier comes back.
macro_rules! comes_back {
    ($name:literal, $claim:literal, $id:expr) => {
        case($name, $claim, &["J2-13", "J2-28"], with_id!($id)).like("id-number").right(error(&[-32601], $id))
    };
}

fn texts_and_numbers() -> Vec<Case> {
    vec![
        comes_back!("id-number", "a number comes back unchanged", "1"),
        comes_back!("id-zero", "zero comes back unchanged", "0"),
        comes_back!("id-string", "a string comes back unchanged", r#""abc-123""#),
        comes_back!("id-empty-string", "an empty string comes back unchanged", r#""""#),
        comes_back!("id-numeric-string", "a string of digits stays a string", r#""1""#),
        comes_back!("id-unicode", "characters of any script come back unchanged", "\"é中\u{1F600}\""),
        case(
            "id-escapes",
            "escapes in an identifier stand for their characters",
            &["J2-28", "J2-56"],
            with_id!(r#""\u0041\n\ud83d\ude00\/""#),
        )
        .right(error(&[-32601], "\"A\\n\u{1F600}/\"")),
        case(
            "id-string-that-is-code",
            "an identifier that looks like code is data",
            &["J2-28", "J2-57"],
            with_id!(r#""__proto__\r\nX: 1\u001b[2J${7*7}""#),
        )
        .right(error(&[-32601], r#""__proto__\r\nX: 1\u001b[2J${7*7}""#)),
    ]
}

fn numbers() -> Vec<Case> {
    let exact = |name, claim, text: &'static str, id: &'static str| {
        case(name, claim, &["J2-14", "J2-28", "J2-63"], text)
            .right(error(&[-32601], id))
            .common(Point::NumericIds, error(&[-32600, -32700], id).or_null())
    };
    let negative = exact("id-negative", "a negative number comes back unchanged", with_id!("-1"), "-1");
    let wide = [
        exact("id-fraction", "a number with a fraction comes back, or is refused", with_id!("1.5"), "1.5"),
        exact(
            "id-exponent",
            "a number with an exponent comes back with the same value",
            with_id!("1e2"),
            "1e2",
        ),
        exact(
            "id-2-to-53",
            "a number above 2^53 comes back exactly, or is refused",
            with_id!("9007199254740993"),
            "9007199254740993",
        ),
        exact(
            "id-u64",
            "the largest 64-bit number comes back exactly, or is refused",
            with_id!("18446744073709551615"),
            "18446744073709551615",
        ),
        exact(
            "id-30-digits",
            "a number of 30 digits comes back exactly, or is refused",
            with_id!("123456789012345678901234567890"),
            "123456789012345678901234567890",
        ),
    ];
    std::iter::once(negative).chain(wide.map(|case| case.needs(Need::WideIds))).collect()
}

fn others() -> Vec<Case> {
    let refused = |name, claim, text| {
        case(name, claim, &["J2-13", "J2-29"], text)
            .like("id-true")
            .right(error(&[-32600], "null"))
            .common(Point::Silence, Outcome::Nothing)
    };
    vec![
        case("id-null", "a call with the identifier null is answered", &["J2-15"], with_id!("null"))
            .right(error(&[-32601], "null"))
            .common(Point::NullId, Outcome::Nothing)
            .common(Point::NullId, error(&[-32600, -32700], "null")),
        case(
            "id-null-result",
            "a valid call with the identifier null gets a response",
            &["J2-15"],
            r#"{"jsonrpc":"2.0",@good,"id":null}"#,
        )
        .needs(Need::Good)
        .right(answer("null"))
        .common(Point::NullId, Outcome::Nothing),
        refused("id-true", "true is not a valid identifier", with_id!("true")),
        refused("id-false", "false is not a valid identifier", with_id!("false")),
        refused("id-array", "an array is not a valid identifier", with_id!("[1]")),
        refused("id-object", "an object is not a valid identifier", with_id!("{\"a\":1}")),
        case(
            "id-invalid-request",
            "an invalid request is answered with its identifier, or null",
            &["J2-29"],
            r#"{"jsonrpc":"2.0","id":5}"#,
        )
        .right(error(&[-32600], "5").or_null()),
    ]
}
