//! A server as a worker for jobs: a listener whose only connection is the queue, so that it runs and stops with the server.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use switchboard::jobs::Jobs;
use switchboard::server::{Accepted, BoxFuture, ConnectionPermit, Listener, Shutdown};
use switchboard::{Engine, ErrorObject, Service};

use crate::config::JobsConfig;

/// How long giving jobs back may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The jobs of a queue.
pub(crate) struct JobListener {
    url: String,
    waiting: Mutex<Option<Waiting>>,
}

/// A queue that waits to be worked on.
struct Waiting {
    jobs: Jobs,
    workers: usize,
    /// What answers calls, with all layers.
    service: Arc<dyn Service>,
}

impl JobListener {
    pub(crate) fn new(jobs: Jobs, config: &JobsConfig, service: Arc<dyn Service>) -> JobListener {
        let waiting = Waiting { jobs, workers: config.workers, service };
        JobListener { url: config.url(), waiting: Mutex::new(Some(waiting)) }
    }
}

impl Listener for JobListener {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn poll_accept(&self, _: &mut Context<'_>) -> Poll<io::Result<Box<dyn Accepted>>> {
        match self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(waiting) => Poll::Ready(Ok(Box::new(waiting))),
            None => Poll::Pending,
        }
    }
}

impl Accepted for Waiting {
    fn address(&self) -> Option<SocketAddr> {
        None
    }

    fn serve(self: Box<Self>, permit: ConnectionPermit) -> BoxFuture<'static, ()> {
        let Waiting { jobs, workers, service } = *self;
        let engine = Engine::new(service, Arc::clone(permit.settings()));
        // What is given back has to be said before the server ends.
        let drain_time = permit.settings().limits.drain_time;
        let drain_time = drain_time.saturating_sub(LAST_WORDS).max(drain_time / 2);
        Box::pin(async move {
            let stopping = permit.shutdown().wait();
            jobs.work(&engine, workers, stopping, drain_time).await;
        })
    }

    /// There is always room for it, unless the server takes no connections at all.
    fn refuse(self: Box<Self>, _: &ErrorObject, _: Arc<Shutdown>) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}
