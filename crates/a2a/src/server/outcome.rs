//! How a function ends its work on a message.

use serde::{Deserialize, Serialize};

use crate::model::{Message, TaskState, TaskStatus};

/// How the work on a message ended. On the wire between layers it is `{"message": …}` or `{"status": …}`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Outcome {
    /// The answer. If no task has begun, none is needed; otherwise the task is completed with it.
    Message(Message),
    /// The task has this status from now on: it has ended, or waits for its client.
    Status(TaskStatus),
}

impl Outcome {
    /// The task is done.
    #[must_use]
    pub fn completed() -> Outcome {
        Outcome::Status(TaskStatus::new(TaskState::Completed))
    }

    /// The task is done, and the agent says this.
    #[must_use]
    pub fn completed_with(message: impl Into<Message>) -> Outcome {
        Outcome::status(TaskState::Completed, message)
    }

    /// The agent asks its client. The function is called again with the answer.
    #[must_use]
    pub fn input_required(question: impl Into<Message>) -> Outcome {
        Outcome::status(TaskState::InputRequired, question)
    }

    /// The agent needs credentials, which do not travel in messages (A2A-X-02). The function is called again with the next message.
    #[must_use]
    pub fn auth_required(what: impl Into<Message>) -> Outcome {
        Outcome::status(TaskState::AuthRequired, what)
    }

    /// The agent does not do this.
    #[must_use]
    pub fn rejected(why: impl Into<Message>) -> Outcome {
        Outcome::status(TaskState::Rejected, why)
    }

    /// The task has failed.
    #[must_use]
    pub fn failed(why: impl Into<Message>) -> Outcome {
        Outcome::status(TaskState::Failed, why)
    }

    fn status(state: TaskState, message: impl Into<Message>) -> Outcome {
        Outcome::Status(TaskStatus::new(state).with_message(message))
    }
}

impl From<()> for Outcome {
    fn from((): ()) -> Outcome {
        Outcome::completed()
    }
}

impl From<Message> for Outcome {
    fn from(message: Message) -> Outcome {
        Outcome::Message(message)
    }
}

impl From<&str> for Outcome {
    fn from(text: &str) -> Outcome {
        Outcome::Message(text.into())
    }
}

impl From<String> for Outcome {
    fn from(text: String) -> Outcome {
        Outcome::Message(text.into())
    }
}
