//! Tasks: calls of tools that go on after their request was answered, in the two forms that revisions have (MCP-TK, MCP-TX).

mod job;
mod table;
mod task;

use std::sync::Arc;

use serde_json::json;
use switchboard_core::{Code, ErrorObject, Json, Kind, Outcome, Reply, ReplyFuture};

use self::job::{Lost, Queue, Running};
pub(crate) use self::table::Tasks;
use self::table::kept_for;
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
    let ttl = call.task.as_ref().and_then(|task| task.get("ttl")).and_then(|ttl| ttl.decode::<u64>().ok());
    let (owner, subscribers) = (principal(request.cx()), request.subscribers().clone());
    let task = Task::new(owner, kept_for(ttl), subscribers);
    // In a session questions are requests of the session; without one they are part of the task.
    let asker = match request.handshake {
        Some(_) => Asker::Wire,
        None => Asker::Task(Arc::new(TaskCall::new(&task))),
    };
    let caller = request.session_caller(asker)?;
    let (handler, arguments) = (&call.tool.value.handler, call.arguments.clone());
    let begun = Begun {
        shared: Arc::clone(request.shared),
        shape: Shape::new(&call.tool, request),
        caller: caller.clone(),
        task,
    };
    if !handler.is_durable {
        return begun.run(call_method(request, handler, arguments, &caller)).map(ReplyFuture::from);
    }
    let queue = Queue::new(request, handler, &caller);
    Ok(ReplyFuture::untimed(async move {
        let method = begun.shape.tool.value.handler.method.clone();
        let reply = match queue.submit(&method, arguments.as_ref()).await {
            Ok(Some(job)) => return begun.follow(queue, &job).unwrap_or_else(Reply::error),
            // There is no queue here.
            Ok(None) => queue.call(method, arguments),
            Err(error) => return error.into(),
        };
        begun.run(reply).unwrap_or_else(Reply::error)
    }))
}

/// A task that is about to begin.
struct Begun {
    shared: Arc<Shared>,
    shape: Shape,
    caller: Caller,
    task: Arc<Task>,
}

impl Begun {
    /// Begins it with what its method replies, and describes it.
    fn run(self, reply: ReplyFuture) -> Result<Reply, ErrorObject> {
        let Begun { shared, shape, caller, task } = self;
        let task = shared.tasks.add(task)?;
        let described = describe(&task, &shape);
        let run_it = Run::of(Arc::clone(&shape.snapshot), reply, caller).without_limit();
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
        Ok(described)
    }

    /// Begins it with the result of a job, by whose name it can be found again.
    fn follow(self, queue: Queue, job: &str) -> Result<Reply, ErrorObject> {
        let Begun { shared, shape, task, .. } = self;
        let task = shared.tasks.add(task.renamed(job))?;
        let described = describe(&task, &shape);
        follow(&task, queue, shape);
        Ok(described)
    }
}

/// The task, as the answer to the call that began it.
fn describe(task: &Task, shape: &Shape) -> Reply {
    match shape.revision.is_stateless() {
        true => task.write(shape.snapshot.begin_result("task"), true).reply(),
        false => Object::new().with("task", task.write(Object::new(), false)).reply(),
    }
}

/// Ends the task with its job.
fn follow(task: &Arc<Task>, queue: Queue, shape: Shape) {
    let running = Arc::clone(task);
    let work = tokio::spawn(async move {
        let reply = Running::new(queue, running.id.clone()).result().await;
        let is_cancelled = matches!(&reply.outcome, Outcome::Error(error) if error.code == Code::CANCELLED);
        running.finish(if is_cancelled { Ending::Cancelled } else { ending(tool_reply(reply, &shape)) });
    });
    task.set_work(work.abort_handle());
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

/// Does this with the task that a request names, if it belongs to its caller.
fn with_task(
    request: &Request<'_>,
    act: impl FnOnce(Arc<Task>) -> ReplyFuture + Send + 'static,
) -> ReplyFuture {
    if request.revision().is_stateless() && !request.spoken.features.tasks {
        return ReplyFuture::ready(not_declared());
    }
    let id = match request.text("taskId") {
        Ok(id) => id,
        Err(error) => return ReplyFuture::ready(error),
    };
    if let Some(task) = request.shared.tasks.find(&id, &principal(request.cx())) {
        return act(task);
    }
    let Some(lost) = Lost::new(request, id) else { return ReplyFuture::ready(unknown()) };
    ReplyFuture::untimed(async move {
        match lost.found().await {
            Ok(task) => act(task).await,
            Err(error) => error.into(),
        }
    })
}

fn unknown() -> ErrorObject {
    ErrorObject::invalid_params("there is no task with this taskId")
}

/// Answers `tasks/get`.
pub(super) fn get(request: &Request<'_>) -> ReplyFuture {
    let (snapshot, revision) = (Arc::clone(&request.snapshot), request.revision());
    with_task(request, move |task| {
        let reply = match revision.is_stateless() {
            true => task.write_details(task.write(snapshot.complete(revision), true)).reply(),
            false => task.write(Object::new(), false).reply(),
        };
        reply.into()
    })
}

/// Answers `tasks/update`: takes the answers to a task's questions (MCP-TX-04).
pub(super) fn update(request: &Request<'_>) -> ReplyFuture {
    let (done, answers) = (empty(request), request.param("inputResponses"));
    with_task(request, move |task| {
        let Some(answers) = answers.filter(|answers| answers.kind() == Kind::Object) else {
            return ReplyFuture::ready(ErrorObject::invalid_params("inputResponses must be an object"));
        };
        for (key, _) in answers.members() {
            let key = String::from_utf8_lossy(&key).into_owned();
            if let Some(answer) = answers.get(&key) {
                task.answer(&key, answer.detached());
            }
        }
        done.into()
    })
}

/// Answers `tasks/cancel`.
pub(super) fn cancel(request: &Request<'_>) -> ReplyFuture {
    let (done, is_stateless) = (empty(request), request.revision().is_stateless());
    with_task(request, move |task| {
        let was_running = task.cancel();
        let reply = match is_stateless {
            true => done,
            false if was_running => task.write(Object::new(), false).reply(),
            // MCP-TK-04
            false => ErrorObject::invalid_params("the task has ended already").into(),
        };
        reply.into()
    })
}

/// Answers `tasks/result`, when the task has ended.
pub(super) fn result(request: &Request<'_>) -> ReplyFuture {
    with_task(request, |task| {
        ReplyFuture::untimed(async move {
            match task.ended().await {
                Ending::Result(result) => related(&result, &task.id).map_or_else(Reply::error, Reply::value),
                Ending::Error(error) => error.into(),
                Ending::Cancelled => ErrorObject::invalid_params("the task was cancelled").into(),
            }
        })
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
