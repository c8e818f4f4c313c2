//! Streams: pulled when there is room, and ended exactly once in each way they can end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_core::{
    CallError, Code, Context, ErrorObject, Json, Limits, Method, Reply, ReplyFuture, Router, Settings,
    Values, service_fn,
};

use crate::rig::{Raw, client_of, echo, ends};

/// A stream without end that counts how many items were pulled, and how many streams are alive.
struct Endless {
    pulled: Arc<AtomicUsize>,
    alive: Arc<()>,
}

impl Endless {
    fn new() -> Endless {
        Endless { pulled: Arc::default(), alive: Arc::new(()) }
    }

    fn method(&self) -> Method {
        let (pulled, alive) = (Arc::clone(&self.pulled), Arc::clone(&self.alive));
        Method::stream("endless", move |_: Json, _: Context| {
            let (pulled, alive) = (Arc::clone(&pulled), Arc::clone(&alive));
            futures_util::stream::repeat_with(move || {
                let _alive = &alive;
                pulled.fetch_add(1, Ordering::SeqCst)
            })
        })
    }

    /// Waits until only the method and this test hold on to it.
    async fn ended(&self) {
        while Arc::strong_count(&self.alive) > 2 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn items_keep_their_order_and_the_end_comes_once() {
    // SUB-02, SUB-04, ETH-07
    let count = Method::stream("count", |(n,): (u32,), _| futures_util::stream::iter(0..n));
    let (mut raw, _server) = Raw::against(Router::builder().add(count).add(echo()), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","method":"count","params":[100],"id":1}"#).await;
    let first = raw.receive().await.unwrap();
    let opened: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert_eq!(opened["stream"], true);
    let subscription = opened["result"].to_string();
    for n in 0..100 {
        let params = format!(r#"{{"subscription":{subscription},"result":{n}}}"#);
        raw.expect(&format!(r#"{{"jsonrpc":"2.0","method":"rpc.item","params":{params}}}"#)).await;
    }
    raw.expect(&format!(
        r#"{{"jsonrpc":"2.0","method":"rpc.end","params":{{"subscription":{subscription}}}}}"#
    ))
    .await;
    raw.send(r#"{"jsonrpc":"2.0","method":"echo","params":[],"id":2}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":[],"id":2}"#).await;
}

#[tokio::test]
async fn a_stream_that_fails_ends_with_its_error() {
    let broken = Method::new(
        "broken",
        service_fn(|_| {
            let items = [Ok(1), Err(ErrorObject::new(Code(7), "broke")), Ok(2)];
            ReplyFuture::ready(Reply::try_stream(futures_util::stream::iter(items)))
        }),
    );
    let panics = Method::stream("panics", |_: Json, _| {
        futures_util::stream::iter(0..).map(|n| if n == 1 { panic!("secret") } else { n })
    });
    let (client, _server) = client_of(Router::builder().add(broken).add(panics));
    for (method, code) in [("broken", Code(7)), ("panics", Code::INTERNAL_ERROR)] {
        let items: Vec<_> = client.stream::<u32>(method, ()).await.unwrap().collect().await;
        assert_eq!(items.len(), 2, "{items:?}");
        let error = items[1].as_ref().unwrap_err();
        assert_eq!(error.rejection().unwrap().code, code);
    }
}

#[tokio::test]
async fn dropping_the_reader_ends_the_stream_on_the_far_side() {
    // JSP-06
    let endless = Endless::new();
    let (client, _server) = client_of(Router::builder().add(endless.method()));
    let mut items: Values<usize> = client.stream("endless", ()).await.unwrap();
    assert_eq!(items.next().await, Some(Ok(0)));
    drop(items);
    endless.ended().await;
}

#[tokio::test]
async fn unsubscribing_by_call_says_whether_there_was_a_stream() {
    // JSP-02, ETH-03
    let endless = Method::stream("quiet", |_: Json, _| futures_util::stream::pending::<u8>());
    let (mut raw, _server) = Raw::against(Router::builder().add(endless), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","method":"quiet","id":1}"#).await;
    let opened: serde_json::Value = serde_json::from_str(&raw.receive().await.unwrap()).unwrap();
    let unsubscribe = |id| {
        format!(r#"{{"jsonrpc":"2.0","method":"rpc.unsubscribe","params":[{}],"id":{id}}}"#, opened["result"])
    };
    raw.send(&unsubscribe(2)).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":true,"id":2}"#).await;
    raw.send(&unsubscribe(3)).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":false,"id":3}"#).await;
}

#[tokio::test]
async fn cancelling_the_call_ends_its_stream() {
    let endless = Endless::new();
    let (mut raw, _server) = Raw::against(Router::builder().add(endless.method()), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","method":"endless","id":1}"#).await;
    raw.receive().await.unwrap();
    raw.send(r#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":1}}"#).await;
    // What was queued is still read; then the stream is gone.
    let drained = async { while raw.receive().await.is_some() {} };
    tokio::select! {
        () = drained => panic!("the connection closed"),
        () = endless.ended() => {}
    }
}

#[tokio::test]
async fn a_disconnect_ends_the_stream_on_both_sides() {
    // SUB-03, ETH-06
    let endless = Endless::new();
    let (client, server) = client_of(Router::builder().add(endless.method()));
    let mut items: Values<usize> = client.stream("endless", ()).await.unwrap();
    assert_eq!(items.next().await, Some(Ok(0)));
    server.task.abort();
    endless.ended().await;
    let last = items.by_ref().filter(|item| std::future::ready(item.is_err())).next().await;
    assert!(matches!(last, Some(Err(CallError::Closed(_)))), "{last:?}");
    assert_eq!(items.next().await, None);
}

#[tokio::test]
async fn items_are_pulled_only_while_there_is_room_to_send_them() {
    let endless = Endless::new();
    let (mut raw, server) = Raw::against(Router::builder().add(endless.method()), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","method":"endless","id":1}"#).await;
    raw.receive().await.unwrap();
    let mut pulled = 0;
    // Nobody reads: the producer comes to rest.
    while pulled != endless.pulled.load(Ordering::SeqCst) {
        pulled = endless.pulled.load(Ordering::SeqCst);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    assert!(pulled < 2000, "{pulled} items were pulled");
    assert!(!server.task.is_finished());
}

fn few(items: usize) -> Limits {
    Limits::default().with_items(items)
}

#[tokio::test]
async fn a_stream_goes_as_fast_as_it_is_read() {
    let count = Method::stream("count", |(n,): (usize,), _| futures_util::stream::iter(0..n));
    let (client, _server) = ends(Router::builder(), Router::builder().add(count), few(4));
    let mut items: Values<usize> = client.peer.stream("count", [5_000]).await.unwrap();
    for n in 0..5_000 {
        assert_eq!(items.next().await, Some(Ok(n)));
        // The connection has its turn, and more to give than there is room for.
        tokio::task::yield_now().await;
    }
    assert_eq!(items.next().await, None);
}

#[tokio::test]
async fn a_stream_that_is_not_read_is_not_pulled_further() {
    let endless = Endless::new();
    let (client, server) = ends(Router::builder(), Router::builder().add(endless.method()), few(4));
    let mut items: Values<usize> = client.peer.stream("endless", ()).await.unwrap();
    let mut pulled = usize::MAX;
    while pulled != endless.pulled.load(Ordering::SeqCst) {
        pulled = endless.pulled.load(Ordering::SeqCst);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(items.by_ref().take(pulled).collect::<Vec<_>>().await.len(), pulled);
    assert!(items.next().await.is_some_and(|item| item.is_ok()));
    assert!(!client.task.is_finished() && !server.task.is_finished());
}

#[tokio::test]
async fn whoever_calls_between_items_is_answered_however_many_wait() {
    let count = Method::stream("count", |(n,): (u32,), _| futures_util::stream::iter(0..n));
    let (client, _server) = ends(Router::builder(), Router::builder().add(count).add(echo()), few(4));
    let mut items: Values<u32> = client.peer.stream("count", [500]).await.unwrap();
    let mut sum = 0;
    while let Some(item) = items.next().await {
        let item = item.unwrap();
        sum += client.peer.call::<(u32,)>("echo", [item]).await.unwrap().0;
    }
    assert_eq!(sum, (0..500).sum::<u32>());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_nobody_reads_holds_the_others_up_for_a_while_only() {
    let endless = Endless::new();
    let count = Method::stream("count", |(n,): (u32,), _| futures_util::stream::iter(0..n));
    let (client, _server) =
        ends(Router::builder(), Router::builder().add(count).add(endless.method()), few(4));
    let unread: Values<usize> = client.peer.stream("endless", ()).await.unwrap();
    let items: Values<u32> = client.peer.stream("count", [100]).await.unwrap();
    assert_eq!(items.count().await, 100);
    drop(unread);
    endless.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_reader_is_behind_still_reads_now_and_then() {
    let limits = Limits::default().with_items(4);
    let (mut raw, end) = Raw::against(Router::builder(), Settings::default().with_limits(limits));
    let opening = tokio::spawn(async move { end.peer.stream::<u32>("x", ()).await });
    raw.receive().await.unwrap();
    raw.send(r#"{"jsonrpc":"2.0","result":"s","stream":true,"id":1}"#).await;
    let items = opening.await.unwrap().unwrap();
    // Nobody reads, but all of this is taken, in time.
    for n in 0..10_000 {
        let params = format!(r#"{{"subscription":"s","result":{n}}}"#);
        raw.send(&format!(r#"{{"jsonrpc":"2.0","method":"rpc.item","params":{params}}}"#)).await;
    }
    raw.send(r#"{"jsonrpc":"2.0","method":"rpc.end","params":{"subscription":"s"}}"#).await;
    assert_eq!(items.count().await, 10_000);
}

#[tokio::test]
async fn a_stream_that_there_is_no_place_for_is_ended_on_the_far_side() {
    // SEC-L-13
    let limits = Limits::default().with_subscriptions(1);
    let (mut raw, end) = Raw::against(Router::builder(), Settings::default().with_limits(limits));
    let opening = tokio::spawn(async move {
        let one = end.peer.stream::<u32>("x", ()).await;
        (one, end.peer.stream::<u32>("x", ()).await)
    });
    for id in [1, 2] {
        raw.receive().await.unwrap();
        raw.send(&format!(r#"{{"jsonrpc":"2.0","result":"s{id}","stream":true,"id":{id}}}"#)).await;
    }
    raw.expect(r#"{"jsonrpc":"2.0","method":"rpc.unsubscribe","params":["s2"]}"#).await;
    let (one, two) = opening.await.unwrap();
    assert!(one.is_ok() && matches!(two, Err(CallError::Busy(_))));
}

#[tokio::test]
async fn a_reader_that_is_too_slow_is_told_that_it_lost_the_stream() {
    let endless = Endless::new();
    let limits = few(4).with_stall_time(Duration::ZERO).with_outbox(1 << 20);
    let (client, _server) = ends(Router::builder(), Router::builder().add(endless.method()), limits);
    let items: Values<usize> = client.peer.stream("endless", ()).await.unwrap();
    endless.ended().await;
    let mut items: Vec<_> = items.collect().await;
    assert!(matches!(items.pop(), Some(Err(CallError::Unread(_)))));
    assert!(items.into_iter().enumerate().all(|(n, item)| item == Ok(n)));
}

#[tokio::test]
async fn no_more_streams_are_open_than_may_be() {
    // SEC-L-13
    let quiet = Method::stream("quiet", |_: Json, _| futures_util::stream::pending::<u8>());
    let limits = Limits::default().with_subscriptions(2);
    let (client, _server) = ends(Router::builder(), Router::builder().add(quiet), limits);
    let one = client.peer.stream::<u8>("quiet", ()).await.unwrap();
    let two = client.peer.stream::<u8>("quiet", ()).await.unwrap();
    let refused = client.peer.stream::<u8>("quiet", ()).await.unwrap_err();
    assert_eq!(refused.rejection().unwrap().code, Code::OVER_LIMIT);
    drop((one, two));
    assert!(client.peer.stream::<u8>("quiet", ()).await.is_ok());
}
