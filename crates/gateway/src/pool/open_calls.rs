//! Calls and streams in progress, which outlive their pool.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_util::Stream;
use switchboard_core::{CallError, ErrorObject, Items, Json, Outcome, Reply, ReplyFuture};

const REMOVED: &str = "the upstream was removed";
const MOVED: &str = "its server gets no more calls";

/// Ends calls and streams of a [`Pool`](super::Pool). It does not keep the pool alive, so a server that is removed can finish them for a while.
/// Clones end the same ones.
#[derive(Clone, Debug, Default)]
pub struct OpenCalls(Vec<NodeCalls>);

impl OpenCalls {
    /// Ends all of them, and those that begin later: callers and readers get -32004.
    pub fn end(&self) {
        self.0.iter().for_each(NodeCalls::end);
    }

    /// Whether there is no node whose calls it could end.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<NodeCalls> for OpenCalls {
    fn from_iter<I: IntoIterator<Item = NodeCalls>>(nodes: I) -> OpenCalls {
        OpenCalls(nodes.into_iter().collect())
    }
}

/// Those of one node.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeCalls(Arc<Waiting>);

/// The tasks of calls and streams that have to know when they are ended. They are woken all at once or never, so one list of them costs
/// less than a channel for each.
#[derive(Debug, Default)]
struct Waiting {
    is_ended: AtomicBool,
    tasks: Mutex<Tasks>,
}

#[derive(Debug, Default)]
struct Tasks {
    places: Vec<Option<Waker>>,
    free: Vec<usize>,
}

impl NodeCalls {
    /// Ends all of them, and those that begin later.
    pub(super) fn end(&self) {
        self.0.is_ended.store(true, Ordering::SeqCst);
        let tasks: Vec<Waker> = self.0.tasks().places.iter_mut().filter_map(Option::take).collect();
        tasks.into_iter().for_each(Waker::wake);
    }

    fn is_ended(&self) -> bool {
        self.0.is_ended.load(Ordering::SeqCst)
    }

    /// Learns of the end.
    fn ended(&self) -> UntilEnded {
        UntilEnded { calls: self.clone(), place: None }
    }

    /// The reply, or an error if calls are ended first.
    pub(super) fn until_end(&self, reply: ReplyFuture) -> impl Future<Output = Reply> + Send + use<> {
        let (mut reply, mut ended) = (reply, self.ended());
        std::future::poll_fn(move |task| {
            if let Poll::Ready(reply) = Pin::new(&mut reply).poll(task) {
                return Poll::Ready(reply);
            }
            ended.poll_ended(task).map(|()| Reply::error(CallError::Closed(REMOVED.into()).into()))
        })
    }

    /// The reply. If it is a stream, it can be ended.
    pub(super) fn note(&self, reply: Reply) -> Reply {
        if matches!(reply.outcome, Outcome::Stream(_)) && self.is_ended() {
            // Who opens a stream again that broke shall not try forever.
            return Reply::error(CallError::CannotConnect(REMOVED.into()).into());
        }
        self.ending(reply, REMOVED)
    }

    /// The same for a stream that is opened again if it ends, by another server.
    pub(super) fn note_movable(&self, reply: Reply) -> Reply {
        if matches!(reply.outcome, Outcome::Stream(_)) && self.is_ended() {
            return Reply::error(CallError::Closed(MOVED.into()).into());
        }
        self.ending(reply, MOVED)
    }

    fn ending(&self, reply: Reply, reason: &'static str) -> Reply {
        reply.map_items(|items| {
            let end = self.ended();
            items.through(|items| Ending { items: Some(items), end, reason })
        })
    }
}

impl Waiting {
    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the end. It takes a place in the list while it does.
struct UntilEnded {
    calls: NodeCalls,
    place: Option<usize>,
}

impl UntilEnded {
    fn poll_ended(&mut self, task: &Context<'_>) -> Poll<()> {
        let mut tasks = self.calls.0.tasks();
        // With the lock, so that an end is seen here or wakes the task.
        if self.calls.is_ended() {
            return Poll::Ready(());
        }
        let Tasks { places, free } = &mut *tasks;
        let place = *self.place.get_or_insert_with(|| {
            free.pop().unwrap_or_else(|| {
                places.push(None);
                places.len() - 1
            })
        });
        let before = match &mut places[place] {
            Some(waker) if waker.will_wake(task.waker()) => None,
            other => other.replace(task.waker().clone()),
        };
        drop(tasks);
        // It may run code of others, which shall not run with the lock.
        drop(before);
        Poll::Pending
    }
}

impl Drop for UntilEnded {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let mut tasks = self.calls.0.tasks();
        let waker = tasks.places[place].take();
        tasks.free.push(place);
        drop(tasks);
        drop(waker);
    }
}

