//! Single calls: their members, their methods, their parameters.

use crate::check::case::{Case, Need, case};
use crate::check::outcome::{Outcome, answer, error, old_error, old_result, result, value};
use crate::check::profile::Point;

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    [good(), subtract(), version(), method(), names(), params(), not_requests(), strays()]
        .into_iter()
        .flatten()
        .collect()
}

fn good() -> Vec<Case> {
    vec![
        case(
            "good-call",
            "a good call has a result",
            &["J2-24", "J2-25"],
            r#"{"jsonrpc":"2.0",@good,"id":1}"#,
        )
        .needs(Need::Good)
        .right(result("1")),
        case(
            "member-order",
            "the order of members means nothing",
            &["J2-01"],
            r#"{"id":1,"params":[],"method":"@none","jsonrpc":"2.0"}"#,
        )
        .right(error(&[-32601], "1")),
        case(
            "unknown-members",
            "members that are not known are ignored",
            &["J2-62"],
            r#"{"jsonrpc":"2.0","method":"@none","id":1,"auth":"x","meta":{"a":[1]}}"#,
        )
        .should()
        .right(error(&[-32601], "1"))
        .common(Point::Members, error(&[-32600], "1").or_null()),
        case(
            "escaped-members",
            "a name is its characters, not how they are written",
            &["J2-56"],
            r#"{"\u006asonrpc":"\u0032.0","\u006dethod":"@none","i\u0064":1}"#,
        )
        .right(error(&[-32601], "1")),
        case(
            "unknown-method",
            "an unknown method is answered with -32601",
            &["J2-34"],
            r#"{"jsonrpc":"2.0","method":"@none","params":[1],"id":"a"}"#,
        )
        .right(error(&[-32601], "\"a\"")),
    ]
}

fn subtract() -> Vec<Case> {
    let call = |name, claim, rules, text, expected: &str| {
        case(name, claim, rules, text).needs(Need::Subtract).right(value(expected, "1"))
    };
    let wrong = |name, claim, text| {
        case(name, claim, &["J2-35", "J2-08"], text)
            .needs(Need::Subtract)
            .right(error(&[-32602], "1"))
            .should()
    };
    vec![
        call(
            "by-position",
            "parameters by position are taken in their order",
            &["J2-07"],
            r#"{"jsonrpc":"2.0","method":"subtract","params":[23,42],"id":1}"#,
            "-19",
        ),
        call(
            "by-name",
            "parameters by name are taken by their names",
            &["J2-08"],
            r#"{"jsonrpc":"2.0","method":"subtract","params":{"subtrahend":23,"minuend":42},"id":1}"#,
            "19",
        )
        .should()
        .allowed(error(&[-32602], "1")),
        wrong(
            "params-missing",
            "a parameter that is missing is -32602",
            r#"{"jsonrpc":"2.0","method":"subtract","params":[1],"id":1}"#,
        ),
        wrong(
            "params-wrong-type",
            "a parameter of the wrong type is -32602",
            r#"{"jsonrpc":"2.0","method":"subtract","params":[{},"b"],"id":1}"#,
        ),
        wrong(
            "params-wrong-case",
            "names of parameters match with their case",
            r#"{"jsonrpc":"2.0","method":"subtract","params":{"Minuend":2,"Subtrahend":1},"id":1}"#,
        ),
    ]
}

