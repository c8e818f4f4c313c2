//! Notifications: the events of a task, sent to the URLs that its client has named (A2A-P-01).
//!
//! Events wait in a queue for each task, which one worker empties, so each receiver gets them in order. A worker exists while there are events
//! for a task with places. Queues are not stored: a process that ends drops them, and the places stay.

mod delivery;
mod options;
mod places;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::future::join_all;
use switchboard_layers::identity::jwt::SigningKey;
use switchboard_layers::store::StoreError;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

pub(super) use self::delivery::Notification;
pub use self::options::PushOptions;
pub(super) use self::places::{Place, add, answer, forget, keep};
use super::Shared;
use crate::model::{StreamEvent, Version};

/// What sends notifications.
pub(super) struct Pusher {
    options: PushOptions,
    /// Signs them.
    key: Option<SigningKey>,
    /// Those of each task that has a worker.
    queues: Mutex<HashMap<String, Queue>>,
    clients: delivery::Clients,
    permits: Semaphore,
}

/// The events of a task that wait.
#[derive(Default)]
struct Queue {
    events: VecDeque<Arc<StreamEvent>>,
    /// Whether there were too many, so that the whole task is sent instead.
    is_behind: bool,
    worker: Option<AbortHandle>,
}

/// What a worker has to send.
enum Next {
    Event(Arc<StreamEvent>),
    /// The whole task.
    Task,
}

impl Pusher {
    pub(super) fn new(options: PushOptions, key: Option<SigningKey>) -> Pusher {
        let clients = delivery::Clients::new(options.client());
        let permits = Semaphore::new(options.parallel);
        Pusher { options, key, queues: Mutex::default(), clients, permits }
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<String, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits for a task, and how much more does. Without anything its worker ends.
    fn next(&self, task: &str) -> Option<(Next, usize)> {
        let mut queues = self.queues();
        let queue = queues.get_mut(task)?;
        if std::mem::take(&mut queue.is_behind) {
            return Some((Next::Task, queue.events.len()));
        }
        let Some(event) = queue.events.pop_front() else {
            queues.remove(task);
            return None;
        };
        Some((Next::Event(event), queue.events.len()))
    }

    /// Drops the first events that wait for a task.
    fn skip(&self, task: &str, count: usize) {
        let mut queues = self.queues();
        // If there were too many meanwhile, those are gone.
        if let Some(queue) = queues.get_mut(task).filter(|queue| !queue.is_behind) {
            queue.events.drain(..count.min(queue.events.len()));
        }
    }
}

impl Queue {
    fn add(&mut self, event: &Arc<StreamEvent>, limit: usize) {
        if self.events.len() >= limit {
            self.events.clear();
            self.is_behind = true;
        }
        // What the whole task has is not sent again.
        if !self.is_behind {
            self.events.push_back(Arc::clone(event));
        }
    }
}

impl Shared {
    /// Has an event sent to those who want to hear of its task.
    pub(super) fn notify(self: &Arc<Self>, event: &Arc<StreamEvent>) {
        let (Some(pusher), Some(task)) = (&self.pusher, event.task_id()) else { return };
        let mut queues = pusher.queues();
        match queues.entry(task.to_owned()) {
            Entry::Occupied(mut known) => known.get_mut().add(event, pusher.options.waiting),
            Entry::Vacant(new) => {
                let queue = new.insert(Queue::default());
                queue.add(event, pusher.options.waiting);
                let worker = tokio::spawn(work(Arc::downgrade(self), task.to_owned()));
                queue.worker = Some(worker.abort_handle());
            }
        }
    }
}

/// Sends what waits for a task, until nothing does.
async fn work(shared: Weak<Shared>, task: String) {
    // Who did not take the last notification.
    let mut silent = HashSet::new();
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let Some(pusher) = &shared.pusher else { return };
        let Some((next, more)) = pusher.next(&task) else { return };
        let places = places_for(&shared, pusher, &task, &next).await;
        if places.is_empty() {
            // Events that came while the places were read may be for a place that has been added since.
            pusher.skip(&task, more);
            continue;
        }
        if let Err(error) = send(&shared, pusher, &task, &places, next, &mut silent).await {
            tracing::warn!(%error, "a notification was not sent");
        }
    }
}

/// The places that get what waits for a task. The store is asked again if it cannot be reached.
async fn places_for(shared: &Shared, pusher: &Pusher, task: &str, next: &Next) -> Vec<Place> {
    let mut pause = pusher.options.pause;
    for attempt in 1..=pusher.options.attempts {
        match shared.records.places(task).await {
            Ok((places, known)) => {
                // Parts of an artifact do not keep a task for longer, either.
                let is_change = !matches!(next, Next::Event(event) if is_part(event));
                if let Some(known) = known.filter(|_| is_change) {
                    places::renew(shared, task, &known).await;
                }
                return places;
            }
            Err(error) => {
                tracing::warn!(%error, attempt, "the places for notifications cannot be read");
                if attempt < pusher.options.attempts {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
            }
        }
    }
    Vec::new()
}

/// Sends an event to all places at once.
async fn send(
    shared: &Shared,
    pusher: &Pusher,
    task: &str,
    places: &[Place],
    next: Next,
    silent: &mut HashSet<String>,
) -> Result<(), StoreError> {
    let mut whole = None;
    // 0.3 sends whole tasks.
    if matches!(next, Next::Task) || places.iter().any(|place| place.version() == Version::V0_3) {
        whole = shared.records.read(task).await?.map(|stored| StreamEvent::Task(stored.record.task));
    }
    let id = crate::ids::random();
    let sent = places.iter().map(|place| {
        let event = match (&next, place.version()) {
            (Next::Event(event), Version::V1_0) => Some(&**event),
            // Parts of an artifact are stored with the last one.
            (Next::Event(event), Version::V0_3) if is_part(event) => None,
            _ => whole.as_ref(),
        };
        let attempts = if silent.contains(&place.config.id) { 1 } else { pusher.options.attempts };
        let key = pusher.key.as_ref();
        let notification = event.map(|event| Notification::new(&id_of(&id, place), place, event, key));
        async move {
            match notification {
                Some(Ok(notification)) => pusher.deliver(&notification, attempts).await,
                Some(Err(error)) => {
                    tracing::warn!(%error, "a notification cannot be written");
                    true
                }
                None => true,
            }
        }
    });
    for (place, is_taken) in places.iter().zip(join_all(sent).await) {
        match is_taken {
            true => silent.remove(&place.config.id),
            false => silent.insert(place.config.id.clone()),
        };
    }
    Ok(())
}

/// Each place has its own identifiers, so that a receiver with several tokens takes each.
fn id_of(id: &str, place: &Place) -> String {
    format!("{id}.{}", place.config.id)
}

fn is_part(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::ArtifactUpdate(update) if !update.last_chunk)
}

impl Drop for Pusher {
    fn drop(&mut self) {
        for worker in self.queues().values().filter_map(|queue| queue.worker.as_ref()) {
            worker.abort();
        }
    }
}
