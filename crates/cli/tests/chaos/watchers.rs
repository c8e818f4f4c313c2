//! Subscribers: they read items until they are told to stop, and subscribe again when a subscription ends.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use switchboard::CallError;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::MS;
use super::fleet::{Fleet, Way};
use super::history::{History, Seen, Watched};

const WATCHERS: u64 = 6;

/// A worker that was lost is noticed after 15 s, and a gateway may be paused for 25 s at any time.
const SILENCE: Duration = Duration::from_secs(70);

/// How many items are read of one subscription.
const ITEMS: usize = 2000;

pub(crate) fn start(
    fleet: &Fleet,
    history: &History,
    seed: u64,
    stop: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let mut watchers = JoinSet::new();
    for number in 0..WATCHERS {
        let way = Arc::clone(&fleet.ways[number as usize % fleet.ways.len()]);
        let (history, mut stop) = (history.clone(), stop.clone());
        let mut random = fastrand::Rng::with_seed(seed ^ (number << 48));
        watchers.spawn(async move {
            while !*stop.borrow() {
                let secret = format!("ticks-{number}-{:x}", random.u64(..));
                let mut watched = Watched { secret, seen: Vec::new() };
                tokio::select! {
                    () = read(&way, &mut watched) => {}
                    _ = stop.wait_for(|stop| *stop) => {}
                }
                history.watched(watched);
                tokio::time::sleep_until(Instant::now() + random.u32(5..50) * MS).await;
            }
        });
    }
    watchers
}

/// Reads a subscription to its end, or a part of it.
async fn read(way: &Way, watched: &mut Watched) {
    let Ok(peer) = way.own().await else { return };
    let opening = peer.stream::<(String, u64)>("ticks", (watched.secret.clone(),));
    let mut items = match timeout(SILENCE, opening).await {
        Ok(Ok(items)) => items,
        Ok(Err(error)) => return watched.seen.push(Seen::End(error.to_string())),
        Err(_) => return watched.seen.push(Seen::Silence),
    };
    for _ in 0..ITEMS {
        let seen = match timeout(SILENCE, items.next()).await {
            Ok(Some(Ok((secret, number)))) => Seen::Item(secret, number),
            Ok(Some(Err(CallError::Gap(gap)))) => Seen::Gap(gap.lost),
            Ok(Some(Err(error))) => return watched.seen.push(Seen::End(error.to_string())),
            Ok(None) => return watched.seen.push(Seen::End("the end".to_owned())),
            Err(_) => return watched.seen.push(Seen::Silence),
        };
        watched.seen.push(seen);
    }
}
