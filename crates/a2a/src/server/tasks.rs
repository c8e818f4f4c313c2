//! `GetTask`, `ListTasks`, `CancelTask` and `SubscribeToTask`.

use std::cmp::Reverse;
use std::sync::Arc;

use switchboard_core::{Context, ErrorObject, Reply};
use switchboard_layers::identity::principal;

use super::records::Stored;
use super::shared::{Found, Shared};
use super::stream::{Source, events};
use super::turn::{remember, unavailable};
use crate::model::error::{TASK_NOT_CANCELABLE, error, invalid_field, task_not_found, unsupported};
use crate::model::{GetTask, ListTasks, StreamEvent, Task, TaskPage, TaskState, TaskStatus, Version};

/// How many tasks that other processes may have changed a list reads again.
const READ_AGAIN: usize = 1_000;

/// Reads a task.
pub(super) async fn get(shared: &Arc<Shared>, request: &GetTask, cx: &Context) -> Result<Task, ErrorObject> {
    let mut task = match shared.find(&request.id, &principal(cx), cx).await? {
        Found::Live(turn) => turn.snapshot().ok_or_else(|| task_not_found(&request.id))?,
        Found::Stored(stored) => stored.record.task,
    };
    task.limit_history(request.history_length.map(|length| length as usize));
    Ok(task)
}

/// Cancels a task (A2A-M-06).
pub(super) async fn cancel(shared: &Arc<Shared>, id: &str, cx: &Context) -> Result<Task, ErrorObject> {
    let task = match shared.find(id, &principal(cx), cx).await? {
        Found::Live(turn) => {
            turn.cancel();
            turn.ended().await;
            turn.snapshot().ok_or_else(|| task_not_found(id))?
        }
        Found::Stored(stored) => cancel_stored(shared, *stored).await?,
    };
    match task.status.state {
        TaskState::Canceled => Ok(task),
        _ => Err(error(TASK_NOT_CANCELABLE, "the task has ended", &[("taskId", id)])),
    }
}

async fn cancel_stored(shared: &Arc<Shared>, stored: Stored) -> Result<Task, ErrorObject> {
    let mut record = stored.record;
    if record.task.status.state.is_terminal() {
        return Ok(record.task);
    }
    let status = TaskStatus { timestamp: Some(shared.records.now()), ..TaskStatus::new(TaskState::Canceled) };
    let before = std::mem::replace(&mut record.task.status, status);
    remember(&mut record.task, before.message);
    match shared.records.write(&record, Some(&stored.bytes)).await {
        Ok(Some(_)) => {
            shared.index.note(&record);
            shared.notify(&Arc::new(StreamEvent::Task(record.task.clone())));
            shared.close_channel(&record.task.id, Some(StreamEvent::Task(record.task.clone())));
            Ok(record.task)
        }
        Ok(None) => Err(unsupported("the task has just changed; try again")),
        Err(error) => Err(unavailable(&error)),
    }
}

/// The rest of what a task does (A2A-S-04).
pub(super) async fn subscribe(
    shared: &Arc<Shared>,
    request: &GetTask,
    cx: &Context,
    version: Version,
) -> Result<Reply, ErrorObject> {
    let owner = principal(cx);
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
    let source = Source::Task(Arc::downgrade(shared), request.id.clone());
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
    let owner = principal(cx);
    let fault = |error| unavailable(&error);
    shared.index.load(&shared.records).await.map_err(fault)?;
    refresh(shared, &owner).await?;
    let (owner_hash, index) = (shared.index.hash(&owner), &shared.index);
    let context = request.context_id.as_deref().map(|context| index.hash(context));
    let since = request.status_timestamp_after.map_or(0, |time| time.0);
    let mut found = index.select(|entry| {
        entry.owner == owner_hash
            && context.is_none_or(|context| entry.context == context)
            && request.status.is_none_or(|state| entry.state == state)
            && entry.time >= since
    });
    found.sort_unstable_by_key(|(number, entry)| Reverse((entry.time, *number)));
    let total_size = u32::try_from(found.len()).unwrap_or(u32::MAX);
    let start = after.map_or(0, |after| {
        let last = found.iter().find(|(_, entry)| *entry.id == *after.id);
        // One that changed meanwhile is further up; what comes after it is decided by its time then.
        let number = last.map_or(0, |(number, _)| *number);
        found.partition_point(|(own, entry)| (entry.time, *own) >= (after.time, number))
    });
    let page = found.get(start..).unwrap_or_default();
    let is_more = page.len() > size as usize;
    let page = &page[..page.len().min(size as usize)];
    let mut tasks = Vec::with_capacity(page.len());
    for (_, entry) in page {
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
        .map(|(_, entry)| format!("{:x}.{}", entry.time, entry.id))
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
    let open = shared.index.select(|entry| entry.owner == hash && !entry.state.is_terminal());
    let elsewhere = open.into_iter().filter(|(_, entry)| shared.turn(&entry.id).is_none());
    for (number, entry) in elsewhere.take(READ_AGAIN) {
        match shared.records.read(&entry.id).await.map_err(|error| unavailable(&error))? {
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
