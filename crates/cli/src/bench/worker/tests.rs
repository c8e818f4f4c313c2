//! Workers against services of this process, in paused time.

use std::sync::atomic::AtomicUsize;

use switchboard::{Code, ErrorObject, Reply, ReplyFuture, service_fn};

use super::super::plan::plan;
use super::super::tally::Kind;
use super::*;

const MS: Duration = Duration::from_millis(1);

/// Makes the plan's calls on one thread against what `connect` gives.
async fn measure(
    plan: &Plan,
    connect: impl Fn() -> Result<Peer, CallError> + Send + Sync + 'static,
) -> (Tally, Result<(), CallError>) {
    let connect: Connect = Arc::new(move || Box::pin(std::future::ready(connect())));
    let work = Work { method: "work".to_owned(), params: Json::parse("[1]").ok() };
    let worker = Worker::new(plan, 0, &work, connect, Arc::default(), Alarm::coarse()).await;
    let mut worker = worker.unwrap_or_else(|error| panic!("{error}"));
    let outcome = worker.run(Schedule::new(plan, 0, Instant::now())).await;
    (worker.tally, outcome)
}

/// A far side that answers a call at the moment which `when` gives for the moment of the call, both since now.
fn answering(when: impl Fn(Duration) -> Duration + Send + Sync + 'static) -> Peer {
    let start = Instant::now();
    Peer::local(service_fn(move |_: &Call| {
        let until = start + when(start.elapsed());
        ReplyFuture::pending(async move {
            tokio::time::sleep_until(until).await;
            Reply::of(&1)
        })
    }))
}

