//! Streams over connections that break.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{FutureExt, StreamExt};
use switchboard_core::{
    CallError, Code, ErrorObject, Gap, Json, Method, Reply, Router, RouterBuilder, Subscription, Values,
    service_fn,
};

use crate::rig::{Server, at_once};

/// A method whose streams say which of them they are, and how many of them there are now.
fn numbering() -> (RouterBuilder, Arc<AtomicUsize>) {
    numbering_as(None)
}

/// The same, as a subscription by these names.
fn numbering_as(names: Option<Subscription>) -> (RouterBuilder, Arc<AtomicUsize>) {
    let (opened, alive) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&alive);
    let method = Method::stream("watch", move |_: Json, _| {
        let number = opened.fetch_add(1, Ordering::SeqCst) + 1;
        count.fetch_add(1, Ordering::SeqCst);
        let living = Living(Arc::clone(&count));
        let never = futures_util::stream::pending().map(move |item: usize| {
            let _living = &living;
            item
        });
        futures_util::stream::iter([number]).chain(never)
    });
    let method = match names {
        Some(names) => method.subscription(names),
        None => method,
    };
    (Router::builder().add(method), alive)
}

struct Living(Arc<AtomicUsize>);

impl Drop for Living {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn expect_gap(items: &mut Values<usize>) {
    assert_eq!(items.next().await, Some(Err(CallError::Gap(Gap::reconnected()))));
}

#[tokio::test]
async fn a_stream_comes_back_under_the_same_handle_after_a_gap() {
    let (router, alive) = numbering();
    let (server, _) = Server::new(router);
    let peer = server.client(at_once()).peer();
    let mut items = peer.stream::<usize>("watch", ()).repeatable().await.unwrap();
    for number in 1..5 {
        assert_eq!(items.next().await, Some(Ok(number)));
        server.cut();
        expect_gap(&mut items).await;
    }
    assert_eq!(items.next().await, Some(Ok(5)));
    drop(items);
    while alive.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.dialled(), 5);
}

#[tokio::test]
async fn a_stream_comes_back_from_a_server_that_shuts_down_in_good_order() {
    let (router, _) = numbering();
    let (server, _) = Server::new(router);
    let peer = server.client(at_once()).peer();
    let mut items = peer.stream::<usize>("watch", ()).repeatable().await.unwrap();
    assert_eq!(items.next().await, Some(Ok(1)));
    server.drain();
    expect_gap(&mut items).await;
    assert_eq!(items.next().await, Some(Ok(2)));
}

#[tokio::test]
async fn a_stream_that_had_ended_is_not_asked_for_again() {
    let opened = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&opened);
    let short = Method::stream("short", move |_: Json, _| {
        count.fetch_add(1, Ordering::SeqCst);
        futures_util::stream::iter([1, 2])
    });
    let (server, _) = Server::new(
        Router::builder().add(short).add(Method::sync("ping", |_: Json, _| Ok::<_, ErrorObject>(1))),
    );
    let peer = server.client(at_once()).peer();
    let mut items = peer.stream::<usize>("short", ()).repeatable().await.unwrap();
    // Items and end go out before the answer to a later call does.
    assert_eq!(peer.call("ping", ()).await, Ok(1));
    server.cut();
    assert_eq!(peer.call("ping", ()).repeatable().await, Ok(1));
    assert_eq!(items.next().await, Some(Ok(1)));
    assert_eq!(items.next().await, Some(Ok(2)));
    assert_eq!(items.next().await, None);
    assert_eq!((opened.load(Ordering::SeqCst), server.dialled()), (1, 2));
}

#[tokio::test]
async fn a_stream_that_is_dropped_while_it_is_away_does_not_come_back() {
    let (router, alive) = numbering();
    let (server, _) = Server::new(router.add(Method::sync("ping", |_: Json, _| Ok::<_, ErrorObject>(1))));
    let peer = server.client(at_once()).peer();
    let mut items = peer.stream::<usize>("watch", ()).repeatable().await.unwrap();
    assert_eq!(items.next().await, Some(Ok(1)));
    server.refuse(crate::rig::nobody_listens());
    server.cut();
    assert!(items.next().now_or_never().is_none());
    while alive.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
        assert!(items.next().now_or_never().is_none());
    }
    drop(items);
    server.refuse(None);
    assert_eq!(peer.call("ping", ()).await, Ok(1));
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_stream_that_is_refused_the_second_time_ends_with_that_error() {
    let opened = AtomicUsize::new(0);
    let once = service_fn(move |_| {
        let reply = match opened.fetch_add(1, Ordering::SeqCst) {
            0 => Reply::stream(futures_util::stream::iter([1]).chain(futures_util::stream::pending())),
            _ => Reply::error(ErrorObject::new(Code(7), "once is enough")),
        };
        reply.into()
    });
    let (server, _) = Server::new(Router::builder().add(Method::new("watch", once)));
    let peer = server.client(at_once()).peer();
    let mut items = peer.stream::<usize>("watch", ()).repeatable().await.unwrap();
    assert_eq!(items.next().await, Some(Ok(1)));
    server.cut();
    let end = items.next().await.unwrap().unwrap_err();
    assert_eq!(end.rejection().unwrap().code, Code(7));
    assert_eq!(items.next().await, None);
}

/// What a stream does when its connection breaks.
async fn check(resubscribe: bool, mut items: Values<usize>, server: &Server, comes_back: bool) {
    assert_eq!(items.next().await, Some(Ok(1)));
    server.cut();
    if comes_back {
        expect_gap(&mut items).await;
        assert_eq!(items.next().await, Some(Ok(2)), "resubscribe: {resubscribe}");
    } else {
        assert!(matches!(items.next().await, Some(Err(CallError::Closed(_)))), "resubscribe: {resubscribe}");
        assert_eq!(items.next().await, None);
    }
}

#[tokio::test]
async fn a_stream_comes_back_only_if_it_is_a_subscription_or_its_call_is_repeatable() {
    let names = || Subscription::named("tick", "unwatch");
    for resubscribe in [true, false] {
        let options = || at_once().with_resubscribe(resubscribe);
        let open = || Server::new(numbering().0).0;

        let server = open();
        let plain = server.client(options()).peer().stream::<usize>("watch", ()).await.unwrap();
        check(resubscribe, plain, &server, false).await;

        let server = open();
        let peer = server.client(options()).peer();
        let marked = peer.stream::<usize>("watch", ()).repeatable().await.unwrap();
        check(resubscribe, marked, &server, true).await;

        let server = Server::new(numbering_as(Some(names())).0).0;
        let peer = server.client(options()).peer();
        let subscribed = peer.stream::<usize>("watch", ()).await.unwrap();
        check(resubscribe, subscribed, &server, resubscribe).await;
    }
}

#[tokio::test]
async fn a_stream_keeps_the_connection_when_every_peer_is_gone() {
    let (router, _) = numbering();
    let (server, _) = Server::new(router);
    let mut items = server.client(at_once()).peer().stream::<usize>("watch", ()).repeatable().await.unwrap();
    assert_eq!(items.next().await, Some(Ok(1)));
    server.cut();
    expect_gap(&mut items).await;
    assert_eq!(items.next().await, Some(Ok(2)));
}
