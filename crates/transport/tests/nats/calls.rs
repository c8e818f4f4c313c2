//! Calls, notifications and batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use futures_util::future::join_all;
use switchboard_core::{CallError, Code, ErrorObject, Settings};
use switchboard_transport::server::ServerOptions;
use tokio::sync::Semaphore;

use super::{Broker, Worker, client, connect, router, within};

/// How long a call may take that fails at once. If it waited for anything, it would end by this instead.
const SOON: Duration = Duration::from_secs(10);

/// What an error says beside its message.
pub(crate) fn detail(error: &CallError) -> String {
    error
        .rejection()
        .and_then(|error| error.data.as_ref())
        .map(|data| data.as_str().to_owned())
        .unwrap_or_default()
}

#[tokio::test]
async fn a_call_is_answered_whatever_its_method_is_called() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let peer = connect(&broker).await;
    assert_eq!(within(peer.call::<i64>("math/add", [2, 3])).await.unwrap(), 5);
    assert_eq!(within(peer.call::<String>("größe * >", ())).await.unwrap(), "odd");
    assert_eq!(
        within(peer.call::<u64>("slow", [150])).await.unwrap(),
        150,
        "longer than until it is accepted"
    );
    let missing = within(peer.call::<()>("math/div", ())).await.unwrap_err();
    assert_eq!(missing.rejection().unwrap().code, Code::METHOD_NOT_FOUND);
    let long = within(peer.call::<()>("x".repeat(2000), ())).await.unwrap_err();
    assert!(detail(&long).contains("too long"), "{long:?}");
    worker.stop().await;
}

#[tokio::test]
async fn a_worker_that_listens_gets_the_next_call_of_any_connection() {
    let broker = Broker::start(&[]);
    let peer = connect(&broker).await;
    for _ in 0..30 {
        let unheard = within(peer.call::<i64>("math/add", [2, 3]).timeout(SOON)).await.unwrap_err();
        assert!(unheard.is_unsent(), "{unheard:?}");
        let worker = Worker::start(&broker, router().build().unwrap()).await;
        assert_eq!(within(peer.call::<i64>("math/add", [2, 3])).await.unwrap(), 5);
        worker.stop().await;
    }
}

#[tokio::test]
async fn metadata_and_the_time_that_is_left_travel_in_headers() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let peer = connect(&broker).await;
    type Seen = (Option<String>, Option<String>, bool);
    let (one, timeout, is_limited): Seen = within(peer.call("who", ()).metadata("X-One", "1")).await.unwrap();
    assert_eq!((one.as_deref(), timeout, is_limited), (Some("1"), None, false));
    let (_, timeout, is_limited): Seen =
        within(peer.call("who", ()).timeout(Duration::from_secs(5))).await.unwrap();
    assert_eq!((timeout, is_limited), (None, true), "it is the transport's, and not metadata");
    let late = peer.call::<u64>("slow", [60_000]).timeout(Duration::from_millis(300));
    let late = within(late).await.unwrap_err();
    let is_refused = late.rejection().is_some_and(|error| error.code == Code::TIMED_OUT);
    assert!(is_refused || late == CallError::TimedOut, "{late:?}");
    worker.stop().await;
}

#[tokio::test]
async fn workers_share_the_calls_and_each_runs_once() {
    let broker = Broker::start(&[]);
    let counts: Vec<_> = (0..3).map(|_| Arc::new(AtomicU64::new(0))).collect();
    let mut workers = Vec::new();
    for count in &counts {
        let count = Arc::clone(count);
        let router =
            router().method("count-me", move |(): (), _| Ok::<_, ErrorObject>(count.fetch_add(1, SeqCst)));
        workers.push(Worker::start(&broker, router.build().unwrap()).await);
    }
    let peer = connect(&broker).await;
    let calls = (0..300).map(|_| peer.call::<u64>("count-me", ()).into_future());
    assert!(within(join_all(calls)).await.into_iter().all(|reply| reply.is_ok()));
    let counts: Vec<u64> = counts.iter().map(|count| count.load(SeqCst)).collect();
    assert_eq!(counts.iter().sum::<u64>(), 300);
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    for worker in workers {
        worker.stop().await;
    }
}