/// Nothing is answered from 1 s to 2 s; otherwise it takes a millisecond.
fn stalling() -> Peer {
    answering(|now| if (1000 * MS..2000 * MS).contains(&now) { 2000 * MS } else { now + MS })
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_due_during_a_stall_show_it_at_any_depth() {
    for depth in [1, 10, 1000] {
        let plan = Plan { rate: Some(100.0), seconds: Some(4.0), depth, ..plan() };
        let peer = stalling();
        let (tally, outcome) = measure(&plan, move || Ok(peer.clone())).await;
        assert_eq!(outcome, Ok(()));
        assert_eq!((tally.results, tally.pace.unsent, tally.pace.late), (400, 0, 0), "depth {depth}");
        // A hundred calls were due in that second, and waited from nearly a second down to nothing. With one place it
        // takes a while longer until all of them are through.
        let longer = |time: Duration| tally.latency.count_between(time.as_nanos() as u64, u64::MAX);
        assert!((89..=115).contains(&longer(100 * MS)), "depth {depth}: {}", longer(100 * MS));
        assert!((49..=65).contains(&longer(500 * MS)), "depth {depth}: {}", longer(500 * MS));
        assert!((9..=15).contains(&longer(900 * MS)), "depth {depth}: {}", longer(900 * MS));
    }
}

#[tokio::test(start_paused = true)]
async fn a_generator_that_waits_for_answers_would_hide_the_stall() {
    let plan = Plan { seconds: Some(4.0), ..plan() };
    let peer = stalling();
    let (tally, _) = measure(&plan, move || Ok(peer.clone())).await;
    assert_eq!(tally.latency.count_between(100_000_000, u64::MAX), 1);
}

#[tokio::test(start_paused = true)]
async fn what_waited_for_a_place_or_was_never_sent_is_told() {
    // Ten calls a second are answered, twenty are due.
    let peer = answering(|now| now + 100 * MS);
    let plan = Plan { rate: Some(20.0), seconds: Some(2.0), ..plan() };
    let (tally, _) = measure(&plan, move || Ok(peer.clone())).await;
    assert_eq!((tally.results, tally.pace.unsent), (20, 20));
    assert_eq!((tally.pace.held_back, tally.pace.late), (19, 0));
    assert!(tally.latency.max() >= 1_000_000_000, "{}", tally.latency.max());
}

#[tokio::test(start_paused = true)]
async fn as_many_calls_are_under_way_as_the_plan_says() {
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let now = Arc::new(AtomicUsize::new(0));
    let peer = Peer::local(service_fn(move |_: &Call| {
        let (now, seen) = (Arc::clone(&now), Arc::clone(&seen));
        seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        ReplyFuture::pending(async move {
            tokio::time::sleep(MS).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Reply::of(&1)
        })
    }));
    let plan = Plan { connections: 3, depth: 4, count: Some(100), ..plan() };
    let (tally, _) = measure(&plan, move || Ok(peer.clone())).await;
    assert_eq!((tally.results, most.load(Ordering::SeqCst)), (100, 12));
    assert_eq!((tally.sent, tally.received), (300, 100));
}

#[tokio::test(start_paused = true)]
async fn the_warm_up_is_not_measured() {
    // The first second is slow.
    let peer = answering(|now| now + if now < 1000 * MS { 50 * MS } else { MS });
    let plan = Plan { warm_up: 1.0, seconds: Some(1.0), ..plan() };
    let (tally, _) = measure(&plan, move || Ok(peer.clone())).await;
    assert!(tally.latency.max() < 5_000_000, "{}", tally.latency.max());
    assert!(tally.elapsed() >= 990 * MS && tally.elapsed() <= 1010 * MS, "{:?}", tally.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_is_given_up_and_its_place_used_again() {
    let peer = answering(|now| if now < MS { Duration::from_secs(3600) } else { now + MS });
    let plan = Plan { depth: 2, count: Some(10), timeout: 1.0, ..plan() };
    let (tally, outcome) = measure(&plan, move || Ok(peer.clone())).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!((tally.results, tally.failed[&Kind::TimedOut]), (8, 2));
    // What was waited for in vain took at least that long.
    assert!(tally.latency.max() >= 1_000_000_000);
}

#[tokio::test(start_paused = true)]
async fn errors_are_told_by_code() {
    let codes = AtomicUsize::new(0);
    let peer = Peer::local(service_fn(move |_: &Call| {
        let code = [-32601, -5][codes.fetch_add(1, Ordering::SeqCst) % 2];
        ReplyFuture::ready(ErrorObject::new(Code(code), "no"))
    }));
    let (tally, _) = measure(&Plan { count: Some(5), ..plan() }, move || Ok(peer.clone())).await;
    let counts: Vec<(i64, u64)> = tally.rejected.iter().map(|(code, (count, _))| (*code, *count)).collect();
    assert_eq!(counts, [(-32601, 3), (-5, 2)]);
    assert_eq!((tally.results, tally.errors, tally.latency.len()), (0, 5, 5));
}

#[tokio::test(start_paused = true)]
async fn batches_are_one_message_of_several_calls() {
    let peer = answering(|now| now + MS);
    let plan = Plan { batch: 10, count: Some(25), ..plan() };
    let (tally, _) = measure(&plan, move || Ok(peer.clone())).await;
    assert_eq!((tally.results, tally.latency.len()), (25, 3));
    assert_eq!(tally.timeline.counts(), [25]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_counts_until_its_last_item() {
    let peer = Peer::local(service_fn(|_: &Call| {
        let items = futures_util::stream::unfold(0, |count| async move {
            tokio::time::sleep(10 * MS).await;
            (count < 5).then_some((count, count + 1))
        });
        ReplyFuture::ready(Reply::stream(items))
    }));
    let (tally, _) = measure(&Plan { count: Some(2), ..plan() }, move || Ok(peer.clone())).await;
    assert_eq!((tally.results, tally.items), (2, 10));
    assert!(tally.latency.min() >= 59_000_000, "{}", tally.latency.min());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_is_made_again() {
    let dials = Arc::new(AtomicUsize::new(0));
    let made = Arc::clone(&dials);
    let connect = move || match made.fetch_add(1, Ordering::SeqCst) {
        0 => {
            let calls = AtomicUsize::new(0);
            Ok(Peer::local(service_fn(move |_: &Call| match calls.fetch_add(1, Ordering::SeqCst) {
                0 => ReplyFuture::ready(Reply::of(&1)),
                _ => ReplyFuture::ready(ErrorObject::from(CallError::Closed("gone".into()))),
            })))
        }
        1 => Err(CallError::Unreachable("not yet".into())),
        _ => Ok(answering(|now| now + MS)),
    };
    let plan = Plan { depth: 2, count: Some(10), ..plan() };
    let (tally, outcome) = measure(&plan, connect).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(dials.load(Ordering::SeqCst), 3);
    assert_eq!((tally.reconnects, tally.results + tally.errors), (1, 10));
    assert!((1..=2).contains(&tally.failed[&Kind::ConnectionLost]), "{:?}", tally.failed);
}

#[tokio::test(start_paused = true)]
async fn a_far_side_that_was_never_reached_ends_the_run() {
    let gone = || CallError::Unreachable("nothing listens".into());
    let peer = Peer::local(service_fn(move |_: &Call| ReplyFuture::ready(ErrorObject::from(gone()))));
    let (_, outcome) = measure(&Plan { seconds: Some(9.0), ..plan() }, move || Ok(peer.clone())).await;
    assert_eq!(outcome, Err(gone()));
}

#[tokio::test(start_paused = true)]
async fn a_far_side_that_is_gone_for_good_ends_the_run() {
    for plan in [Plan { seconds: Some(5.0), ..plan() }, Plan { count: Some(100), ..plan() }] {
        let dials = AtomicUsize::new(0);
        let gone = || CallError::Unreachable("nothing listens".into());
        let connect = move || {
            if dials.fetch_add(1, Ordering::SeqCst) > 0 {
                return Err(gone());
            }
            let calls = AtomicUsize::new(0);
            Ok(Peer::local(service_fn(move |_: &Call| match calls.fetch_add(1, Ordering::SeqCst) {
                0 => ReplyFuture::ready(Reply::of(&1)),
                _ => ReplyFuture::ready(ErrorObject::from(CallError::Closed("gone".into()))),
            })))
        };
        let (tally, outcome) = measure(&plan, connect).await;
        assert_eq!(tally.results, 1);
        // By its time, or because nothing else can be done.
        assert_eq!(outcome.is_ok(), plan.seconds.is_some());
    }
}
