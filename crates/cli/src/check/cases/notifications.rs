//! Notifications: requests without an identifier get no answer.

use crate::check::case::{Case, Need, case};
use crate::check::outcome::{Outcome, error};
use crate::check::profile::Point;

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    let silent = |name, claim, rules, text| {
        case(name, claim, rules, text).like("notification-unknown").right(Outcome::Nothing)
    };
    vec![
        silent(
            "notification-unknown",
            "a notification of an unknown method is not answered",
            &["J2-17", "J2-18"],
            r#"{"jsonrpc":"2.0","method":"@none"}"#,
        ),
        silent("notification", "a notification is not answered", &["J2-17"], r#"{"jsonrpc":"2.0",@good}"#)
            .needs(Need::Good),
        silent(
            "notification-with-params",
            "a notification with named parameters is not answered",
            &["J2-17"],
            r#"{"jsonrpc":"2.0","method":"@none","params":{"a":[1,2]}}"#,
        ),
        silent(
            "notification-bad-params",
            "a notification with invalid parameters is not answered",
            &["J2-18"],
            r#"{"jsonrpc":"2.0","method":"subtract","params":["x"]}"#,
        )
        .needs(Need::Subtract),
        silent(
            "notification-wrong-case",
            "a request with `ID` instead of `id` is a notification",
            &["J2-03", "J2-17"],
            r#"{"jsonrpc":"2.0","method":"@none","ID":1}"#,
        )
        .common(Point::Members, error(&[-32600], "null")),
        case(
            "invalid-without-id",
            "an invalid request without an identifier is answered",
            &["J2-20"],
            r#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#,
        )
        .right(error(&[-32600], "null"))
        .common(Point::Silence, Outcome::Nothing),
        case(
            "params-string-without-id",
            "a request without an identifier whose params are a string is refused or ignored",
            &["J2-20"],
            r#"{"jsonrpc":"2.0","method":"@none","params":"bar"}"#,
        )
        .should()
        .right(error(&[-32600], "null"))
        .allowed(Outcome::Nothing),
    ]
}
