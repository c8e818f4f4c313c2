//! The streams of a pool, which outlive its calls.

use std::future::{Future, pending};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use switchboard_core::{CallError, ErrorObject, Items, Json, Reply};
use tokio::sync::watch;

/// Ends the streams that come from a [`Pool`](super::Pool). It does not keep the pool alive, so an upstream that is removed can finish its
/// streams for a while. Clones end the same streams.
#[derive(Clone, Debug)]
pub struct OpenStreams(watch::Sender<bool>);

impl OpenStreams {
    pub(super) fn new() -> OpenStreams {
        OpenStreams(watch::Sender::new(false))
    }

    /// Ends all streams, and those that begin later: readers get -32004.
    pub fn end(&self) {
        self.0.send_replace(true);
    }

    /// The reply. If it is a stream, it can be ended.
    pub(super) fn note(&self, reply: Reply) -> Reply {
        reply.map_items(|items| {
            let mut is_ended = self.0.subscribe();
            let end = Box::pin(async move {
                if is_ended.wait_for(|is_ended| *is_ended).await.is_err() {
                    // Nobody is left who could end it.
                    pending::<()>().await;
                }
            });
            items.through(|items| Ending { items: Some(items), end })
        })
    }
}

/// A stream until it is ended.
struct Ending {
    items: Option<Items>,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Stream for Ending {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(items) = &mut self.items else { return Poll::Ready(None) };
        let item = Pin::new(items).poll_next(cx);
        // A stream that always has items ends, too.
        if !matches!(item, Poll::Ready(None)) && self.end.as_mut().poll(cx).is_ready() {
            self.items = None;
            let gone = CallError::Closed("the upstream was removed".into());
            return Poll::Ready(Some(Err(gone.into())));
        }
        item
    }
}
