//! The task of a message, for the function that answers it.

use std::fmt;
use std::sync::{Arc, LazyLock};

use switchboard_core::{Context, ErrorObject, FromContext, IntoError};

use super::RequestDetails;
use super::turn::Turn;
use crate::model::error::SERVER_ERROR;
use crate::model::{Artifact, ArtifactUpdate, Message, StreamEvent, Task, TaskState, TaskStatus};

/// The task of a message, for the function that answers it. Cheap to clone.
///
/// A task begins with the first thing that the function reports; a function that only returns a message has none. Changes are stored
/// before clients see them, except for parts of an artifact, which are stored with the last one. When a client cancels the task, the
/// function is dropped at its next await.
#[derive(Clone, Default)]
pub struct TaskHandle {
    turn: Option<Arc<Turn>>,
    cx: Arc<Context>,
}

static PLAIN: LazyLock<TaskHandle> = LazyLock::new(TaskHandle::default);

/// The task cannot be changed any more: it has ended, or is too large. As the error of the function it fails the task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Ended(pub(crate) String);

impl From<Ended> for ErrorObject {
    fn from(ended: Ended) -> ErrorObject {
        ErrorObject::new(SERVER_ERROR, ended.0)
    }
}

impl IntoError for Ended {
    fn into_error(self) -> ErrorObject {
        self.into()
    }
}

impl TaskHandle {
    pub(super) fn new(turn: &Arc<Turn>, cx: Context) -> TaskHandle {
        TaskHandle { turn: Some(Arc::clone(turn)), cx: Arc::new(cx) }
    }

    /// The same for a function that is called in this context.
    pub(super) fn within(&self, cx: &Context) -> TaskHandle {
        TaskHandle { turn: self.turn.clone(), cx: Arc::new(cx.clone()) }
    }

    /// The context of the function's call: the caller's identity, the trace, and the time when the function is stopped.
    ///
    /// Use it for calls that the function makes, with [`Client::within`](crate::Client::within) or
    /// [`Peer::within`](switchboard_core::Peer::within), so that they belong to the same trace. After a restart the trace is that of the request
    /// that began the work, and the identity that of the client that asked for it again, which has to be the same.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.cx
    }

    /// What the client has said about its request, besides the message.
    #[must_use]
    pub fn request(&self) -> &RequestDetails {
        static NONE: LazyLock<RequestDetails> = LazyLock::new(RequestDetails::default);
        self.turn.as_ref().map_or(&NONE, |turn| &turn.request)
    }

    /// The identifier of the task.
    #[must_use]
    pub fn id(&self) -> &str {
        self.turn.as_ref().map_or("", |turn| &turn.id)
    }

    /// The identifier of the conversation.
    #[must_use]
    pub fn context_id(&self) -> &str {
        self.turn.as_ref().map_or("", |turn| &turn.context_id)
    }

    /// The task as it is now, with its history; none if it has not begun.
    #[must_use]
    pub fn task(&self) -> Option<Task> {
        self.turn.as_ref()?.snapshot()
    }

    /// Whether the function is called again for a message that a process was working on when it ended.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.is_resumed)
    }

    /// Reports that the agent works, and on what.
    ///
    /// # Errors
    ///
    /// When the task has ended.
    pub async fn working(&self, message: impl Into<Message>) -> Result<(), Ended> {
        self.status(TaskStatus::new(TaskState::Working).with_message(message)).await
    }

    /// Reports a status. To end the task or to ask the client, return an [`Outcome`](super::Outcome).
    ///
    /// # Errors
    ///
    /// When the task has ended.
    pub async fn status(&self, status: TaskStatus) -> Result<(), Ended> {
        match &self.turn {
            Some(turn) => turn.set_status(status).await,
            None => Ok(()),
        }
    }

    /// Adds an artifact, or replaces the one with its identifier.
    ///
    /// # Errors
    ///
    /// When the task has ended, or would be too large.
    pub async fn artifact(&self, artifact: Artifact) -> Result<(), Ended> {
        self.produce(artifact, false, true).await
    }

    /// Adds the parts of this artifact to the one with its identifier, which may be new.
    ///
    /// # Errors
    ///
    /// When the task has ended, or would be too large.
    pub async fn chunk(&self, artifact: Artifact, is_last: bool) -> Result<(), Ended> {
        self.produce(artifact, true, is_last).await
    }

    async fn produce(&self, artifact: Artifact, append: bool, last_chunk: bool) -> Result<(), Ended> {
        let Some(turn) = &self.turn else { return Ok(()) };
        let (task_id, context_id) = (turn.id.clone(), turn.context_id.clone());
        let update = ArtifactUpdate { task_id, context_id, artifact, append, last_chunk, metadata: None };
        turn.update(StreamEvent::ArtifactUpdate(update)).await
    }
}

impl FromContext for TaskHandle {
    fn from_context(cx: &Context) -> Option<&TaskHandle> {
        Some(cx.get().unwrap_or(&PLAIN))
    }
}

impl fmt::Debug for TaskHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHandle").field("id", &self.id()).finish()
    }
}
