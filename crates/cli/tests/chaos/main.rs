//! Workers, gateways and brokers that are killed, paused and cut off at random, under load. Every process is a real one, and so is every connection, through a
//! relay that can break it. What callers asked and got, and what workers executed, is recorded; in the end [`verdict`] checks that record.
//!
//! The seed is printed: `SEED` in the environment repeats the faults of a run, and `CHAOS_MS` says how long they last.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "all of this is tests; what fails ends one")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the seed, and what happened")]

#[path = "../../../../tests/support/broker.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod broker;
mod brokers;
mod callers;
mod fleet;
mod history;
mod jobs;
mod majority;
mod process;
#[path = "../../../../tests/support/relay.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod relay;
mod signed;
mod storm;
mod verdict;
mod watchers;
mod worker;

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use self::fleet::Fleet;
use self::history::History;

const MS: Duration = Duration::from_millis(1);

/// How long a run lasts that is part of all tests.
const SHORT: u64 = 10_000;

/// Runs of this length have long faults, and everything happens in them.
const LONG: Duration = Duration::from_secs(60);

/// How long callers may go on after the last fault. Nothing takes that long; it only tells a hang from a slow machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most memory of a process. One that does not grow needs a tenth of it.
const MEMORY: usize = 256 << 20;

fn seed() -> u64 {
    let given = std::env::var("SEED").ok().map(|seed| seed.parse().expect("SEED is a number"));
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    seed
}

fn time() -> Duration {
    let given = std::env::var("CHAOS_MS").ok().map(|time| time.parse().expect("CHAOS_MS is a number"));
    given.map_or(SHORT, |time: u64| time) as u32 * MS
}

async fn weather(nodes: usize) {
    let seed = seed();
    let history = History::default();
    let mut fleet = Fleet::start(nodes).await;
    fleet.serves().await;
    signed::race(&fleet, &history, 3).await;
    let (stop, stopped) = watch::channel(false);
    let callers = callers::start(&fleet, &history, seed, &stopped);
    let jobs = jobs::start(&fleet, &history, seed, &stopped);
    let watchers = watchers::start(&fleet, &history, seed, &stopped);
    storm::rage(&mut fleet, &history, fastrand::Rng::with_seed(seed), Instant::now() + time()).await;
    fleet.serves().await;
    stop.send_replace(true);
    let ended = async { (callers.join_all().await, watchers.join_all().await, jobs.join_all().await) };
    let ended = tokio::time::timeout(PATIENCE * 2, ended);
    ended.await.expect("callers end when everything works again");
    signed::race(&fleet, &history, 3).await;
    let memory = fleet.memory();
    println!("memory: {memory:?}");
    let executed = fleet.executed();
    history.effects(fleet.effects());
    fleet.stop().await;
    let summary = history.summary(&executed);
    println!("{summary:?}");
    let violations = verdict::violations(&history.take(), &executed);
    assert!(violations.is_empty(), "SEED={seed}: {violations:#?}");
    assert!(summary.answered > 100, "SEED={seed}: only {} calls were answered", summary.answered);
    assert!(summary.jobs > 5, "SEED={seed}: only {} jobs were accepted", summary.jobs);
    assert!(time() < LONG || summary.gaps > 0, "SEED={seed}: no subscription lost anything: {summary:?}");
    assert!(memory.iter().all(|(_, bytes)| *bytes < MEMORY), "SEED={seed}: {memory:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_survive_what_happens_around_one_broker() {
    weather(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_survive_what_happens_around_three_brokers() {
    weather(3).await;
}

/// Not a test: the other tests start this program again with this name, as a worker.
#[test]
fn worker_process() {
    if let Some(setup) = worker::Setup::from_environment() {
        worker::run(&setup);
    }
}
