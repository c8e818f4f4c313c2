//! Publish and subscribe between machines: each `Bus` is one.

use async_nats::HeaderMap;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use switchboard_core::{CallError, Code, Gap, GapReason, Json, Router};
use switchboard_transport::nats::{Bus, BusOptions, Events, Keep, Start, TopicEvent};
use switchboard_transport::server::Server;

use super::{Broker, client, connect, within};

async fn bus(broker: &Broker) -> Bus {
    Bus::connect(&format!("{}/board", broker.url())).await.unwrap()
}

async fn next(events: &mut Events<Json>) -> Result<TopicEvent<Json>, CallError> {
    within(events.next()).await.expect("a subscription goes on")
}

/// The next values, with gaps as negative numbers.
async fn values(events: &mut Events<Json>, count: usize) -> Vec<i64> {
    let mut values = Vec::new();
    while values.len() < count {
        values.push(match next(events).await {
            Ok(event) => event.value.decode().unwrap(),
            Err(CallError::Gap(gap)) => gap.lost.map_or(i64::MIN, |lost| -i64::try_from(lost).unwrap()),
            Err(error) => panic!("{error}"),
        });
    }
    values
}

#[tokio::test]
async fn what_one_machine_publishes_reaches_callers_of_another_over_any_transport() {
    let broker = Broker::start(&[]);
    let (worker, gateway) = (bus(&broker).await, bus(&broker).await);
    let methods = gateway.below("prices").unwrap().methods("prices");
    let router = Router::builder().add(gateway.topic("prices/eur").unwrap().method("eur")).add(methods);
    let mut server = Server::new(router.build().unwrap());
    for url in ["ws://127.0.0.1:0", "tcp://127.0.0.1:0", "http://127.0.0.1:0", &super::url(&broker)] {
        server.listen(url).await.unwrap();
    }
    let urls: Vec<_> = server.urls().collect();
    let handle = server.handle();
    let serving = tokio::spawn(server.serve());
    let price = worker.topic("prices/eur").unwrap();
    for url in urls {
        let peer = switchboard_transport::connect(&url).await.unwrap();
        let mut one = within(peer.stream::<TopicEvent<u64>>("eur", ()).into_future()).await.unwrap();
        let mut all = within(peer.stream::<Value>("prices/subscribe", ()).into_future()).await.unwrap();
        assert_eq!(price.publish(&7).await, Ok(None));
        let event = within(one.next()).await.unwrap().unwrap();
        assert_eq!((event.topic.as_str(), event.position, event.value), ("prices/eur", None, 7), "{url}");
        let event = within(all.next()).await.unwrap().unwrap();
        assert_eq!(event, json!({"topic": "prices/eur", "value": 7}), "{url}");
        let published: Value =
            within(peer.call("prices/publish", json!({"topic": "prices/usd", "value": [1]}))).await.unwrap();
        assert_eq!(published, Value::Null);
        let event = within(all.next()).await.unwrap().unwrap();
        assert_eq!(event, json!({"topic": "prices/usd", "value": [1]}), "{url}");
    }
    handle.shutdown();
    within(serving).await.unwrap();
}

#[tokio::test]
async fn ordinary_tools_publish_and_subscribe() {
    let broker = Broker::start(&[]);
    let (bus, client) = (bus(&broker).await, client(&broker).await);
    let topic = bus.topic("a b/ü").unwrap();
    let mut seen = client.subscribe("_SBT.board.>").await.unwrap();
    client.flush().await.unwrap();
    let mut events = topic.subscribe::<Json>().await.unwrap();
    topic.publish(&json!({"x": 1})).await.unwrap();
    let message = within(seen.next()).await.unwrap();
    assert_eq!(
        (message.subject.as_str(), &message.payload[..]),
        ("_SBT.board.a=20b.=C3=BC", &b"{\"x\":1}"[..])
    );
    assert_eq!(next(&mut events).await.unwrap().value.as_str(), "{\"x\":1}");
    client.publish("_SBT.board.a=20b.=C3=BC", "[2]".into()).await.unwrap();
    assert_eq!(next(&mut events).await.unwrap().value.as_str(), "[2]");
    // Nothing that a stranger sends ends a subscription.
    client.publish("_SBT.board.a=20b.=C3=BC", "{".into()).await.unwrap();
    let invalid = Err(CallError::Gap(Gap::new(Some(1), GapReason::Invalid)));
    assert_eq!(next(&mut events).await, invalid);
    let mut numbers = topic.subscribe::<u8>().await.unwrap();
    for text in ["\"no\"", "3"] {
        client.publish("_SBT.board.a=20b.=C3=BC", text.into()).await.unwrap();
    }
    assert_eq!(within(numbers.next()).await.unwrap().err(), invalid.err());
    assert_eq!(within(numbers.next()).await.unwrap().unwrap().value, 3);
}

