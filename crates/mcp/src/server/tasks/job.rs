//! Durable methods as tasks: the task submits a job, has its name, waits for it as long as it takes, and cancels it. So any server with the same queue finds the
//! task of a job again, also after a restart. Where there is no queue of jobs, the method is called as any other.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::json;
use switchboard_core::{Call, Code, Context, ErrorObject, Json, Name, Outcome, Reply, ReplyFuture, Service};
use tokio::time::{sleep, timeout};

use super::super::request::{Request, principal};
use super::super::result::Shape;
use super::super::{Shared, Snapshot};
use super::table::kept_for;
use super::task::Task;
use super::{follow, unknown};
use crate::ask::Caller;
use crate::catalog::Handler;
use crate::model::Revision;

const SUBMIT: &str = "rpc.job.submit";
const STATUS: &str = "rpc.job.status";
const RESULT: &str = "rpc.job.result";
const CANCEL: &str = "rpc.job.cancel";

/// How long the queue is asked to wait at a time, in milliseconds.
const ROUND: u64 = 20_000;

/// The time between two questions.
const PAUSE: Duration = Duration::from_millis(200);

/// How long cancelling may take.
const CANCELLING: Duration = Duration::from_secs(10);

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
pub(super) struct Queue {
    service: Arc<dyn Service>,
    cx: Context,
}

impl Queue {
    /// The queue behind a method, for a client whose task lasts longer than the request that begins it.
    pub(super) fn new(request: &Request<'_>, handler: &Handler, caller: &Caller) -> Queue {
        let mut cx = request.context_with(caller);
        cx.deadline = None;
        request.cx().observe_as(handler.method.clone());
        Queue { service: Arc::clone(&handler.service), cx }
    }

    /// Submits a call, and gives the name of its job. None if there is no queue.
    pub(super) async fn submit(
        &self,
        method: &Name,
        params: Option<&Json>,
    ) -> Result<Option<String>, ErrorObject> {
        let submission = Submission { method: method.as_str(), params };
        match self.ask(SUBMIT, &submission).await {
            Ok(submitted) => {
                let job = submitted.get("job").and_then(|job| job.decode().ok());
                job.map(Some).ok_or_else(|| ErrorObject::internal(&"a submitted job has no identifier"))
            }
            Err(error) if is_unknown(&error, SUBMIT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn call(&self, method: Name, params: Option<Json>) -> ReplyFuture {
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
pub(super) struct Running {
    queue: Queue,
    job: String,
    has_ended: bool,
}

impl Running {
    pub(super) fn new(queue: Queue, job: String) -> Running {
        Running { queue, job, has_ended: false }
    }

    pub(super) async fn result(mut self) -> Reply {
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

/// A task that this server does not know, and that may be a job.
pub(super) struct Lost {
    queue: Queue,
    job: String,
    owner: String,
    shared: Arc<Shared>,
    snapshot: Arc<Snapshot>,
    revision: Revision,
}

impl Lost {
    /// None if no job has this name, or the server has no durable methods.
    pub(super) fn new(request: &Request<'_>, job: String) -> Option<Lost> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        let tool = request.snapshot.catalog.tools.iter().find(|tool| tool.value.handler.is_durable);
        let handler = &tool.filter(|_| job.len() == 32 && job.bytes().all(is_hex))?.value.handler;
        let mut cx = request.cx().clone();
        cx.deadline = None;
        Some(Lost {
            queue: Queue { service: Arc::clone(&handler.service), cx },
            job,
            owner: principal(request.cx()),
            shared: Arc::clone(request.shared),
            snapshot: Arc::clone(&request.snapshot),
            revision: request.revision(),
        })
    }

    /// The task of the job, if it is one of this caller and of a tool.
    pub(super) async fn found(self) -> Result<Arc<Task>, ErrorObject> {
        let status = self.queue.ask(STATUS, &json!({"job": self.job})).await;
        let status = status.map_err(|error| match error.code {
            Code::UPSTREAM_FAILED => error,
            _ => unknown(),
        })?;
        let [method, submitted] = status.pick(["method", "submitted"]);
        let method = method.and_then(|method| method.decode::<String>().ok()).ok_or_else(unknown)?;
        let is_its = |handler: &Handler| handler.is_durable && handler.method.as_str() == method;
        let tool = self.snapshot.catalog.tools.iter().find(|tool| is_its(&tool.value.handler));
        let tool = Arc::clone(tool.ok_or_else(unknown)?);
        let submitted = submitted.and_then(|submitted| submitted.decode::<u64>().ok()).unwrap_or_default();
        let created = SystemTime::UNIX_EPOCH + Duration::from_millis(submitted);
        let subscribers = self.shared.subscribers.clone();
        let task = Task::named(self.job, created, self.owner, kept_for(None), subscribers);
        if task.is_expired() {
            return Err(unknown());
        }
        let added = self.shared.tasks.add(Arc::clone(&task))?;
        // Another request may have found it at the same time.
        if Arc::ptr_eq(&added, &task) {
            follow(&task, self.queue, Shape { tool, revision: self.revision, snapshot: self.snapshot });
        }
        Ok(added)
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
