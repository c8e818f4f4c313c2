//! Three brokers of which one is gone: what they keep together.

use futures_util::StreamExt as _;
use switchboard::CallError;
use switchboard::nats::{Bus, Keep, Start, Topic};
use tokio::time::{Instant, timeout};

use super::brokers::{Brokers, address};
use super::relay::Relay;
use super::{MS, PATIENCE};

/// How many events are acknowledged each time that a broker is gone, and as many when it is back.
const EVENTS: usize = 25;

async fn bus(relay: &Relay) -> Bus {
    Bus::connect(&format!("nats://{}/board", address(relay))).await.unwrap()
}

/// Publishes numbers from this one on, until enough of them are acknowledged. Those that are not may be kept or not.
async fn publish(topic: &Topic, next: &mut u64, acknowledged: &mut Vec<u64>) {
    let enough = acknowledged.len() + EVENTS;
    let begun = Instant::now();
    while acknowledged.len() < enough {
        assert!(begun.elapsed() < PATIENCE * 2, "nothing is acknowledged");
        match topic.publish(&*next).await {
            Ok(position) => {
                assert!(position.is_some(), "it is kept");
                acknowledged.push(*next);
            }
            Err(_) => tokio::time::sleep_until(Instant::now() + 50 * MS).await,
        }
        *next += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_events_are_read_once_and_in_order_whichever_broker_dies() {
    let mut brokers = Brokers::start(3).await;
    // They go to the other brokers when theirs is gone.
    let relays = [brokers.relay(0).await, brokers.relay(1).await];
    let (writer, reader) = (bus(&relays[0]).await, bus(&relays[1]).await);
    let begun = Instant::now();
    let limits = Keep::default().with_replicas(3);
    let kept = loop {
        // The brokers have to find each other first.
        match writer.keep("orders", limits).await {
            Ok(kept) => break kept,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{error:?}"),
        }
        tokio::time::sleep_until(Instant::now() + 100 * MS).await;
    };
    let topic = kept.topic("orders/all").unwrap();
    let mut events = reader.kept("orders").await.unwrap().subscribe_from::<u64>(Start::All).await.unwrap();
    let (mut next, mut acknowledged) = (1, Vec::new());
    // One of them leads, and goes on to lead while the others die.
    for node in 0..3 {
        brokers.kill(node);
        publish(&topic, &mut next, &mut acknowledged).await;
        brokers.restart(node);
        publish(&topic, &mut next, &mut acknowledged).await;
    }
    let last = *acknowledged.last().unwrap();
    let mut read: Vec<u64> = Vec::new();
    while read.last() != Some(&last) {
        match timeout(PATIENCE, events.next()).await.expect("all of them arrive").unwrap() {
            Ok(event) => read.push(event.value),
            // Numbers that were not acknowledged may be missing.
            Err(CallError::Gap(_)) => {}
            Err(error) => panic!("after {:?}: {error:?}", read.last()),
        }
    }
    assert!(read.is_sorted_by(|a, b| a < b), "once and in order: {read:?}");
    let missing: Vec<_> = acknowledged.iter().filter(|number| read.binary_search(number).is_err()).collect();
    assert!(missing.is_empty(), "{missing:?} were acknowledged, and are missing in {read:?}");
}
