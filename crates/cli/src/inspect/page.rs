//! The page: notifications to it, and questions for its user.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use switchboard::{CallError, Json, Peer};
use tokio::sync::mpsc;

use super::wire::Log;
use crate::units;

/// How many events wait for the page. When it is that far behind, more are dropped: its user sees the messages on the wire anyway.
const WAITING: usize = 4096;

/// About how many bytes of messages are sent at once.
const PIECE: usize = 1 << 20;

/// The page that is open, if one is. Cheap to clone.
#[derive(Clone)]
pub(super) struct Page {
    open: Arc<Mutex<Option<Peer>>>,
    events: mpsc::Sender<Event>,
    pub(super) log: Arc<Log>,
}

struct Event {
    method: &'static str,
    params: Json,
}

/// Sends events and messages to the page, in their order, for as long as the command runs.
pub(super) struct Sending {
    page: Page,
    events: mpsc::Receiver<Event>,
}

#[derive(Serialize)]
struct Messages<T> {
    messages: T,
}

impl Page {
    pub(super) fn new() -> (Page, Sending) {
        let (sender, events) = mpsc::channel(WAITING);
        let page = Page { open: Arc::default(), events: sender, log: Arc::default() };
        (page.clone(), Sending { page, events })
    }

    /// The page with this peer takes the place of the one before, which hears of it.
    pub(super) fn open(&self, peer: &Peer) {
        let before = self.peer().replace(peer.clone()).filter(|before| !before.is_same(peer));
        if let Some(before) = before {
            tokio::spawn(async move { before.notify("inspect/replaced", ()).await });
        }
    }

    /// Tells the page something.
    pub(super) fn tell(&self, method: &'static str, params: &impl Serialize) {
        let Ok(params) = Json::encode_ref(params) else { return };
        if self.events.try_send(Event { method, params }).is_err() {
            tracing::warn!(method, "the page is too slow, and missed something");
        }
    }

    /// Asks the page, whose user may take any time.
    pub(super) async fn ask<T>(&self, method: &'static str, params: &impl Serialize) -> Result<T, CallError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let open = self.peer().clone();
        let peer = open.ok_or_else(|| CallError::Unreachable("no page is open".into()))?;
        peer.with_timeout(units::LONGEST).call(method, params).await
    }

    fn peer(&self) -> MutexGuard<'_, Option<Peer>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Page(..)")
    }
}

impl Sending {
    pub(super) async fn run(mut self) {
        let mut sent = 0;
        loop {
            tokio::select! {
                event = self.events.recv() => {
                    let Some(Event { method, params }) = event else { return };
                    // What went over the wire before it is shown before it.
                    self.send_messages(&mut sent).await;
                    self.send(method, &params).await;
                }
                () = self.page.log.grown.notified() => self.send_messages(&mut sent).await,
            }
        }
    }

    async fn send_messages(&self, sent: &mut u64) {
        loop {
            let messages = self.page.log.after(*sent, PIECE);
            let Some(last) = messages.last() else { return };
            *sent = last.number;
            self.send("inspect/messages", &Messages { messages }).await;
        }
    }

    async fn send(&self, method: &'static str, params: &impl Serialize) {
        let open = self.page.peer().clone();
        if let Some(peer) = open
            && let Err(error) = peer.notify(method, params).await
        {
            tracing::debug!(%error, method, "the page was not told");
        }
    }
}
