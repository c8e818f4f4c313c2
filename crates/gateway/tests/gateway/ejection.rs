//! Nodes that get no calls for a while.

use std::time::Duration;

use switchboard_core::{Code, Service};
use switchboard_gateway::{Balance, Eject, Pool, Skipped};

use crate::fakes::{Fake, Mood, answers, call, share};

const SECOND: Duration = Duration::from_secs(1);

fn round_robin(fakes: &[&Fake]) -> Pool {
    let pool = fakes.iter().fold(Pool::builder("u"), |pool, fake| pool.node(fake.node()));
    pool.balance(Balance::RoundRobin).eject(Some(Eject::default())).build()
}

/// Sends calls, whatever comes of them.
async fn send(pool: &Pool, count: usize) {
    for _ in 0..count {
        drop(pool.call(&call()).await);
    }
}

fn ejected(pool: &Pool) -> Vec<&str> {
    let is_ejected = |skipped: &Option<Skipped>| matches!(skipped, Some(Skipped::Ejected { .. }));
    pool.nodes().filter(|(.., skipped)| is_ejected(skipped)).map(|(name, ..)| name).collect()
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_calls_fail_is_ejected_and_comes_back_slowly() {
    let (good, bad) = (Fake::new("good"), Fake::that("bad", Mood::Breaks));
    let pool = round_robin(&[&good, &bad]);
    send(&pool, 16).await;
    assert_eq!(ejected(&pool), [""; 0], "fewer than ten calls say nothing");
    send(&pool, 10).await;
    assert_eq!(ejected(&pool), ["bad"]);
    assert_eq!(share(&answers(&pool, 100).await, "good"), 100);
    bad.set(Mood::Answers);
    tokio::time::advance(30 * SECOND).await;
    assert_eq!(ejected(&pool), [""; 0]);
    let few = share(&answers(&pool, 110).await, "bad");
    assert!((5..=15).contains(&few), "{few} of 110 calls at the start, of a share of a tenth");
    tokio::time::advance(10 * SECOND).await;
    let half = share(&answers(&pool, 100).await, "bad");
    assert!((48..=52).contains(&half), "{half} of 100 calls in the end");
}

#[tokio::test(start_paused = true)]
async fn errors_of_methods_do_not_eject_a_node() {
    for code in [Code::INVALID_PARAMS, Code::INTERNAL_ERROR, Code::OVER_LIMIT, Code::UPSTREAM_FAILED] {
        let (good, strict) = (Fake::new("good"), Fake::that("strict", Mood::Fails(code)));
        let pool = round_robin(&[&good, &strict]);
        send(&pool, 200).await;
        assert_eq!(ejected(&pool), [""; 0], "{code}");
        assert_eq!(strict.take_asked(), 100, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_fails_again_stays_out_longer() {
    let (good, bad) = (Fake::new("good"), Fake::that("bad", Mood::Breaks));
    let pool = round_robin(&[&good, &bad]);
    send(&pool, 30).await;
    assert_eq!(ejected(&pool), ["bad"]);
    tokio::time::advance(30 * SECOND).await;
    // Of its small share, ten calls fail again.
    send(&pool, 150).await;
    assert_eq!(ejected(&pool), ["bad"]);
    tokio::time::advance(45 * SECOND).await;
    assert_eq!(ejected(&pool), ["bad"], "the second time it takes 60 s");
    tokio::time::advance(16 * SECOND).await;
    assert_eq!(ejected(&pool), [""; 0]);
    // After a good time, the next ejection is short again.
    bad.set(Mood::Answers);
    send(&pool, 10).await;
    tokio::time::advance(11 * SECOND).await;
    bad.set(Mood::Breaks);
    send(&pool, 60).await;
    assert_eq!(ejected(&pool), ["bad"]);
    tokio::time::advance(31 * SECOND).await;
    assert_eq!(ejected(&pool), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_much_slower_node_is_ejected() {
    let ms = Duration::from_millis(1);
    for (slow, expected) in [(40, vec!["slow"]), (29, vec![])] {
        let fakes = [("one", 10), ("two", 10), ("slow", slow)];
        let fakes = fakes.map(|(name, time)| Fake::that(name, Mood::Takes(time * ms)));
        let pool = round_robin(&fakes.each_ref());
        send(&pool, 60).await;
        assert_eq!(ejected(&pool), expected, "{slow} ms");
    }
    // Milliseconds are nothing, however fast the others are.
    let fakes = [Fake::new("one"), Fake::new("two"), Fake::that("slow", Mood::Takes(9 * ms))];
    let pool = round_robin(&fakes.each_ref());
    send(&pool, 60).await;
    assert_eq!(ejected(&pool), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn at_most_half_of_the_nodes_are_ejected() {
    let fakes = ["one", "two", "three", "four"].map(|name| Fake::that(name, Mood::Breaks));
    let pool = round_robin(&fakes.each_ref());
    send(&pool, 400).await;
    assert_eq!(ejected(&pool).len(), 2);
    let alone = Fake::that("alone", Mood::Breaks);
    let pool = round_robin(&[&alone]);
    send(&pool, 100).await;
    assert_eq!(ejected(&pool), [""; 0], "there is nothing else to use");
    assert_eq!(alone.take_asked(), 100);
}
