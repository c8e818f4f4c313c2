//! The tasks of an HTTP/2 connection's streams.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinSet;

/// Where hyper runs the streams of an HTTP/2 connection.
#[derive(Clone, Default)]
pub(super) struct Streams(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        running.spawn(stream);
    }
}

/// Ends the streams with their connection.
#[derive(Default)]
pub(super) struct OwnedStreams(Streams);

impl OwnedStreams {
    pub(super) fn executor(&self) -> Streams {
        self.0.clone()
    }
}

impl Drop for OwnedStreams {
    fn drop(&mut self) {
        drop(std::mem::take(&mut *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)));
    }
}