#[tokio::test]
async fn what_is_lost_on_its_way_is_a_gap() {
    let broker = Broker::start(&[]);
    let (bus, client) = (bus(&broker).await, client(&broker).await);
    let mut events = bus.topic("t").unwrap().subscribe::<Json>().await.unwrap();
    for (publisher, number, value) in
        [("A", "4", "4"), ("B", "1", "1"), ("A", "5", "5"), ("A", "8", "8"), ("B", "2", "2")]
    {
        let mut headers = HeaderMap::new();
        headers.insert("switchboard-publisher", format!("{publisher}{}", "A".repeat(21)));
        headers.insert("switchboard-seq", number);
        client.publish_with_headers("_SBT.board.t", headers, value.into()).await.unwrap();
    }
    assert_eq!(values(&mut events, 6).await, [4, 1, 5, -2, 8, 2]);
}

#[tokio::test]
async fn a_slow_subscriber_misses_the_oldest_and_delays_no_other() {
    let broker = Broker::start(&[]);
    let url = format!("{}/board", broker.url());
    let bus = Bus::connect_with(&url, BusOptions::default().with_waiting(4)).await.unwrap();
    let topic = bus.topic("t").unwrap();
    let mut slow = topic.subscribe::<Json>().await.unwrap();
    let mut fast = topic.subscribe::<Json>().await.unwrap();
    for n in 0..20 {
        topic.publish(&n).await.unwrap();
        assert_eq!(values(&mut fast, 1).await, [n]);
    }
    assert_eq!(values(&mut slow, 5).await, [-16, 16, 17, 18, 19]);
}

#[tokio::test]
async fn subscribers_are_limited_and_leave_nothing_behind() {
    let broker = Broker::start(&[]);
    let url = format!("{}/board", broker.url());
    let bus = Bus::connect_with(&url, BusOptions::default().with_subscribers(2)).await.unwrap();
    for n in 0..100 {
        let topic = bus.topic(format!("t/{n}")).unwrap();
        let _held = topic.subscribe::<Json>().await.unwrap();
        let _same = topic.subscribe::<Json>().await.unwrap();
        let refused = topic.subscribe::<Json>().await.unwrap_err();
        assert_eq!(refused.rejection().unwrap().code, Code::OVER_LIMIT);
    }
}

#[tokio::test]
async fn any_name_is_one_topic_and_reaches_no_other() {
    let broker = Broker::start(&[]);
    let bus = bus(&broker).await;
    let group = bus.below("rooms").unwrap();
    let mut all = group.subscribe::<Json>().await.unwrap();
    let hostile = [
        "rooms/>",
        "rooms/*",
        "rooms/",
        "rooms/a.b",
        "rooms/\r\nPUB x 0",
        "rooms//",
        "rooms/../x",
        "rooms/ü ",
    ];
    for name in hostile {
        group.topic(name).unwrap().publish(&1).await.unwrap();
        assert_eq!(next(&mut all).await.unwrap().topic, name);
    }
    for outside in ["rooms", "roomsx/a", "", "other/rooms/a"] {
        let error = group.topic(outside).unwrap_err().to_string();
        assert!(error.contains("must begin with \"rooms\""), "{error}");
    }
    assert!(bus.topic("x".repeat(2000)).unwrap_err().to_string().contains("too long"));
    // The topic with the name of the group is not below it.
    bus.topic("rooms").unwrap().publish(&2).await.unwrap();
    group.topic("rooms/end").unwrap().publish(&3).await.unwrap();
    assert_eq!(next(&mut all).await.unwrap().topic, "rooms/end");
}

