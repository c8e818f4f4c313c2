//! Single calls: members, methods and parameters.

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
            "a valid call gets a result",
            &["J2-24", "J2-25"],
            r#"{"jsonrpc":"2.0",@good,"id":1}"#,
        )
        .needs(Need::Good)
        .right(result("1")),
        case(
            "member-order",
            "the order of members does not matter",
            &["J2-01"],
            r#"{"id":1,"params":[],"method":"@none","jsonrpc":"2.0"}"#,
        )
        .right(error(&[-32601], "1")),
        case(
            "unknown-members",
            "unknown members are ignored",
            &["J2-62"],
            r#"{"jsonrpc":"2.0","method":"@none","id":1,"auth":"x","meta":{"a":[1]}}"#,
        )
        .should()
        .right(error(&[-32601], "1"))
        .common(Point::Members, error(&[-32600], "1").or_null()),
        case(
            "escaped-members",
            "escapes in member names stand for their characters",
            &["J2-56"],
            r#"{"\u006asonrpc":"\u0032.0","\u006dethod":"@none","i\u0064":1}"#,
        )
        .right(error(&[-32601], "1")),
        case(
            "unknown-method",
            "an unknown method gets -32601",
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
            "positional parameters are used in their order",
            &["J2-07"],
            r#"{"jsonrpc":"2.0","method":"subtract","params":[23,42],"id":1}"#,
            "-19",
        ),
        call(
            "by-name",
            "named parameters are used by their names",
            &["J2-08"],
            r#"{"jsonrpc":"2.0","method":"subtract","params":{"subtrahend":23,"minuend":42},"id":1}"#,
            "19",
        )
        .should()
        .allowed(error(&[-32602], "1")),
        wrong(
            "params-missing",
            "a missing parameter gets -32602",
            r#"{"jsonrpc":"2.0","method":"subtract","params":[1],"id":1}"#,
        ),
        wrong(
            "params-wrong-type",
            "a parameter of the wrong type gets -32602",
            r#"{"jsonrpc":"2.0","method":"subtract","params":[{},"b"],"id":1}"#,
        ),
        wrong(
            "params-wrong-case",
            "parameter names are case-sensitive",
            r#"{"jsonrpc":"2.0","method":"subtract","params":{"Minuend":2,"Subtrahend":1},"id":1}"#,
        ),
    ]
}

