//! What would happen to a call, without making it.
//!
//! A layer that implements [`Explain`] says what it would do by the code that does it, so an explanation and what happens cannot
//! diverge. Chance is named: a share of the calls, or one of several servers.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use switchboard_core::{Call, ErrorObject, Outcome, Reply};

/// Says what it would do with a call.
pub trait Explain: Send + Sync + 'static {
    /// The name of its steps, such as `cache`.
    fn name(&self) -> &'static str;

    /// Adds what it would do with this call, as things are now, and says how the call ends if it goes no further. Changes nothing: no
    /// call is counted, kept or sent.
    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion>;
}

impl<E: Explain + ?Sized> Explain for Arc<E> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        (**self).explain(call, steps)
    }
}

/// A part of an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// What decides, such as `cache` or `route`.
    pub step: Cow<'static, str>,
    /// What it decides, in a word or two.
    pub outcome: Cow<'static, str>,
    /// Why, and what follows.
    pub detail: String,
    /// Where that is configured, if it is known: `gateway.toml:15`.
    pub source: Option<String>,
}

impl Step {
    /// What a part decides, and why.
    pub fn new(
        step: impl Into<Cow<'static, str>>,
        outcome: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) -> Step {
        Step { step: step.into(), outcome: outcome.into(), detail: detail.into(), source: None }
    }

    /// Sets where it is configured.
    #[must_use]
    pub fn with_source(mut self, source: Option<impl Into<String>>) -> Step {
        self.source = source.map(Into::into);
        self
    }
}

/// How a call would end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Conclusion {
    /// It would be sent to a server: to this one, unless that is decided by something that is not known.
    Sent {
        /// The name of the server.
        server: Option<String>,
    },
    /// It would be answered without a server.
    Answered,
    /// It would be refused with this error.
    Refused(ErrorObject),
}

impl Conclusion {
    /// The end of a call that gets this reply at once.
    #[must_use]
    pub fn of(reply: Reply) -> Conclusion {
        match reply.outcome {
            Outcome::Error(error) => Conclusion::Refused(error),
            Outcome::Value(_) | Outcome::Stream(_) => Conclusion::Answered,
        }
    }
}
