//! Subscriptions as other families spell them, served and read.

use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};
use switchboard_core::{
    CallError, Code, Context, ErrorObject, Feed, Gap, Json, Limits, Method, Outcome, Overflow, Profile,
    Reply, ReplyFuture, Router, RouterBuilder, Settings, Subscription, service_fn,
};

use crate::rig::{Gate, Raw, client_of, echo};

fn ethereum() -> Method {
    Method::stream("eth_subscribe", |(_,): (String,), _| {
        futures_util::stream::iter([1, 2]).chain(futures_util::stream::pending())
    })
    .subscription(Subscription::ethereum("eth"))
}

fn named(items: Vec<Result<u32, ErrorObject>>) -> Method {
    Method::new(
        "subscribe_ticks",
        service_fn(move |_| ReplyFuture::ready(Reply::try_stream(futures_util::stream::iter(items.clone())))),
    )
    .subscription(Subscription::named("ticks", "unsubscribe_ticks"))
}

async fn opened(raw: &mut Raw) -> Value {
    serde_json::from_str(&raw.receive().await.unwrap()).unwrap()
}

#[tokio::test]
async fn ethereum_has_its_names_identifiers_and_answers() {
    // ETH-01, ETH-02, ETH-03, ETH-04, ETH-07
    let (mut raw, _server) = Raw::against(Router::builder().add(ethereum()), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}"#).await;
    let answer = opened(&mut raw).await;
    let id = answer["result"].as_str().unwrap();
    assert!(id.starts_with("0x") && id.len() == 34, "{id}");
    for n in [1, 2] {
        let params = format!(r#"{{"subscription":"{id}","result":{n}}}"#);
        raw.expect(&format!(r#"{{"jsonrpc":"2.0","method":"eth_subscription","params":{params}}}"#)).await;
    }
    let unsubscribe =
        |call| format!(r#"{{"jsonrpc":"2.0","id":{call},"method":"eth_unsubscribe","params":["{id}"]}}"#);
    raw.send(&unsubscribe(2)).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":true,"id":2}"#).await;
    raw.send(&unsubscribe(3)).await;
    let unknown = raw.receive().await.unwrap();
    assert!(unknown.contains("-32601") && unknown.contains("subscription not found"), "{unknown}");
}

#[tokio::test]
async fn a_triple_of_names_ends_with_its_error_under_the_name_of_items() {
    // JSP-01, JSP-02, JSP-03
    let broken = named(vec![Ok(1), Err(ErrorObject::new(Code(7), "broke"))]);
    let (mut raw, _server) = Raw::against(Router::builder().add(broken), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"subscribe_ticks"}"#).await;
    let answer = opened(&mut raw).await;
    let id = answer["result"].as_u64().unwrap();
    raw.expect(&format!(
        r#"{{"jsonrpc":"2.0","method":"ticks","params":{{"subscription":{id},"result":1}}}}"#
    ))
    .await;
    raw.expect(&format!(
        r#"{{"jsonrpc":"2.0","method":"ticks","params":{{"subscription":{id},"error":{{"code":7,"message":"broke"}}}}}}"#
    ))
    .await;
    raw.send(&format!(r#"{{"jsonrpc":"2.0","id":2,"method":"unsubscribe_ticks","params":[{id}]}}"#)).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":false,"id":2}"#).await;
}

#[tokio::test]
async fn every_family_and_our_own_share_one_connection() {
    // SUB-01
    let ours = Method::stream("count", |(n,): (u32,), _| futures_util::stream::iter(0..n));
    let router = Router::builder().add(ethereum()).add(named(vec![Ok(5)])).add(ours);
    let (client, _server) = client_of(router);
    let mut heads = client.stream::<u32>("eth_subscribe", ["newHeads"]).await.unwrap();
    // The names come with the answer: whoever calls need not know them.
    let mut ticks = client.stream::<u32>("subscribe_ticks", ()).await.unwrap();
    let count: Vec<_> = client.stream::<u32>("count", [2]).await.unwrap().collect().await;
    assert_eq!(count, [Ok(0), Ok(1)]);
    assert_eq!(ticks.next().await, Some(Ok(5)));
    assert_eq!((heads.next().await, heads.next().await), (Some(Ok(1)), Some(Ok(2))));
}

#[tokio::test]
async fn a_namespace_goes_before_every_name_of_a_subscription() {
    let names = Subscription::named("ticks", "unsubscribe_ticks");
    let method = Method::stream("subscribe_ticks", |(): (), _| futures_util::stream::iter([1]));
    let inner = Router::builder().add(method.subscription(names));
    let router = Router::builder().namespace("my_", inner);
    let (mut raw, _server) = Raw::against(router, Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"my_subscribe_ticks"}"#).await;
    opened(&mut raw).await;
    assert!(raw.receive().await.unwrap().contains(r#""method":"my_ticks""#));
    raw.send(r#"{"jsonrpc":"2.0","id":2,"method":"my_unsubscribe_ticks","params":[0]}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":false,"id":2}"#).await;
}

#[tokio::test]
async fn nobody_ends_a_subscription_of_another_connection_or_under_another_name() {
    // ETH-09
    let router = || Router::builder().add(ethereum()).add(named(vec![]));
    let (mut one, _server) = Raw::against(router(), Settings::default());
    let (mut other, _other) = Raw::against(router(), Settings::default());
    one.send(r#"{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["x"]}"#).await;
    let id = opened(&mut one).await["result"].clone();
    other.send(&json!({"jsonrpc":"2.0","id":1,"method":"eth_unsubscribe","params":[id]}).to_string()).await;
    assert!(other.receive().await.unwrap().contains("-32601"));
    for _ in 0..2 {
        one.receive().await.unwrap();
    }
    one.send(&json!({"jsonrpc":"2.0","id":2,"method":"unsubscribe_ticks","params":[id]}).to_string()).await;
    one.expect(r#"{"jsonrpc":"2.0","result":false,"id":2}"#).await;
    one.send(&json!({"jsonrpc":"2.0","id":3,"method":"eth_unsubscribe","params":[id]}).to_string()).await;
    one.expect(r#"{"jsonrpc":"2.0","result":true,"id":3}"#).await;
}

/// Our end reads a server of another family, which is the test.
#[tokio::test]
async fn a_reader_takes_items_that_come_before_the_answer_and_unsubscribes_by_call() {
    // ETH-07, JSP-06
    let (mut raw, ours) = Raw::against(Router::builder(), Settings::default());
    let peer = ours.peer.clone();
    let names = Subscription::named("ticks", "stop_ticks");
    let opening = tokio::spawn(async move { peer.subscribe::<u32>("watch", [7], names).await });
    raw.expect(r#"{"jsonrpc":"2.0","method":"watch","params":[7],"id":1}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"ticks","params":{"subscription":9,"result":1}}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"ticks","params":{"subscription":8,"result":100}}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","result":9,"id":1}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"ticks","params":{"subscription":9,"result":2}}"#).await;
    let mut ticks = opening.await.unwrap().unwrap();
    assert_eq!((ticks.next().await, ticks.next().await), (Some(Ok(1)), Some(Ok(2))));
    assert!(ticks.next().now_or_never().is_none());
    drop(ticks);
    raw.expect(r#"{"jsonrpc":"2.0","method":"stop_ticks","params":[9],"id":2}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","result":true,"id":2}"#).await;
}

#[tokio::test]
async fn items_that_come_too_early_are_kept_up_to_a_bound() {
    let limits = Limits::default().with_items(3);
    let (mut raw, ours) = Raw::against(Router::builder(), Settings::default().with_limits(limits));
    let peer = ours.peer.clone();
    let opening = tokio::spawn(async move { peer.stream::<u32>("eth_subscribe", ["x"]).await });
    raw.receive().await.unwrap();
    for n in 0..10 {
        let params = format!(r#"{{"subscription":"0x1","result":{n}}}"#);
        raw.send(&format!(r#"{{"jsonrpc":"2.0","method":"eth_subscription","params":{params}}}"#)).await;
    }
    raw.send(r#"{"jsonrpc":"2.0","result":"0x1","id":1}"#).await;
    let items = opening.await.unwrap().unwrap();
    assert_eq!(items.take(3).collect::<Vec<_>>().await, [Ok(0), Ok(1), Ok(2)]);
}

#[tokio::test]
async fn calls_that_are_only_passed_on_keep_their_subscriptions() {
    // A gateway in small: what answers here is the far side of another connection.
    let (upstream, _backend) = client_of(Router::builder().add(ethereum()).add(named(vec![Ok(5)])));
    let router = Router::builder().fallback(upstream);
    let (mut raw, _gateway) = Raw::against(router, Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["x"]}"#).await;
    let id = opened(&mut raw).await["result"].clone();
    let item = raw.receive().await.unwrap();
    assert!(item.contains("eth_subscription") && item.contains(id.as_str().unwrap()), "{item}");
    raw.send(r#"{"jsonrpc":"2.0","id":2,"method":"subscribe_ticks"}"#).await;
    while !raw.receive().await.unwrap().contains(r#""method":"ticks""#) {}
}

#[tokio::test]
async fn a_plain_call_is_never_taken_for_a_subscription() {
    let word = Method::sync("news_subscribe", |(): (), _| Ok::<_, ErrorObject>("welcome"));
    let (client, _server) = client_of(Router::builder().add(word));
    assert_eq!(client.call::<String>("news_subscribe", ()).await.as_deref(), Ok("welcome"));
}

/// Five values into a feed of two, whose reader starts when all are sent.
fn lossy() -> RouterBuilder {
    let feed = |overflow: fn() -> Overflow<u32>| {
        move |(): (), _: Context| {
            let (feed, items) = Feed::new(2, overflow());
            for n in 0..5 {
                let _ = feed.send(n).now_or_never();
            }
            items
        }
    };
    Router::builder()
        .add(Method::feed("oldest", feed(|| Overflow::DropOldest)))
        .add(Method::feed("newest", feed(|| Overflow::DropNewest)))
        .add(Method::feed("close", feed(|| Overflow::Close)))
        .add(
            Method::feed("named", feed(|| Overflow::DropOldest))
                .subscription(Subscription::named("lossy", "stop")),
        )
}

#[tokio::test]
async fn a_reader_is_told_what_it_lost_and_where() {
    // SUB-05, ETH-08
    let (client, _server) = client_of(lossy());
    let gap = || Err(CallError::Gap(Gap::overflow(3)));
    let read = async |method| client.stream::<u32>(method, ()).await.unwrap().collect::<Vec<_>>().await;
    assert_eq!(read("oldest").await, [gap(), Ok(3), Ok(4)]);
    assert_eq!(read("newest").await, [Ok(0), Ok(1), gap()]);
    let closed = read("close").await;
    assert_eq!(closed.len(), 3);
    assert_eq!(closed[2].as_ref().unwrap_err().rejection().unwrap().code, Code::OVER_LIMIT);
    let named = client.stream::<u32>("named", ()).await.unwrap();
    assert_eq!(named.take(3).collect::<Vec<_>>().await, [gap(), Ok(3), Ok(4)]);
}

#[tokio::test]
async fn a_gap_rides_with_the_next_item_and_passes_through() {
    let (upstream, _backend) = client_of(lossy());
    let (mut raw, _gateway) = Raw::against(Router::builder().fallback(upstream), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"oldest"}"#).await;
    let id = opened(&mut raw).await["result"].clone();
    raw.expect(&format!(
        r#"{{"jsonrpc":"2.0","method":"rpc.item","params":{{"subscription":{id},"gap":{{"lost":3,"reason":"overflow"}},"result":3}}}}"#
    ))
    .await;
}

/// Streams in which a gap follows the first item, and nothing for ever, unless it is named: then the gate opens.
fn silent(gate: &Gate) -> RouterBuilder {
    let gate = gate.clone();
    let service = move || {
        let gate = gate.clone();
        service_fn(move |_| {
            let gate = gate.clone();
            let gap = ErrorObject::from(CallError::Gap(Gap::overflow(2)));
            let later = futures_util::stream::once(async move { gate.pass().await }).map(|()| Ok(2));
            let items = futures_util::stream::iter([Ok(1), Err(gap)]).chain(later);
            Reply::try_stream(items.chain(futures_util::stream::pending())).into()
        })
    };
    let names = Subscription::named("silence", "stop");
    Router::builder()
        .add(Method::new("ours", service()))
        .add(Method::new("named", service()).subscription(names))
}

#[tokio::test]
async fn a_gap_before_a_silence_is_told_at_once_and_passes_through() {
    // SUB-05
    let gate = Gate::new();
    let (upstream, _backend) = client_of(silent(&gate));
    let (mut raw, _gateway) = Raw::against(Router::builder().fallback(upstream), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"ours"}"#).await;
    let id = opened(&mut raw).await["result"].clone();
    let item = |rest: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"rpc.item","params":{{"subscription":{id},{rest}}}}}"#)
    };
    raw.expect(&item(r#""result":1"#)).await;
    raw.expect(&item(r#""gap":{"lost":2,"reason":"overflow"}"#)).await;
    gate.let_pass(1);
    raw.expect(&item(r#""result":2"#)).await;
}

#[tokio::test]
async fn other_families_have_no_word_for_a_gap_without_an_item() {
    let gate = Gate::new();
    let (client, _server) = client_of(silent(&gate));
    let mut items = client.stream::<u8>("named", ()).await.unwrap();
    assert_eq!(items.next().await, Some(Ok(1)));
    gate.entered().await;
    assert!(items.next().now_or_never().is_none());
    gate.let_pass(1);
    assert_eq!(items.next().await, Some(Err(CallError::Gap(Gap::overflow(2)))));
    assert_eq!(items.next().await, Some(Ok(2)));
}

#[tokio::test]
async fn a_disconnect_ends_subscriptions_of_every_family() {
    // ETH-06, SUB-03
    let gate = Gate::new();
    let watched = gate.clone();
    let endless = Method::stream("subscribe_ticks", move |_: Json, _| {
        let gate = watched.clone();
        futures_util::stream::once(async move { gate.pass().await })
    })
    .subscription(Subscription::named("ticks", "stop"));
    let (mut raw, _server) = Raw::against(Router::builder().add(endless), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"subscribe_ticks"}"#).await;
    opened(&mut raw).await;
    gate.entered().await;
    drop(raw);
    gate.empty().await;
}

#[tokio::test]
async fn an_ethereum_link_opens_subscriptions_for_whoever_calls() {
    let (mut raw, ours) =
        Raw::against(Router::builder().add(echo()), Settings::default().with_profile(Profile::ethereum()));
    let peer = ours.peer.clone();
    let call = switchboard_core::Call::new("eth_subscribe", None);
    let reply = tokio::spawn(async move { switchboard_core::Service::call(&peer, &call).await });
    raw.receive().await.unwrap();
    raw.send(r#"{"jsonrpc":"2.0","result":"0x1","id":1}"#).await;
    assert!(matches!(reply.await.unwrap().outcome, Outcome::Stream(_)));
}

/// Our end asks for a subscription, gets this response, and serves a method with the name of the subscription's items.
async fn check_settled(profile: Profile, response: &str) {
    let (sender, mut called) = tokio::sync::mpsc::unbounded_channel();
    let ticks = Method::sync("ticks", move |_: Json, _| Ok::<_, ErrorObject>(sender.send(()).is_ok()));
    let settings = Settings::default().with_profile(profile);
    let (mut raw, ours) = Raw::against(Router::builder().add(ticks), settings);
    let peer = ours.peer.clone();
    let names = Subscription::named("ticks", "stop_ticks");
    let opening = tokio::spawn(async move { peer.subscribe::<u32>("watch", json!({}), names).await });
    raw.receive().await.unwrap();
    raw.send(response).await;
    drop(opening.await.unwrap());
    raw.send(r#"{"jsonrpc":"2.0","method":"ticks","params":{"subscription":9,"result":1}}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"ask","id":7}"#).await;
    assert!(raw.receive().await.unwrap().contains("\"id\":7"));
    assert_eq!(called.try_recv(), Ok(()), "{response}");
}

#[tokio::test]
async fn a_subscription_that_was_not_opened_takes_no_notifications() {
    let refused = r#"{"jsonrpc":"2.0","error":{"code":7,"message":"no"},"id":1}"#;
    let misunderstood = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}"#;
    let whole = r#"{"jsonrpc":"2.0","result":[1],"id":1}"#;
    for response in [refused, misunderstood, whole] {
        check_settled(Profile::default(), response).await;
        check_settled(Profile::lsp(), response).await;
    }
}
