//! Answers in parts: streams, progress, calls back.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt as _, stream};
use switchboard_core::{CallError, ErrorObject, Json, Method, Router};
use switchboard_transport::Dial;
use tokio::sync::Notify;

use super::calls::detail;
use super::{Broker, Worker, connect, router, url, within};

#[tokio::test]
async fn a_stream_arrives_item_by_item_however_long_it_is() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let peer = connect(&broker).await;
    for length in [0, 1, 3, 255, 256, 257, 5000] {
        let items = within(peer.stream::<u32>("count", [length])).await.unwrap();
        let items: Vec<u32> = within(items.map(Result::unwrap).collect()).await;
        assert_eq!(items, (1..=length).collect::<Vec<_>>());
    }
    let plain = within(peer.call::<Vec<u32>>("count", [3])).await.unwrap_err();
    assert!(plain.to_string().contains("found a stream"), "as over any duplex transport: {plain}");
    worker.stop().await;
}

#[tokio::test]
async fn a_worker_waits_for_a_slow_reader() {
    let broker = Broker::start(&[]);
    let made = Arc::new(AtomicU64::new(0));
    let making = Arc::clone(&made);
    let many = Method::stream("many", move |(): (), _| {
        let making = Arc::clone(&making);
        stream::iter(0..100_000_u64).inspect(move |_| {
            making.fetch_add(1, SeqCst);
        })
    });
    let worker = Worker::start(&broker, router().add(many).build().unwrap()).await;
    let peer = connect(&broker).await;
    let mut items = within(peer.stream::<u64>("many", ())).await.unwrap();
    assert_eq!(within(items.next()).await.unwrap().unwrap(), 0);
    // What the worker may send unread has arrived when another call, sent after it, is answered.
    for _ in 0..20 {
        within(peer.call::<u64>("slow", [10])).await.unwrap();
    }
    assert!(made.load(SeqCst) <= 600, "{made:?} items were made for one that was read");
    let rest: Vec<u64> = within(items.map(Result::unwrap).collect()).await;
    assert_eq!(rest.len(), 99_999);
    worker.stop().await;
}

#[tokio::test]
async fn many_streams_that_nobody_reads_take_little_memory_however_large_their_items_are() {
    const STREAMS: u64 = 50;
    const ITEMS: u64 = 20;
    let broker = Broker::start(&[]);
    let made = Arc::new(AtomicU64::new(0));
    let making = Arc::clone(&made);
    let large = Method::stream("large", move |(): (), _| {
        let making = Arc::clone(&making);
        stream::iter(0..ITEMS).map(move |number| {
            making.fetch_add(1, SeqCst);
            format!("{number} {}", "x".repeat(100_000))
        })
    });
    let worker = Worker::start(&broker, router().add(large).build().unwrap()).await;
    let peer = connect(&broker).await;
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        streams.push(within(peer.stream::<String>("large", ())).await.unwrap());
    }
    // What the workers may send unread has arrived when other calls, sent after it, are answered.
    for _ in 0..20 {
        within(peer.call::<u64>("slow", [10])).await.unwrap();
    }
    // Three of them reach the limit in bytes, and one more may have been read before.
    assert!(made.load(SeqCst) <= STREAMS * 4, "{made:?} items were made, and none was read");
    for stream in streams {
        let items: Vec<String> = within(stream.map(Result::unwrap).collect()).await;
        let numbers = items.iter().map(|item| item.split(' ').next().unwrap().parse::<u64>().unwrap());
        assert!(numbers.eq(0..ITEMS), "{} items", items.len());
    }
    worker.stop().await;
}

#[tokio::test]
async fn progress_comes_before_the_answer() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let peer = connect(&broker).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let see = Arc::clone(&seen);
    let built = peer
        .call::<String>("build", ())
        .on_progress(move |value: Json| see.lock().unwrap().push(value.to_string()));
    assert_eq!(within(built).await.unwrap(), "built");
    assert_eq!(*seen.lock().unwrap(), ["10", "50", "100"]);
    assert_eq!(within(peer.call::<String>("build", ())).await.unwrap(), "built");
    worker.stop().await;
}

#[tokio::test]
async fn a_handler_calls_its_caller_back() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let answers = Router::builder()
        .method("answer", |(question,): (String,), _| Ok::<_, ErrorObject>(format!("{question} Yes.")))
        .build()
        .unwrap();
    let peer = Dial::new(&url(&broker)).unwrap().with_service(answers).connect().await.unwrap();
    assert_eq!(within(peer.call::<String>("ask", ["Really?"])).await.unwrap(), "Really? Yes.");
    let other = connect(&broker).await;
    let unanswered = within(other.call::<String>("ask", ["Really?"])).await.unwrap_err();
    assert!(detail(&unanswered).contains("cannot respond"), "{unanswered:?}");
    worker.stop().await;
}

/// Says when it is dropped.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_before_and_after_it_was_accepted() {
    let broker = Broker::start(&[]);
    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begin, drops) = (Arc::clone(&begun), Arc::clone(&dropped));
    let router = router().async_method("forever", move |(): (), _| {
        let (begin, guard) = (Arc::clone(&begin), Dropped(Arc::clone(&drops)));
        async move {
            begin.notify_one();
            std::future::pending::<()>().await;
            drop(guard);
            Ok::<_, ErrorObject>(())
        }
    });
    let worker = Worker::start(&broker, router.build().unwrap()).await;
    let peer = connect(&broker).await;
    for millis in [0, 300] {
        let call = tokio::spawn(peer.call::<()>("forever", ()).into_future());
        within(begun.notified()).await;
        // After the second, the caller knows its worker.
        within(peer.call::<u64>("slow", [millis])).await.unwrap();
        call.abort();
        within(dropped.notified()).await;
    }
    worker.stop().await;
}

#[tokio::test]
async fn a_stream_that_is_dropped_ends_at_its_source() {
    let broker = Broker::start(&[]);
    let dropped = Arc::new(Notify::new());
    let drops = Arc::clone(&dropped);
    let endless = Method::stream("endless", move |(): (), _| {
        let guard = Dropped(Arc::clone(&drops));
        stream::iter(0_u64..).inspect(move |_| {
            let _ = &guard;
        })
    });
    let worker = Worker::start(&broker, router().add(endless).build().unwrap()).await;
    let peer = connect(&broker).await;
    let mut items = within(peer.stream::<u64>("endless", ())).await.unwrap();
    assert_eq!(within(items.next()).await.unwrap().unwrap(), 0);
    drop(items);
    within(dropped.notified()).await;
    // A caller whose connection is gone is noticed as well: the broker says that nobody receives.
    let mut items = within(peer.stream::<u64>("endless", ())).await.unwrap();
    assert!(within(items.next()).await.unwrap().is_ok());
    drop((peer, items));
    within(dropped.notified()).await;
    worker.stop().await;
}

#[tokio::test]
async fn a_stream_that_fails_says_why() {
    let broker = Broker::start(&[]);
    let failing = Method::feed("failing", |(): (), _| {
        stream::iter([Ok(1), Err(ErrorObject::new(switchboard_core::Code(7), "enough"))])
    });
    let worker = Worker::start(&broker, router().add(failing).build().unwrap()).await;
    let peer = connect(&broker).await;
    let items = within(peer.stream::<u64>("failing", ())).await.unwrap();
    let items: Vec<Result<u64, CallError>> = within(items.collect()).await;
    assert!(matches!(&items[..], [Ok(1), Err(CallError::Rejected(error))] if error.code.0 == 7), "{items:?}");
    worker.stop().await;
}
