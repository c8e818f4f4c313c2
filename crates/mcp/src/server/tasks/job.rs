//! Durable methods as tasks: the task submits a job, waits for it as long as it takes, and cancels it. Where the server has no queue of jobs, the method is
//! called as any other.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use switchboard_core::{Call, Code, Context, ErrorObject, Json, Name, Outcome, Reply, ReplyFuture, Service};
use tokio::time::{sleep, timeout};

use super::super::request::Request;
use crate::ask::Caller;
use crate::catalog::Handler;

const SUBMIT: &str = "rpc.job.submit";
const RESULT: &str = "rpc.job.result";
const CANCEL: &str = "rpc.job.cancel";

/// How long the queue is asked to wait at a time, in milliseconds.
const ROUND: u64 = 20_000;

/// The time between two questions.
const PAUSE: Duration = Duration::from_millis(200);

/// How long cancelling may take.
const CANCELLING: Duration = Duration::from_secs(10);

/// Calls a durable method as a job.
pub(super) fn call(
    request: &Request<'_>,
    handler: &Handler,
    params: Option<Json>,
    caller: &Caller,
) -> ReplyFuture {
    let mut cx = request.context_with(caller);
    // The task lasts longer than the request that begins it.
    cx.deadline = None;
    request.cx().observe_as(handler.method.clone());
    let (queue, method) = (Queue { service: Arc::clone(&handler.service), cx }, handler.method.clone());
    ReplyFuture::untimed(async move {
        let submission = Submission { method: method.as_str(), params: params.as_ref() };
        match queue.ask(SUBMIT, &submission).await {
            Ok(submitted) => match submitted.get("job") {
                Some(job) => Running { queue, job, has_ended: false }.result().await,
                None => ErrorObject::internal(&"a submitted job has no identifier").into(),
            },
            Err(error) if is_unknown(&error, SUBMIT) => queue.call(method, params).await,
            Err(error) => error.into(),
        }
    })
}

/// Whether the error says that there is no such method.
fn is_unknown(error: &ErrorObject, method: &str) -> bool {
    error.code == Code::METHOD_NOT_FOUND && error.data == ErrorObject::method_not_found(method).data
}

/// What is submitted.
#[derive(Serialize)]
struct Submission<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a Json>,
}

/// Where jobs are submitted, as a caller.
struct Queue {
    service: Arc<dyn Service>,
    cx: Context,
}

impl Queue {
    fn call(&self, method: Name, params: Option<Json>) -> ReplyFuture {
        let call = Call::new(method, params).with_context(self.cx.clone());
        self.service.call(&call)
    }

    async fn ask(&self, method: &'static str, params: &impl Serialize) -> Result<Json, ErrorObject> {
        let params = Json::encode_ref(params).map_err(|error| ErrorObject::internal(&error))?;
        match self.call(Name::from_static(method), Some(params)).await.outcome {
            Outcome::Value(json) => Ok(json),
            Outcome::Error(error) => Err(error),
            Outcome::Stream(_) => Err(ErrorObject::internal(&"a question about a job got a stream")),
        }
    }
}

/// A job that was submitted. It is cancelled if this is dropped before it has ended.
struct Running {
    queue: Queue,
    job: Json,
    has_ended: bool,
}

impl Running {
    async fn result(mut self) -> Reply {
        loop {
            let asked = json!({"job": self.job, "waitMs": ROUND});
            match self.queue.ask(RESULT, &asked).await {
                Ok(found) => {
                    if let Some(reply) = ended(&found) {
                        self.has_ended = true;
                        return reply;
                    }
                }
                // The queue may be back later.
                Err(error) if error.code == Code::UPSTREAM_FAILED => {}
                Err(error) => {
                    self.has_ended = true;
                    return error.into();
                }
            }
            sleep(PAUSE).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.has_ended {
            return;
        }
        let Ok(params) = Json::encode(&json!({"job": self.job})) else { return };
        let cancelled = self.queue.call(Name::from_static(CANCEL), Some(params));
        runtime.spawn(async move { drop(timeout(CANCELLING, cancelled).await) });
    }
}

/// The reply of a job that has ended.
fn ended(found: &Json) -> Option<Reply> {
    let [state, result, error] = found.pick(["state", "result", "error"]);
    match state?.decode::<String>().ok()?.as_str() {
        "queued" | "running" => None,
        "done" => Some(Reply::value(result.unwrap_or(Json::NULL))),
        "cancelled" => Some(ErrorObject::from_code(Code::CANCELLED).into()),
        _ => Some(error_of(&error.unwrap_or(Json::NULL)).into()),
    }
}

fn error_of(json: &Json) -> ErrorObject {
    let [code, message, data] = json.pick(["code", "message", "data"]);
    let code = code.and_then(|code| code.decode::<i64>().ok()).unwrap_or(Code::INTERNAL_ERROR.0);
    let message = message.and_then(|message| message.decode::<String>().ok()).unwrap_or_default();
    let mut error = ErrorObject::new(code, message);
    error.data = data;
    error
}
