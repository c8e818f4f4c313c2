//! The layer that lets callers read the same stream.

use std::sync::{Arc, OnceLock};

use switchboard_core::{Call, Json, Layer, ReplyFuture, Service};
use tokio::sync::watch;

use super::Merge;
use super::hub::{Channel, Hub, Reader};
use super::pump::Pump;
use crate::by_key::{ByKey, Joined};
use crate::key::key_of;

impl Layer for Merge {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Merged { merge: self.clone(), hubs: ByKey::default(), inner })
    }
}

/// A service behind [`Merge`].
struct Merged {
    merge: Merge,
    hubs: ByKey<Hub>,
    inner: Arc<dyn Service>,
}

impl Service for Merged {
    fn call(&self, call: &Call) -> ReplyFuture {
        let is_meant =
            !call.is_notification() && self.merge.methods.iter().any(|pattern| pattern.matches(&call.method));
        match is_meant.then(|| key_of(call, self.merge.is_shared)).flatten() {
            Some(key) => self.join(call, key),
            None => self.inner.call(call),
        }
    }
}

impl Merged {
    #[inline(never)]
    fn join(&self, call: &Call, key: Vec<u8>) -> ReplyFuture {
        let Merge { limits, gives_last, .. } = self.merge;
        let (sender, opened) = watch::channel(None);
        let channel = Arc::new(Channel::new(limits, gives_last));
        let hub = || Hub { channel: Arc::clone(&channel), opened, task: OnceLock::new() };
        let (hub, entry) = match self.hubs.join(key, hub) {
            Joined::Follower(hub) => return self.wait(Reader::join(&hub), call),
            Joined::First(hub, entry) => (hub, entry),
        };
        // It reads from before the stream is opened, so that it misses nothing.
        let reader = Reader::join(&hub);
        let lasting = lasting(call);
        let reply = self.inner.call(&lasting);
        let (inner, backoff) = (Arc::clone(&self.inner), Arc::clone(&self.merge.backoff));
        let pump = Pump { entry, opened: sender, channel, inner, call: lasting, backoff };
        let task = match reply.into_ready() {
            Ok(reply) => pump.open(reply).map(|(pump, items)| tokio::spawn(pump.run(items))),
            Err(reply) => Some(tokio::spawn(async move {
                if let Some((pump, items)) = pump.open(reply.await) {
                    pump.run(items).await;
                }
            })),
        };
        if let Some(task) = task {
            let _ = hub.task.set(task.abort_handle());
        }
        self.wait(reader, call)
    }

    fn wait(&self, reader: Reader, call: &Call) -> ReplyFuture {
        match reader.opened() {
            Ok(Some(reply)) => ReplyFuture::ready(reply),
            Ok(None) => self.inner.call(call),
            Err(reader) => {
                let (inner, call) = (Arc::clone(&self.inner), call.clone());
                ReplyFuture::pending(async move {
                    match reader.wait().await {
                        Some(reply) => reply,
                        None => inner.call(&call).await,
                    }
                })
            }
        }
    }
}

/// The call as it is made for all readers. The deadline is for the answer to its caller, and the frame that the call came in must not live
/// as long as the stream.
fn lasting(call: &Call) -> Call {
    let mut call = call.clone();
    call.cx.deadline = None;
    call.method = call.method.detached();
    call.params = call.params.as_ref().map(Json::detached);
    call
}
