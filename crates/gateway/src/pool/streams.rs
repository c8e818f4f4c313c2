//! The streams of a pool, which outlive its calls.

use std::future::{Future, pending};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use switchboard_core::{CallError, ErrorObject, Items, Json, Outcome, Reply};
use tokio::sync::watch;

const REMOVED: &str = "the upstream was removed";

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
        if matches!(reply.outcome, Outcome::Stream(_)) && *self.0.borrow() {
            // Who opens a stream again that broke shall not try forever.
            return Reply::error(CallError::CannotConnect(REMOVED.into()).into());
        }
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
            let gone = CallError::Closed(REMOVED.into());
            return Poll::Ready(Some(Err(gone.into())));
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use futures_util::{StreamExt as _, stream};
    use switchboard_core::{Layer as _, Peer, ReplyFuture, service_fn};
    use switchboard_layers::merge::Merge;

    use super::*;
    use crate::{Node, Pool};

    fn pool() -> Pool {
        // Two numbers; then nothing comes any more, or numbers without end.
        let server = service_fn(|call: &switchboard_core::Call| {
            let numbers = stream::iter([1, 2]);
            ReplyFuture::ready(match call.method.as_str() {
                "silent" => Reply::stream(numbers.chain(stream::pending())),
                "busy" => Reply::stream(stream::repeat(1)),
                _ => Reply::stream(numbers),
            })
        });
        Pool::builder("numbers").node(Node::new("one", server)).build()
    }

    #[tokio::test]
    async fn streams_end_with_an_error_when_they_are_ended_even_without_their_pool() {
        for method in ["silent", "busy"] {
            let pool = pool();
            let streams = pool.streams();
            let mut items = Peer::local(pool).stream::<u32>(method, ()).await.unwrap();
            assert_eq!(items.next().await, Some(Ok(1)), "{method}");
            streams.end();
            let rest: Vec<_> = items.take(1000).collect().await;
            assert!(rest.last().unwrap().is_err() && rest.len() < 1000, "{method}: {rest:?}");
        }
    }

    #[tokio::test]
    async fn a_stream_that_ends_by_itself_has_no_error() {
        let pool = pool();
        let streams = pool.streams();
        let reply = switchboard_core::Service::call(&pool, &switchboard_core::Call::new("short", None)).await;
        let Outcome::Stream(items) = reply.outcome else { panic!("{reply:?}") };
        drop((pool, streams));
        let items: Vec<_> = items.collect().await;
        assert!(items.len() == 2 && items.iter().all(Result::is_ok), "{items:?}");
    }

    #[tokio::test]
    async fn a_merged_stream_is_not_opened_again_once_its_pool_is_ended() {
        let pool = pool();
        let streams = pool.streams();
        let merge = Merge::new("**".parse().ok()).shared();
        let merged = Peer::local(merge.layer(Arc::new(pool)));
        let mut items = merged.stream::<u32>("silent", ()).await.unwrap();
        assert_eq!(items.next().await, Some(Ok(1)));
        streams.end();
        let ended = async { while items.next().await.is_some() {} };
        tokio::time::timeout(Duration::from_secs(20), ended).await.expect("the stream goes on");
    }
}