fn version() -> Vec<Case> {
    let wrong = |name, claim, text| {
        case(name, claim, &["J2-02"], text).like("version-2-1").right(error(&[-32600], "1").or_null())
    };
    let old = |name, claim, rules, text| {
        // A server that also speaks 1.0 answers in 1.0.
        case(name, claim, rules, text)
            .right(error(&[-32600], "1").or_null())
            .right(old_error("1"))
            .right(old_result("1"))
    };
    vec![
        old(
            "version-missing",
            "a request without `jsonrpc` is not a 2.0 request",
            &["J2-02", "J1-30"],
            r#"{"method":"@none","params":[],"id":1}"#,
        ),
        old(
            "version-wrong-case",
            "`JSONRPC` does not count as `jsonrpc`",
            &["J2-01", "J2-03"],
            r#"{"JSONRPC":"2.0","method":"@none","params":[],"id":1}"#,
        ),
        wrong("version-2-1", "version \"2.1\" is refused", r#"{"jsonrpc":"2.1","method":"@none","id":1}"#),
        wrong(
            "version-number",
            "the number 2.0 as a version is refused",
            r#"{"jsonrpc":2.0,"method":"@none","id":1}"#,
        ),
        wrong("version-null", "null as a version is refused", r#"{"jsonrpc":null,"method":"@none","id":1}"#),
    ]
}

fn method() -> Vec<Case> {
    let wrong =
        |name, claim, rules, text| case(name, claim, rules, text).right(error(&[-32600], "1").or_null());
    let unknown = |name, claim, rules, text| case(name, claim, rules, text).right(error(&[-32601], "1"));
    vec![
        wrong(
            "method-missing",
            "a request without a method is invalid",
            &["J2-04"],
            r#"{"jsonrpc":"2.0","params":[],"id":1}"#,
        ),
        wrong(
            "method-number",
            "a number as a method is invalid",
            &["J2-04", "J2-33"],
            r#"{"jsonrpc":"2.0","method":1,"id":1}"#,
        ),
        wrong(
            "method-null",
            "null as a method is invalid",
            &["J2-04"],
            r#"{"jsonrpc":"2.0","method":null,"id":1}"#,
        )
        .like("method-number"),
        wrong(
            "method-wrong-case",
            "`Method` does not count as `method`",
            &["J2-01", "J2-03"],
            r#"{"jsonrpc":"2.0","Method":"@none","id":1}"#,
        ),
        unknown(
            "method-empty",
            "an empty string is an unknown method",
            &["J2-04"],
            r#"{"jsonrpc":"2.0","method":"","id":1}"#,
        )
        .allowed(error(&[-32600], "1").or_null()),
    ]
}

/// Method names are compared exactly.
fn names() -> Vec<Case> {
    let unknown = |name, claim, rules, text| case(name, claim, rules, text).right(error(&[-32601], "1"));
    vec![
        unknown(
            "method-blank",
            "a trailing space makes a different method name",
            &["J2-05"],
            r#"{"jsonrpc":"2.0","method":"@name ","id":1}"#,
        )
        .needs(Need::Good),
        unknown(
            "method-other-case",
            "method names are case-sensitive",
            &["J2-01", "J2-05"],
            r#"{"jsonrpc":"2.0","method":"@swap","id":1}"#,
        )
        .needs(Need::Good)
        .should(),
        unknown(
            "method-nul",
            "a trailing NUL makes a different method name",
            &["J2-05", "J2-57"],
            r#"{"jsonrpc":"2.0","method":"@name\u0000","id":1}"#,
        )
        .needs(Need::Good),
        unknown(
            "method-of-the-language",
            "`constructor` is not a method",
            &["J2-34"],
            r#"{"jsonrpc":"2.0","method":"constructor","params":[],"id":1}"#,
        )
        .hostile(),
        unknown(
            "method-proto",
            "`__proto__` is not a method",
            &["J2-34"],
            r#"{"jsonrpc":"2.0","method":"__proto__","params":[],"id":1}"#,
        )
        .like("method-of-the-language")
        .hostile(),
        unknown(
            "method-reserved",
            "an unknown name that begins with `rpc.` gets -32601",
            &["J2-06"],
            r#"{"jsonrpc":"2.0","method":"rpc.@none","id":1}"#,
        )
        // Such names are reserved for extensions, so calling one may count as invalid.
        .allowed(error(&[-32600], "1").or_null()),
        unknown(
            "method-controls",
            "a name with control characters is an unknown method",
            &["J2-34", "J2-57"],
            r#"{"jsonrpc":"2.0","method":"a\u001b[31mb\n","id":1}"#,
        )
        .allowed(error(&[-32600], "1").or_null()),
    ]
}

fn params() -> Vec<Case> {
    let wrong = |name, claim, text| {
        case(name, claim, &["J2-10"], text)
            .like("params-string")
            .right(error(&[-32600], "1").or_null())
            .allowed(error(&[-32602], "1"))
            // Some servers look up the method first.
            .allowed(error(&[-32601], "1"))
    };
    vec![
        wrong(
            "params-string",
            "a string as params is refused",
            r#"{"jsonrpc":"2.0","method":"@name","params":"bar","id":1}"#,
        ),
        wrong(
            "params-number",
            "a number as params is refused",
            r#"{"jsonrpc":"2.0","method":"@name","params":1,"id":1}"#,
        ),
        wrong(
            "params-true",
            "true as params is refused",
            r#"{"jsonrpc":"2.0","method":"@name","params":true,"id":1}"#,
        ),
        case(
            "params-null",
            "null as params is treated as absent, or refused",
            &["J2-11"],
            r#"{"jsonrpc":"2.0","method":"@none","params":null,"id":1}"#,
        )
        .info()
        .right(answer("1")),
        case(
            "params-object",
            "an object as params is accepted",
            &["J2-08"],
            r#"{"jsonrpc":"2.0","method":"@none","params":{"a":1},"id":1}"#,
        )
        .right(error(&[-32601], "1")),
    ]
}

fn not_requests() -> Vec<Case> {
    let wrong = |name, claim, text| {
        case(name, claim, &["J2-33"], text)
            .like("empty-object")
            .right(error(&[-32600], "null"))
            .common(Point::Silence, Outcome::Nothing)
            .common(Point::Closing, Outcome::Closed)
    };
    vec![
        wrong("empty-object", "an empty object is an invalid request", "{}").like("method-number"),
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
            "an unexpected response is refused or dropped",
            &["J2-50", "J2-67"],
            r#"{"jsonrpc":"2.0","result":{},"id":990001}"#,
        )
        .right(Outcome::Nothing)
        .right(error(&[-32600], "990001").or_null()),
        case(
            "stray-error",
            "an error without an identifier is not answered, so that two servers do not reply forever",
            &["J2-50"],
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"},"id":null}"#,
        )
        .should()
        .right(Outcome::Nothing)
        .common(Point::Strays, error(&[-32600], "null")),
        case(
            "method-and-result",
            "a request with a result is invalid",
            &["J2-51"],
            r#"{"jsonrpc":"2.0","method":"@none","result":1,"id":1}"#,
        )
        .info()
        .right(error(&[-32600], "1").or_null())
        .allowed(error(&[-32601], "1")),
    ]
}
