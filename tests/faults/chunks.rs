//! Bytes that come in pieces, twice or in another order.

use std::time::Duration;

use futures_util::future::join_all;
use switchboard_core::{CallError, Peer, Settings};
use switchboard_tests::proxy::{Fault, Faults, seed};

use crate::rig::{PLAIN, Running, SECURE, connect, within};

/// Calls that are under way at once.
const AT_ONCE: u32 = 12;
const ROUNDS: u32 = 4;
/// More than an answer takes that comes.
const LONG: Duration = Duration::from_secs(20);
/// For calls of which some are never answered.
const SHORT: Duration = Duration::from_millis(100);

/// What became of many calls.
#[derive(Debug, Default)]
struct Tally {
    answered: usize,
    failed: usize,
    /// How many got the answer to another.
    mixed: usize,
}

/// Makes many calls over one connection, of which each knows its answer.
async fn load(peer: &Peer) -> Tally {
    let mut tally = Tally::default();
    for round in 0..ROUNDS {
        let calls = (0..AT_ONCE).map(|number| {
            let mine = format!("{round}/{number}");
            let method = if number % 2 == 0 { "echo" } else { "later" };
            async move {
                // Each is a chunk of its own.
                for _ in 0..3 * number {
                    tokio::task::yield_now().await;
                }
                (peer.call::<Vec<String>>(method, [&mine]).await, mine)
            }
        });
        for (outcome, mine) in within(join_all(calls)).await {
            match outcome {
                Ok(answer) if answer == [mine.clone()] => tally.answered += 1,
                Ok(_) => tally.mixed += 1,
                Err(_) => tally.failed += 1,
            }
        }
        if tally.answered == 0 {
            break;
        }
    }
    tally
}

/// Has a link that works do this to its bytes, and makes calls over it. Gives what became of them, and how many chunks came
/// twice and changed places.
async fn check(url: &'static str, faults: Faults, time: Duration) -> (Tally, (u64, u64)) {
    let server = Running::start(url, Settings::default()).await;
    let proxy = server.behind(move |_| faults).await;
    let peer = connect(&server.through(&proxy)).await.unwrap().with_timeout(LONG);
    let before = within(peer.call::<[u8; 1]>("echo", [1]).into_future()).await;
    assert_eq!(before, Ok([1]), "{url}: the link works");
    proxy.let_loose();
    let tally = load(&peer.with_timeout(time)).await;
    assert!(server.answers().await, "{url}: the server goes on after {faults:?}");
    println!("{url}: {faults:?}: {tally:?}, {:?} chunks came twice and changed places", proxy.shuffled());
    (tally, proxy.shuffled())
}

/// The fault upwards, downwards and both ways.
fn directions(mut fault: impl FnMut() -> Fault) -> [Faults; 3] {
    let none = Fault::None;
    [
        Faults { up: fault(), down: none },
        Faults { up: none, down: fault() },
        Faults { up: fault(), down: fault() },
    ]
}

#[tokio::test]
async fn messages_may_come_in_any_pieces() {
    let mut random = fastrand::Rng::with_seed(seed());
    for url in PLAIN.into_iter().chain(SECURE) {
        for faults in directions(|| Fault::Crumbs(random.u64(..))) {
            let (tally, _) = check(url, faults, LONG).await;
            assert_eq!(tally.answered, (ROUNDS * AT_ONCE) as usize, "{url}: {faults:?}: {tally:?}");
        }
    }
}

#[tokio::test]
async fn no_call_gets_the_answer_to_another_when_messages_come_twice_or_in_another_order() {
    let mut random = fastrand::Rng::with_seed(seed());
    for url in PLAIN {
        let mut all = (0, 0);
        for kind in [Fault::Duplicate, Fault::Reorder] {
            for faults in directions(|| kind(random.u64(..))) {
                let (tally, (doubled, swapped)) = check(url, faults, SHORT).await;
                assert_eq!(tally.mixed, 0, "{url}: {faults:?}: {tally:?}");
                all = (all.0 + doubled, all.1 + swapped);
            }
        }
        // A connection of HTTP carries one request at a time: there is nothing to change places with.
        let has_order = !url.starts_with("http");
        assert!(
            all.0 > 0 && (all.1 > 0 || !has_order),
            "{url}: nothing came twice, or all in its order: {all:?}"
        );
    }
}

/// Where nothing guards the bytes, two messages can be spliced into a third that is in order; no program can tell. What
/// can be asked for is that nothing hangs and the server goes on.
#[tokio::test]
async fn bytes_that_are_scrambled_end_in_a_failure_and_the_server_goes_on() {
    let mut random = fastrand::Rng::with_seed(seed());
    for url in PLAIN {
        let mut all = 0;
        for faults in directions(|| Fault::Scramble(random.u64(..))) {
            let (_, (doubled, swapped)) = check(url, faults, SHORT).await;
            all += doubled + swapped;
        }
        assert!(all > 0, "{url}: nothing was scrambled");
    }
}

#[tokio::test]
async fn with_tls_nothing_that_was_scrambled_is_taken_for_an_answer() {
    let mut random = fastrand::Rng::with_seed(seed());
    for url in SECURE {
        for kind in [Fault::Duplicate, Fault::Reorder, Fault::Scramble] {
            for faults in directions(|| kind(random.u64(..))) {
                let (tally, _) = check(url, faults, SHORT).await;
                assert_eq!(tally.mixed, 0, "{url}: {faults:?}: {tally:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_call_whose_connection_stalls_ends_with_its_time() {
    for url in PLAIN {
        let server = Running::start(url, Settings::default()).await;
        let whole = server.behind(|_| Faults::default()).await;
        let peer = connect(&server.through(&whole)).await.unwrap();
        within(peer.call::<[u8; 1]>("echo", [1]).into_future()).await.unwrap();
        let (up, _) = whole.passed();
        // The connection is made, the last byte of the call never comes.
        let faults = Faults { up: Fault::Stall(up - 1), down: Fault::None };
        let proxy = server.behind(move |_| faults).await;
        let peer = connect(&server.through(&proxy)).await.unwrap();
        let peer = peer.with_timeout(Duration::from_millis(50));
        let outcome = within(peer.call::<[u8; 1]>("echo", [1]).into_future()).await;
        assert_eq!(outcome, Err(CallError::TimedOut), "{url}");
        assert!(server.answers().await, "{url}");
    }
}
