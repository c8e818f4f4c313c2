//! Readers of one upstream stream.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{FutureExt as _, Stream, StreamExt as _, stream};
use switchboard_core::reconnect::Backoff;
use switchboard_core::{
    Call, CallError, Code, ErrorObject, Gap, Items, Json, Layer as _, Outcome, Reply, ReplyFuture, Router,
    Service, Subscription, service_fn,
};
use switchboard_layers::merge::Merge;
use switchboard_transport::memory;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::task::yield_now;
use tokio::time::Instant;

use crate::upstream::{Upstream, call, error, shown, value};

type Item = Result<Json, ErrorObject>;

/// A service that opens a stream for each call, except when it is down.
#[derive(Clone, Default)]
struct Streams(Arc<State>);

#[derive(Default)]
struct State {
    open: Mutex<Vec<UnboundedSender<Item>>>,
    /// What calls are answered with instead of a stream.
    instead: Mutex<Option<ErrorObject>>,
    calls: AtomicUsize,
    /// How many items were taken out of the streams.
    taken: Arc<AtomicUsize>,
    /// How many streams exist.
    live: Arc<AtomicUsize>,
}

/// Counts a stream as long as it exists.
struct Live(Arc<AtomicUsize>);

impl Drop for Live {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Service for Streams {
    fn call(&self, _: &Call) -> ReplyFuture {
        self.0.calls.fetch_add(1, SeqCst);
        if let Some(error) = &*self.0.instead.lock().unwrap() {
            return ReplyFuture::ready(error.clone());
        }
        let (sender, mut receiver) = mpsc::unbounded_channel();
        self.0.open.lock().unwrap().push(sender);
        self.0.live.fetch_add(1, SeqCst);
        let (taken, live) = (Arc::clone(&self.0.taken), Live(Arc::clone(&self.0.live)));
        let items = stream::poll_fn(move |cx| {
            let _ = &live;
            receiver.poll_recv(cx)
        });
        let items = items.inspect(move |_| {
            taken.fetch_add(1, SeqCst);
        });
        ReplyFuture::ready(
            Reply::items(Items::new(items).named(Subscription::ethereum("eth"))).with_metadata("x", "y"),
        )
    }
}

impl Streams {
    /// Sends an item into the stream that was opened last. False if nobody reads it.
    fn send(&self, item: u64) -> bool {
        self.send_any(Ok(Json::encode(&item).unwrap()))
    }

    fn send_any(&self, item: Item) -> bool {
        self.0.open.lock().unwrap().last().unwrap().send(item).is_ok()
    }

    fn break_off(&self) {
        assert!(self.send_any(Err(CallError::Closed("gone".into()).into())));
    }

    fn end(&self) {
        self.0.open.lock().unwrap().pop();
    }

    fn set_down(&self, error: Option<ErrorObject>) {
        *self.0.instead.lock().unwrap() = error;
    }

    fn calls(&self) -> usize {
        self.0.calls.load(SeqCst)
    }

