//! Second copies of slow calls.

use std::time::Duration;

use switchboard_core::{Call, Code, Service};
use switchboard_gateway::{Attempts, Hedge, Pool, PoolBuilder, Retry};
use tokio::time::Instant;

use crate::fakes::{Fake, Mood, attempts, call, name};

const MS: Duration = Duration::from_millis(1);

fn hedged(fakes: &[&Fake], hedge: Hedge, is_safe: bool) -> Attempts {
    let nodes = fakes.iter().zip(1..).map(|(fake, priority)| fake.node().with_priority(priority));
    let pool = nodes.fold(Pool::builder("u").eject(None), PoolBuilder::node).build();
    Attempts::new(pool, Retry::default(), Some(hedge), move |_| is_safe)
}

#[tokio::test(start_paused = true)]
async fn the_second_node_is_asked_after_the_time_and_the_first_is_cancelled() {
    let (slow, fast) = (Fake::that("slow", Mood::Hangs), Fake::that("fast", Mood::Takes(5 * MS)));
    let service = hedged(&[&slow, &fast], Hedge::After(20 * MS), true);
    let begun = Instant::now();
    let reply = service.call(&call()).await;
    assert_eq!((name(&reply), attempts(&reply)), ("fast".to_owned(), "2".to_owned()));
    assert_eq!(begun.elapsed(), 25 * MS);
    assert_eq!((slow.take_asked(), slow.cancelled()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_is_not_hedged() {
    let (first, second) = (Fake::that("first", Mood::Takes(19 * MS)), Fake::new("second"));
    let service = hedged(&[&first, &second], Hedge::After(20 * MS), true);
    assert_eq!(attempts(&service.call(&call()).await), "1");
    assert_eq!(second.take_asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_first_node_may_still_win() {
    let (first, second) = (Fake::that("first", Mood::Takes(30 * MS)), Fake::that("second", Mood::Hangs));
    let service = hedged(&[&first, &second], Hedge::After(20 * MS), true);
    assert_eq!(name(&service.call(&call()).await), "first");
    assert_eq!((second.take_asked(), second.cancelled()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_failure_does_not_win() {
    for failure in [Mood::Breaks, Mood::Refuses, Mood::Fails(Code::INTERNAL_ERROR)] {
        let (first, second) = (Fake::that("first", Mood::Takes(30 * MS)), Fake::that("second", failure));
        let service = hedged(&[&first, &second], Hedge::After(20 * MS), true);
        assert_eq!(name(&service.call(&call()).await), "first", "{failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_third_node_answers_if_the_first_hangs_and_the_second_fails() {
    let fakes = [("first", Mood::Hangs), ("second", Mood::Breaks), ("third", Mood::Answers)];
    let fakes = fakes.map(|(name, mood)| Fake::that(name, mood));
    let service = hedged(&fakes.each_ref(), Hedge::After(20 * MS), true);
    let reply = service.call(&call()).await;
    assert_eq!((name(&reply), attempts(&reply)), ("third".to_owned(), "3".to_owned()));
    assert_eq!(fakes[0].cancelled(), 1);
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_not_safe_are_never_hedged() {
    let (slow, other) = (Fake::that("slow", Mood::Takes(100 * MS)), Fake::new("other"));
    let service = hedged(&[&slow, &other], Hedge::After(20 * MS), false);
    assert_eq!(name(&service.call(&call()).await), "slow");
    let service = hedged(&[&slow, &other], Hedge::After(20 * MS), true);
    drop(service.call(&Call::notification("m", None)).await);
    assert_eq!(other.take_asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_percentile_hedges_the_slowest_calls_only() {
    let (first, second) = (Fake::that("first", Mood::Takes(10 * MS)), Fake::that("second", Mood::Takes(MS)));
    let service = hedged(&[&first, &second], Hedge::Percentile(95), true);
    for _ in 0..200 {
        drop(service.call(&call()).await);
    }
    second.take_asked();
    first.set(Mood::Takes(500 * MS));
    let begun = Instant::now();
    assert_eq!(name(&service.call(&call()).await), "second");
    assert!(begun.elapsed() < 20 * MS, "{:?}", begun.elapsed());
}
