//! A function of messages as a method.

use serde::Deserialize;
use switchboard_core::{
    Call, ErrorObject, FromContext as _, IntoError, Json, Method, Reply, ReplyFuture, service_fn,
};

use super::{Outcome, TaskHandle};
use crate::model::Message;

#[derive(Deserialize)]
struct Params {
    message: Message,
}

/// A method that answers messages with this function, for a router with other methods or with layers; see [`Agent::of`](super::Agent::of).
///
/// Callers that are not clients of A2A pass `{"message": …}` and get the outcome, `{"message": …}` or `{"status": …}`. What the
/// function does with the handle has no effect then.
pub fn agent_method<F, R, T, E>(name: impl Into<String>, function: F) -> Method
where
    F: Fn(Message, TaskHandle) -> R + Send + Sync + 'static,
    R: Future<Output = Result<T, E>> + Send + 'static,
    T: Into<Outcome> + 'static,
    E: IntoError + 'static,
{
    let answer = move |call: &Call| {
        let params = call.params.as_ref().map(Json::decode::<Params>);
        let message = match params {
            Some(Ok(params)) => params.message,
            Some(Err(error)) => {
                return ReplyFuture::ready(ErrorObject::invalid_params(format!("no message: {error}")));
            }
            None => return ReplyFuture::ready(ErrorObject::invalid_params("message is missing")),
        };
        let task = TaskHandle::from_context(&call.cx).cloned().unwrap_or_default().within(&call.cx);
        let outcome = function(message, task);
        ReplyFuture::untimed(async move {
            match outcome.await {
                Ok(outcome) => Reply::of::<Outcome>(&outcome.into()),
                Err(error) => Reply::error(error.into_error()),
            }
        })
    };
    Method::new(name, service_fn(answer))
}
