//! One task.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use switchboard_core::{ErrorObject, Json};
use switchboard_layers::lines::rfc3339;
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;

use super::super::subscribers::{Change, Subscribers};
use crate::ask::Question;
use crate::ask::seal::random_id;
use crate::model::Revision;
use crate::object::Object;

/// How often clients should ask, in milliseconds.
const POLL: u64 = 1000;

/// A call that goes on after its request was answered.
pub(crate) struct Task {
    pub(super) id: String,
    pub(super) owner: String,
    pub(super) created: SystemTime,
    ttl: Duration,
    state: Mutex<State>,
    changed: Notify,
    subscribers: Subscribers,
}

struct State {
    updated: SystemTime,
    ending: Option<Ending>,
    questions: BTreeMap<String, Open>,
    asked: u32,
    work: Option<AbortHandle>,
}

struct Open {
    method: &'static str,
    params: Json,
    answer: oneshot::Sender<Json>,
}

/// How a task ended.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    Result(Json),
    Error(ErrorObject),
    Cancelled,
}

impl Task {
    pub(super) fn new(owner: String, ttl: Duration, subscribers: Subscribers) -> Arc<Task> {
        Task::named(random_id(), SystemTime::now(), owner, ttl, subscribers)
    }

    /// One that has a name, and began at this time.
    pub(super) fn named(
        id: String,
        created: SystemTime,
        owner: String,
        ttl: Duration,
        subscribers: Subscribers,
    ) -> Arc<Task> {
        let now = SystemTime::now();
        let state = State { updated: now, ending: None, questions: BTreeMap::new(), asked: 0, work: None };
        let (state, changed) = (Mutex::new(state), Notify::new());
        Arc::new(Task { id, owner, created, ttl, state, changed, subscribers })
    }

    /// The same under another name, before anyone knows it.
    pub(super) fn renamed(&self, id: &str) -> Arc<Task> {
        Task::named(id.to_owned(), self.created, self.owner.clone(), self.ttl, self.subscribers.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_work(&self, work: AbortHandle) {
        self.state().work = Some(work);
    }

    pub(super) fn is_expired(&self) -> bool {
        self.created.elapsed().is_ok_and(|age| age > self.ttl)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state().ending.is_some()
    }

    /// Changes the state, and tells those who listen.
    fn change(&self, change: impl FnOnce(&mut State) -> bool) -> bool {
        let has_changed = {
            let mut state = self.state();
            let has_changed = change(&mut state);
            if has_changed {
                state.updated = SystemTime::now();
            }
            has_changed
        };
        if has_changed {
            self.changed.notify_waiters();
            if let Ok(params) = self.write_details(self.write(Object::new(), true)).json() {
                self.subscribers.publish(&Change::Task(self.id.clone(), params));
            }
        }
        has_changed
    }

    /// Ends the task, unless it has ended.
    pub(super) fn finish(&self, ending: Ending) -> bool {
        self.change(|state| {
            let is_first = state.ending.is_none();
            if is_first {
                state.ending = Some(ending);
                state.questions.clear();
            }
            is_first
        })
    }

    /// Cancels the task. False if it has ended.
    pub(super) fn cancel(&self) -> bool {
        let was_running = self.finish(Ending::Cancelled);
        if let Some(work) = self.state().work.take() {
            work.abort();
        }
        was_running
    }

    /// Answers a question. Questions that are not open are skipped.
    pub(super) fn answer(&self, key: &str, answer: Json) {
        self.change(|state| match state.questions.remove(key) {
            Some(open) => open.answer.send(answer).is_ok(),
            None => false,
        });
    }

    /// Waits until the task has ended.
    pub(super) async fn ended(&self) -> Ending {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(ending) = self.state().ending.clone() {
                return ending;
            }
            changed.await;
        }
    }

    /// Writes the members that every description of a task has.
    pub(super) fn write<'a>(&'a self, object: Object<'a>, is_extension: bool) -> Object<'a> {
        let state = self.state();
        let status = match (&state.ending, state.questions.is_empty()) {
            (None, true) => "working",
            (None, false) => "input_required",
            (Some(Ending::Cancelled), _) => "cancelled",
            (Some(Ending::Error(_)), _) => "failed",
            // The extension has errors of tools in results (MCP-TX-03), the other form in the status (MCP-TK-05).
            (Some(Ending::Result(result)), _) if !is_extension && is_error(result) => "failed",
            (Some(Ending::Result(_)), _) => "completed",
        };
        let time = |time: SystemTime| Json::encode(&rfc3339(time)).unwrap_or(Json::NULL);
        let (ttl, poll) = if is_extension { ("ttlMs", "pollIntervalMs") } else { ("ttl", "pollInterval") };
        object
            .with("taskId", self.id.as_str())
            .with("status", status)
            .with("createdAt", time(self.created))
            .with("lastUpdatedAt", time(state.updated))
            .with(ttl, u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX))
            .with(poll, POLL)
    }

    /// Writes what the extension adds: the questions, the result or the error.
    pub(super) fn write_details<'a>(&'a self, object: Object<'a>) -> Object<'a> {
        let state = self.state();
        match &state.ending {
            Some(Ending::Result(result)) => object.with("result", result.clone()),
            Some(Ending::Error(error)) => {
                let object_of = |error: &ErrorObject| {
                    Object::new()
                        .with("code", Json::encode(&error.code.0).unwrap_or(Json::NULL))
                        .with("message", Json::encode(&error.message.to_string()).unwrap_or(Json::NULL))
                        .with_some("data", error.data.clone())
                };
                object.with("error", object_of(error))
            }
            Some(Ending::Cancelled) => object,
            None if state.questions.is_empty() => object,
            None => {
                let mut requests = serde_json::Map::new();
                for (key, open) in &state.questions {
                    let params = open.params.decode().unwrap_or(serde_json::Value::Null);
                    requests
                        .insert(key.clone(), serde_json::json!({"method": open.method, "params": params}));
                }
                object.with_some("inputRequests", Json::encode(&requests).ok())
            }
        }
    }
}

fn is_error(result: &Json) -> bool {
    result.get("isError").is_some_and(|is_error| is_error.as_str() == "true")
}

/// A task, for the handler that runs it. It does not keep the task.
pub(crate) struct TaskCall(Weak<Task>);

impl TaskCall {
    pub(super) fn new(task: &Arc<Task>) -> TaskCall {
        TaskCall(Arc::downgrade(task))
    }

    /// Asks a question. No answer comes if the task has ended.
    pub(crate) fn ask(
        &self,
        question: &Question,
        revision: Revision,
    ) -> impl Future<Output = Option<Json>> + Send + use<> {
        let (sender, answer) = oneshot::channel();
        if let Some(task) = self.0.upgrade() {
            task.change(|state| {
                state.asked += 1;
                // A key is used once in the life of a task (MCP-TX-04).
                let key = match &question.key {
                    Some(key) if !state.questions.contains_key(key) => key.clone(),
                    _ => format!("{}-{}", question.word(), state.asked),
                };
                let open =
                    Open { method: question.method(), params: question.params(revision), answer: sender };
                state.ending.is_none() && state.questions.insert(key, open).is_none()
            });
        }
        async { answer.await.ok() }
    }
}
