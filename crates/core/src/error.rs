//! The error object of the protocol, and conversions from other errors.

use std::borrow::Cow;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::ops::{Deref, DerefMut};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::call_error::CallError;
use crate::code::Code;
use crate::gap::Gap;
use crate::json::Json;
use crate::schemas::Schemas;

/// The error of a failed call, as defined by the protocol: a code, a message, and optional data.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Code, ErrorObject};
///
/// let error = ErrorObject::new(Code(1001), "no such user").with_data(&"try another name");
/// assert_eq!(error.to_string(), "no such user (1001)");
/// ```
///
/// It dereferences to its [fields](ErrorFields). It is the size of one pointer, so that results that may fail stay small.
#[derive(Clone, PartialEq)]
pub struct ErrorObject(Box<ErrorFields>);

/// The fields of an [`ErrorObject`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ErrorFields {
    /// The kind of failure.
    pub code: Code,
    /// One concise sentence for a person.
    pub message: Cow<'static, str>,
    /// Details for a program.
    pub data: Option<Json>,
    /// Set if the error was made locally and did not come from the peer; never sent.
    pub(crate) local: Option<Box<CallError>>,
    /// Set if the error was made by the engine and not by the service; never sent.
    pub(crate) fault: Option<EngineFault>,
}

/// What the member `executed` says about a call that may have run.
const UNKNOWN: &str = "unknown";

/// Why the engine answers a call in the place of its service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineFault {
    TimedOut,
    Panicked,
    Cancelled,
    TooLarge,
}

impl ErrorObject {
    /// An error with a code and a message.
    #[must_use]
    pub fn new(code: impl Into<Code>, message: impl Into<Cow<'static, str>>) -> ErrorObject {
        let (code, message) = (code.into(), message.into());
        ErrorObject(Box::new(ErrorFields { code, message, data: None, local: None, fault: None }))
    }

    /// An error from the table of codes with its default message.
    #[must_use]
    pub fn from_code(code: Code) -> ErrorObject {
        ErrorObject::new(code, code.message())
    }

    /// -32700, saying where the text stops being JSON.
    #[must_use]
    pub fn parse_error(detail: impl Into<Cow<'static, str>>) -> ErrorObject {
        ErrorObject::from_code(Code::PARSE_ERROR).with_detail(detail)
    }

    /// -32600, saying which rule the message violates.
    #[must_use]
    pub fn invalid_request(detail: impl Into<Cow<'static, str>>) -> ErrorObject {
        ErrorObject::from_code(Code::INVALID_REQUEST).with_detail(detail)
    }