#[tokio::test]
async fn kept_topics_are_read_from_any_position() {
    let broker = Broker::start(&[]);
    let (one, other) = (bus(&broker).await, bus(&broker).await);
    let error = format!("{:?}", other.kept("orders").await.unwrap_err());
    assert!(error.contains("SB_TOPIC_board+orders"), "{error}");
    let orders = one.keep("orders", Keep::default()).await.unwrap();
    let (a, b) = (orders.topic("orders/a").unwrap(), orders.topic("orders/b").unwrap());
    for n in 1..=3 {
        assert_eq!(a.publish(&n).await, Ok(Some(n * 2 - 1)));
        assert_eq!(b.publish(&(n * 10)).await, Ok(Some(n * 2)));
    }
    let elsewhere = other.kept("orders").await.unwrap();
    let mut all = elsewhere.subscribe_from::<Json>(Start::All).await.unwrap();
    assert_eq!(values(&mut all, 6).await, [1, 10, 2, 20, 3, 30]);
    let mut from = elsewhere.subscribe_from::<Json>(Start::At(4)).await.unwrap();
    let event = next(&mut from).await.unwrap();
    assert_eq!((event.topic.as_str(), event.position, event.value.as_str()), ("orders/b", Some(4), "20"));
    let mut last = elsewhere.subscribe_from::<Json>(Start::Last).await.unwrap();
    assert_eq!(values(&mut last, 2).await, [3, 30]);
    let only = elsewhere.topic("orders/a").unwrap();
    let mut new = only.subscribe::<Json>().await.unwrap();
    let mut only = only.subscribe_from::<Json>(Start::All).await.unwrap();
    assert_eq!(values(&mut only, 3).await, [1, 2, 3]);
    a.publish(&4).await.unwrap();
    for events in [&mut all, &mut last, &mut new, &mut only] {
        assert_eq!(values(events, 1).await, [4]);
    }
    assert_eq!(values(&mut from, 3).await, [3, 30, 4]);
    let plain = other.topic("plain").unwrap().subscribe_from::<Json>(Start::All).await.unwrap_err();
    assert!(format!("{plain:?}").contains("is not kept"), "{plain:?}");
}

#[tokio::test]
async fn a_position_that_is_no_longer_kept_is_a_gap() {
    let broker = Broker::start(&[]);
    let bus = bus(&broker).await;
    bus.keep("orders", Keep::default()).await.unwrap();
    // The limits are changed, so the oldest events go.
    let orders = bus.keep("orders", Keep::default().with_per_topic(3)).await.unwrap();
    let topic = orders.topic("orders/a").unwrap();
    for n in 1..=9 {
        topic.publish(&n).await.unwrap();
    }
    let gap = |lost| Err(CallError::Gap(Gap::new(lost, GapReason::Expired)));
    let mut events = orders.subscribe_from::<Json>(Start::At(2)).await.unwrap();
    assert_eq!(next(&mut events).await, gap(Some(5)));
    assert_eq!(values(&mut events, 3).await, [7, 8, 9]);
    let mut one = topic.subscribe_from::<Json>(Start::At(2)).await.unwrap();
    assert_eq!(next(&mut one).await, gap(None));
    assert_eq!(values(&mut one, 1).await, [7]);
    // The stream was made anew since somebody noted this position.
    let mut beyond = orders.subscribe_from::<Json>(Start::At(99)).await.unwrap();
    assert_eq!(next(&mut beyond).await, gap(None));
    assert_eq!(values(&mut beyond, 3).await, [7, 8, 9]);
    let mut all = orders.subscribe_from::<Json>(Start::All).await.unwrap();
    assert_eq!(values(&mut all, 3).await, [7, 8, 9]);
}

#[tokio::test]
async fn a_reader_that_falls_behind_what_is_kept_learns_how_much_is_gone() {
    let broker = Broker::start(&[]);
    let bus = bus(&broker).await;
    let orders = bus.keep("orders", Keep::default().with_per_topic(10)).await.unwrap();
    let topic = orders.topic("orders/a").unwrap();
    let mut events = orders.subscribe::<Json>().await.unwrap();
    topic.publish(&1).await.unwrap();
    assert_eq!(values(&mut events, 1).await, [1]);
    for n in 2..=200 {
        topic.publish(&n).await.unwrap();
    }
    let mut expected = 2;
    while expected <= 200 {
        match next(&mut events).await {
            Ok(event) => assert_eq!(event.value.decode::<u64>().unwrap(), expected),
            Err(CallError::Gap(gap)) => {
                expected += gap.lost.expect("a publisher counts");
                continue;
            }
            Err(error) => panic!("{error}"),
        }
        expected += 1;
    }
}

#[tokio::test]
async fn subscriptions_survive_the_broker_and_say_what_they_may_have_missed() {
    let mut broker = Broker::start(&[]);
    let bus = bus(&broker).await;
    let kept = bus.keep("orders", Keep::default()).await.unwrap().topic("orders/a").unwrap();
    let plain = bus.topic("plain").unwrap();
    let mut events = plain.subscribe::<Json>().await.unwrap();
    let mut all = kept.subscribe_from::<Json>(Start::All).await.unwrap();
    for n in 1..=3 {
        kept.publish(&n).await.unwrap();
    }
    plain.publish(&1).await.unwrap();
    assert_eq!(values(&mut events, 1).await, [1]);
    assert_eq!(values(&mut all, 2).await, [1, 2]);
    broker.kill();
    let unsent = loop {
        if let Err(error) = plain.publish(&2).await {
            break error;
        }
    };
    assert!(matches!(unsent, CallError::Unreachable(_)), "{unsent}");
    broker.restart();
    assert_eq!(next(&mut events).await, Err(CallError::Gap(Gap::reconnected())));
    plain.publish(&3).await.unwrap();
    let mut rest = values(&mut events, 1).await;
    while rest.last() != Some(&3) {
        rest = values(&mut events, 1).await;
    }
    // What is kept is read on where the reader was, without a gap.
    while let Err(error) = kept.publish(&4).await {
        assert!(matches!(error, CallError::Rejected(_)), "{error}");
    }
    assert_eq!(values(&mut all, 2).await, [3, 4]);
}

