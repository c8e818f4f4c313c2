//! Calls through all gateways, as clients make them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use switchboard::{CallError, Dial, Peer};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::MissedTickBehavior;

use crate::exit::Exit;
use crate::failure::Failure;

/// How long a call may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many calls are in flight at most.
const MOST: usize = 1000;

/// Calls that go on until this is stopped or dropped.
pub(super) struct Traffic {
    counts: Arc<Counting>,
    calling: JoinHandle<()>,
    stop: tokio::sync::watch::Sender<bool>,
}

#[derive(Default)]
struct Counting {
    done: AtomicU64,
    failed: AtomicU64,
    /// Calls that another gateway answered.
    moved: AtomicU64,
}

/// How many calls there were.
pub(super) struct Counts {
    done: u64,
    failed: u64,
    moved: u64,
}

impl Traffic {
    /// Calls the gateways at these URLs in turn, so many times a second.
    pub(super) fn start(urls: &[String], rate: u32) -> Result<Traffic, Failure> {
        let dials = urls.iter().map(|url| Dial::new(url)).collect::<Result<Vec<_>, _>>();
        let dials = dials.map_err(|error| Failure::new(Exit::Unreachable, error.to_string()))?;
        let counts = Arc::<Counting>::default();
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let calling = tokio::spawn(call(dials, rate, Arc::clone(&counts), stopped));
        Ok(Traffic { counts, calling, stop })
    }

    pub(super) fn counts(&self) -> Counts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            done: read(&self.counts.done),
            failed: read(&self.counts.failed),
            moved: read(&self.counts.moved),
        }
    }

    /// Makes no more calls, and waits for those in flight.
    pub(super) async fn stop(mut self) -> Counts {
        self.stop.send_replace(true);
        let _ = (&mut self.calling).await;
        self.counts()
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.calling.abort();
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls answered, {} failed", self.done, self.failed)?;
        match self.moved {
            0 => f.write_str("."),
            moved => write!(f, "; {moved} went to another gateway."),
        }
    }
}

async fn call(
    dials: Vec<Dial>,
    rate: u32,
    counts: Arc<Counting>,
    mut stopped: tokio::sync::watch::Receiver<bool>,
) {
    let peers = join_all(dials.into_iter().map(Dial::connect)).await;
    let peers: Arc<[Peer]> = peers.into_iter().filter_map(Result::ok).collect();
    if rate == 0 || peers.is_empty() {
        return;
    }
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / rate);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut calls = JoinSet::new();
    for number in 0_usize.. {
        tokio::select! {
            biased;
            _ = stopped.changed() => break,
            _ = ticks.tick() => {}
        }
        while calls.try_join_next().is_some() {}
        if calls.len() < MOST {
            let (peers, counts) = (Arc::clone(&peers), Arc::clone(&counts));
            calls.spawn(async move { call_one(&peers, number, &counts).await });
        }
    }
    while calls.join_next().await.is_some() {}
}

/// Makes one call; if its gateway is gone, through the next one, as the method is safe.
async fn call_one(peers: &[Peer], number: usize, counts: &Counting) {
    for attempt in 0..peers.len() {
        let peer = &peers[(number + attempt) % peers.len()];
        let calling = tokio::time::timeout(PATIENCE, peer.call::<usize>("math/add", [number, 1]));
        let answer = calling.await.unwrap_or(Err(CallError::TimedOut));
        let is_gone = matches!(&answer, Err(error) if error.rejection().is_none());
        if is_gone && attempt + 1 < peers.len() {
            continue;
        }
        let is_right = answer.is_ok_and(|sum| sum == number + 1);
        let count = if is_right { &counts.done } else { &counts.failed };
        count.fetch_add(1, Ordering::Relaxed);
        counts.moved.fetch_add(u64::from(is_right && attempt > 0), Ordering::Relaxed);
        return;
    }
}
