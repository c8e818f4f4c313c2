//! What the replay check costs when gateways share it: messages to the broker are counted, not time.
#![cfg(all(feature = "signing", feature = "store-jetstream"))]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test may fail")]

#[path = "../../../tests/support/broker.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod broker;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use switchboard_core::{ErrorObject, Layer as _, Router};
use switchboard_layers::Clock;
use switchboard_layers::signing::{Sign, SigningKeys, Verify};
use switchboard_layers::store::{JetStream, JetStreamOptions, StoreLimits};
use switchboard_transport::server::Server;

use self::broker::Broker;

const KEYS: &str =
    "bob-1 hmac-sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f subject=bob\n";

const AUDIENCE: &str = "https://bank.example/rpc";

const CALLS: usize = 20;

// SEC-R-01
#[tokio::test]
async fn the_shared_replay_check_is_one_message_to_the_store_and_its_answer() {
    let broker = Broker::start(&[]);
    let connection = JetStream::connect(JetStreamOptions::new(broker.url())).await.unwrap();
    let hour = Duration::from_secs(3600);
    let store = connection.bucket("nonces", hour, StoreLimits::default()).await.unwrap();
    let keys = SigningKeys::parse(KEYS).unwrap();
    let key = keys.get("bob-1").unwrap();
    let router = Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b));
    let verify = Verify::new(keys, [AUDIENCE], Arc::new(store));
    let mut server = Server::new(verify.layer(Arc::new(router.build().unwrap())));
    server.listen("tcp://127.0.0.1:0").await.unwrap();
    let url = server.urls().next().unwrap();
    let serving = tokio::spawn(server.serve());
    // What is signed in the second in which the store was made could be a replay from before.
    let clock = Clock::manual(Clock::system().seconds() + 2);
    let peer = switchboard_transport::connect(&url).await.unwrap();
    let peer = Sign::new(key, AUDIENCE).with_clock(clock).peer(peer);
    // Everything that anybody sends from here on.
    let witness = async_nats::connect(broker.url()).await.unwrap();
    let mut messages = witness.subscribe(">").await.unwrap();
    witness.publish("begin", "".into()).await.unwrap();
    assert_eq!(&*messages.next().await.unwrap().subject, "begin");
    for _ in 0..CALLS {
        assert_eq!(peer.call::<i64>("add", [2, 3]).await, Ok(5));
    }
    witness.publish("end", "".into()).await.unwrap();
    let subjects: Vec<_> = messages
        .map(|message| message.subject.to_string())
        .take_while(|subject| std::future::ready(subject != "end"))
        .collect()
        .await;
    let insertions = subjects.iter().filter(|subject| subject.starts_with("$KV.")).count();
    let answers = subjects.iter().filter(|subject| subject.starts_with("_INBOX.")).count();
    assert_eq!((insertions, answers, subjects.len()), (CALLS, CALLS, 2 * CALLS), "{subjects:?}");
    serving.abort();
}
