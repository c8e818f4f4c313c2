//! Brokers that die, and permissions that are missing.

use futures_util::StreamExt as _;
use futures_util::stream;
use switchboard_core::{CallError, Method};
use switchboard_transport::server::Server;
use switchboard_transport::{Dial, DialError};
use tokio::sync::broadcast;

use super::{Broker, Worker, client, connect, router, url, within};

#[tokio::test]
async fn calls_in_flight_fail_when_the_broker_dies_and_work_again_when_it_is_back() {
    let mut broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let peer = connect(&broker).await;
    let slow = tokio::spawn(peer.call::<u64>("slow", [60_000]).into_future());
    within(peer.call::<u64>("slow", [200])).await.unwrap();
    broker.kill();
    let lost = within(slow).await.unwrap().unwrap_err();
    assert!(matches!(&lost, CallError::Closed(why) if why.contains("was lost")), "{lost:?}");
    let down = within(peer.call::<i64>("math/add", [1, 2])).await.unwrap_err();
    assert!(down.is_unsent(), "{down:?}");
    broker.restart();
    let sum = async {
        loop {
            match peer.call::<i64>("math/add", [1, 2]).await {
                Ok(sum) => break sum,
                Err(error) => assert!(error.is_unsent(), "{error:?}"),
            }
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(within(sum).await, 3);
    worker.stop().await;
}

#[tokio::test]
async fn a_subscription_tells_what_it_missed_while_the_broker_was_down() {
    let mut broker = Broker::start(&[]);
    let (sender, _) = broadcast::channel::<u64>(1 << 16);
    let source = sender.clone();
    let ticks = Method::stream("ticks", move |(): (), _| {
        let receiver = source.subscribe();
        stream::unfold(receiver, |mut receiver| async {
            receiver.recv().await.ok().map(|item| (item, receiver))
        })
    });
    let worker = Worker::start(&broker, router().add(ticks).build().unwrap()).await;
    let peer = connect(&broker).await;
    let mut items = within(peer.stream::<u64>("ticks", ())).await.unwrap();
    sender.send(1).unwrap();
    assert_eq!(within(items.next()).await.unwrap().unwrap(), 1);
    broker.kill();
    // The caller knows that the connection is lost when its calls say so.
    while within(peer.call::<i64>("math/add", [1, 2])).await.is_ok() {}
    let mut sent = 1;
    let mut send = || {
        sent += 1;
        sender.send(sent).unwrap();
    };
    (0..5).for_each(|_| send());
    broker.restart();
    let back = async {
        while peer.call::<i64>("math/add", [1, 2]).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    within(back).await;
    // Each item follows the one before it, or a gap says how many are missing.
    let (mut last, mut lost, mut read) = (1, 0, 0);
    let reading = async {
        while read < 20 {
            send();
            tokio::task::yield_now().await;
            let Some(next) = futures_util::FutureExt::now_or_never(items.next()) else { continue };
            match next.unwrap() {
                Ok(item) => {
                    assert_eq!(item, last + lost + 1, "after {last}, with {lost} reported as lost");
                    (last, lost, read) = (item, 0, read + 1);
                }
                Err(CallError::Gap(gap)) => lost += gap.lost.unwrap(),
                Err(error) => panic!("{error:?}"),
            }
        }
    };
    within(reading).await;
    drop(items);
    worker.stop().await;
}

#[tokio::test]
async fn a_part_that_is_lost_is_a_gap() {
    let broker = Broker::start(&[]);
    let (client, peer) = (client(&broker).await, connect(&broker).await);
    let mut requests = client.subscribe("math.ticks").await.unwrap();
    // The broker knows of it when it has returned a message that was sent later.
    let mut ready = client.subscribe("ready").await.unwrap();
    client.publish("ready", "".into()).await.unwrap();
    within(ready.next()).await.unwrap();
    let worker = async {
        let request = requests.next().await.unwrap();
        let id: serde_json::Value = serde_json::from_slice(&request.payload).unwrap();
        let send = async |part: &str, body: String| {
            let mut headers = async_nats::HeaderMap::new();
            headers.insert("switchboard-part", part);
            let to = request.reply.clone().unwrap();
            client.publish_with_headers(to, headers, body.into()).await.unwrap();
        };
        let item = |value: u64| format!(r#"{{"jsonrpc":"2.0","result":{value},"id":{}}}"#, id["id"]);
        send("0 accepted", String::new()).await;
        send("1 stream", String::new()).await;
        send("2 item", item(1)).await;
        send("2 item", item(1)).await;
        send("5 item", item(4)).await;
        send("7 beat", String::new()).await;
        send("8 end", String::new()).await;
    };
    let caller = async {
        let items = peer.stream::<u64>("ticks", ()).await.unwrap();
        items.map(|item| item.map_err(|error| error.to_string())).collect::<Vec<_>>().await
    };
    let (items, ()) = within(futures_util::future::join(caller, worker)).await;
    let lost = |count: u64| Err(CallError::Gap(lost(count)).to_string());
    assert_eq!(items, [Ok(1), lost(2), Ok(4), lost(2)]);
}

fn lost(count: u64) -> switchboard_core::Gap {
    let mut gap = switchboard_core::Gap::reconnected();
    gap.lost = Some(count);
    gap
}

#[tokio::test]
async fn a_broker_that_wants_credentials_refuses_and_the_error_says_where_they_are_read() {
    let broker = Broker::start(&["--user", "worker", "--pass", "secret"]);
    let refused = Dial::new(&url(&broker)).unwrap().connect().await.unwrap_err();
    assert!(matches!(&refused, DialError::Refused(text) if text.contains("NATS_USER")), "{refused:?}");
    let mut server = Server::new(router().build().unwrap());
    let refused = server.listen(&url(&broker)).await.unwrap_err().to_string();
    assert!(refused.contains("NATS_CREDS"), "{refused}");
}
