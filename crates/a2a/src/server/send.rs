//! `SendMessage` and `SendStreamingMessage`.

use std::sync::Arc;

use switchboard_core::{Context, ErrorObject, Reply, ReplyFuture};

use super::RequestDetails;
use super::owner::owner;
use super::push;
use super::shared::{Found, Shared};
use super::stream::{Source, events, once, written};
use super::turn::{Ending, Stopped, Turn, remember, unavailable};
use crate::model::error::{CONTENT_TYPE_NOT_SUPPORTED, conform, error, invalid_field, unsupported};
use crate::model::{AgentCard, SendMessage, StreamEvent, TaskState, Version};

/// How a message is to be answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// When the work on it has ended (A2A-M-02).
    Blocking,
    /// As soon as there is a task.
    Immediate,
    /// In parts.
    Stream,
}

/// Answers a message.
pub(super) async fn answer(
    shared: Arc<Shared>,
    mut request: SendMessage,
    cx: Context,
    mode: Mode,
    version: Version,
) -> Reply {
    let (turn, place) = match open(&shared, &mut request, &cx, version).await {
        Ok(opened) => opened,
        Err(error) => return error.into(),
    };
    let history = request.configuration.as_ref().and_then(|configuration| configuration.history_length);
    let (_, receiver) = turn.subscribe();
    let first = match mode {
        // A task that has begun before is known to the stream from here on.
        Mode::Stream => turn.snapshot().map(StreamEvent::Task),
        _ => None,
    };
    let abandoning = Abandoning(Arc::clone(&turn));
    if let Err(error) = start(&shared, &turn, turn.call(&shared, &request, cx), mode).await {
        return error.into();
    }
    let ending = match mode {
        Mode::Blocking => turn.ended().await,
        Mode::Immediate | Mode::Stream => turn.begun().await,
    };
    drop(abandoning);
    if let (Some(id), Ending::Error(_) | Ending::Message(_)) = (place, &ending) {
        // There is no task to hear of. What cannot be removed expires.
        let _ = push::forget(&shared, &turn.id, &id).await;
    }
    let event = match ending {
        Ending::Error(error) => return conform(error).into(),
        Ending::Message(message) => StreamEvent::Message(message),
        Ending::Task if mode == Mode::Stream => return events(Source::Turn(turn), first, receiver, version),
        Ending::Task => match turn.snapshot() {
            Some(mut task) => {
                task.limit_history(history.map(|length| length as usize));
                StreamEvent::Task(task)
            }
            None => return ErrorObject::internal(&"the task is gone").into(),
        },
    };
    match mode {
        Mode::Stream => once(&event, version),
        _ => written(&event, version).into(),
    }
}

/// Adds the place for notifications that comes with a message, before anything happens to the task. Returns its identifier.
async fn inline_place(
    shared: &Shared,
    task: &str,
    request: &mut SendMessage,
    version: Version,
) -> Result<Option<String>, ErrorObject> {
    let configuration = request.configuration.as_mut();
    match configuration.and_then(|configuration| configuration.task_push_notification_config.take()) {
        Some(config) => Ok(Some(push::add(shared, task, config, version).await?.id)),
        None => Ok(None),
    }
}