    /// -32601 with the requested name as `data.method`.
    ///
    /// A layer that hides methods returns this too, so that a hidden method looks like one that does not exist.
    #[must_use]
    pub fn method_not_found(method: &str) -> ErrorObject {
        #[derive(Serialize)]
        struct Data<'a> {
            method: &'a str,
        }
        ErrorObject::from_code(Code::METHOD_NOT_FOUND).with_data_ref(&Data { method })
    }

    /// -32602, saying what is wrong with the parameters. Never quote the received value: it may be a secret.
    #[must_use]
    pub fn invalid_params(detail: impl Into<Cow<'static, str>>) -> ErrorObject {
        ErrorObject::from_code(Code::INVALID_PARAMS).with_detail(detail)
    }

    /// -32001: well-formed data that is not acceptable.
    #[must_use]
    pub fn validation_failed(detail: impl Into<Cow<'static, str>>) -> ErrorObject {
        ErrorObject::from_code(Code::VALIDATION_FAILED).with_detail(detail)
    }

    /// -32002.
    #[must_use]
    pub fn unauthorized() -> ErrorObject {
        ErrorObject::from_code(Code::UNAUTHORIZED)
    }

    /// -32003.
    #[must_use]
    pub fn timed_out() -> ErrorObject {
        ErrorObject::from_code(Code::TIMED_OUT)
    }

    /// -32004: something this service depends on failed.
    #[must_use]
    pub fn upstream_failed(detail: impl Into<Cow<'static, str>>) -> ErrorObject {
        ErrorObject::from_code(Code::UPSTREAM_FAILED).with_detail(detail)
    }

    /// -32005 for the limit of this name.
    #[must_use]
    pub fn over_limit(limit: &'static str, detail: impl Into<Cow<'static, str>>) -> ErrorObject {
        #[derive(Serialize)]
        struct Data<'a> {
            limit: &'a str,
            details: &'a str,
        }
        let details = detail.into();
        ErrorObject::from_code(Code::OVER_LIMIT).with_data_ref(&Data { limit, details: &details })
    }

    /// -32006 for a call that was stopped in the middle. It may have run, unlike calls that are refused with this code.
    #[must_use]
    pub fn stopped() -> ErrorObject {
        #[derive(Serialize)]
        struct Data<'a> {
            details: &'a str,
            executed: &'a str,
        }
        let details = "the server stopped before the call was done (limits.drain_time)";
        ErrorObject::from_code(Code::SHUTTING_DOWN).with_data_ref(&Data { details, executed: UNKNOWN })
    }

    /// Whether this error says that its call was not executed, because the server is shutting down: not if it was [stopped](ErrorObject::stopped) in the middle.
    #[must_use]
    pub fn is_refused_at_shutdown(&self) -> bool {
        let executed = self.data.as_ref().and_then(|data| data.pick(["executed"])[0].take());
        let is_unknown =
            executed.is_some_and(|executed| executed.decode::<String>().is_ok_and(|text| text == UNKNOWN));
        self.code == Code::SHUTTING_DOWN && !is_unknown
    }

    /// -32603 for a failure whose text must not be sent: logs it under a random incident number, and sends only that
    /// number (SEC-E-01).
    #[must_use]
    pub fn internal(cause: &dyn fmt::Display) -> ErrorObject {
        let incident = format!("{:016x}", fastrand::u64(..));
        tracing::error!(incident, cause = %Escaped(cause), "internal error");
        ErrorObject::from_code(Code::INTERNAL_ERROR).with_incident(&incident)
    }

    /// Adds data for programs.
    ///
    /// Data that cannot be serialized is left out.
    #[must_use]
    pub fn with_data<T: Serialize + 'static>(mut self, data: &T) -> ErrorObject {
        self.data = Json::encode(data).ok();
        self
    }

    fn with_data_ref<T: Serialize>(mut self, data: &T) -> ErrorObject {
        self.data = Json::encode_ref(data).ok();
        self
    }

    /// Adds a message as `data.details`.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<Cow<'static, str>>) -> ErrorObject {
        #[derive(Serialize)]
        struct Details<'a> {
            details: &'a str,
        }
        let details = detail.into();
        self.with_data_ref(&Details { details: &details })
    }

    pub(crate) fn with_incident(self, incident: &str) -> ErrorObject {
        #[derive(Serialize)]
        struct Incident<'a> {
            incident: &'a str,
        }
        self.with_data_ref(&Incident { incident })
    }

    pub(crate) fn with_fault(mut self, fault: EngineFault) -> ErrorObject {
        self.fault = Some(fault);
        self
    }

    /// The incident number in its data, under which the log of the server has what happened. It has 16 hexadecimal digits.
    #[must_use]
    pub fn incident(&self) -> Option<String> {
        let [incident] = self.data.as_ref()?.pick(["incident"]);
        let incident: String = incident?.decode().ok()?;
        let is_number = incident.len() == 16 && incident.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_number.then_some(incident)
    }

    /// The gap, if this error marks one in a stream; such an error does not end the stream.
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        match self.local.as_deref() {
            Some(CallError::Gap(gap)) => Some(*gap),
            _ => None,
        }
    }

    /// This error as the error type of a method, by its code and data. None if it is another error.
    #[must_use]
    pub fn typed<E: FromError>(&self) -> Option<E> {
        E::from_error(self)
    }

    /// Whether this error was made locally, for instance by a closed connection or a timeout, rather than
    /// sent by the peer.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// What went wrong locally, if this error was made [locally](ErrorObject::is_local).
    #[must_use]
    pub fn local(&self) -> Option<&CallError> {
        self.local.as_deref()
    }
}

impl Deref for ErrorObject {
    type Target = ErrorFields;

    fn deref(&self) -> &ErrorFields {
        &self.0
    }
}

impl DerefMut for ErrorObject {
    fn deref_mut(&mut self) -> &mut ErrorFields {
        &mut self.0
    }
}

impl fmt::Debug for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl Error for ErrorObject {}

