//! Tasks: calls of tools that go on after their request was answered, in the two forms that revisions have (MCP-TK, MCP-TX).

mod job;
mod table;
mod task;

use std::sync::Arc;

use serde_json::json;
use switchboard_core::{Code, ErrorObject, Json, Kind, Outcome, Reply, ReplyFuture};

pub(crate) use self::table::Tasks;
pub(crate) use self::task::TaskCall;
use self::task::{Ending, Task};
use super::Shared;
use super::request::{Request, principal};
use super::result::{Shape, tool_reply};
use super::running::{Ran, Run, Work, run};
use super::tools::{ToolCall, call_method, empty};
use crate::ask::{Asker, Caller};
use crate::catalog::TaskMode;
use crate::model::{Revision, TASKS_EXTENSION, meta};
use crate::object::Object;

/// Makes a call a task, if the client and the tool say so.
pub(super) fn begin(request: &Request<'_>, call: &ToolCall) -> Result<Option<ReplyFuture>, ErrorObject> {
    let mode = call.tool.value.task;
    let is_task = match request.revision() {
        Revision::V2025_11_25 => match (mode, &call.task) {
            (TaskMode::Required, None) => return Err(wrong("this tool has to be called as a task")),
            (TaskMode::Never, Some(_)) => return Err(wrong("this tool cannot be called as a task")),
            (_, task) => task.is_some(),
        },
        revision if revision.is_stateless() => match (mode, request.spoken.features.tasks) {
            (TaskMode::Required, false) => return Err(not_declared()),
            // The method says when.
            (TaskMode::Manual, _) => false,
            (mode, is_declared) => is_declared && mode != TaskMode::Never,
        },
        // Older clients know no tasks and wait.
        _ => false,
    };
    if is_task { start(request, call).map(Some) } else { Ok(None) }
}

fn wrong(text: &'static str) -> ErrorObject {
    ErrorObject::new(Code::METHOD_NOT_FOUND, text)
}

