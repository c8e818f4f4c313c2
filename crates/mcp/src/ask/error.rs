//! Why a question has no answer.

use std::fmt;

use serde_json::{Value, json};
use switchboard_core::{CallError, Code, ErrorObject};

use crate::model::error::MISSING_CAPABILITY;

/// Something that a client can be asked for, if it declared the capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// A completion by its language model.
    Sampling,
    /// A completion in which the model may call tools.
    SamplingTools,
    /// A form that its user fills in.
    Form,
    /// A page that its user opens.
    Url,
    /// The folders it works in.
    Roots,
}

impl Feature {
    /// The capability that a client declares for it.
    #[must_use]
    pub fn capability(self) -> Value {
        match self {
            Feature::Sampling => json!({"sampling": {}}),
            Feature::SamplingTools => json!({"sampling": {"tools": {}}}),
            Feature::Form => json!({"elicitation": {}}),
            Feature::Url => json!({"elicitation": {"url": {}}}),
            Feature::Roots => json!({"roots": {}}),
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Feature::Sampling => "sampling",
            Feature::SamplingTools => "sampling with tools",
            Feature::Form => "elicitation",
            Feature::Url => "elicitation by URL",
            Feature::Roots => "roots",
        })
    }
}

/// Why a question has no answer. Converts into an [`ErrorObject`], so that handlers can use `?`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The client did not declare the capability, or the caller is not an MCP client.
    #[error("the client does not support {0}")]
    Unsupported(Feature),
    /// The client answered with an error: for example, its user refused.
    #[error("the client refused: {0}")]
    Refused(ErrorObject),
    /// The answer does not have the expected form.
    #[error("the client's answer does not have the expected form")]
    Misfit,
    /// No answer arrived in time.
    #[error("the client did not answer in time")]
    TimedOut,
    /// The client is gone, or cannot be asked now.
    #[error("the client could not be asked: {0}")]
    Unreachable(CallError),
    /// The questions ask for too much: more than 16 rounds, or more than 64 KiB of answers.
    #[error("the call asks too much: {0}")]
    TooMuch(&'static str),
    /// The call has returned its questions to the client and will be made again. Only questions in spawned tasks see this.
    #[error("the call has ended")]
    Ended,
}

impl From<CallError> for AskError {
    fn from(error: CallError) -> AskError {
        match error {
            CallError::Rejected(error) => AskError::Refused(error),
            CallError::TimedOut => AskError::TimedOut,
            other => AskError::Unreachable(other),
        }
    }
}

impl From<AskError> for ErrorObject {
    fn from(error: AskError) -> ErrorObject {
        match &error {
            AskError::Unsupported(feature) => ErrorObject::new(MISSING_CAPABILITY, error.to_string())
                .with_data(&json!({"requiredCapabilities": feature.capability()})),
            // There is nothing to remember: the call will be made again.
            AskError::Ended => ErrorObject::new(Code::CANCELLED, error.to_string()),
            AskError::TimedOut => ErrorObject::timed_out().with_detail(error.to_string()),
            _ => ErrorObject::validation_failed(error.to_string()),
        }
    }
}