    async fn until_closed(&self) {
        while self.0.live.load(SeqCst) > 0 {
            yield_now().await;
        }
    }
}

fn merge() -> Merge {
    Merge::new(["ticks".parse().unwrap(), "eth_*".parse().unwrap()])
}

fn rig(merge: &Merge) -> (Arc<dyn Service>, Streams) {
    let streams = Streams::default();
    (merge.layer(Arc::new(streams.clone())), streams)
}

/// Opens a stream by a call that is answered at once.
fn open(service: &Arc<dyn Service>) -> Items {
    let reply = service.call(&call("", "ticks", "[]")).now_or_never().expect("it is answered at once");
    items_of(reply)
}

fn items_of(reply: Reply) -> Items {
    let Outcome::Stream(items) = reply.outcome else { panic!("{reply:?}") };
    items
}

/// The next so many items, gaps and errors, in short.
async fn read(items: &mut Items, count: usize) -> Vec<String> {
    items.take(count).map(|item| shorten(&item)).collect().await
}

fn shorten(item: &Item) -> String {
    match item {
        Ok(json) => json.to_string(),
        Err(error) => match error.gap() {
            Some(Gap { lost: Some(lost), .. }) => format!("lost {lost}"),
            Some(_) => "broken".to_owned(),
            None => error.code.to_string(),
        },
    }
}

fn numbers(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

#[tokio::test]
async fn a_thousand_readers_take_each_item_once() {
    let (service, streams) = rig(&merge().shared());
    let readers: Vec<_> = (0..1000).map(|_| open(&service)).collect();
    let reading: Vec<_> = readers
        .into_iter()
        .map(|mut items| tokio::spawn(async move { read(&mut items, 50).await }))
        .collect();
    for item in 0..50 {
        assert!(streams.send(item));
        yield_now().await;
    }
    for read in join_all(reading).await {
        assert_eq!(read.unwrap(), numbers(0..50));
    }
    assert_eq!((streams.calls(), streams.0.taken.load(SeqCst)), (1, 50));
    streams.until_closed().await;
}

#[tokio::test]
async fn readers_get_what_comes_after_they_joined_and_the_last_item_if_set() {
    for gives_last in [false, true] {
        let merge = if gives_last { merge().shared().with_last() } else { merge().shared() };
        let (service, streams) = rig(&merge);
        let mut first = open(&service);
        streams.send(1);
        assert_eq!(read(&mut first, 1).await, ["1"]);
        let mut second = open(&service);
        streams.send(2);
        assert_eq!(read(&mut first, 1).await, ["2"]);
        let expected: &[&str] = if gives_last { &["1", "2"] } else { &["2"] };
        assert_eq!(read(&mut second, expected.len()).await, expected);
    }
}

#[tokio::test]
async fn a_slow_reader_gets_a_gap_and_delays_nobody() {
    let (service, streams) = rig(&merge().shared().with_buffer(4, 1 << 20));
    let (mut fast, mut slow) = (open(&service), open(&service));
    for item in 0..100 {
        streams.send(item);
        assert_eq!(read(&mut fast, 1).await, [item.to_string()]);
    }
    streams.end();
    assert_eq!(
        slow.by_ref().map(|item| shorten(&item)).collect::<Vec<_>>().await,
        ["lost 96", "96", "97", "98", "99"]
    );
    assert!(fast.next().await.is_none());
}

#[tokio::test]
async fn the_upstream_stream_ends_with_its_last_reader() {
    let (service, streams) = rig(&merge().shared());
    let (first, mut second) = (open(&service), open(&service));
    drop(first);
    streams.send(1);
    assert_eq!(read(&mut second, 1).await, ["1"]);
    drop(second);
    // Who joins at this moment has a stream of its own.
    let mut third = open(&service);
    assert_eq!(streams.calls(), 2);
    streams.send(2);
    assert_eq!(read(&mut third, 1).await, ["2"]);
    drop(third);
    streams.until_closed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_that_come_and_go_on_several_threads_leak_nothing() {
    let (service, streams) = rig(&merge().shared());
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (service, streams) = (Arc::clone(&service), streams.clone());
            tokio::spawn(async move {
                for _ in 0..500 {
                    let mut items = items_of(service.call(&call("", "ticks", "[]")).await);
                    // Whichever stream it has, an item comes sooner or later.
                    let item = loop {
                        streams.0.open.lock().unwrap().retain(|open| open.send(Ok(Json::TRUE)).is_ok());
                        match items.next().now_or_never() {
                            Some(item) => break item,
                            None => yield_now().await,
                        }
                    };
                    let item = shorten(&item.unwrap());
                    assert!(item == "true" || item.starts_with("lost"), "{item}");
                }
            })
        })
        .collect();
    for reader in readers {
        reader.await.unwrap();
    }
    streams.until_closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_is_opened_again_and_all_readers_get_a_gap() {
    let backoff = Backoff::default().with_jitter(0.0);
    let (service, streams) = rig(&merge().shared().with_backoff(backoff));
    let (mut one, mut other) = (open(&service), open(&service));
    streams.send(1);
    streams.set_down(Some(ErrorObject::upstream_failed("down")));
    streams.break_off();
    assert_eq!(read(&mut one, 1).await, ["1"]);
    let began = Instant::now();
    let reading = tokio::spawn(async move { (read(&mut one, 2).await, one) });
    while streams.calls() < 4 {
        yield_now().await;
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    // The delays grow: 100, 200 and 400 ms.
    assert!(began.elapsed() >= Duration::from_millis(700));
    streams.set_down(None);
    while streams.calls() < 5 {
        yield_now().await;
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    streams.send(2);
    let (read_by_one, one) = reading.await.unwrap();
    assert_eq!(read_by_one, ["broken", "2"]);
    assert_eq!(read(&mut other, 3).await, ["1", "broken", "2"]);
    assert_eq!(streams.calls(), 5);
    drop((one, other));
    streams.until_closed().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_opened_again_without_readers() {
    let (service, streams) = rig(&merge().shared());
    let items = open(&service);
    streams.set_down(Some(ErrorObject::upstream_failed("down")));
    streams.break_off();
    while streams.calls() < 3 {
        yield_now().await;
        tokio::time::advance(Duration::from_millis(100)).await;
    }
    let calls = streams.calls();
    drop(items);
    for _ in 0..10 {
        yield_now().await;
        tokio::time::advance(Duration::from_secs(60)).await;
    }
    assert_eq!(streams.calls(), calls);
}

#[tokio::test(start_paused = true)]
async fn all_streams_end_if_opening_again_is_of_no_use() {
    let limited = Backoff::default().with_attempts(Some(3));
    for (down, backoff, calls, code) in [
        (ErrorObject::method_not_found("ticks"), Backoff::default(), 2, "-32601"),
        (ErrorObject::upstream_failed("down"), limited, 3, "-32004"),
    ] {
        let (service, streams) = rig(&merge().shared().with_backoff(backoff));
        let (mut one, mut other) = (open(&service), open(&service));
        streams.set_down(Some(down));
        streams.break_off();
        assert_eq!(read(&mut one, 5).await, [code]);
        assert_eq!(read(&mut other, 5).await, [code]);
        assert_eq!(streams.calls(), calls);
        // The next caller opens a new one.
        streams.set_down(None);
        let _items = open(&service);
        assert_eq!(streams.calls(), calls + 1);
    }
}

#[tokio::test]
async fn all_streams_end_when_the_upstream_stream_does() {
    let (service, streams) = rig(&merge().shared());
    let (mut one, mut other) = (open(&service), open(&service));
    streams.send(1);
    assert!(streams.send_any(Err(CallError::Gap(Gap::overflow(7)).into())));
    streams.end();
    for items in [&mut one, &mut other] {
        assert_eq!(read(items, 9).await, ["1", "lost 7"]);
        assert!(items.next().await.is_none());
    }
    let _again = open(&service);
    assert_eq!(streams.calls(), 2);
}

#[tokio::test]
async fn callers_that_wait_for_a_stream_get_all_of_it() {
    let upstream = Upstream::default();
    let service = merge().shared().layer(Arc::new(upstream.clone()));
    let replies: Vec<_> = (0..3).map(|_| service.call(&call("", "ticks", "[]"))).collect();
    assert!(upstream.answer(0, Reply::stream(stream::iter([1, 2, 3]))));
    for reply in join_all(replies).await {
        assert_eq!(read(&mut items_of(reply), 9).await, ["1", "2", "3"]);
    }
    assert_eq!(upstream.count(), 1);
    // When all are gone before it opens, the call is cancelled.
    drop((service.call(&call("", "ticks", "[]")), service.call(&call("", "ticks", "[]"))));
    upstream.cancelled(1).await;
}

#[tokio::test]
async fn errors_are_shared_and_values_are_not() {
    let upstream = Upstream::default();
    let service = merge().shared().layer(Arc::new(upstream.clone()));
    let replies = || (0..3).map(|_| service.call(&call("", "ticks", "[]"))).collect::<Vec<_>>();
    let failing = replies();
    assert!(upstream.answer(0, error(-31_000)));
    assert!(join_all(failing).await.iter().all(|reply| shown(reply) == "-31000"));
    let returning = tokio::spawn(join_all(replies()));
    for number in 1..4 {
        while upstream.count() <= number {
            yield_now().await;
        }
        assert!(upstream.answer(number, value(&number.to_string())));
    }
    let mut values: Vec<_> = returning.await.unwrap().iter().map(shown).collect();
    values.sort();
    assert_eq!(values, ["1", "2", "3"]);
}

#[tokio::test]
async fn other_callers_params_and_methods_have_their_own_streams() {
    let (service, streams) = rig(&merge());
    let mut replies = Vec::new();
    for (who, method, params) in [
        ("ann", "ticks", "[1]"),
        ("ann", "ticks", "[1]"),
        ("bob", "ticks", "[1]"),
        ("ann", "ticks", "[2]"),
        ("ann", "eth_subscribe", "[1]"),
        ("ann", "tocks", "[1]"),
        ("ann", "tocks", "[1]"),
        ("", "ticks", "[1]"),
        ("", "ticks", "[1]"),
    ] {
        replies.push(service.call(&call(who, method, params)).await);
    }
    assert_eq!(streams.calls(), 8);
    let notified = service.call(&Call::notification("ticks", None));
    assert_eq!(streams.calls(), 9);
    drop(notified);
}

#[tokio::test]
async fn every_reader_has_the_names_of_the_stream_and_what_came_beside_it() {
    let (service, _streams) = rig(&merge().shared());
    for _ in 0..2 {
        let reply = service.call(&call("", "ticks", "[]")).await;
        assert_eq!(reply.extra.as_ref().unwrap().metadata.text("x"), Some("y"));
        let names = items_of(reply).subscription().cloned().unwrap();
        assert_eq!(names.item.as_str(), "eth_subscription");
    }
}

#[tokio::test]
async fn clients_of_several_connections_read_one_stream() {
    let (service, streams) = rig(&merge().shared());
    let mut clients = Vec::new();
    for _ in 0..3 {
        let peer = memory::connect(Arc::clone(&service), Router::builder().build().unwrap());
        clients.push((peer.stream::<u64>("ticks", ()).await.unwrap(), peer));
    }
    for item in 0..10 {
        streams.send(item);
    }
    for (values, _) in &mut clients {
        let read: Vec<_> = values.take(10).map(|item| item.unwrap()).collect().await;
        assert_eq!(read, (0..10).collect::<Vec<_>>());
    }
    assert_eq!(streams.calls(), 1);
    drop(clients);
    streams.until_closed().await;
}

#[tokio::test]
async fn a_panic_answers_all_who_wait() {
    let inner = service_fn(|_: &Call| ReplyFuture::pending(async { panic!("as planned") }));
    let service = merge().shared().layer(Arc::new(inner));
    let replies: Vec<_> = (0..2).map(|_| service.call(&call("", "ticks", "[]"))).collect();
    let codes: Vec<_> = join_all(replies).await.iter().map(shown).collect();
    assert_eq!(codes, [Code::INTERNAL_ERROR.to_string(), Code::INTERNAL_ERROR.to_string()]);
}

/// A stream that is always ready must not keep its readers from reading.
#[tokio::test]
async fn an_eager_stream_gives_its_readers_time() {
    fn eager() -> impl Stream<Item = u64> {
        stream::iter(0..100_000)
    }
    let inner = service_fn(|_: &Call| ReplyFuture::ready(Reply::stream(eager())));
    let service = merge().shared().layer(Arc::new(inner));
    let mut items = open(&service);
    assert_eq!(read(&mut items, 1000).await, numbers(0..1000));
}
