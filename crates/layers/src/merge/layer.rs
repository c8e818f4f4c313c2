//! The layer that lets callers read the same stream.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use switchboard_core::{Call, Json, Layer, ReplyFuture, Service};
use tokio::sync::watch;

use super::Merge;
use super::hub::{Channel, Hub, Reader};
use super::pump::Pump;
use crate::by_key::{ByKey, Joined};
use crate::explain::{Conclusion, Explain, Step};
use crate::key::{NO_IDENTITY, key_of};
use crate::reopens::Reopens;

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
        match self.merge.key(call) {
            Some(key) => self.join(call, key),
            None => self.inner.call(call),
        }
    }
}

impl Merge {
    /// The key of a call. None if it passes.
    fn key(&self, call: &Call) -> Option<Vec<u8>> {
        self.is_meant(call).then(|| key_of(call, self.is_shared, self.forwarded.as_ref())).flatten()
    }

    fn is_meant(&self, call: &Call) -> bool {
        !call.is_notification() && self.methods.iter().any(|pattern| pattern.matches(&call.method))
    }
}

impl Explain for Merge {
    fn name(&self) -> &'static str {
        "merge"
    }

    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let (outcome, detail) = match (self.key(call), self.is_meant(call)) {
            (Some(_), _) if self.is_shared => ("on", "joins an equal subscription of any caller"),
            (Some(_), _) => ("on", "joins an equal subscription of the same caller"),
            (None, true) => ("not used", NO_IDENTITY),
            (None, false) => ("not used", "not for notifications and other methods"),
        };
        steps.push(Step::new(self.name(), outcome, detail));
        ControlFlow::Continue(())
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
    call.cx.insert(Reopens);
    call.method = call.method.detached();
    call.params = call.params.as_ref().map(Json::detached);
    call
}
