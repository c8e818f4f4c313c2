//! Requests that are sent when they are awaited, and their options.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use switchboard_core::{CallError, Context, Json, ProgressSink};

use super::Client;
use super::clock::Clock;
use super::rounds::Request as Sent;

/// A request to an MCP server. It is sent when it is awaited; dropping it cancels it.
///
/// Questions that the server asks meanwhile go to the callbacks of the client, in every revision. The time that they take does not count.
#[must_use = "a request is sent when it is awaited"]
pub struct Request<T, E = CallError> {
    client: Client,
    sent: Result<Sent, CallError>,
    timeout: Option<Duration>,
    cap: Option<Duration>,
    on_progress: Option<OnProgress>,
    is_fresh: bool,
    read: fn(Json) -> Result<T, E>,
}

type OnProgress = Box<dyn FnMut(Progress) + Send>;

/// How far a request has come.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// A number that increases.
    pub progress: f64,
    /// Where it ends, if that is known.
    pub total: Option<f64>,
    /// A text for people.
    pub message: Option<String>,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.progress)?;
        if let Some(total) = self.total {
            write!(f, "/{total}")?;
        }
        self.message.as_ref().map_or(Ok(()), |message| write!(f, " {message}"))
    }
}

impl<T, E> Request<T, E> {
    pub(super) fn new(
        client: &Client,
        sent: Result<Sent, CallError>,
        read: fn(Json) -> Result<T, E>,
    ) -> Request<T, E> {
        let client = client.clone();
        Request { client, sent, timeout: None, cap: None, on_progress: None, is_fresh: false, read }
    }

    /// Sets how long to wait for the result: by default as long as the client says. A request that times out is cancelled on the server.
    pub fn timeout(mut self, timeout: Duration) -> Request<T, E> {
        self.timeout = Some(timeout);
        self
    }

    /// Each report of progress starts the timeout again, up to this long in total.
    pub fn reset_on_progress(mut self, cap: Duration) -> Request<T, E> {
        self.cap = Some(cap);
        self
    }

    /// Asks for progress, and calls this function with it. Whatever is reported before the result is seen before it.
    pub fn on_progress(mut self, see: impl FnMut(Progress) + Send + 'static) -> Request<T, E> {
        self.on_progress = Some(Box::new(see));
        self
    }

    /// Asks the server even if it allowed an earlier answer to be used again.
    pub fn fresh(mut self) -> Request<T, E> {
        self.is_fresh = true;
        self
    }

    /// The context of the request, whose clock is this one.
    fn context(&mut self, clock: &Arc<Clock>) -> Context {
        let mut cx = Context::default();
        cx.insert(Arc::clone(clock));
        if self.on_progress.is_none() && self.cap.is_none() {
            return cx;
        }
        let see = Mutex::new(self.on_progress.take());
        let clock = Arc::clone(clock);
        cx.insert(ProgressSink::new(move |value: Json| {
            clock.progress();
            let mut see = see.lock().unwrap_or_else(PoisonError::into_inner);
            match (&mut *see, value.decode()) {
                (Some(see), Ok(progress)) => see(progress),
                (Some(_), Err(_)) => tracing::debug!("dropped malformed progress of an MCP server"),
                (None, _) => {}
            }
            std::future::ready(())
        }));
        cx
    }
}

impl<T, E> IntoFuture for Request<T, E>
where
    T: Send + 'static,
    E: From<CallError> + Send + 'static,
{
    type Output = Result<T, E>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            let clock = Clock::new(self.timeout.unwrap_or(self.client.timeout()), self.cap);
            let cx = self.context(&clock);
            let sent = self.sent?;
            let told = clock.limit(self.client.answer(&sent, &cx, self.is_fresh)).await??;
            (self.read)(told)
        })
    }
}

impl<T, E> fmt::Debug for Request<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.sent.as_ref().map(|sent| &*sent.method))
            .finish_non_exhaustive()
    }
}