/// The client has not declared the extension for tasks (MCP-TX-06).
pub(super) fn not_declared() -> ErrorObject {
    ErrorObject::new(crate::model::error::MISSING_CAPABILITY, "Missing required client capability")
        .with_data(&json!({"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}))
}

fn start(request: &Request<'_>, call: &ToolCall) -> Result<ReplyFuture, ErrorObject> {
    let revision = request.revision();
    let ttl = call.task.as_ref().and_then(|task| task.get("ttl")).and_then(|ttl| ttl.decode::<u64>().ok());
    let task = request.shared.tasks.create(principal(request.cx()), ttl, request.subscribers().clone())?;
    // In a session questions are requests of the session; without one they are part of the task.
    let asker = match request.handshake {
        Some(_) => Asker::Wire,
        None => Asker::Task(Arc::new(TaskCall::new(&task))),
    };
    let caller = request.session_caller(asker)?;
    let (handler, arguments) = (&call.tool.value.handler, call.arguments.clone());
    let reply = match handler.is_durable {
        true => job::call(request, handler, arguments, &caller),
        false => call_method(request, handler, arguments, &caller),
    };
    let shape = Shape::new(&call.tool, request);
    let run_it = Run::new(request, reply, caller).without_limit();
    let running = Arc::clone(&task);
    let work = tokio::spawn(async move {
        let reply = match run(run_it).await {
            Ran::Replied(reply) => tool_reply(reply, &shape),
            Ran::Asked(reply) => reply,
            Ran::Background(work) => tool_reply(work.await, &shape),
        };
        running.finish(ending(reply));
    });
    task.set_work(work.abort_handle());
    let reply = match revision.is_stateless() {
        true => task.write(request.snapshot.begin_result("task"), true).reply(),
        false => Object::new().with("task", task.write(Object::new(), false)).reply(),
    };
    Ok(reply.into())
}

fn ending(reply: Reply) -> Ending {
    match reply.outcome {
        Outcome::Value(result) => Ending::Result(result.detached()),
        Outcome::Error(error) => Ending::Error(error),
        Outcome::Stream(_) => Ending::Error(ErrorObject::internal(&"a stream was not collected")),
    }
}

/// Makes a method that has begun a task.
pub(super) fn go_on(shared: &Shared, owner: String, work: Work, caller: &Caller, shape: Shape) -> Reply {
    let task = match shared.tasks.create(owner, None, shared.subscribers.clone()) {
        Ok(task) => task,
        Err(error) => return error.into(),
    };
    caller.go_on_as(Arc::new(TaskCall::new(&task)));
    let reply = task.write(shape.snapshot.begin_result("task"), true).reply();
    let running = Arc::clone(&task);
    let work = tokio::spawn(async move {
        let reply = tool_reply(work.await, &shape);
        running.finish(ending(reply));
    });
    task.set_work(work.abort_handle());
    reply
}

/// The task that a request names, if it belongs to its caller.
fn find(request: &Request<'_>) -> Result<Arc<Task>, ErrorObject> {
    if request.revision().is_stateless() && !request.spoken.features.tasks {
        return Err(not_declared());
    }
    let id = request.text("taskId")?;
    let found = request.shared.tasks.find(&id, &principal(request.cx()));
    found.ok_or_else(|| ErrorObject::invalid_params("there is no task with this taskId"))
}

/// Answers `tasks/get`.
pub(super) fn get(request: &Request<'_>) -> Reply {
    let task = match find(request) {
        Ok(task) => task,
        Err(error) => return error.into(),
    };
    match request.revision().is_stateless() {
        true => {
            let result = request.snapshot.complete(request.revision());
            task.write_details(task.write(result, true)).reply()
        }
        false => task.write(Object::new(), false).reply(),
    }
}

/// Answers `tasks/update`: takes the answers to a task's questions (MCP-TX-04).
pub(super) fn update(request: &Request<'_>) -> Reply {
    let answered = find(request).and_then(|task| {
        let answers = request.param("inputResponses").filter(|answers| answers.kind() == Kind::Object);
        let answers =
            answers.ok_or_else(|| ErrorObject::invalid_params("inputResponses must be an object"))?;
        for (key, _) in answers.members() {
            let key = String::from_utf8_lossy(&key).into_owned();
            if let Some(answer) = answers.get(&key) {
                task.answer(&key, answer.detached());
            }
        }
        Ok(())
    });
    answered.map_or_else(Reply::error, |()| empty(request))
}

/// Answers `tasks/cancel`.
pub(super) fn cancel(request: &Request<'_>) -> Reply {
    let task = match find(request) {
        Ok(task) => task,
        Err(error) => return error.into(),
    };
    let was_running = task.cancel();
    match request.revision().is_stateless() {
        true => empty(request),
        false if was_running => task.write(Object::new(), false).reply(),
        // MCP-TK-04
        false => ErrorObject::invalid_params("the task has ended already").into(),
    }
}

/// Answers `tasks/result`, when the task has ended.
pub(super) fn result(request: &Request<'_>) -> ReplyFuture {
    let task = match find(request) {
        Ok(task) => task,
        Err(error) => return ReplyFuture::ready(error),
    };
    ReplyFuture::untimed(async move {
        match task.ended().await {
            Ending::Result(result) => related(&result, &task.id).map_or_else(Reply::error, Reply::value),
            Ending::Error(error) => error.into(),
            Ending::Cancelled => ErrorObject::invalid_params("the task was cancelled").into(),
        }
    })
}

/// A result with the task that it belongs to (MCP-TK-05).
fn related(result: &Json, id: &str) -> Result<Json, ErrorObject> {
    let related = Object::new().with(meta::RELATED_TASK, Object::new().with("taskId", id));
    let names: Vec<String> =
        result.members().map(|(name, _)| String::from_utf8_lossy(&name).into_owned()).collect();
    let mut whole = Object::new();
    for name in names.iter().filter(|name| *name != meta::META) {
        whole = whole.with_some(name, result.get(name));
    }
    whole.with(meta::META, related).json()
}
