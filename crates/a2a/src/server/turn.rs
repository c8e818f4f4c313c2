//! The work on one message: the function runs, its task changes, and those who listen get events.

mod ending;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use switchboard_core::{ErrorObject, Reply};
use switchboard_layers::store::StoreError;
use tokio::sync::{Notify, broadcast};

use super::handle::Ended;
use super::records::{Record, failed};
use super::{RequestDetails, Shared};
use crate::model::error::conform;
use crate::model::{Message, Role, StatusUpdate, StreamEvent, Task, TaskState, TaskStatus};

/// How many messages of its history a task keeps: the latest.
const HISTORY: usize = 100;

/// Why a function cannot change its task any more.
const ELSEWHERE: &str = "the task was changed elsewhere";

/// The work on one message.
pub(crate) struct Turn {
    pub(super) id: String,
    pub(super) context_id: String,
    pub(super) owner: String,
    pub(super) is_resumed: bool,
    pub(super) request: RequestDetails,
    shared: Weak<Shared>,
    /// Held while the record is written, so that changes are stored in order.
    writing: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    changed: Notify,
    cancelled: Notify,
}

struct State {
    /// The message that began it, until there is a task.
    message: Option<Message>,
    begun: Option<Begun>,
    /// None once it has ended.
    events: Option<Events>,
    ending: Option<Ending>,
    /// Another process has changed the task: this one must not.
    is_lost: bool,
}

pub(super) type Events = broadcast::Sender<Arc<StreamEvent>>;

/// A task in the store.
struct Begun {
    record: Record,
    /// What the store has.
    bytes: Bytes,
    size: usize,
}

/// How the work ended.
#[derive(Clone)]
pub(super) enum Ending {
    /// Without a task.
    Message(Message),
    /// Without a task.
    Error(ErrorObject),
    /// The task says how.
    Task,
}

/// Why the function does not run any more.
pub(super) enum Stopped {
    Replied(Reply),
    Cancelled,
    TimedOut,
}

impl Turn {
    /// The work on a message that begins a conversation or goes on with one.
    pub(super) fn new(
        shared: &Arc<Shared>,
        owner: String,
        context_id: String,
        request: RequestDetails,
        message: &mut Message,
    ) -> Turn {
        let id = crate::ids::random();
        (message.task_id, message.context_id) = (Some(id.clone()), Some(context_id.clone()));
        Turn::of(shared, (id, context_id, owner), request, Some(message.clone()), None, false)
    }

    /// The work on a task that is stored like this.
    pub(super) fn on(shared: &Arc<Shared>, record: Record, bytes: Bytes, is_resumed: bool) -> Turn {
        let names = (record.task.id.clone(), record.task.context_id.clone(), record.owner.clone());
        let request = record.request.clone();
        let begun = Begun { size: bytes.len(), record, bytes };
        Turn::of(shared, names, request, None, Some(begun), is_resumed)
    }

