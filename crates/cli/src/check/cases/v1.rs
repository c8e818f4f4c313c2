//! JSON-RPC 1.0, of servers that speak it.

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
            "an error holds all three members, and result is null",
            &["J1-06", "J1-08", "J1-09"],
            r#"{"method":"@none","params":[],"id":1}"#,
        )
        .right(old_error("1")),
        case(
            "v1-result",
            "a result holds all three members, and error is null",
            &["J1-06", "J1-08"],
            r#"{@good,"id":1}"#,
        )
        .needs(Need::Good)
        .right(old_result("1"))
        // The good call may be by name, or without parameters.
        .allowed(old_error("1"))
        .allowed(error(&[-32600], "1").or_null()),
        case(
            "v1-notification",
            "the identifier null makes a notification",
            &["J1-11", "J1-31"],
            r#"{"method":"@none","params":[],"id":null}"#,
        )
        .right(Outcome::Nothing),
        case(
            "v1-unknown-members",
            "members that are not known are ignored",
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
        back("v1-id-string", "a string comes back", r#"{"method":"@none","params":[],"id":"x"}"#, r#""x""#),
        back("v1-id-fraction", "a fraction comes back", r#"{"method":"@none","params":[],"id":1.5}"#, "1.5"),
        back(
            "v1-id-array",
            "an array comes back",
            r#"{"method":"@none","params":[],"id":[1,"a"]}"#,
            r#"[1,"a"]"#,
        ),
        back(
            "v1-id-object",
            "an object comes back",
            r#"{"method":"@none","params":[],"id":{"k":[1]}}"#,
            r#"{"k":[1]}"#,
        ),
        back("v1-id-true", "true comes back", r#"{"method":"@none","params":[],"id":true}"#, "true"),
    ]
}

fn invalid() -> Vec<Case> {
    let wrong = |name, claim, rules, text| {
        case(name, claim, rules, text)
            .right(old_error("1"))
            .right(Outcome::Closed)
            .right(Outcome::Status(&[400, 500]))
            // Servers of both versions cannot tell which was meant, and may answer in the form of 2.0.
            .right(error(&[-32600, -32602], "1").or_null())
    };
    vec![
        wrong(
            "v1-method-number",
            "a number is no method",
            &["J1-02", "J1-16"],
            r#"{"method":1,"params":[],"id":1}"#,
        ),
        wrong(
            "v1-method-missing",
            "without a method it is no request",
            &["J1-02", "J1-16", "J1-36"],
            r#"{"params":[],"id":1}"#,
        ),
        wrong(
            "v1-params-object",
            "there are no parameters by name",
            &["J1-03", "J1-16"],
            r#"{"method":"@none","params":{"a":1},"id":1}"#,
        ),
        wrong(
            "v1-params-string",
            "a string is no list of parameters",
            &["J1-03", "J1-16"],
            r#"{"method":"@none","params":"a","id":1}"#,
        ),
        case(
            "v1-id-missing",
            "without an identifier it is invalid",
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

/// Servers that speak 2.0 as well decide message by message.
fn both() -> Vec<Case> {
    vec![
        case(
            "v1-beside-2",
            "2.0 is answered as 2.0 beside it",
            &["J1-30", "J2-27"],
            r#"{"jsonrpc":"2.0",@good,"id":1}"#,
        )
        .needs(Need::Good)
        .needs(Need::New)
        .right(result("1")),
        case(
            "v1-null-in-2",
            "the identifier null makes no notification in 2.0",
            &["J1-31", "J2-15"],
            r#"{"jsonrpc":"2.0","method":"@none","id":null}"#,
        )
        .needs(Need::New)
        .right(error(&[-32601], "null"))
        .common(Point::NullId, Outcome::Nothing)
        .common(Point::NullId, error(&[-32600], "null")),
        case(
            "v1-in-a-batch",
            "entries of a batch follow their own version, or are refused",
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
