//! What operators see of the nodes.

use std::time::Duration;

use switchboard_core::Service;
use switchboard_gateway::{Attempts, Balance, Eject, Hedge, NodeStatus, Pool, Retry, Skipped};

use crate::fakes::{Fake, Mood, call, pool};

const SECOND: Duration = Duration::from_secs(1);

fn named(pool: &Pool, name: &str) -> NodeStatus {
    pool.status().into_iter().find(|node| *node.name == *name).unwrap()
}

#[tokio::test(start_paused = true)]
async fn calls_failures_and_what_was_sent_again_are_counted() {
    let (bad, good) = (Fake::that("bad", Mood::Refuses), Fake::new("good"));
    let nodes = Pool::builder("u").eject(None).node(bad.node()).node(good.node().with_priority(2));
    let pool = nodes.build();
    let service = Attempts::new(pool.clone(), Retry::default(), Some(Hedge::After(SECOND)), |_| true);
    drop(service.call(&call()).await);
    assert_eq!((pool.retries(), pool.hedges()), (1, 0));
    let status = named(&pool, "bad");
    assert_eq!((status.calls, status.failures, status.failed_in_a_row), (1, 1, 1));
    assert_eq!(status.latency, None, "a failure says nothing about how long answers take");
    let status = named(&pool, "good");
    assert_eq!((status.calls, status.failures, status.failed_in_a_row), (1, 0, 0));
    // A slow call is sent to the other node, too.
    tokio::time::advance(10 * SECOND).await;
    bad.set(Mood::Takes(2 * SECOND));
    drop(service.call(&call()).await);
    assert_eq!((pool.retries(), pool.hedges()), (1, 1));
    assert_eq!((named(&pool, "bad").calls, named(&pool, "good").calls), (2, 2));
    assert!(pool.status().iter().all(|node| node.in_flight == 0));
}

#[tokio::test(start_paused = true)]
async fn an_ejected_node_says_why() {
    let (good, bad) = (Fake::new("good"), Fake::that("bad", Mood::Breaks));
    let nodes = Pool::builder("u").node(good.node()).node(bad.node()).balance(Balance::RoundRobin);
    let pool = nodes.eject(Some(Eject::default())).build();
    for _ in 0..30 {
        drop(pool.call(&call()).await);
    }
    let because = named(&pool, "bad").ejected_because;
    assert_eq!(because.as_deref(), Some("10 of 10 calls failed"));
    assert!(named(&pool, "bad").last_error.is_some_and(|(text, _)| text.contains("broken")));
    assert_eq!(named(&pool, "good").last_error, None);
    pool.eject("good", SECOND);
    assert_eq!(named(&pool, "good").ejected_because.as_deref(), Some("ejected by an operator"));
    assert_eq!(named(&pool, "good").skipped, Some(Skipped::Ejected { for_another: SECOND }));
    tokio::time::advance(SECOND).await;
    assert_eq!((named(&pool, "good").skipped, named(&pool, "good").ejected_because), (None, None));
}

#[tokio::test]
async fn nodes_with_the_same_name_are_told_apart() {
    let same = [Fake::new("same"), Fake::new("same"), Fake::new("same")];
    let pool = pool(&same.each_ref());
    let names: Vec<_> = pool.status().into_iter().map(|node| node.name.to_string()).collect();
    assert_eq!(names, ["same", "same #2", "same #3"]);
    assert!(pool.drain("same #2", true));
    assert_eq!(named(&pool, "same #2").skipped, Some(Skipped::Drained));
    assert_eq!(named(&pool, "same").skipped, None);
}
