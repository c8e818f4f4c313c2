//! `GetTask`, `ListTasks`, `CancelTask` and `SubscribeToTask`.

use std::sync::Arc;

use switchboard_core::{Context, ErrorObject, Reply};

use super::following::Following;
use super::index::{Entry, Page};
use super::owner::owner;
use super::records::Stored;
use super::shared::{Found, Shared};
use super::stream::{Source, events};
use super::turn::{remember, unavailable};
use crate::model::error::{TASK_NOT_CANCELABLE, error, invalid_field, task_not_found, unsupported};
use crate::model::{GetTask, ListTasks, StreamEvent, Task, TaskPage, TaskState, TaskStatus, Version};

/// How many tasks that other processes may have changed a list reads again.
const READ_AGAIN: usize = 1_000;

/// How often a task that is being cancelled may change meanwhile.
const CANCEL_AGAIN: usize = 16;

/// Reads a task.
pub(super) async fn get(shared: &Arc<Shared>, request: &GetTask, cx: &Context) -> Result<Task, ErrorObject> {
    let mut task = match shared.find(&request.id, &owner(cx, request.tenant.as_deref()), cx).await? {
        Found::Live(turn) => turn.snapshot().ok_or_else(|| task_not_found(&request.id))?,
        Found::Stored(stored) => stored.record.task,
    };
    task.limit_history(request.history_length.map(|length| length as usize));
    Ok(task)
}

/// Cancels a task (A2A-M-06). One that changes meanwhile is looked at again.
pub(super) async fn cancel(
    shared: &Arc<Shared>,
    request: &GetTask,
    cx: &Context,
) -> Result<Task, ErrorObject> {
    let (id, owner) = (&request.id, owner(cx, request.tenant.as_deref()));
    for _ in 0..CANCEL_AGAIN {
        let task = match shared.find(id, &owner, cx).await? {
            Found::Live(turn) => {
                turn.cancel();
                turn.ended().await;
                shared.deregister(&turn);
                turn.snapshot()
            }
            Found::Stored(stored) => cancel_stored(shared, *stored).await?,
        };
        match task.as_ref().map(|task| task.status.state) {
            Some(TaskState::Canceled) => return task.ok_or_else(|| task_not_found(id)),
            Some(state) if state.is_terminal() => {
                return Err(error(TASK_NOT_CANCELABLE, "the task has ended", &[("taskId", id)]));
            }
            // Its work has just ended with a question, or the store has another state.
            _ => {}
        }
    }
    Err(unsupported("the task keeps changing; try again"))
}

/// Cancels a task that is not worked on here. None if it has just changed.
async fn cancel_stored(shared: &Arc<Shared>, stored: Stored) -> Result<Option<Task>, ErrorObject> {
    let mut record = stored.record;
    if record.task.status.state.is_terminal() {
        return Ok(Some(record.task));
    }
    let status = TaskStatus { timestamp: Some(shared.records.now()), ..TaskStatus::new(TaskState::Canceled) };
    let before = std::mem::replace(&mut record.task.status, status);
    remember(&mut record.task, before.message);
    let written = shared.records.write(&record, Some(&stored.bytes)).await;
    if written.map_err(|error| unavailable(&error))?.is_none() {
        return Ok(None);
    }
    shared.index.note(&record);
    shared.notify(&Arc::new(StreamEvent::Task(record.task.clone())));
    shared.close_channel(&record.task.id, Some(StreamEvent::Task(record.task.clone())));
    Ok(Some(record.task))
}

/// The rest of what a task does (A2A-S-04).
pub(super) async fn subscribe(
    shared: &Arc<Shared>,
    request: &GetTask,
    cx: &Context,
    version: Version,
) -> Result<Reply, ErrorObject> {
    let owner = owner(cx, request.tenant.as_deref());
    let mut receiver = None;
    let mut task = match shared.find(&request.id, &owner, cx).await? {
        Found::Live(turn) => {
            let (task, events) = turn.subscribe();
            receiver = events;
            task.ok_or_else(|| task_not_found(&request.id))?
        }
        Found::Stored(stored) => stored.record.task,
    };
    if receiver.is_none() && !task.status.state.is_terminal() {
        // It waits for a message. One may come just now, so what is read after listening counts.
        receiver = Some(shared.channel(&request.id).subscribe());
        match shared.find(&request.id, &owner, cx).await? {
            Found::Live(turn) => {
                let (now, events) = turn.subscribe();
                (task, receiver) = (now.unwrap_or(task), events.or(receiver));
            }
            Found::Stored(stored) => task = stored.record.task,
        }
    }
    if task.status.state.is_terminal() {
        drop(receiver);
        shared.release_channel(&request.id);
        return Err(unsupported("the task has ended; read it with GetTask"));
    }
    let source = Source::Task(Following::new(shared, &task, owner, cx.clone()));
    Ok(events(source, Some(StreamEvent::Task(task)), receiver, version))
}

