//! A layer that validates calls against the schemas of a document.
//!
//! Schemas are compiled once, when the layer is created. Errors give the place and what was expected there, never what
//! was received. Patterns are matched in linear time; sizes are bounded by the limits of messages.

mod checks;
mod expected;
mod phrases;
mod union;

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use serde::Serialize;
use switchboard_core::{Call, Code, ErrorObject, Items, Json, Layer, Outcome, Reply, ReplyFuture, Service};

use crate::document::{Document, RefError};
use checks::Checks;

/// Why a document cannot be used for validation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidationError {
    /// A reference cannot be resolved.
    #[error(transparent)]
    Reference(#[from] RefError),
    /// A schema is invalid, or refers to something outside the document.
    #[error("invalid schema at {place}: {reason}")]
    Schema {
        /// Its place in the document, as a JSON pointer.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// A value that does not match its schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Misfit {
    /// The place, as a JSON pointer into the params, the result or the item.
    pub path: String,
    /// What was expected there.
    pub expected: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at {:?}", self.expected, self.path)
    }
}

type OnResult = Arc<dyn Fn(&str, &Misfit) + Send + Sync>;

/// Validates the params of calls against the schemas of a document, and optionally their results.
///
/// Invalid params are answered with -32602 before the method is called; `data` holds the `path` to the invalid value and what was
/// `expected` there. Methods that are not in the document are passed on unchecked.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use switchboard_core::{CallError, Json, Layer, Peer, service_fn, ReplyFuture, Reply};
/// use switchboard_openrpc::{Document, Validation};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let document = Document::parse(r#"{"openrpc": "1.3.2", "info": {"title": "T", "version": "1"}, "methods": [
///     {"name": "age", "params": [{"name": "years", "schema": {"type": "integer", "minimum": 0}}]}
/// ]}"#)?;
/// let service = service_fn(|_| ReplyFuture::ready(Reply::value(Json::NULL)));
/// let peer = Peer::local(Validation::new(&document)?.layer(Arc::new(service)));
/// let Err(CallError::Rejected(error)) = peer.call::<()>("age", [-1]).await else { panic!() };
/// assert_eq!(error.code.0, -32602);
/// assert_eq!(error.data.clone().unwrap().as_str(), r#"{"path":"/0","expected":"a whole number of at least 0"}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Validation {
    methods: Arc<HashMap<String, Arc<Checks>>>,
    on_result: Option<OnResult>,
}

impl Validation {
    /// Validates params against this document.
    ///
    /// # Errors
    ///
    /// When a reference cannot be resolved, or a schema is invalid. Nothing is fetched.
    pub fn new(document: &Document) -> Result<Validation, ValidationError> {
        let methods = checks::compile(&document.clone().resolved()?)?;
        Ok(Validation { methods: Arc::new(methods), on_result: None })
    }

    /// Validates results too, and each item of a stream. Invalid ones are passed to this function, with the name of the method, and
    /// answered with -32603. It is meant for tests and trials: callers cannot fix a result.
    #[must_use]
    pub fn with_results<F>(mut self, on_misfit: F) -> Validation
    where
        F: Fn(&str, &Misfit) + Send + Sync + 'static,
    {
        self.on_result = Some(Arc::new(on_misfit));
        self
    }
}

impl Layer for Validation {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Validated { inner, validation: self.clone() })
    }
}

impl fmt::Debug for Validation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checks_results = self.on_result.is_some();
        f.debug_struct("Validation")
            .field("methods", &self.methods.len())
            .field("checks_results", &checks_results)
            .finish()
    }
}

struct Validated {
    inner: Arc<dyn Service>,
    validation: Validation,
}

impl Service for Validated {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some(checks) = self.validation.methods.get(call.method.as_str()) else {
            return self.inner.call(call);
        };
        if let Err(misfit) = checks.params(call.params.as_ref()) {
            return ReplyFuture::ready(ErrorObject::from_code(Code::INVALID_PARAMS).with_data(&misfit));
        }
        let reply = self.inner.call(call);
        let Some(on_result) = &self.validation.on_result else { return reply };
        let judge = Judge {
            method: call.method.to_string(),
            checks: Arc::clone(checks),
            on_result: Arc::clone(on_result),
        };
        reply.map(move |reply| judge.reply(reply))
    }
}

/// Judges what a method gives back.
struct Judge {
    method: String,
    checks: Arc<Checks>,
    on_result: OnResult,
}

impl Judge {
    fn reply(self, reply: Reply) -> Reply {
        let outcome = match reply.outcome {
            Outcome::Value(json) => match self.told(json, Checks::result) {
                Ok(json) => Outcome::Value(json),
                Err(error) => Outcome::Error(error),
            },
            Outcome::Stream(items) => {
                Outcome::Stream(items.through(|items| Judged { items: Some(items), judge: self }))
            }
            Outcome::Error(error) => Outcome::Error(error),
        };
        Reply { outcome, extra: reply.extra }
    }

    /// The value, or an error that says nothing of it.
    fn told(&self, json: Json, check: fn(&Checks, &Json) -> Result<(), Misfit>) -> Result<Json, ErrorObject> {
        let Err(misfit) = check(&self.checks, &json) else { return Ok(json) };
        (self.on_result)(&self.method, &misfit);
        let cause = format!("the result of {:?} does not match its schema: {misfit}", self.method);
        Err(ErrorObject::internal(&cause))
    }
}

/// The items of a stream, each judged when it is pulled. One that does not fit is the last.
struct Judged {
    items: Option<Items>,
    judge: Judge,
}

impl Stream for Judged {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(items) = &mut self.items else { return Poll::Ready(None) };
        let next = match std::task::ready!(Pin::new(items).poll_next(cx)) {
            Some(Ok(item)) => self.judge.told(item, Checks::item),
            other => return Poll::Ready(other),
        };
        if next.is_err() {
            self.items = None;
        }
        Poll::Ready(Some(next))
    }
}
