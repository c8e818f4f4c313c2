//! The status of the server, and its changes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;
use switchboard::{CallError, Context, Peer, service};
use tokio::sync::watch;
use tokio::time::Instant;

/// How many connections can listen at once.
const LISTENERS: usize = 1024;

/// Listeners get a notification at least this often.
const BEAT: Duration = Duration::from_secs(5);

/// What has happened so far, and who listens.
pub(super) struct Status {
    began: Instant,
    counts: watch::Sender<Counts>,
    /// Each connection once, however often it asks.
    listeners: Arc<Mutex<Vec<Peer>>>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    updates: u64,
    notices: u64,
}

/// The status of the server.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Report {
    /// Always "ok".
    status: &'static str,
    /// Seconds since the server started.
    uptime_seconds: f64,
    /// Number of calls to `update`.
    updates: u64,
    /// Number of calls to the other notification methods.
    notices: u64,
}

impl Default for Status {
    fn default() -> Status {
        Status { began: Instant::now(), counts: watch::Sender::default(), listeners: Arc::default() }
    }
}

#[service]
impl Status {
    /// Returns the status of the server, and starts sending `onUpdate` notifications.
    ///
    /// `onUpdate` has the same members as the result. It is sent when something changes, and at least every five seconds, until
    /// the connection closes. Over HTTP, which has no notifications to the client, it is not sent.
    #[method(idempotent, name = "getStatus", tag = "pushes")]
    fn ask(&self, cx: &Context) -> Report {
        self.listen(cx.peer());
        report(self.began, *self.counts.borrow())
    }
}

impl Status {
    /// Counts an update.
    pub(super) fn updated(&self) {
        self.counts.send_modify(|counts| counts.updates += 1);
    }

    /// Counts any other notification.
    pub(super) fn noticed(&self) {
        self.counts.send_modify(|counts| counts.notices += 1);
    }

    /// Sends updates to this peer until it disconnects. A peer that listens already, or one too many, changes nothing.
    fn listen(&self, peer: &Peer) {
        // The peer of a caller that cannot be called back is closed from the start.
        if peer.closed().now_or_never().is_some() {
            return;
        }
        {
            let mut listeners = locked(&self.listeners);
            if listeners.len() >= LISTENERS || listeners.iter().any(|other| other.is_same(peer)) {
                return;
            }
            listeners.push(peer.clone());
        }
        let (peer, listeners) = (peer.clone(), Arc::clone(&self.listeners));
        let (counts, began) = (self.counts.subscribe(), self.began);
        tokio::spawn(async move {
            tokio::select! {
                _ = peer.closed() => {}
                _ = tell(&peer, counts, began) => {}
            }
            locked(&listeners).retain(|other| !other.is_same(&peer));
        });
    }
}

/// Sends updates. Changes during one are sent together afterwards.
async fn tell(peer: &Peer, mut counts: watch::Receiver<Counts>, began: Instant) -> Result<(), CallError> {
    loop {
        match tokio::time::timeout(BEAT, counts.changed()).await {
            Ok(Ok(())) | Err(_) => {}
            // The server is gone.
            Ok(Err(_)) => return Ok(()),
        }
        let report = report(began, *counts.borrow_and_update());
        peer.notify("onUpdate", report).await?;
    }
}

fn report(began: Instant, counts: Counts) -> Report {
    let Counts { updates, notices } = counts;
    Report { status: "ok", uptime_seconds: began.elapsed().as_secs_f64(), updates, notices }
}

/// Nothing is done under the lock that could leave it half done.
fn locked(listeners: &Mutex<Vec<Peer>>) -> std::sync::MutexGuard<'_, Vec<Peer>> {
    listeners.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use switchboard::{Call, ErrorObject, Json, Origin, Outcome, Router, Service};
    use tokio::sync::mpsc;

    /// A caller that accepts notifications, and those it gets.
    fn caller() -> (Context, mpsc::UnboundedReceiver<Value>) {
        let (sender, told) = mpsc::unbounded_channel();
        let on_update = move |report: Json, _: Context| {
            sender.send(report.decode::<Value>().unwrap()).unwrap();
            Ok::<_, ErrorObject>(())
        };
        let service = Router::builder().method("onUpdate", on_update).build().unwrap();
        (Context::new(Origin::new("test")).with_peer(Peer::local(service)), told)
    }

    async fn ask(router: &Router, cx: &Context) {
        let call = Call::new("getStatus", None).with_context(cx.clone());
        let Outcome::Value(report) = Service::call(router, &call).await.outcome else {
            panic!("it is one value")
        };
        assert_eq!(report.decode::<Value>().unwrap()["status"], "ok");
    }

    #[tokio::test(start_paused = true)]
    async fn callers_get_an_update_for_changes_and_every_five_seconds() {
        let status = Arc::new(Status::default());
        let router = Router::builder().add(Arc::clone(&status)).build().unwrap();
        let (cx, mut told) = caller();
        ask(&router, &cx).await;
        // Each connection once, however often it asks.
        ask(&router, &cx).await;
        status.updated();
        let first = json!({"status": "ok", "uptimeSeconds": 0.0, "updates": 1, "notices": 0});
        assert_eq!(told.recv().await, Some(first));
        let second = json!({"status": "ok", "uptimeSeconds": 5.0, "updates": 1, "notices": 0});
        assert_eq!(told.recv().await, Some(second));
    }

    #[tokio::test]
    async fn callers_without_notifications_are_answered_and_not_kept() {
        let status = Arc::new(Status::default());
        let router = Router::builder().add(Arc::clone(&status)).build().unwrap();
        ask(&router, &Context::default()).await;
        assert!(locked(&status.listeners).is_empty());
    }
}
