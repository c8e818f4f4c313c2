//! All tasks of a server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_core::ErrorObject;

use super::super::subscribers::Subscribers;
use super::task::Task;

/// How many tasks there are at most. Ended ones make room for new ones, the oldest first.
const TASKS: usize = 1000;

/// How long a task is kept, from its creation, unless the client asks for less.
const TTL: Duration = Duration::from_secs(3600);

/// How long a task is kept whose client asks for so many milliseconds.
pub(super) fn kept_for(ttl: Option<u64>) -> Duration {
    ttl.map_or(TTL, Duration::from_millis).min(TTL)
}

/// The tasks of a server, by identifier.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<HashMap<String, Arc<Task>>>);

impl Tasks {
    fn tasks(&self) -> MutexGuard<'_, HashMap<String, Arc<Task>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new task of this caller, which is kept for so many milliseconds.
    pub(super) fn create(
        &self,
        owner: String,
        ttl: Option<u64>,
        subscribers: Subscribers,
    ) -> Result<Arc<Task>, ErrorObject> {
        self.add(Task::new(owner, kept_for(ttl), subscribers))
    }

    /// Adds a task, unless there is one of its name, and returns the one that is there.
    pub(super) fn add(&self, task: Arc<Task>) -> Result<Arc<Task>, ErrorObject> {
        let mut tasks = self.tasks();
        tasks.retain(|_, task| {
            let is_expired = task.is_expired();
            if is_expired {
                // Nobody can ask for what it would give.
                task.cancel();
            }
            !is_expired
        });
        if let Some(known) = tasks.get(&task.id) {
            return Ok(Arc::clone(known));
        }
        if tasks.len() >= TASKS {
            let oldest = tasks.values().filter(|task| task.has_ended()).min_by_key(|task| task.created);
            let Some(oldest) = oldest.map(|task| task.id.clone()) else {
                return Err(ErrorObject::over_limit(
                    "tasks",
                    format!("at most {TASKS} tasks can run at once"),
                ));
            };
            tasks.remove(&oldest);
        }
        tasks.insert(task.id.clone(), Arc::clone(&task));
        Ok(task)
    }

    /// The task with this identifier, if it belongs to this caller.
    pub(super) fn find(&self, id: &str, owner: &str) -> Option<Arc<Task>> {
        let tasks = self.tasks();
        tasks.get(id).filter(|task| task.owner == owner && !task.is_expired()).cloned()
    }
}
