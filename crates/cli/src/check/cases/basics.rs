//! What all other cases rest on: calls are answered, and calls that fail get errors.

use crate::check::case::{Case, Need, case, good};
use crate::check::outcome::{answer, error};

/// The case that every other case rests on.
pub(crate) const RESPONSE: &str = "basic-response";
/// The case that cases rest on that expect errors.
pub(crate) const ERROR: &str = "basic-error";

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    vec![
        good(RESPONSE, "a call gets a response object with its identifier", &["J2-24", "J2-55"])
            .right(answer("1")),
        case(
            ERROR,
            "a call that fails gets an error object with a code",
            &["J2-26", "J2-38"],
            r#"{"jsonrpc":"2.0","method":"@none","params":[1],"id":1}"#,
        )
        .needs(Need::New)
        .right(error(&[], "1")),
    ]
}
