//! Calls that are sent again.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use switchboard_core::{Call, CallError, Code, Layer, Service};
use switchboard_gateway::{Attempts, Balance, Fault, Node, Pool, PoolBuilder, Retry};
use tokio::time::Instant;

use crate::fakes::{Fake, Mood, attempts, call, call_within, code, error, name};

const MS: Duration = Duration::from_millis(1);

/// The first node is used as long as it is reachable.
fn ordered(fakes: &[&Fake]) -> Pool {
    let nodes = fakes.iter().zip(1..).map(|(fake, priority)| fake.node().with_priority(priority));
    nodes.fold(Pool::builder("u").eject(None), PoolBuilder::node).build()
}

fn retrying(fakes: &[&Fake], retry: Retry, is_safe: bool) -> Attempts {
    Attempts::new(ordered(fakes), retry, None, move |_| is_safe)
}

#[tokio::test(start_paused = true)]
async fn what_was_never_sent_is_sent_to_another_node_even_if_it_is_not_safe() {
    let (bad, good) = (Fake::that("bad", Mood::Refuses), Fake::new("good"));
    let service = retrying(&[&bad, &good], Retry::default(), false);
    let reply = service.call(&call()).await;
    assert_eq!((name(&reply), attempts(&reply)), ("good".to_owned(), "2".to_owned()));
    // The next one goes to the good node at once.
    assert_eq!(attempts(&service.call(&call()).await), "1");
}

#[tokio::test(start_paused = true)]
async fn other_nodes_are_preferred_to_one_that_is_shutting_down() {
    let (bad, good) = (Fake::that("bad", Mood::Fails(Code::SHUTTING_DOWN)), Fake::new("good"));
    let service = retrying(&[&bad, &good], Retry::default(), false);
    assert_eq!(code(&service.call(&call()).await), Code::SHUTTING_DOWN);
    assert_eq!(name(&service.call(&call()).await), "good");
}