#[tokio::test]
async fn a_notification_is_published_and_a_batch_is_answered_in_order() {
    let broker = Broker::start(&[]);
    let heard = Arc::new(Semaphore::new(0));
    let hear = Arc::clone(&heard);
    let router = router().method("log", move |_: Vec<String>, _| {
        hear.add_permits(1);
        Ok::<_, ErrorObject>(())
    });
    let worker = Worker::start(&broker, router.build().unwrap()).await;
    let peer = connect(&broker).await;
    within(peer.notify("log", ["hello"])).await.unwrap();
    within(heard.acquire()).await.unwrap().forget();
    let batch = peer.batch().call("math/add", [1, 2]).notify("log", ["in a batch"]).call("nothing", ());
    let outcomes = within(batch.send()).await.unwrap();
    assert_eq!(outcomes[0].as_ref().unwrap().as_str(), "3");
    assert!(outcomes[1].is_err() && outcomes.len() == 2, "{outcomes:?}");
    within(heard.acquire()).await.unwrap().forget();
    worker.stop().await;
}

#[tokio::test]
async fn a_service_that_nobody_serves_fails_at_once_and_says_what_to_do() {
    let broker = Broker::start(&[]);
    let peer = connect(&broker).await;
    let error = within(peer.call::<()>("math/add", [2, 3]).timeout(SOON)).await.unwrap_err();
    assert!(error.is_unsent(), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("no worker serves math") && text.contains("switchboard serve --listen nats://"),
        "{text}"
    );
}

#[tokio::test]
async fn messages_that_the_broker_does_not_take_are_refused() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let peer = connect(&broker).await;
    let sent = within(peer.call::<()>("echo", ["x".repeat(2 << 20)])).await.unwrap_err();
    assert_eq!(sent.rejection().map(|error| error.code), Some(Code::OVER_LIMIT), "{sent}");
    assert!(detail(&sent).contains("1048576"), "{sent:?}");
    let received = within(peer.call::<String>("long", [2 << 20])).await.unwrap_err();
    assert_eq!(received.rejection().map(|error| error.code), Some(Code::REPLY_TOO_LARGE), "{received}");
    assert_eq!(within(peer.call::<String>("long", [900_000])).await.unwrap().len(), 900_000);
    worker.stop().await;
}

#[tokio::test]
async fn a_worker_that_has_enough_to_do_refuses_further_calls_at_once() {
    let broker = Broker::start(&[]);
    let options = ServerOptions::default().with_connections(3);
    let gate = Arc::new(Semaphore::new(0));
    let closed = Arc::clone(&gate);
    let router = router().async_method("wait", move |(): (), _| {
        let gate = Arc::clone(&closed);
        async move {
            gate.acquire().await.unwrap().forget();
            Ok::<_, ErrorObject>("done")
        }
    });
    let worker = Worker::start_with(&broker, router.build().unwrap(), Settings::default(), options).await;
    let peer = connect(&broker).await;
    let waiting: Vec<_> =
        (0..3).map(|_| tokio::spawn(peer.call::<String>("wait", ()).into_future())).collect();
    // The broker keeps the order, so the three are taken when this is answered.
    let client = client(&broker).await;
    let refused = loop {
        let reply = within(peer.call::<i64>("math/add", [1, 1])).await;
        if let Err(error) = reply {
            break error;
        }
    };
    assert_eq!(refused.rejection().map(|error| error.code), Some(Code::OVER_LIMIT), "{refused}");
    gate.add_permits(3);
    for call in waiting {
        assert_eq!(within(call).await.unwrap().unwrap(), "done");
    }
    assert_eq!(within(peer.call::<i64>("math/add", [1, 1])).await.unwrap(), 2);
    drop(client);
    worker.stop().await;
}