    fn of(
        shared: &Arc<Shared>,
        (id, context_id, owner): (String, String, String),
        request: RequestDetails,
        message: Option<Message>,
        begun: Option<Begun>,
        is_resumed: bool,
    ) -> Turn {
        // A task that goes on may have readers.
        let events = Some(match &begun {
            Some(_) => shared.channel(&id),
            None => Events::new(shared.options.behind),
        });
        let state = Mutex::new(State { message, begun, events, ending: None, is_lost: false });
        let (changed, cancelled) = (Notify::new(), Notify::new());
        let (shared, writing) = (Arc::downgrade(shared), tokio::sync::Mutex::default());
        Turn { id, context_id, owner, is_resumed, request, shared, writing, state, changed, cancelled }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task as it is, if there is one.
    pub(super) fn snapshot(&self) -> Option<Task> {
        self.state().begun.as_ref().map(|begun| begun.record.task.clone())
    }

    fn has_begun(&self) -> bool {
        self.state().begun.is_some()
    }

    /// The task as it is, and the events from here on.
    pub(super) fn subscribe(&self) -> (Option<Task>, Option<broadcast::Receiver<Arc<StreamEvent>>>) {
        let state = self.state();
        let task = state.begun.as_ref().map(|begun| begun.record.task.clone());
        (task, state.events.as_ref().map(Events::subscribe))
    }

    /// Has the function stop.
    pub(super) fn cancel(&self) {
        self.cancelled.notify_one();
    }

    /// Cancels work that has no task, because its answer cannot be read any more.
    pub(super) fn abandon(&self) {
        let is_lost = {
            let state = self.state();
            state.begun.is_none() && state.ending.is_none()
        };
        if is_lost {
            self.cancel();
        }
    }

    /// Waits until the work has ended.
    pub(super) async fn ended(&self) -> Ending {
        self.wait(|state| state.ending.clone()).await
    }

    /// Waits until there is a task, or the work has ended without one.
    pub(super) async fn begun(&self) -> Ending {
        self.wait(|state| match &state.begun {
            Some(_) => Some(Ending::Task),
            None => state.ending.clone(),
        })
        .await
    }

    async fn wait<T>(&self, ready: impl Fn(&State) -> Option<T>) -> T {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(ready) = ready(&self.state()) {
                return ready;
            }
            changed.await;
        }
    }
}

/// Changes of the task.
impl Turn {
    /// Begins the task, unless it has begun.
    pub(super) async fn begin(&self) -> Result<(), ErrorObject> {
        let _writing = self.writing.lock().await;
        self.begin_now().await
    }

    async fn begin_now(&self) -> Result<(), ErrorObject> {
        let message = {
            let state = self.state();
            match (&state.begun, &state.message) {
                (None, Some(message)) if state.ending.is_none() => message.clone(),
                _ => return Ok(()),
            }
        };
        let shared = self.shared.upgrade().ok_or_else(ErrorObject::timed_out)?;
        let mut status = TaskStatus::new(TaskState::Submitted);
        status.timestamp = Some(shared.records.now());
        let (id, context_id) = (self.id.clone(), self.context_id.clone());
        let (artifacts, history) = (Vec::new(), vec![message]);
        let task = Task { id, context_id, status, artifacts, history, metadata: None };
        let (owner, until, request) = (self.owner.clone(), shared.records.lease(), self.request.clone());
        let (record, bytes) = shared.add(Record { owner, number: 0, until, request, task }).await?;
        let mut state = self.state();
        let event = StreamEvent::Task(record.task.clone());
        state.begun = Some(Begun { size: bytes.len(), record, bytes });
        state.message = None;
        let event = state.send(event);
        drop(state);
        shared.notify(&event);
        self.changed.notify_waiters();
        Ok(())
    }

    /// Gives the task another status.
    pub(super) async fn set_status(&self, mut status: TaskStatus) -> Result<(), Ended> {
        let now = self.shared.upgrade().map(|shared| shared.records.now());
        status.timestamp = now.or(status.timestamp);
        if let Some(message) = &mut status.message {
            message.role = Role::Agent;
            (message.task_id, message.context_id) = (Some(self.id.clone()), Some(self.context_id.clone()));
        }
        let (task_id, context_id) = (self.id.clone(), self.context_id.clone());
        self.update(StreamEvent::StatusUpdate(StatusUpdate { task_id, context_id, status, metadata: None }))
            .await
    }