#[tokio::test(start_paused = true)]
async fn what_may_have_run_is_sent_again_only_if_it_is_safe() {
    let codes = [Code::INTERNAL_ERROR, Code::UPSTREAM_FAILED, Code::SHUTTING_DOWN, Code::OVER_LIMIT];
    for failure in [Mood::Breaks].into_iter().chain(codes.map(Mood::Fails)) {
        let (bad, good) = (Fake::that("bad", failure), Fake::new("good"));
        let unsafe_ = retrying(&[&bad, &good], Retry::default(), false);
        let reply = unsafe_.call(&call()).await;
        assert!(error(&reply).is_some(), "{failure:?}");
        assert_eq!((attempts(&reply), good.take_asked()), ("1".to_owned(), 0), "{failure:?}");
        // Its caller may say that it is.
        let unsafe_ = retrying(&[&bad, &good], Retry::default(), false);
        let reply = unsafe_.call(&call().repeatable()).await;
        assert_eq!((name(&reply), attempts(&reply)), ("good".to_owned(), "2".to_owned()), "{failure:?}");
        let safe = retrying(&[&bad, &good], Retry::default(), true);
        assert_eq!(name(&safe.call(&call()).await), "good", "{failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_method_are_answers() {
    let (strict, other) = (Fake::that("strict", Mood::Fails(Code::INVALID_PARAMS)), Fake::new("other"));
    let service = retrying(&[&strict, &other], Retry::times(3), true);
    let reply = service.call(&call()).await;
    assert_eq!((code(&reply), attempts(&reply)), (Code::INVALID_PARAMS, "1".to_owned()));
    assert_eq!((strict.take_asked(), other.take_asked()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_notification_is_not_sent_twice() {
    let (bad, good) = (Fake::that("bad", Mood::Breaks), Fake::new("good"));
    let service = retrying(&[&bad, &good], Retry::times(3), true);
    drop(service.call(&Call::notification("m", None)).await);
    assert_eq!((bad.take_asked(), good.take_asked()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn there_are_as_many_attempts_as_it_says() {
    let fakes = ["one", "two", "three", "four"].map(|name| Fake::that(name, Mood::Breaks));
    let service = retrying(&fakes.each_ref(), Retry::times(2), true);
    let reply = service.call(&call()).await;
    assert_eq!(attempts(&reply), "3");
    assert_eq!(fakes.each_ref().map(Fake::take_asked), [1, 1, 1, 0]);
    let never = retrying(&fakes.each_ref(), Retry::times(0), true);
    assert_eq!(attempts(&never.call(&call()).await), "1");
}

#[tokio::test(start_paused = true)]
async fn one_node_is_asked_again_after_a_pause() {
    let bad = Fake::that("bad", Mood::Breaks);
    let service = retrying(&[&bad], Retry::times(2), true);
    let begun = Instant::now();
    assert_eq!(attempts(&service.call(&call()).await), "3");
    assert_eq!(bad.take_asked(), 3);
    assert!(begun.elapsed() >= 75 * MS, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn no_attempt_begins_after_the_deadline_of_the_caller() {
    // No time for the pause.
    let bad = Fake::that("bad", Mood::Breaks);
    let service = retrying(&[&bad], Retry::times(5), true);
    let begun = Instant::now();
    assert!(error(&service.call(&call_within(20 * MS)).await).is_some());
    assert_eq!((bad.take_asked(), begun.elapsed()), (1, Duration::ZERO));
    // The first attempt takes all the time.
    let late = Fake::that("late", Mood::Takes(30 * MS));
    let (cut, other) = (Fault::default().with_cut(true), Fake::new("other"));
    let pool = Pool::builder("u").node(Node::new("late", cut.layer(Arc::new(late.clone()))));
    let pool = pool.node(other.node().with_priority(2)).build();
    let service = Attempts::new(pool, Retry::times(5), None, |_| true);
    assert!(error(&service.call(&call_within(30 * MS)).await).is_some());
    assert_eq!((late.take_asked(), other.take_asked()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_silent_has_the_time_of_an_attempt() {
    let retry = Retry::times(2).with_timeout(Some(30 * MS));
    let (silent, good) = (Fake::that("silent", Mood::Hangs), Fake::new("good"));
    let service = retrying(&[&silent, &good], retry, true);
    let begun = Instant::now();
    let reply = service.call(&call()).await;
    assert_eq!((name(&reply), attempts(&reply)), ("good".to_owned(), "2".to_owned()));
    assert_eq!((begun.elapsed(), silent.cancelled()), (30 * MS, 1));
    // The last attempt has all the time that is left.
    let slow = Fake::that("slow", Mood::Takes(500 * MS));
    let service = retrying(&[&silent, &silent, &slow], retry, true);
    assert_eq!(name(&service.call(&call_within(600 * MS)).await), "slow");
    // Nor is an attempt ended for the sake of one that cannot follow.
    silent.set(Mood::Takes(500 * MS));
    for (retry, is_safe) in [(retry, false), (Retry::times(0).with_timeout(Some(30 * MS)), true)] {
        let service = retrying(&[&silent, &good], retry, is_safe);
        assert_eq!(name(&service.call(&call()).await), "silent", "{is_safe}");
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_end_early_only_while_there_are_retries_left() {
    let slow = Fake::that("slow", Mood::Takes(500 * MS));
    let retry = Retry::times(1).with_timeout(Some(30 * MS)).with_budget(0.0);
    let service = retrying(&[&slow], retry, true);
    let sent = join_all((0..30).map(|_| async {
        let reply = service.call(&call_within(1000 * MS)).await;
        assert_eq!(name(&reply), "slow");
        attempts(&reply)
    }));
    let retried = sent.await.iter().filter(|sent| *sent == "2").count();
    assert_eq!(retried, 10, "as many as there are at the start");
    assert_eq!(attempts(&service.call(&call_within(1000 * MS)).await), "1");
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_was_not_needed_is_left_for_others() {
    let (flaky, good) = (Fake::new("flaky"), Fake::new("good"));
    let retry = Retry::times(1).with_timeout(Some(30 * MS)).with_budget(0.0);
    let service = retrying(&[&flaky, &good], retry, true);
    for _ in 0..30 {
        assert_eq!(attempts(&service.call(&call()).await), "1");
    }
    flaky.set(Mood::Hangs);
    assert_eq!(attempts(&service.call(&call()).await), "2");
}

#[tokio::test(start_paused = true)]
async fn silence_counts_as_a_failure_of_the_server() {
    let (silent, good) = (Fake::that("silent", Mood::Hangs), Fake::new("good"));
    let pool = Pool::builder("u").node(silent.node()).node(good.node().with_priority(2)).build();
    let retry = Retry::default().with_timeout(Some(30 * MS)).with_budget(1.0);
    let service = Attempts::new(pool.clone(), retry, None, |_| true);
    for _ in 0..100 {
        // Its caller would have waited.
        assert_eq!(name(&service.call(&call_within(1000 * MS)).await), "good");
    }
    let skipped: Vec<_> = pool.nodes().map(|(name, _, skipped)| (name, skipped.is_some())).collect();
    assert_eq!(skipped, [("silent", true), ("good", false)]);
    assert!(silent.take_asked() < 50, "it was not ejected");
}

#[tokio::test(start_paused = true)]
async fn retries_are_a_share_of_all_calls() {
    let fakes = ["one", "two"].map(|name| Fake::that(name, Mood::Breaks));
    let service = retrying(&fakes.each_ref(), Retry::times(1).with_budget(0.1), true);
    for _ in 0..1000 {
        drop(service.call(&call()).await);
    }
    let sent: usize = fakes.iter().map(Fake::take_asked).sum();
    // Ten that were saved up, and a tenth of the calls.
    assert!((1100..=1112).contains(&sent), "{sent} calls were sent");
}

#[tokio::test(start_paused = true)]
async fn calls_that_break_together_are_all_sent_again() {
    let (first, second) = (Fake::new("first"), Fake::new("second"));
    let service = retrying(&[&first, &second], Retry::default(), true);
    for _ in 0..500 {
        drop(service.call(&call()).await);
    }
    first.set(Mood::Breaks);
    let replies = join_all((0..100).map(|_| service.call(&call()))).await;
    assert!(replies.iter().all(|reply| name(reply) == "second"));
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_was_not_sent_does_not_hide_that_the_call_may_have_run() {
    let (broken, gone) = (Fake::that("broken", Mood::Breaks), Fake::that("gone", Mood::Refuses));
    let service = retrying(&[&broken, &gone], Retry::times(1), true);
    let reply = service.call(&call()).await;
    let error = error(&reply).unwrap().local().unwrap();
    assert!(matches!(error, CallError::Closed(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn while_one_node_can_be_reached_no_call_is_lost() {
    for balance in [Balance::PowerOfTwo, Balance::RoundRobin] {
        let fakes = ["one", "two", "three", "four", "good"].map(|name| Fake::that(name, Mood::Refuses));
        fakes[4].set(Mood::Takes(MS));
        let pool = fakes.iter().fold(Pool::builder("u"), |pool, fake| pool.node(fake.node()));
        let service = Attempts::new(pool.balance(balance).build(), Retry::times(4), None, |_| false);
        for round in 0..1000 {
            let reply = service.call(&call()).await;
            assert!(error(&reply).is_none(), "{balance:?}: call {round} was lost");
        }
    }
}
