//! A call on its way through, and what is kept of it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use switchboard::{Call, ErrorObject, Items, Json, Outcome, Reply, ReplyFuture, Service};
use tokio::time::Instant;

use super::journal::Journal;
use super::line::Content;
use crate::recording::{Entry, Part, RecordedError, Side};

/// The most bytes that are kept of one call: its params, and all of its answer.
const KEPT: usize = 4 << 20;
/// The most bytes that are kept of the message of an error.
const MESSAGE: usize = 64 << 10;

/// A service whose calls are seen.
pub(crate) struct Tapped {
    pub(crate) journal: Arc<Journal>,
    pub(crate) to: Side,
    /// The session that the calls belong to, if not their own.
    pub(crate) session: Option<u64>,
    pub(crate) service: Arc<dyn Service>,
}

impl Service for Tapped {
    fn call(&self, call: &Call) -> ReplyFuture {
        let session = self.session.unwrap_or_else(|| self.journal.session(call.cx.session()));
        let exchange = self.journal.begin(call, self.to, session);
        self.service.call(call).map(move |reply| exchange.answer(reply))
    }
}

/// A call that has not ended. Dropping it means that the call was cancelled.
pub(crate) struct Exchange {
    journal: Arc<Journal>,
    entry: Entry,
    began: Instant,
    /// Bytes that are kept.
    kept: usize,
    is_over: bool,
}

impl Exchange {
    pub(crate) fn new(journal: Arc<Journal>, entry: Entry, params: Option<Json>) -> Exchange {
        let mut exchange = Exchange { journal, entry, began: Instant::now(), kept: 0, is_over: false };
        exchange.entry.params = params.and_then(|params| exchange.keep(&params, Part::Params));
        exchange
    }

    /// Notes the answer, and passes it on.
    fn answer(mut self, reply: Reply) -> Reply {
        match &reply.outcome {
            _ if self.entry.notification && !matches!(reply.outcome, Outcome::Error(_)) => self.end(None),
            Outcome::Value(json) => {
                self.entry.result = self.keep(json, Part::Answer);
                self.end(Some(Content::Value(json)));
            }
            Outcome::Error(error) => self.fail(error),
            Outcome::Stream(_) => {
                self.entry.items = Some(Vec::new());
                return reply
                    .map_items(|items| items.through(|items| Watched { items, exchange: self, number: 0 }));
            }
        }
        reply
    }

    /// Notes an item of a stream.
    fn item(&mut self, number: u64, item: &Json) {
        self.journal.item(&self.entry, number, item);
        if !self.entry.omitted.contains(&Part::Answer)
            && let Some(item) = self.keep(item, Part::Answer)
            && let Some(items) = &mut self.entry.items
        {
            items.push(item);
        }
    }

    fn fail(&mut self, error: &ErrorObject) {
        let whole = RecordedError::from(error);
        let data = whole.data.as_ref().and_then(|data| self.keep(data, Part::Answer));
        let mut message = whole.message.clone();
        if message.len() > MESSAGE {
            message.truncate(message.floor_char_boundary(MESSAGE));
            self.omit(Part::Answer);
        }
        self.entry.error = Some(RecordedError { code: whole.code, message, data });
        self.end(Some(Content::Error(&whole)));
    }

    fn end(&mut self, answer: Option<Content<'_>>) {
        self.is_over = true;
        self.entry.ms = self.began.elapsed().as_micros() as f64 / 1000.0;
        self.journal.end(&self.entry, answer);
    }

    fn omit(&mut self, part: Part) {
        if !self.entry.omitted.contains(&part) {
            self.entry.omitted.push(part);
        }
    }

    /// A copy of a value, unless nothing needs it or it is too large. It does not hold the frame that the value came in.
    fn keep(&mut self, json: &Json, part: Part) -> Option<Json> {
        if !self.journal.keeps() {
            return None;
        }
        let size = self.kept.saturating_add(json.as_bytes().len());
        if size > KEPT {
            self.omit(part);
            return None;
        }
        self.kept = size;
        Some(json.detached())
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.is_over {
            // A notification has nothing to wait for.
            self.entry.cancelled = !self.entry.notification;
            self.end(None);
        }
    }
}

/// The items of a stream, each of which is noted as it passes.
struct Watched {
    items: Items,
    exchange: Exchange,
    number: u64,
}

impl Stream for Watched {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let next = std::task::ready!(Pin::new(&mut this.items).poll_next(cx));
        match &next {
            Some(Ok(item)) => {
                this.number += 1;
                this.exchange.item(this.number, item);
            }
            // Items are missing, and the stream goes on.
            Some(Err(error)) if error.gap().is_some() => this.exchange.omit(Part::Answer),
            Some(Err(error)) => this.exchange.fail(error),
            None if this.exchange.is_over => {}
            None => {
                let words = format!("end of {} items", this.number);
                this.exchange.end(Some(Content::Words(&words)));
            }
        }
        Poll::Ready(next)
    }
}
