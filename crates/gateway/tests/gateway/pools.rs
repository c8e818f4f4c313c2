//! Which node gets a call.

use std::collections::HashMap;
use std::time::Duration;

use switchboard_core::{Code, Service};
use switchboard_gateway::{Balance, Pool, PoolBuilder, Sticky};

use crate::fakes::{Fake, Mood, answers, call, call_in, call_with, code, error, name, pool, session, share};

const MS: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn the_faster_node_gets_more_calls() {
    let (fast, slow) = (Fake::that("fast", Mood::Takes(MS)), Fake::that("slow", Mood::Takes(20 * MS)));
    let pool = pool(&[&fast, &slow]);
    let answers = answers(&pool, 100).await;
    assert!(share(&answers, "fast") >= 98, "{answers:?}");
}

#[tokio::test(start_paused = true)]
async fn the_less_busy_node_gets_the_next_call() {
    let (one, two) = (Fake::that("one", Mood::Takes(MS)), Fake::that("two", Mood::Takes(MS)));
    let pool = pool(&[&one, &two]);
    let calls: Vec<_> = (0..100).map(|_| pool.call(&call())).collect();
    let in_flight: Vec<u32> = pool.nodes().map(|(_, node, _)| node.in_flight()).collect();
    assert_eq!(in_flight, [50, 50]);
    drop(calls);
    assert!(pool.nodes().all(|(_, node, _)| node.in_flight() == 0), "dropped calls still count");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_fails_at_once_does_not_look_fast() {
    for mood in [Mood::Refuses, Mood::Breaks, Mood::Fails(Code::INTERNAL_ERROR)] {
        let (good, bad) = (Fake::that("good", Mood::Takes(5 * MS)), Fake::that("bad", mood));
        let pool = pool(&[&good, &bad]);
        let mut failed = 0;
        for _ in 0..200 {
            failed += usize::from(error(&pool.call(&call()).await).is_some());
        }
        assert!(failed <= 10, "{mood:?}: {failed} of 200 calls went to the bad node");
        // It is tried again in the end.
        bad.set(Mood::Answers);
        tokio::time::advance(Duration::from_secs(10)).await;
        let answers = answers(&pool, 100).await;
        assert!(share(&answers, "bad") > 0, "{mood:?}: it never came back");
    }
}

#[tokio::test]
async fn round_robin_follows_the_weights() {
    let fakes = ["one", "two", "three"].map(Fake::new);
    let nodes = fakes.iter().zip([1, 2, 5]).map(|(fake, weight)| fake.node().with_weight(weight));
    let pool = nodes.fold(Pool::builder("u").eject(None), PoolBuilder::node);
    let pool = pool.balance(Balance::RoundRobin).build();
    let answers = answers(&pool, 800).await;
    for (name, expected) in [("one", 100), ("two", 200), ("three", 500)] {
        let got = share(&answers, name);
        assert!(got.abs_diff(expected) <= 3, "{name} got {got} calls, not {expected}");
    }
    // Its turns are spread: nobody gets two thirds of them in a row.
    let longest = answers.chunk_by(|one, two| one == two).map(<[String]>::len).max().unwrap();
    assert!(longest <= 4, "{longest} calls in a row to one node");
}

#[tokio::test(start_paused = true)]
async fn lower_priorities_take_over_and_give_back() {
    let (first, second) = (Fake::new("first"), Fake::new("second"));
    let pool = Pool::builder("u").eject(None).node(second.node().with_priority(2)).node(first.node()).build();
    assert_eq!(share(&answers(&pool, 20).await, "first"), 20);
    first.set(Mood::Refuses);
    let refused = pool.call(&call()).await;
    assert_eq!(code(&refused), Code::UPSTREAM_FAILED);
    assert_eq!(share(&answers(&pool, 20).await, "second"), 20);
    first.set(Mood::Answers);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(share(&answers(&pool, 20).await, "first"), 20);
    assert!(pool.drain("first", true));
    assert_eq!(share(&answers(&pool, 20).await, "second"), 20);
    assert!(pool.drain("first", false));
    assert_eq!(share(&answers(&pool, 20).await, "first"), 20);
    assert!(!pool.drain("third", true));
}

#[tokio::test]
async fn a_pool_without_a_node_that_is_available_fails_at_once() {
    let fake = Fake::new("one");
    let pool = pool(&[&fake]);
    pool.drain("one", true);
    assert_eq!(code(&pool.call(&call()).await), Code::UPSTREAM_FAILED);
    assert_eq!(fake.take_asked(), 0);
    let empty = Pool::builder("empty").build();
    assert!(empty.is_empty());
    assert_eq!(code(&empty.call(&call()).await), Code::UPSTREAM_FAILED);
}

/// Which node each key goes to.
async fn places(pool: &Pool) -> HashMap<usize, String> {
    let mut places = HashMap::new();
    for key in 0..300 {
        let call = call_with(&format!(r#"{{"user":{{"id":{key}}}}}"#));
        places.insert(key, name(&pool.call(&call).await));
    }
    places
}

#[tokio::test]
async fn calls_with_the_same_param_stay_together_and_only_those_of_a_lost_node_move() {
    let fakes = ["one", "two", "three"].map(Fake::new);
    let pool = fakes.iter().fold(Pool::builder("u"), |pool, fake| pool.node(fake.node()));
    let pool = pool.sticky(Sticky::Param("/user/id".into())).build();
    let before = places(&pool).await;
    assert_eq!(before, places(&pool).await);
    for fake in ["one", "two", "three"] {
        let count = before.values().filter(|name| *name == fake).count();
        assert!((60..=140).contains(&count), "{fake} has {count} of 300 keys");
    }
    pool.drain("two", true);
    let without = places(&pool).await;
    for (key, place) in &before {
        match place.as_str() {
            "two" => assert_ne!(without[key], "two"),
            other => assert_eq!(without[key], other, "key {key} moved"),
        }
    }
    pool.drain("two", false);
    assert_eq!(before, places(&pool).await);
}

#[tokio::test]
async fn a_sticky_session_stays_with_its_node() {
    let fakes = ["one", "two", "three"].map(Fake::new);
    let pool = fakes.iter().fold(Pool::builder("u"), |pool, fake| pool.node(fake.node()));
    let pool = pool.sticky(Sticky::Session).build();
    let mut used: HashMap<String, usize> = HashMap::new();
    for _ in 0..60 {
        let session = session();
        let first = name(&pool.call(&call_in(&session)).await);
        for _ in 0..5 {
            assert_eq!(name(&pool.call(&call_in(&session)).await), first);
        }
        *used.entry(first).or_default() += 1;
    }
    assert_eq!(used.len(), 3, "{used:?}");
}

#[tokio::test]
async fn a_pinned_session_moves_only_when_its_node_is_gone() {
    let fakes = ["one", "two"].map(Fake::new);
    let pool = fakes.iter().fold(Pool::builder("u").pinned(), |pool, fake| pool.node(fake.node()));
    let pool = pool.balance(Balance::RoundRobin).build();
    let session = session();
    let first = name(&pool.call(&call_in(&session)).await);
    let stays = async |pool: &Pool, expected: &str| {
        for _ in 0..10 {
            assert_eq!(name(&pool.call(&call_in(&session)).await), expected);
        }
    };
    stays(&pool, &first).await;
    // It is only slow or failing: the node still knows the session.
    pool.eject(&first, Duration::from_secs(60));
    stays(&pool, &first).await;
    pool.drain(&first, true);
    let second = if first == "one" { "two" } else { "one" };
    stays(&pool, second).await;
    // It does not go back, because the first node has forgotten it.
    pool.drain(&first, false);
    stays(&pool, second).await;
}
