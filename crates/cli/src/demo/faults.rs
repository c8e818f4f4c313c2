//! Errors on request, and the one that arithmetic uses.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard::{Code, DeclaredError, ErrorObject, IntoError, service};

/// Why well-formed data is not acceptable.
#[derive(Debug)]
pub(super) struct Unacceptable(pub(super) Cow<'static, str>);

impl From<&'static str> for Unacceptable {
    fn from(why: &'static str) -> Unacceptable {
        Unacceptable(why.into())
    }
}

impl IntoError for Unacceptable {
    fn into_error(self) -> ErrorObject {
        ErrorObject::validation_failed(self.0)
    }

    fn declared() -> Vec<DeclaredError> {
        vec![detailed(Code::VALIDATION_FAILED)]
    }
}

/// An error without data.
pub(super) fn declared(code: Code) -> DeclaredError {
    DeclaredError::new(code, code.message())
}

/// An error with details in its data.
pub(super) fn detailed(code: Code) -> DeclaredError {
    declared(code).with_data::<Details>()
}

/// The data of an error.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "it is there for its schema")]
pub(super) struct Details {
    /// What is wrong.
    details: String,
}

/// Methods that fail on request.
pub(super) struct Faults;

#[service]
impl Faults {
    /// Returns the error -32000 with your message.
    #[method(safe, tag = "errors")]
    fn trigger_error(
        &self,
        /// Message of the error; the default is "Server error".
        message: Option<String>,
    ) -> Result<(), Triggered> {
        Err(Triggered(message))
    }

    /// Returns the error you ask for.
    #[method(safe, name = "demo/error", tag = "errors")]
    fn show(
        &self,
        /// Which error: invalid_data is -32001, unauthorized -32002, timeout -32003, upstream -32004.
        kind: Shown,
    ) -> Result<(), Shown> {
        Err(kind)
    }
}

/// An error with the message of the caller.
struct Triggered(Option<String>);

impl IntoError for Triggered {
    fn into_error(self) -> ErrorObject {
        match self.0 {
            Some(message) => ErrorObject::new(Code::SERVER_ERROR, message),
            None => ErrorObject::from_code(Code::SERVER_ERROR),
        }
    }

    fn declared() -> Vec<DeclaredError> {
        vec![declared(Code::SERVER_ERROR)]
    }
}

/// The errors that `demo/error` returns.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Shown {
    /// The data is well-formed but not acceptable (-32001).
    InvalidData,
    /// The caller is not allowed to do this (-32002).
    Unauthorized,
    /// The call timed out (-32003).
    Timeout,
    /// Another service that this one depends on failed (-32004).
    Upstream,
}

impl IntoError for Shown {
    fn into_error(self) -> ErrorObject {
        match self {
            Shown::InvalidData => ErrorObject::validation_failed("age must be from 0 to 150"),
            Shown::Unauthorized => ErrorObject::unauthorized(),
            Shown::Timeout => ErrorObject::timed_out(),
            Shown::Upstream => ErrorObject::upstream_failed("the weather service does not respond"),
        }
    }

    fn declared() -> Vec<DeclaredError> {
        vec![
            detailed(Code::VALIDATION_FAILED),
            declared(Code::UNAUTHORIZED),
            declared(Code::TIMED_OUT),
            detailed(Code::UPSTREAM_FAILED),
        ]
    }
}