fn version() -> Vec<Case> {
    let wrong =
        |name, claim, text| case(name, claim, &["J2-02"], text).right(error(&[-32600], "1").or_null());
    let old = |name, claim, rules, text| {
        // Who speaks 1.0 as well answers in it.
        case(name, claim, rules, text)
            .right(error(&[-32600], "1").or_null())
            .right(old_error("1"))
            .right(old_result("1"))
    };
    vec![
        old(
            "version-missing",
            "without `jsonrpc` it is no 2.0",
            &["J2-02", "J1-30"],
            r#"{"method":"@none","params":[],"id":1}"#,
        ),
        old(
            "version-wrong-case",
            "`JSONRPC` is another name",
            &["J2-01", "J2-03"],
            r#"{"JSONRPC":"2.0","method":"@none","params":[],"id":1}"#,
        ),
        wrong("version-2-1", "\"2.1\" is no version", r#"{"jsonrpc":"2.1","method":"@none","id":1}"#),
        wrong("version-number", "the number 2.0 is no version", r#"{"jsonrpc":2.0,"method":"@none","id":1}"#),
        wrong("version-null", "null is no version", r#"{"jsonrpc":null,"method":"@none","id":1}"#),
    ]
}

fn method() -> Vec<Case> {
    let wrong =
        |name, claim, rules, text| case(name, claim, rules, text).right(error(&[-32600], "1").or_null());
    let unknown = |name, claim, rules, text| case(name, claim, rules, text).right(error(&[-32601], "1"));
    vec![
        wrong(
            "method-missing",
            "without a method it is no request",
            &["J2-04"],
            r#"{"jsonrpc":"2.0","params":[],"id":1}"#,
        ),
        wrong(
            "method-number",
            "a number is no method",
            &["J2-04", "J2-33"],
            r#"{"jsonrpc":"2.0","method":1,"id":1}"#,
        ),
        wrong("method-null", "null is no method", &["J2-04"], r#"{"jsonrpc":"2.0","method":null,"id":1}"#),
        wrong(
            "method-wrong-case",
            "`Method` is another name",
            &["J2-01", "J2-03"],
            r#"{"jsonrpc":"2.0","Method":"@none","id":1}"#,
        ),
        unknown(
            "method-empty",
            "an empty string is a method that is not there",
            &["J2-04"],
            r#"{"jsonrpc":"2.0","method":"","id":1}"#,
        )
        .allowed(error(&[-32600], "1").or_null()),
    ]
}

/// Names are compared as they are, with what there is.
fn names() -> Vec<Case> {
    let unknown = |name, claim, rules, text| case(name, claim, rules, text).right(error(&[-32601], "1"));
    vec![
        unknown(
            "method-blank",
            "blanks belong to the name",
            &["J2-05"],
            r#"{"jsonrpc":"2.0","method":"@name ","id":1}"#,
        )
        .needs(Need::Good),
        unknown(
            "method-other-case",
            "names of methods match with their case",
            &["J2-01", "J2-05"],
            r#"{"jsonrpc":"2.0","method":"@swap","id":1}"#,
        )
        .needs(Need::Good)
        .should(),
        unknown(
            "method-nul",
            "a NUL belongs to the name",
            &["J2-05", "J2-57"],
            r#"{"jsonrpc":"2.0","method":"@name\u0000","id":1}"#,
        )
        .needs(Need::Good),
        unknown(
            "method-of-the-language",
            "what the server's language gives every object is no method",
            &["J2-34"],
            r#"{"jsonrpc":"2.0","method":"constructor","params":[],"id":1}"#,
        )
        .hostile(),
        unknown(
            "method-proto",
            "`__proto__` is no method",
            &["J2-34"],
            r#"{"jsonrpc":"2.0","method":"__proto__","params":[],"id":1}"#,
        )
        .hostile(),
        unknown(
            "method-reserved",
            "a name with `rpc.` that is not provided is -32601",
            &["J2-06"],
            r#"{"jsonrpc":"2.0","method":"rpc.@none","id":1}"#,
        )
        // Such names are kept for extensions, so a call of one may be called invalid.
        .allowed(error(&[-32600], "1").or_null()),
        unknown(
            "method-controls",
            "a name with control characters is one that is not there",
            &["J2-34", "J2-57"],
            r#"{"jsonrpc":"2.0","method":"a\u001b[31mb\n","id":1}"#,
        )
        .allowed(error(&[-32600], "1").or_null()),
    ]
}

fn params() -> Vec<Case> {
    let wrong = |name, claim, text| {
        case(name, claim, &["J2-10"], text)
            .right(error(&[-32600], "1").or_null())
            .allowed(error(&[-32602], "1"))
            // The method is looked for first.
            .allowed(error(&[-32601], "1"))
    };
    vec![
        wrong(
            "params-string",
            "a string is no list of parameters",
            r#"{"jsonrpc":"2.0","method":"@name","params":"bar","id":1}"#,
        ),
        wrong(
            "params-number",
            "a number is no list of parameters",
            r#"{"jsonrpc":"2.0","method":"@name","params":1,"id":1}"#,
        ),
        wrong(
            "params-true",
            "true is no list of parameters",
            r#"{"jsonrpc":"2.0","method":"@name","params":true,"id":1}"#,
        ),
        case(
            "params-null",
            "null for params is as good as none, or refused",
            &["J2-11"],
            r#"{"jsonrpc":"2.0","method":"@none","params":null,"id":1}"#,
        )
        .info()
        .right(answer("1")),
        case(
            "params-object",
            "an object of parameters is taken",
            &["J2-08"],
            r#"{"jsonrpc":"2.0","method":"@none","params":{"a":1},"id":1}"#,
        )
        .right(error(&[-32601], "1")),
    ]
}

fn not_requests() -> Vec<Case> {
    let wrong = |name, claim, text| {
        case(name, claim, &["J2-33"], text)
            .right(error(&[-32600], "null"))
            .common(Point::Silence, Outcome::Nothing)
            .common(Point::Closing, Outcome::Closed)
    };
    vec![
        wrong("empty-object", "an empty object is an invalid request", "{}"),
        wrong("top-string", "a string is an invalid request", r#""hello""#),
        wrong("top-number", "a number is an invalid request", "1"),
        wrong("top-true", "true is an invalid request", "true"),
        wrong("top-null", "null is an invalid request", "null"),
    ]
}

fn strays() -> Vec<Case> {
    vec![
        case(
            "stray-result",
            "a response that nobody waits for is refused or dropped",
            &["J2-50", "J2-67"],
            r#"{"jsonrpc":"2.0","result":{},"id":990001}"#,
        )
        .right(Outcome::Nothing)
        .right(error(&[-32600], "990001").or_null()),
        case(
            "stray-error",
            "an error without identifier is not answered, lest two servers talk for ever",
            &["J2-50"],
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"},"id":null}"#,
        )
        .should()
        .right(Outcome::Nothing)
        .common(Point::Strays, error(&[-32600], "null")),
        case(
            "method-and-result",
            "a request that is a response too is invalid",
            &["J2-51"],
            r#"{"jsonrpc":"2.0","method":"@none","result":1,"id":1}"#,
        )
        .info()
        .right(error(&[-32600], "1").or_null())
        .allowed(error(&[-32601], "1")),
    ]
}
