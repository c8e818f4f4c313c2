//! JSON-RPC 1.0, for servers that speak it.

use crate::check::case::{Case, Need, case};
use crate::check::outcome::{Outcome, error, old_error, old_result, result};
use crate::check::profile::Point;

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    [calls(), ids(), invalid(), both()].into_iter().flatten().map(|case| case.needs(Need::Old)).collect()
}

fn calls() -> Vec<Case> {
    vec![
        case(
            "v1-error",
            "an error response has all three members, and result is null",
            &["J1-06", "J1-08", "J1-09"],
            r#"{"method":"@none","params":[],"id":1}"#,
        )
        .right(old_error("1")),
        case(
            "v1-result",
            "a successful response has all three members, and error is null",
            &["J1-06", "J1-08"],
            r#"{@good,"id":1}"#,
        )
        .needs(Need::Good)
        .right(old_result("1"))
        // The valid call may use named parameters, or none.
        .allowed(old_error("1"))
        .allowed(error(&[-32600], "1").or_null()),
        case(
            "v1-notification",
            "a request with the identifier null is a notification",
            &["J1-11", "J1-31"],
            r#"{"method":"@none","params":[],"id":null}"#,
        )
        .right(Outcome::Nothing),
        case(
            "v1-unknown-members",
            "unknown members are ignored",
            &["J1-05"],
            r#"{"method":"@none","params":[],"id":1,"x":{"y":1}}"#,
        )
        .should()
        .right(old_error("1")),
    ]
}

fn ids() -> Vec<Case> {
    let back = |name, claim, text, id| case(name, claim, &["J1-04", "J1-07"], text).right(old_error(id));
    vec![
        back(
            "v1-id-string",
            "a string comes back unchanged",
            r#"{"method":"@none","params":[],"id":"x"}"#,
            r#""x""#,
        ),
        back(
            "v1-id-fraction",
            "a fraction comes back unchanged",
            r#"{"method":"@none","params":[],"id":1.5}"#,
            "1.5",
        ),
        back(
            "v1-id-array",
            "an array comes back unchanged",
            r#"{"method":"@none","params":[],"id":[1,"a"]}"#,
            r#"[1,"a"]"#,
        ),
        back(
            "v1-id-object",
            "an object comes back unchanged",
            r#"{"method":"@none","params":[],"id":{"k":[1]}}"#,
            r#"{"k":[1]}"#,
        ),
        back(
            "v1-id-true",
            "true comes back unchanged",
            r#"{"method":"@none","params":[],"id":true}"#,
            "true",
        ),
    ]
}

fn invalid() -> Vec<Case> {
    let wrong = |name, claim, rules, text| {
        case(name, claim, rules, text)
            .right(old_error("1"))
            .right(Outcome::Closed)
            .right(Outcome::Status(&[400, 500]))
            // A server of both versions cannot tell which was meant, and may answer in 2.0.
            .right(error(&[-32600, -32602], "1").or_null())
    };
    vec![
        wrong(
            "v1-method-number",
            "a number as a method is invalid",
            &["J1-02", "J1-16"],
            r#"{"method":1,"params":[],"id":1}"#,
        ),
        wrong(
            "v1-method-missing",
            "a request without a method is invalid",
            &["J1-02", "J1-16", "J1-36"],
            r#"{"params":[],"id":1}"#,
        ),
        wrong(
            "v1-params-object",
            "named parameters are refused",
            &["J1-03", "J1-16"],
            r#"{"method":"@none","params":{"a":1},"id":1}"#,
        ),
        wrong(
            "v1-params-string",
            "a string as params is refused",
            &["J1-03", "J1-16"],
            r#"{"method":"@none","params":"a","id":1}"#,
        ),
        case(
            "v1-id-missing",
            "a request without an identifier is invalid",
            &["J1-05"],
            r#"{"method":"@none","params":[]}"#,
        )
        .info()
        .right(old_error("null"))
        .right(Outcome::Closed)
        .right(error(&[-32600], "null"))
        .right(Outcome::Status(&[400, 500]))
        .allowed(Outcome::Nothing),
    ]
}

/// Servers that also speak 2.0 decide for each message.
fn both() -> Vec<Case> {
    vec![
        case(
            "v1-beside-2",
            "2.0 requests are answered in 2.0",
            &["J1-30", "J2-27"],
            r#"{"jsonrpc":"2.0",@good,"id":1}"#,
        )
        .needs(Need::Good)
        .needs(Need::New)
        .right(result("1")),
        case(
            "v1-null-in-2",
            "a 2.0 request with the identifier null is not a notification",
            &["J1-31", "J2-15"],
            r#"{"jsonrpc":"2.0","method":"@none","id":null}"#,
        )
        .needs(Need::New)
        .right(error(&[-32601], "null"))
        .common(Point::NullId, Outcome::Nothing)
        .common(Point::NullId, error(&[-32600], "null")),
        case(
            "v1-in-a-batch",
            "entries of a batch are answered in their own version, or refused",
            &["J1-33"],
            r#"[{"jsonrpc":"2.0","method":"@none","id":1},{"method":"@none","params":[],"id":2}]"#,
        )
        .needs(Need::New)
        .should()
        .right(Outcome::Array(vec![error(&[-32601], "1"), old_error("2")]))
        .right(Outcome::Array(vec![error(&[-32601], "1"), error(&[-32600, -32601], "2").or_null()]))
        .special(Point::Batches, error(&[-32600], "null")),
    ]
}
