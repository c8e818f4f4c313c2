//! Notifications of the server that wait to be shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde::Serialize;
use switchboard::{Call, ErrorObject, Json, Reply, ReplyFuture, Service};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// How many notifications can wait.
const WAITING: usize = 1024;
/// How many bytes of notifications can wait.
const WAITING_BYTES: usize = 8 << 20;

/// A notification of the server.
#[derive(Serialize)]
pub(super) struct Push {
    pub(super) method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) params: Option<Json>,
}

impl Push {
    fn size(&self) -> usize {
        self.method.len() + self.params.as_ref().map_or(0, |params| params.as_bytes().len())
    }
}

/// What is known of the notifications that wait.
#[derive(Default)]
struct Queue {
    /// Their bytes.
    bytes: AtomicUsize,
    /// How many arrived when there was no room.
    lost: AtomicU64,
}

impl Queue {
    /// Takes room for a notification; false if there is none. One that is longer than all of it has room alone.
    fn enter(&self, push: &Push) -> bool {
        let before = self.bytes.fetch_add(push.size(), Ordering::Relaxed);
        let has_room = before == 0 || before.saturating_add(push.size()) <= WAITING_BYTES;
        if !has_room {
            self.leave(push);
        }
        has_room
    }

    /// Gives the room of a notification back.
    fn leave(&self, push: &Push) {
        self.bytes.fetch_sub(push.size(), Ordering::Relaxed);
    }
}

/// A service that takes the notifications of the server, if they are wanted, and the queue where they wait.
pub(super) fn pushes(is_wanted: bool) -> (Pushes, Waiting) {
    let (sender, receiver) = mpsc::channel(WAITING);
    let queue = Arc::new(Queue::default());
    let waiting = Waiting { receiver, queue: Arc::clone(&queue) };
    (Pushes { sender: is_wanted.then_some(sender), queue }, waiting)
}

/// Notifications that wait to be shown.
pub(super) struct Waiting {
    receiver: mpsc::Receiver<Push>,
    queue: Arc<Queue>,
}

impl Waiting {
    /// The next one; nothing if none are wanted. Nothing is lost when this is dropped.
    pub(super) async fn next(&mut self) -> Option<Push> {
        self.receiver.recv().await.inspect(|push| self.queue.leave(push))
    }

    /// The next one that is there already.
    pub(super) fn next_now(&mut self) -> Option<Push> {
        self.receiver.try_recv().ok().inspect(|push| self.queue.leave(push))
    }

    /// How many were lost since the last call.
    pub(super) fn lost(&self) -> u64 {
        self.queue.lost.swap(0, Ordering::Relaxed)
    }
}

/// Takes the notifications of the server, if they are wanted.
pub(super) struct Pushes {
    sender: Option<mpsc::Sender<Push>>,
    queue: Arc<Queue>,
}

impl Service for Pushes {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some(sender) = self.sender.as_ref().filter(|_| call.is_notification()) else {
            return ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()));
        };
        let push = Push { method: call.method.to_string(), params: call.params.clone() };
        let is_kept = self.queue.enter(&push)
            && sender.try_send(push).inspect_err(|refused| self.queue.leave(unsent(refused))).is_ok();
        if !is_kept {
            self.queue.lost.fetch_add(1, Ordering::Relaxed);
        }
        ReplyFuture::ready(Reply::value(Json::NULL))
    }
}

fn unsent(refused: &TrySendError<Push>) -> &Push {
    match refused {
        TrySendError::Full(push) | TrySendError::Closed(push) => push,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_that_wait_are_bounded_by_their_bytes_and_their_number() {
        let check = |size: usize, kept: usize| {
            let (service, mut waiting) = pushes(true);
            let params = Json::encode(&["x".repeat(size)]).unwrap();
            let send = || drop(Service::call(&service, &Call::notification("m", Some(params.clone()))));
            (0..kept + 3).for_each(|_| send());
            assert_eq!((waiting.receiver.len(), waiting.lost()), (kept, 3), "{size}");
            // What is shown makes room.
            waiting.next_now().unwrap();
            send();
            assert_eq!((waiting.receiver.len(), waiting.lost()), (kept, 0), "{size}");
            while waiting.next_now().is_some() {}
            assert_eq!(service.queue.bytes.load(Ordering::Relaxed), 0, "{size}");
        };
        check(1, WAITING);
        check((1 << 20) - 100, 8);
        check(WAITING_BYTES, 1);
    }
}