#[tokio::test]
async fn permissions_of_the_broker_hold_for_each_topic() {
    let folder = std::env::temp_dir().join(format!("switchboard-topics-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let config = folder.join("broker.conf");
    let page = include_str!("../../../../docs/topics.md");
    let rules = page.split("authorization {").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let text = format!("no_auth_user: agent\nauthorization {{{rules}").replace("$AGENT", "secret");
    // Without credentials, the inbox has the name of no user.
    let text = text.replace("_INBOX_agent.>", "_INBOX.>");
    let text = text
        .replace("users = [", "users = [ { user: loud, password: loud }")
        .replace("subscribe: [", "subscribe: [\"_SBT.board.heard\", ");
    std::fs::write(&config, text).unwrap();
    let broker = Broker::start(&["--config", config.to_str().unwrap()]);
    std::fs::remove_dir_all(&folder).unwrap();
    let bus = bus(&broker).await;
    let code = |error: CallError| error.rejection().unwrap().code;
    let closed = bus.topic("closed/a").unwrap();
    assert_eq!(code(closed.publish(&1).await.unwrap_err()), Code::UNAUTHORIZED);
    assert_eq!(code(closed.subscribe::<Json>().await.unwrap_err()), Code::UNAUTHORIZED);
    // Permission to subscribe is not permission to publish, and the refusal leaves the subscription alone.
    let heard = bus.topic("heard").unwrap();
    let mut events = heard.subscribe::<Json>().await.unwrap();
    assert_eq!(code(heard.publish(&1).await.unwrap_err()), Code::UNAUTHORIZED);
    let loud = async_nats::ConnectOptions::with_user_and_password("loud".to_owned(), "loud".to_owned());
    let loud = loud.connect(broker.url()).await.unwrap();
    loud.publish("_SBT.board.heard", "7".into()).await.unwrap();
    assert_eq!(values(&mut events, 1).await, [7]);
    // The refusals leave other topics alone.
    let open = bus.topic("prices/a").unwrap();
    let mut events = open.subscribe::<Json>().await.unwrap();
    open.publish(&2).await.unwrap();
    assert_eq!(values(&mut events, 1).await, [2]);
    assert_eq!(code(bus.keep("other", Keep::default()).await.unwrap_err()), Code::UNAUTHORIZED);
    // The permissions of the page are enough to keep topics, too.
    bus.keep("prices", Keep::default()).await.unwrap();
    let prices = bus.keep("prices", Keep::default().with_per_topic(5)).await.unwrap();
    prices.topic("prices/a").unwrap().publish(&3).await.unwrap();
    let mut all = prices.subscribe_from::<Json>(Start::All).await.unwrap();
    assert_eq!(values(&mut all, 1).await, [3]);
}

#[tokio::test]
async fn a_url_that_names_no_service_is_refused() {
    for url in ["nats://127.0.0.1", "ws://127.0.0.1/board", "nats://127.0.0.1/a.b"] {
        assert!(Bus::connect(url).await.is_err(), "{url}");
    }
}

#[tokio::test]
async fn callers_reach_only_the_topics_that_a_method_is_for() {
    let broker = Broker::start(&[]);
    let bus = bus(&broker).await;
    let router = Router::builder().add(bus.below("rooms").unwrap().methods("rooms")).build().unwrap();
    let worker = super::Worker::start(&broker, router).await;
    let peer = connect(&broker).await;
    for params in [json!(["other/a", 1]), json!(["rooms", 1]), json!(["rooms/a"]), json!([7, 7])] {
        let refused = within(peer.call::<Value>("rooms/publish", params)).await.unwrap_err();
        assert_eq!(refused.rejection().unwrap().code, Code::INVALID_PARAMS);
    }
    for params in [json!(["other/a"]), json!({"from": "first"}), json!({"from": "all"})] {
        let refused =
            within(peer.stream::<Value>("rooms/subscribe", params).into_future()).await.unwrap_err();
        assert_eq!(refused.rejection().unwrap().code, Code::INVALID_PARAMS);
    }
    worker.stop().await;
}