/// Turns the error of a method into what goes over the wire.
///
/// `#[derive(RpcError)]` of the crate `switchboard` implements it, and [`FromError`] too. Implement it by hand if codes or
/// messages depend on the value. The text of an error that you do not know must not leave the process: answer it with
/// [`ErrorObject::internal`].
///
/// # Examples
///
/// ```
/// use switchboard_core::{Code, DeclaredError, ErrorObject, IntoError};
///
/// enum Failure {
///     NoSuchUser,
///     Storage(std::io::Error),
/// }
///
/// impl IntoError for Failure {
///     fn into_error(self) -> ErrorObject {
///         match self {
///             Failure::NoSuchUser => ErrorObject::new(Code(1001), "no such user"),
///             Failure::Storage(cause) => ErrorObject::internal(&cause),
///         }
///     }
///
///     fn declared() -> Vec<DeclaredError> {
///         vec![DeclaredError::new(Code(1001), "no such user")]
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a method",
    label = "this type has no mapping to a JSON-RPC error",
    note = "put `#[derive(switchboard::RpcError)]` on `{Self}`, implement `switchboard::IntoError` for it, or return \
            `switchboard::ErrorObject` as the error"
)]
pub trait IntoError {
    /// The error as the caller sees it.
    fn into_error(self) -> ErrorObject;

    /// The errors that callers can expect, for the method's description.
    #[must_use]
    fn declared() -> Vec<DeclaredError>
    where
        Self: Sized,
    {
        Vec::new()
    }
}

/// Converts an error object back into the error type of a method, by its code and data: the inverse of [`IntoError`].
///
/// `#[derive(RpcError)]` of the crate `switchboard` implements both. Use it with [`ErrorObject::typed`] and
/// [`CallError::typed`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from an error object",
    note = "put `#[derive(switchboard::RpcError)]` on `{Self}`, or implement `switchboard::FromError` for it"
)]
pub trait FromError: Sized {
    /// This error object as `Self`. None if it is another error.
    #[must_use]
    fn from_error(error: &ErrorObject) -> Option<Self>;
}

/// An error that a method declares.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeclaredError {
    /// Its code.
    pub code: Code,
    /// Its default message.
    pub message: Cow<'static, str>,
    /// The JSON Schema of its data. It is filled in when a router is described.
    pub data: Option<Value>,
    /// Makes that schema, in the dialect of the description.
    data_schema: Option<fn(&mut Schemas) -> Value>,
}

impl PartialEq for DeclaredError {
    fn eq(&self, other: &DeclaredError) -> bool {
        (&self.code, &self.message, &self.data) == (&other.code, &other.message, &other.data)
    }
}

impl DeclaredError {
    /// An error with this code and message.
    #[must_use]
    pub fn new(code: impl Into<Code>, message: impl Into<Cow<'static, str>>) -> DeclaredError {
        DeclaredError { code: code.into(), message: message.into(), data: None, data_schema: None }
    }

    /// Declares the type of its data.
    #[must_use]
    pub fn with_data<T: JsonSchema>(mut self) -> DeclaredError {
        self.data_schema = Some(Schemas::of::<T>);
        self
    }

    pub(crate) fn describe_data(&mut self, schemas: &mut Schemas) {
        if let Some(schema) = self.data_schema {
            self.data = Some(schema(schemas));
        }
    }
}

impl IntoError for ErrorObject {
    fn into_error(self) -> ErrorObject {
        self
    }
}

impl IntoError for Infallible {
    fn into_error(self) -> ErrorObject {
        match self {}
    }
}

impl IntoError for CallError {
    /// A rejection by the peer is kept; any other failure to reach it is -32004, or a better match.
    fn into_error(self) -> ErrorObject {
        ErrorObject::from(self)
    }
}

impl IntoError for Box<dyn Error + Send + Sync> {
    fn into_error(self) -> ErrorObject {
        ErrorObject::internal(&self)
    }
}

impl IntoError for std::io::Error {
    fn into_error(self) -> ErrorObject {
        ErrorObject::internal(&self)
    }
}

/// Shows a text with its control characters escaped, so that it cannot forge a log line (SEC-E-05).
struct Escaped<'a>(&'a dyn fmt::Display);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.to_string().escape_debug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_internal_error_keeps_its_cause_to_itself() {
        let error = ErrorObject::internal(&"password is hunter2");
        let shown = format!("{error} {:?}", error.data);
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("incident"), "{shown}");
    }
}