    /// Changes the task, stores it and tells those who listen.
    pub(super) async fn update(&self, event: StreamEvent) -> Result<(), Ended> {
        let _writing = self.writing.lock().await;
        let gone = || Ended("the agent has been stopped".to_owned());
        let shared = self.shared.upgrade().ok_or_else(gone)?;
        self.begin_now().await.map_err(|error| Ended(error.message.to_string()))?;
        let size = match &event {
            StreamEvent::ArtifactUpdate(update) => update.artifact.size(),
            StreamEvent::StatusUpdate(update) => update.status.message.as_ref().map_or(64, Message::size),
            _ => 0,
        };
        let is_part =
            matches!(&event, StreamEvent::ArtifactUpdate(update) if update.append && !update.last_chunk);
        let (mut record, known) = {
            let mut state = self.state();
            if state.is_lost {
                return Err(Ended(ELSEWHERE.to_owned()));
            }
            let begun = state.begun.as_mut().filter(|begun| !begun.record.task.status.state.is_terminal());
            let begun = begun.ok_or_else(|| Ended("the task has ended".to_owned()))?;
            let is_status = matches!(event, StreamEvent::StatusUpdate(_));
            if begun.size + size > shared.options.task_size && !is_status {
                return Err(Ended(format!(
                    "the task would exceed {} bytes (task_size)",
                    shared.options.task_size
                )));
            }
            begun.size += size;
            if is_part {
                apply(&mut begun.record.task, event.clone());
                let event = state.send(event);
                drop(state);
                shared.notify(&event);
                return Ok(());
            }
            (begun.record.clone(), begun.bytes.clone())
        };
        apply(&mut record.task, event.clone());
        record.until = shared.records.lease();
        let stored = shared.records.write(&record, Some(&known)).await;
        let stored = stored.map_err(|error| Ended(failed(&error).message.to_string()))?;
        let Some(bytes) = stored else {
            self.adopt(&shared).await;
            return Err(Ended(ELSEWHERE.to_owned()));
        };
        shared.index.note(&record);
        let mut state = self.state();
        state.begun = Some(Begun { size: bytes.len(), record, bytes });
        let event = state.send(event);
        drop(state);
        shared.notify(&event);
        Ok(())
    }

    /// Takes over what another process has made of the task: it was cancelled there, or goes on there because this process was too slow to renew
    /// its lease.
    async fn adopt(&self, shared: &Shared) {
        self.state().is_lost = true;
        if let Ok(Some(stored)) = shared.records.read(&self.id).await {
            let mut state = self.state();
            let event = StreamEvent::Task(stored.record.task.clone());
            state.begun =
                Some(Begun { size: stored.bytes.len(), record: stored.record, bytes: stored.bytes });
            state.send(event);
        }
        self.cancel();
    }

    /// Tells other processes that this one still works on it. A change that is being stored says so, too; it must not be waited for, because
    /// the function that makes it is not polled meanwhile.
    pub(super) async fn renew(&self) {
        let Ok(_writing) = self.writing.try_lock() else { return };
        let Some(shared) = self.shared.upgrade() else { return };
        let Some((mut record, known)) =
            self.state().begun.as_ref().map(|begun| (begun.record.clone(), begun.bytes.clone()))
        else {
            return;
        };
        record.until = shared.records.lease();
        match shared.records.write(&record, Some(&known)).await {
            Ok(Some(bytes)) => {
                if let Some(begun) = &mut self.state().begun {
                    (begun.record.until, begun.bytes) = (record.until, bytes);
                }
            }
            Ok(None) => self.adopt(&shared).await,
            Err(error) => tracing::warn!(%error, "a task could not be stored"),
        }
    }
}

impl State {
    fn send(&self, event: StreamEvent) -> Arc<StreamEvent> {
        let event = Arc::new(event);
        if let Some(events) = &self.events {
            // Nobody may listen.
            let _ = events.send(Arc::clone(&event));
        }
        event
    }
}

fn apply(task: &mut Task, event: StreamEvent) {
    match event {
        StreamEvent::ArtifactUpdate(update) => update.apply(&mut task.artifacts),
        StreamEvent::StatusUpdate(update) => {
            let before = std::mem::replace(&mut task.status, update.status);
            remember(task, before.message);
        }
        _ => {}
    }
}

/// Adds a message to the history.
pub(super) fn remember(task: &mut Task, message: Option<Message>) {
    task.history.extend(message);
    task.limit_history(Some(HISTORY));
}

/// What the store's failure means for a request.
pub(super) fn unavailable(error: &StoreError) -> ErrorObject {
    conform(failed(error))
}