/// Has the function work: here, if it needs no time, or apart from the request.
async fn start(
    shared: &Arc<Shared>,
    turn: &Arc<Turn>,
    reply: ReplyFuture,
    mode: Mode,
) -> Result<(), ErrorObject> {
    match reply.into_ready() {
        Ok(reply) => {
            turn.conclude(Stopped::Replied(reply)).await;
        }
        Err(pending) => {
            shared.run(turn, pending);
            if mode == Mode::Immediate
                && let Err(error) = turn.begin().await
            {
                turn.cancel();
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Cancels the work for a request that ends before there is a task.
struct Abandoning(Arc<Turn>);

impl Drop for Abandoning {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// The turn of a message: of a new task, or of the one that the message names. With the place for notifications that a new task has.
async fn open(
    shared: &Arc<Shared>,
    request: &mut SendMessage,
    cx: &Context,
    version: Version,
) -> Result<(Arc<Turn>, Option<String>), ErrorObject> {
    check(&shared.card, request)?;
    if shared.is_busy() {
        let text = "the agent works on as many tasks as it can; try again later";
        return Err(conform(ErrorObject::over_limit("working", text)));
    }
    let owner = owner(cx, request.tenant.as_deref());
    let details = RequestDetails::of(request, cx, &shared.card);
    let message = &mut request.message;
    let turn = match message.task_id.clone() {
        Some(id) => {
            let turn = go_on(shared, &id, &owner, request, details, cx, version).await?;
            return Ok((Arc::new(turn), None));
        }
        None => {
            let context = match &message.context_id {
                Some(id) if id.is_empty() || id.len() > 256 => {
                    return Err(invalid_field("message.contextId", "use 1 to 256 bytes"));
                }
                Some(id) => id.clone(),
                None => crate::ids::random(),
            };
            Turn::new(shared, owner, context, details, message)
        }
    };
    let place = inline_place(shared, &turn.id, request, version).await?;
    Ok((Arc::new(turn), place))
}

/// Goes on with a task that waits for a message (A2A-M-03).
async fn go_on(
    shared: &Arc<Shared>,
    id: &str,
    owner: &str,
    request: &mut SendMessage,
    details: RequestDetails,
    cx: &Context,
    version: Version,
) -> Result<Turn, ErrorObject> {
    let busy = || unsupported("the agent is working on the task; send when it asks, or cancel it");
    let mut found = shared.find(id, owner, cx).await?;
    if let Found::Live(turn) = &found
        && turn.snapshot().is_some_and(|task| task.status.state.is_interrupted())
    {
        // The client has seen the question just before the work ends.
        turn.ended().await;
        shared.deregister(turn);
        found = shared.find(id, owner, cx).await?;
    }
    let Found::Stored(stored) = found else { return Err(busy()) };
    let stored = *stored;
    let (mut record, message) = (stored.record, &request.message);
    if record.task.status.state.is_terminal() {
        return Err(unsupported("the task has ended; send the message without taskId"));
    }
    if !record.task.status.state.is_interrupted() {
        return Err(busy());
    }
    if message.context_id.as_ref().is_some_and(|context| *context != record.task.context_id) {
        return Err(invalid_field("message.contextId", "it is not that of the task"));
    }
    if stored.bytes.len() + message.size() > shared.options.task_size {
        return Err(conform(ErrorObject::over_limit("task_size", "the task would be too large")));
    }
    if inline_place(shared, id, request, version).await?.is_none() {
        push::keep(shared, id).await;
    }
    let message = &mut request.message;
    message.context_id = Some(record.task.context_id.clone());
    let asked = record.task.status.message.take();
    remember(&mut record.task, asked);
    remember(&mut record.task, Some(message.clone()));
    record.task.status.state = TaskState::Working;
    record.task.status.timestamp = Some(shared.records.now());
    record.until = shared.records.lease();
    record.request = details;
    let written =
        shared.records.write(&record, Some(&stored.bytes)).await.map_err(|error| unavailable(&error))?;
    let bytes = written.ok_or_else(|| unsupported("another message to the task was faster"))?;
    shared.index.note(&record);
    Ok(Turn::on(shared, record, bytes, false))
}

/// What can be said about a request without looking at tasks.
fn check(card: &AgentCard, request: &SendMessage) -> Result<(), ErrorObject> {
    let takes = |media: &str| {
        let modes = card.skills.iter().flat_map(|skill| &skill.input_modes).chain(&card.default_input_modes);
        modes.into_iter().any(|mode| matches(mode, media))
    };
    let media = request.message.parts.iter().filter_map(|part| part.media_type.as_deref());
    match media.into_iter().find(|media| !takes(media)) {
        None => Ok(()),
        Some(media) => {
            let media: String = media.chars().take(128).collect();
            let text = format!("the agent does not take {media}");
            Err(error(CONTENT_TYPE_NOT_SUPPORTED, text, &[("mediaType", &media)]))
        }
    }
}

/// Whether a mode such as `image/*` covers a media type.
fn matches(mode: &str, media: &str) -> bool {
    let essence = media.split(';').next().unwrap_or_default().trim();
    match mode.strip_suffix("/*") {
        Some("*") => true,
        Some(family) => essence.split('/').next().is_some_and(|own| own.eq_ignore_ascii_case(family)),
        None => mode.eq_ignore_ascii_case(essence),
    }
}
