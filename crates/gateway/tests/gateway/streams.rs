//! Streams through a gateway, over real connections on both sides.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt;
use futures_util::future::join_all;
use switchboard_core::{Connections, ErrorObject, Method, Outcome, Router, Service};
use switchboard_gateway::{Attempts, Backend, Gateway, Link, Pool, Retry, Stack};
use switchboard_layers::merge::Merge;
use switchboard_transport::Dial;
use switchboard_transport::server::Server;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fakes::{call_in, session};

/// Serves until the set is dropped.
async fn serve(service: impl Service, tasks: &mut JoinSet<()>) -> String {
    let mut server = Server::new(service);
    server.listen("tcp://127.0.0.1:0").await.unwrap();
    let url = server.urls().next().unwrap();
    tasks.spawn(server.serve());
    url
}

fn pool(url: &str, connections: Connections) -> Pool {
    let link = Link::default().with_connections(connections);
    Pool::builder("u").node(link.node("one", Dial::new(url).unwrap())).build()
}

#[tokio::test]
async fn a_slow_reader_slows_the_server_down_through_the_gateway() {
    const SIZE: usize = 64 << 10;
    let (made, mut tasks) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    let count = Arc::clone(&made);
    let items = Method::stream("items", move |(): (), _| {
        let count = Arc::clone(&count);
        futures_util::stream::repeat_with(move || {
            let number = count.fetch_add(1, Ordering::Relaxed);
            (number, "x".repeat(SIZE))
        })
    });
    let echo = |(number,): (u64,), _: switchboard_core::Context| Ok::<_, ErrorObject>(number);
    let router = Router::builder().add(items).method("echo", echo).build().unwrap();
    let server = serve(router, &mut tasks).await;
    let pool = pool(&server, Connections::PerClient);
    let gateway = Gateway::builder().backend(Backend::new("u", "", pool)).build().unwrap();
    let url = serve(gateway, &mut tasks).await;
    let peer = Dial::new(&url).unwrap().connect().await.unwrap();
    let mut items = peer.stream::<(usize, String)>("items", ()).await.unwrap();
    assert_eq!(items.next().await.unwrap().unwrap().0, 0);
    // Meanwhile, the calls of another client take as long as some thousand items would.
    let other = Dial::new(&url).unwrap().connect().await.unwrap();
    for number in 0..500 {
        assert_eq!(other.call::<u64>("echo", [number]).await, Ok(number));
    }
    let ahead = made.load(Ordering::Relaxed);
    assert!(ahead * SIZE < 64 << 20, "{ahead} items were made for a reader of one");
    for number in 1..ahead + 100 {
        assert_eq!(items.next().await.unwrap().unwrap().0, number, "nothing is lost");
    }
}

#[tokio::test]
async fn a_thousand_readers_of_a_merged_subscription_cost_one_upstream_item_each() {
    const READERS: usize = 1_000;
    const ITEMS: usize = 20;
    let (opened, sent, mut tasks) =
        (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), JoinSet::new());
    let (turn, turns) = watch::channel(0_usize);
    let counts = (Arc::clone(&opened), Arc::clone(&sent));
    let ticks = Method::stream("ticks", move |(): (), _| {
        counts.0.fetch_add(1, Ordering::Relaxed);
        let sent = Arc::clone(&counts.1);
        futures_util::stream::unfold((turns.clone(), 0), move |(mut turns, last)| {
            let sent = Arc::clone(&sent);
            async move {
                turns.wait_for(|turn| *turn > last).await.ok()?;
                sent.fetch_add(1, Ordering::Relaxed);
                Some((last + 1, (turns, last + 1)))
            }
        })
    });
    let server = serve(Router::builder().add(ticks).build().unwrap(), &mut tasks).await;
    let merge = Merge::new("**".parse().ok()).shared();
    let stack = Stack::of(Attempts::new(
        pool(&server, Connections::Shared(NonZeroUsize::MIN)),
        Retry::default(),
        None,
        |_| false,
    ))
    .with(merge);
    let gateway = Gateway::builder().backend(Backend::new("u", "", stack)).build().unwrap();
    let opening = (0..READERS).map(|_| {
        let mut call = call_in(&session());
        call.method = "ticks".into();
        call.cx.insert(switchboard_core::StreamWanted);
        gateway.call(&call)
    });
    let readers = join_all(opening).await.into_iter().map(|reply| match reply.outcome {
        Outcome::Stream(items) => items,
        _ => panic!("{reply:?}"),
    });
    let readers: Vec<_> = readers.collect();
    turn.send_replace(ITEMS);
    let read = readers.into_iter().map(|items| async {
        items.take(ITEMS).map(|item| item.unwrap().decode::<usize>().unwrap()).collect::<Vec<_>>().await
    });
    for items in join_all(read).await {
        assert_eq!(items, (1..=ITEMS).collect::<Vec<_>>());
    }
    assert_eq!((opened.load(Ordering::Relaxed), sent.load(Ordering::Relaxed)), (1, ITEMS));
}
