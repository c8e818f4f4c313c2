//! Sessions: which client is called back, and how long an upstream lasts.

use switchboard_core::{CallError, Code, Context, ErrorObject, Peer, Router, RouterBuilder};
use switchboard_tests::carriers::By;
use switchboard_tests::duplex::socket_path;
use switchboard_transport::{Dial, connect};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::{Chain, Pair, endless, proxy, serve};

/// A method that asks its caller for its name, and one that tells when its session has ended.
fn asking_back(ended: UnboundedSender<()>) -> RouterBuilder {
    Router::builder()
        .async_method("ask", |(): (), cx: Context| async move {
            cx.peer().notify("asked", ()).await?;
            cx.peer().call::<String>("name", ()).await
        })
        .method("tell_end", move |(): (), cx: Context| {
            let ended = ended.clone();
            cx.session().on_end(move |_| ended.send(()).unwrap());
            Ok::<_, ErrorObject>(())
        })
}

/// A client that says its name, and how often it was told that it is asked.
async fn named(name: &'static str, url: &str) -> (Peer, UnboundedReceiver<&'static str>) {
    let (asked, notified) = mpsc::unbounded_channel();
    let router = Router::builder()
        .method("name", move |(): (), _| Ok::<_, ErrorObject>(name))
        .method("asked", move |(): (), _| {
            asked.send(name).unwrap();
            Ok::<_, ErrorObject>(())
        })
        .build()
        .unwrap();
    (Dial::new(url).unwrap().with_service(router).connect().await.unwrap(), notified)
}

over_every_pair! { calls_back_reach_the_client_that_caused_them:
    ws_to_tcp => ("ws://127.0.0.1:0", "tcp://127.0.0.1:0"),
    tcp_to_ws => ("tcp://127.0.0.1:0", "ws://127.0.0.1:0"),
}

async fn calls_back_reach_the_client_that_caused_them(pair: Pair) {
    let (ended, mut ends) = mpsc::unbounded_channel();
    let chain = Chain::open(pair, asking_back(ended)).await;
    let (anna, mut anna_notified) = named("Anna", &chain.front.url).await;
    let (bert, mut bert_notified) = named("Bert", &chain.front.url).await;
    for _ in 0..10 {
        let (a, b) = (anna.call::<String>("ask", ()), bert.call::<String>("ask", ()));
        let (a, b) = tokio::join!(a.into_future(), b.into_future());
        assert_eq!((a.unwrap(), b.unwrap()), ("Anna".to_owned(), "Bert".to_owned()));
        assert_eq!((anna_notified.try_recv(), bert_notified.try_recv()), (Ok("Anna"), Ok("Bert")));
    }

    // The connection to the upstream ends with the session that it is for, and no other does.
    anna.call::<()>("tell_end", ()).await.unwrap();
    drop(anna);
    ends.recv().await.unwrap();
    assert_eq!(bert.call::<String>("ask", ()).await.unwrap(), "Bert");
}

#[tokio::test]
async fn nothing_is_called_back_over_a_connection_that_clients_share() {
    let (ended, _ends) = mpsc::unbounded_channel();
    let pair = Pair { front: "http://127.0.0.1:0", upstream: "ws://127.0.0.1:0", by: By::Proxy };
    let chain = Chain::open(pair, asking_back(ended)).await;
    let (anna, mut notified) = named("Anna", &chain.front.url).await;
    let error = anna.call::<String>("ask", ()).await.unwrap_err();
    assert_eq!(error.rejection().map(|error| error.code), Some(Code::METHOD_NOT_FOUND));
    assert!(notified.try_recv().is_err());
}

#[tokio::test]
async fn an_upstream_that_goes_away_is_an_error_and_the_next_call_gets_a_new_one() {
    let url = format!("unix:{}", socket_path().display());
    let (router, mut seen) = endless();
    let upstream = serve(&url, router).await;
    let front = proxy("ws://127.0.0.1:0", &url).await;
    let first = connect(&front.url).await.unwrap();
    let waiting = tokio::spawn(first.call::<()>("hang", ()).into_future());
    assert_eq!(seen.recv().await, Some("started"));

    drop(upstream);
    let failed = |result: Result<(), CallError>| {
        let error = result.unwrap_err();
        let error = error.rejection().expect("the proxy answers");
        assert_eq!(
            (error.code, &error.data),
            (Code::UPSTREAM_FAILED, &None),
            "nothing is told about the upstream"
        );
    };
    failed(waiting.await.unwrap());
    failed(first.call("hang", ()).await);
    let second = connect(&front.url).await.unwrap();
    failed(second.call("hang", ()).await);

    let again = Router::builder().method("hang", |(): (), _| Ok::<_, ErrorObject>(()));
    let _upstream = serve(&url, again).await;
    assert_eq!(connect(&front.url).await.unwrap().call("hang", ()).await, Ok(()));
    // So does a session that never had an upstream, and one that lost it.
    assert_eq!(second.call("hang", ()).await, Ok(()));
    assert_eq!(first.call("hang", ()).await, Ok(()));
}

#[tokio::test]
async fn clients_that_share_an_upstream_get_a_new_one_when_it_is_back() {
    let url = format!("unix:{}", socket_path().display());
    let (router, mut seen) = endless();
    let upstream = serve(&url, router).await;
    let front = proxy("http://127.0.0.1:0", &url).await;
    let client = connect(&front.url).await.unwrap();
    let waiting = tokio::spawn(client.call::<()>("hang", ()).into_future());
    assert_eq!(seen.recv().await, Some("started"));

    drop(upstream);
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.rejection().map(|error| error.code), Some(Code::UPSTREAM_FAILED));
    let again = Router::builder().method("hang", |(): (), _| Ok::<_, ErrorObject>(()));
    let _upstream = serve(&url, again).await;
    assert_eq!(client.call("hang", ()).await, Ok(()));
}

#[tokio::test]
async fn a_notification_arrives_although_its_client_leaves_at_once() {
    let (send, mut received) = mpsc::unbounded_channel();
    let router = Router::builder().method("note", move |(number,): (u32,), _| {
        send.send(number).unwrap();
        Ok::<_, ErrorObject>(())
    });
    let pair = Pair { front: "ws://127.0.0.1:0", upstream: "ws://127.0.0.1:0", by: By::Proxy };
    let chain = Chain::open(pair, router).await;
    for number in 0..10 {
        connect(&chain.front.url).await.unwrap().notify("note", [number]).await.unwrap();
        assert_eq!(received.recv().await, Some(number));
    }
}