/// A stream until it is ended.
struct Ending {
    items: Option<Items>,
    end: UntilEnded,
    reason: &'static str,
}

impl Stream for Ending {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(items) = &mut self.items else { return Poll::Ready(None) };
        let item = Pin::new(items).poll_next(cx);
        // A stream that always has items ends, too.
        if !matches!(item, Poll::Ready(None)) && self.end.poll_ended(cx).is_ready() {
            self.items = None;
            let gone = CallError::Closed(self.reason.into());
            return Poll::Ready(Some(Err(gone.into())));
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
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
            let streams = pool.open_calls();
            let mut items = Peer::local(pool).stream::<u32>(method, ()).await.unwrap();
            assert_eq!(items.next().await, Some(Ok(1)), "{method}");
            streams.end();
            let rest: Vec<_> = items.take(1000).collect().await;
            assert!(rest.last().unwrap().is_err() && rest.len() < 1000, "{method}: {rest:?}");
        }
    }

    #[tokio::test]
    async fn calls_end_with_an_error_when_they_are_ended_even_without_their_pool() {
        let silent = service_fn(|_: &switchboard_core::Call| ReplyFuture::pending(pending()));
        let pool = Pool::builder("silent").node(Node::new("one", silent)).build();
        let open = pool.open_calls();
        let call = switchboard_core::Service::call(&pool, &switchboard_core::Call::new("m", None));
        drop(pool);
        open.end();
        let reply = call.await;
        let Outcome::Error(error) = &reply.outcome else { panic!("{reply:?}") };
        assert_eq!(error.code, switchboard_core::Code::UPSTREAM_FAILED);
    }

    #[tokio::test]
    async fn a_stream_that_ends_by_itself_has_no_error() {
        let pool = pool();
        let streams = pool.open_calls();
        let reply = switchboard_core::Service::call(&pool, &switchboard_core::Call::new("short", None)).await;
        let Outcome::Stream(items) = reply.outcome else { panic!("{reply:?}") };
        drop((pool, streams));
        let items: Vec<_> = items.collect().await;
        assert!(items.len() == 2 && items.iter().all(Result::is_ok), "{items:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_merged_stream_moves_to_another_node_when_its_node_is_drained() {
        let server = |name: &'static str| {
            let items = move || stream::iter([name]).chain(stream::pending());
            Node::new(
                name,
                service_fn(move |_: &switchboard_core::Call| ReplyFuture::ready(Reply::stream(items()))),
            )
        };
        let pool = Pool::builder("u").node(server("one")).node(server("two").with_priority(2)).build();
        let merge = Merge::new("**".parse().ok()).shared();
        let merged = Peer::local(merge.layer(Arc::new(pool.clone())));
        let mut items = merged.stream::<String>("m", ()).await.unwrap();
        let mut own = Peer::local(pool.clone()).stream::<String>("m", ()).await.unwrap();
        assert_eq!(items.next().await, Some(Ok("one".to_owned())));
        assert_eq!(own.next().await, Some(Ok("one".to_owned())));
        pool.drain("one", true);
        assert!(matches!(items.next().await, Some(Err(CallError::Gap(_)))));
        assert_eq!(items.next().await, Some(Ok("two".to_owned())));
        // A stream that nothing opens again goes on.
        assert!(tokio::time::timeout(Duration::from_secs(60), own.next()).await.is_err());
    }

    #[tokio::test]
    async fn a_merged_stream_is_not_opened_again_once_its_pool_is_ended() {
        let pool = pool();
        let streams = pool.open_calls();
        let merge = Merge::new("**".parse().ok()).shared();
        let merged = Peer::local(merge.layer(Arc::new(pool)));
        let mut items = merged.stream::<u32>("silent", ()).await.unwrap();
        assert_eq!(items.next().await, Some(Ok(1)));
        streams.end();
        let ended = async { while items.next().await.is_some() {} };
        tokio::time::timeout(Duration::from_secs(20), ended).await.expect("the stream goes on");
    }
}
