//! What happens to a task, wherever it is worked on.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Weak};
use std::time::Duration;

use switchboard_core::Context;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::shared::{Found, Shared};
use super::turn::Turn;
use crate::model::error::TASK_NOT_FOUND;
use crate::model::{StreamEvent, Task};

/// How often a task that is not worked on here is read again.
const LOOK: Duration = Duration::from_secs(1);

/// A task that a stream follows. While it is worked on here, events say what happens. Otherwise another process may work on it, or may have been
/// killed while it did: then the store is read, and the work goes on here when its lease is over.
pub(super) struct Following {
    shared: Weak<Shared>,
    id: String,
    owner: String,
    /// The request for the stream, with which the work goes on.
    cx: Context,
    /// The task as it was sent last, as a hash.
    sent: u64,
}

impl Following {
    /// A task of this owner, which its reader has got like this.
    pub(super) fn new(shared: &Arc<Shared>, task: &Task, owner: String, cx: Context) -> Following {
        let (shared, id) = (Arc::downgrade(shared), task.id.clone());
        Following { shared, id, owner, cx, sent: hash(task) }
    }

    /// The next event.
    pub(super) async fn receive(
        &mut self,
        events: &mut Receiver<Arc<StreamEvent>>,
    ) -> Result<Arc<StreamEvent>, RecvError> {
        loop {
            tokio::select! {
                biased;
                event = events.recv() => match event {
                    // The work has ended here without an end of the task.
                    Err(RecvError::Closed) => {
                        let shared = self.shared.upgrade().ok_or(RecvError::Closed)?;
                        *events = shared.channel(&self.id).subscribe();
                    }
                    event => return event,
                },
                () = tokio::time::sleep(LOOK) => {}
            }
            if let Some(event) = self.look(events).await? {
                return Ok(event);
            }
        }
    }

    /// Reads the task again, unless it is worked on here. An event if it has changed.
    async fn look(
        &mut self,
        events: &mut Receiver<Arc<StreamEvent>>,
    ) -> Result<Option<Arc<StreamEvent>>, RecvError> {
        let shared = self.shared.upgrade().ok_or(RecvError::Closed)?;
        if shared.turn(&self.id).is_some() {
            return Ok(None);
        }
        let task = match shared.find(&self.id, &self.owner, &self.cx).await {
            Ok(Found::Live(turn)) => {
                let (task, from_now_on) = turn.subscribe();
                *events = from_now_on.unwrap_or_else(|| events.resubscribe());
                task
            }
            Ok(Found::Stored(stored)) => Some(stored.record.task),
            Err(error) if error.code == TASK_NOT_FOUND => return Err(RecvError::Closed),
            Err(error) => {
                tracing::warn!(error = %error.message, "a task that is followed could not be read");
                None
            }
        };
        let changed = task.filter(|task| std::mem::replace(&mut self.sent, hash(task)) != self.sent);
        Ok(changed.map(|task| Arc::new(StreamEvent::Task(task))))
    }

    /// The work on the task, if it is done here.
    pub(super) fn turn(&self) -> Option<Arc<Turn>> {
        self.shared.upgrade()?.turn(&self.id)
    }

    /// The task as it is in the store.
    pub(super) async fn stored(&self) -> Option<Task> {
        self.shared.upgrade()?.stored(&self.id).await
    }

    /// Says that the stream has ended.
    pub(super) fn release(&self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.release_channel(&self.id);
        }
    }
}

/// A task in few bytes, to see whether it has changed.
fn hash(task: &Task) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_vec(task).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}
