//! The task that reads an upstream stream for its readers, and opens it again when it breaks.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream as _;
use switchboard_core::reconnect::Backoff;
use switchboard_core::{Call, CallError, ErrorObject, Gap, Items, Json, Outcome, Reply, Service};
use tokio::sync::watch;
use tokio::time::Instant;

use super::hub::{Channel, Hub, Opened};
use crate::answer::Answer;
use crate::by_key::Entry;

/// How long an upstream may take to answer a call that opens a stream again.
const OPEN_TIME: Duration = Duration::from_secs(30);

/// Everything that the task has. It holds nothing that its readers hold, so that it ends with them.
pub(super) struct Pump {
    pub(super) entry: Entry<Hub>,
    pub(super) opened: watch::Sender<Option<Opened>>,
    pub(super) channel: Arc<Channel>,
    pub(super) inner: Arc<dyn Service>,
    pub(super) call: Call,
    pub(super) backoff: Arc<Backoff>,
}

impl Pump {
    /// Tells those who wait how the call was answered. Returns the pump with the items, if there are any.
    pub(super) fn open(self, reply: Reply) -> Option<(Pump, Items)> {
        let Reply { outcome, extra } = reply;
        let answer = match outcome {
            Outcome::Stream(items) => {
                self.opened.send_replace(Some(Opened::Stream(items.subscription().cloned(), extra)));
                return Some((self, items));
            }
            outcome @ Outcome::Error(_) => Answer::new(Reply { outcome, extra }),
            // The method may be one that must run for each call.
            outcome @ Outcome::Value(_) => Answer::single(Reply { outcome, extra }),
        };
        let Pump { entry, opened, .. } = self;
        drop(entry);
        opened.send_replace(Some(Opened::Answer(answer)));
        None
    }

    /// Passes items on until the stream has ended for good.
    pub(super) async fn run(self, mut items: Items) {
        let mut delays = self.backoff.delays();
        let end = loop {
            let began = Instant::now();
            let Err(error) = self.pass_on(items).await else { break Ok(()) };
            if began.elapsed() >= self.backoff.steady {
                delays = self.backoff.delays();
            }
            match self.reopen(error, &mut delays).await {
                Ok(again) => items = again,
                Err(error) => break Err(error),
            }
            self.channel.push_gap(Gap::reconnected());
        };
        drop(delays);
        let Pump { entry, channel, .. } = self;
        // Callers that come now open a new stream.
        drop(entry);
        channel.end(end);
    }

    /// Passes items on until the stream ends. An error says that it broke.
    async fn pass_on(&self, mut items: Items) -> Result<(), ErrorObject> {
        while let Some(item) = next(&mut items).await {
            match item.map_err(|error| (error.gap(), error)) {
                Ok(item) => self.channel.push(&item),
                Err((Some(gap), _)) => self.channel.push_gap(gap),
                Err((None, error)) => return Err(error),
            }
            // Readers have their turn, however many items are ready.
            tokio::task::coop::consume_budget().await;
        }
        Ok(())
    }

    /// Opens the stream again. An error says that this is of no use.
    async fn reopen(
        &self,
        mut error: ErrorObject,
        delays: &mut impl Iterator<Item = Duration>,
    ) -> Result<Items, ErrorObject> {
        let method = self.call.method.as_str().escape_debug();
        tracing::warn!(%method, code = error.code.0, "a merged stream broke; it is opened again");
        for delay in delays {
            tokio::time::sleep(delay).await;
            let mut call = self.call.clone();
            call.cx.deadline = Some(Instant::now() + OPEN_TIME);
            let reply = tokio::time::timeout(OPEN_TIME, self.inner.call(&call)).await;
            match reply.map(|reply| reply.outcome) {
                Ok(Outcome::Stream(items)) => return Ok(items),
                Ok(Outcome::Value(_)) => {
                    return Err(ErrorObject::upstream_failed("the method no longer returns a stream"));
                }
                Ok(Outcome::Error(again)) if CallError::from(again.clone()).is_permanent() => {
                    return Err(again);
                }
                Ok(Outcome::Error(again)) => error = again,
                Err(_) => error = ErrorObject::timed_out(),
            }
        }
        Err(error)
    }
}

async fn next(items: &mut Items) -> Option<Result<Json, ErrorObject>> {
    std::future::poll_fn(|cx| Pin::new(&mut *items).poll_next(cx)).await
}
