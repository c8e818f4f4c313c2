//! What a server sends by itself over a connection that many clients share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use switchboard_core::{Call, ReplyFuture, Service};

/// Warns once about calls and notifications of a server that reach no client, because the connection belongs to no client in
/// particular. Clones warn once together.
#[derive(Clone, Debug)]
pub(super) struct Unheard {
    upstream: Arc<str>,
    /// Whether clients that keep a connection share the connection, too.
    is_for_all: bool,
    has_warned: Arc<AtomicBool>,
}

impl Unheard {
    pub(super) fn new(upstream: Arc<str>, is_for_all: bool) -> Unheard {
        Unheard { upstream, is_for_all, has_warned: Arc::default() }
    }

    /// Answers as the service does.
    pub(super) fn around(&self, service: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Listening { unheard: self.clone(), service })
    }

    fn note(&self, call: &Call) {
        // An item that was on its way when its stream was ended is not meant for anyone.
        let is_item = || call.params.as_ref().is_some_and(|params| params.get("subscription").is_some());
        if call.method.as_str().starts_with("$/")
            || is_item()
            || self.has_warned.swap(true, Ordering::Relaxed)
        {
            return;
        }
        let (upstream, method) = (&*self.upstream, call.method.as_str().escape_debug());
        match self.is_for_all {
            true => tracing::warn!(
                upstream,
                %method,
                "dropped a message that the server sent to its client: all clients share this connection; to give each client its own, set \
                 sessions = \"per-client\" for this upstream, or --sessions per-client"
            ),
            false => tracing::warn!(
                upstream,
                %method,
                "dropped a message that the server sent to its client: clients without a persistent connection share one; clients over WebSocket, \
                 TCP, Unix sockets or stdio do receive such messages"
            ),
        }
    }
}

struct Listening {
    unheard: Unheard,
    service: Arc<dyn Service>,
}

impl Service for Listening {
    fn call(&self, call: &Call) -> ReplyFuture {
        self.unheard.note(call);
        self.service.call(call)
    }
}
