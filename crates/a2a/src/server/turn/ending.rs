//! From the call of the function to the end of the work.

use std::sync::Arc;

use switchboard_core::{Code, Context, ErrorObject, Json, Outcome as Replied, Reply, ReplyFuture};
use tokio::time::Instant;

use super::super::{Outcome, Shared, TaskHandle, inner_call};
use super::{Ending, Stopped, Turn};
use crate::model::error::{INVALID_AGENT_RESPONSE, conform, error};
use crate::model::{Role, SendMessage, TaskState, TaskStatus};

impl Turn {
    /// Calls the function.
    pub(in super::super) fn call(
        self: &Arc<Self>,
        shared: &Shared,
        request: &SendMessage,
        mut cx: Context,
    ) -> ReplyFuture {
        // It may outlive the request, and is stopped when its own time is over.
        cx.deadline = Instant::now().checked_add(shared.options.work_time);
        cx.insert(TaskHandle::new(self, cx.clone()));
        // Logs, metrics and traces are about what is asked for, and not about `SendMessage`.
        cx.observe_as(shared.method.clone());
        match Json::encode_ref(request) {
            Ok(params) => shared.service.call(&inner_call(&shared.method, params, cx)),
            Err(error) => ReplyFuture::ready(ErrorObject::internal(&error)),
        }
    }

    /// Ends the work.
    pub(in super::super) async fn conclude(&self, stopped: Stopped) {
        let ending = match stopped {
            _ if self.state().is_lost => Ending::Task,
            Stopped::Cancelled => self.end_with(TaskStatus::new(TaskState::Canceled)).await,
            Stopped::TimedOut => {
                let status = TaskStatus::new(TaskState::Failed);
                self.end_with(status.with_message("the agent did not finish in time")).await
            }
            Stopped::Replied(reply) => self.conclude_with(reply).await,
        };
        let (events, goes_on) = {
            let state = self.state();
            let begun = state.begun.as_ref();
            (state.events.clone(), begun.is_some_and(|begun| !begun.record.task.status.state.is_terminal()))
        };
        if let (Some(events), Some(shared)) = (events, self.shared.upgrade()) {
            match goes_on {
                true => shared.keep_channel(&self.id, events),
                false => shared.close_channel(&self.id, None),
            }
        }
        let mut state = self.state();
        state.ending = Some(ending);
        state.events = None;
        drop(state);
        self.changed.notify_waiters();
    }

    async fn conclude_with(&self, reply: Reply) -> Ending {
        let outcome = match reply.outcome {
            Replied::Value(json) => json.decode::<Outcome>().map_err(|_| {
                error(INVALID_AGENT_RESPONSE, "the agent answered neither a message nor a status", &[])
            }),
            Replied::Error(error) => Err(conform(error)),
            Replied::Stream(_) => Err(error(INVALID_AGENT_RESPONSE, "the agent answered a stream", &[])),
        };
        let has_begun = self.has_begun();
        match outcome {
            Ok(Outcome::Message(mut message)) if !has_begun => {
                message.role = Role::Agent;
                message.context_id.get_or_insert_with(|| self.context_id.clone());
                message.task_id = None;
                Ending::Message(message)
            }
            Ok(Outcome::Message(message)) => {
                self.end_with(TaskStatus::new(TaskState::Completed).with_message(message)).await
            }
            Ok(Outcome::Status(status)) => self.end_with(status).await,
            Err(error) if !has_begun => Ending::Error(error),
            Err(error) => {
                let text = error.message.to_string();
                self.end_with(TaskStatus::new(TaskState::Failed).with_message(text)).await
            }
        }
    }

    /// Gives the task its last status of this turn.
    async fn end_with(&self, status: TaskStatus) -> Ending {
        if !self.has_begun() && status.state == TaskState::Canceled {
            return Ending::Error(ErrorObject::from_code(Code::CANCELLED));
        }
        if let Err(error) = self.begin().await {
            return Ending::Error(conform(error));
        }
        // One that was cancelled elsewhere says so itself.
        if let Err(error) = self.set_status(status).await
            && self.snapshot().is_none_or(|task| !task.status.state.is_terminal())
        {
            tracing::warn!(%error, "the end of a task could not be stored");
        }
        Ending::Task
    }

    /// Waits until a client, or another process, cancels it.
    pub(in super::super) async fn cancelled(&self) {
        self.cancelled.notified().await;
    }
}