/// Lists the tasks of a caller (A2A-M-04).
pub(super) async fn list(
    shared: &Arc<Shared>,
    request: &ListTasks,
    cx: &Context,
) -> Result<TaskPage, ErrorObject> {
    let size = request.page_size.unwrap_or(50);
    if !(1..=100).contains(&size) {
        return Err(invalid_field("pageSize", "use 1 to 100"));
    }
    let after =
        request.page_token.as_deref().filter(|token| !token.is_empty()).map(Token::read).transpose()?;
    let owner = owner(cx, request.tenant.as_deref());
    let fault = |error| unavailable(&error);
    shared.index.load(&shared.records).await.map_err(fault)?;
    refresh(shared, &owner).await?;
    let (owner_hash, index) = (shared.index.hash(&owner), &shared.index);
    let context = request.context_id.as_deref().map(|context| index.hash(context));
    let since = request.status_timestamp_after.map_or(0, |time| time.0);
    let is_wanted = |entry: &Entry| {
        entry.owner == owner_hash
            && context.is_none_or(|context| entry.context == context)
            && request.status.is_none_or(|state| entry.state == state)
            && entry.time >= since
    };
    let after = match &after {
        // One that changed meanwhile is further up; what comes after it is decided by its time then.
        Some(token) => {
            let last = shared.records.read(token.id).await.map_err(fault)?;
            Some((token.time, last.map_or(0, |last| last.record.number)))
        }
        None => None,
    };
    let Page { entries: page, total, is_more } = index.page(is_wanted, after, size as usize);
    let total_size = u32::try_from(total).unwrap_or(u32::MAX);
    let mut tasks = Vec::with_capacity(page.len());
    for entry in &page {
        if let Some(mut task) = read(shared, &entry.id, &owner).await? {
            task.limit_history(Some(request.history_length.unwrap_or(0) as usize));
            if !request.include_artifacts {
                task.artifacts.clear();
            }
            tasks.push(task);
        }
    }
    let next_page_token = page
        .last()
        .filter(|_| is_more)
        .map(|entry| format!("{:x}.{}", entry.time, entry.id))
        .unwrap_or_default();
    Ok(TaskPage { tasks, next_page_token, page_size: size, total_size })
}

/// The task of a list, as it is now.
async fn read(shared: &Shared, id: &str, owner: &str) -> Result<Option<Task>, ErrorObject> {
    if let Some(turn) = shared.turn(id) {
        return Ok(turn.snapshot());
    }
    let stored = shared.records.read(id).await.map_err(|error| unavailable(&error))?;
    Ok(stored.filter(|stored| stored.record.owner == owner).map(|stored| stored.record.task))
}

/// Reads the tasks of a caller again that have not ended and that are not being worked on here.
async fn refresh(shared: &Shared, owner: &str) -> Result<(), ErrorObject> {
    let hash = shared.index.hash(owner);
    let is_open =
        |entry: &Entry| entry.owner == hash && !entry.state.is_terminal() && shared.turn(&entry.id).is_none();
    for (number, id) in shared.index.some(is_open, READ_AGAIN) {
        match shared.records.read(&id).await.map_err(|error| unavailable(&error))? {
            Some(stored) => shared.index.note(&stored.record),
            None => shared.index.forget(number),
        }
    }
    Ok(())
}

/// Where a page ends: after the task with this identifier, whose status changed at this time.
struct Token<'a> {
    time: u64,
    id: &'a str,
}

impl Token<'_> {
    fn read(text: &str) -> Result<Token<'_>, ErrorObject> {
        let token = text
            .split_once('.')
            .and_then(|(time, id)| Some(Token { time: u64::from_str_radix(time, 16).ok()?, id }));
        token.ok_or_else(|| invalid_field("pageToken", "use the nextPageToken of the page before"))
    }
}
