//! A reconnecting peer over connections that are cut at random bytes: one outcome a call, nothing twice that may not be.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_core::reconnect::ReconnectingPeer;
use switchboard_core::{CallError, Context, ErrorObject, Json, Method, Peer, Router, Settings};
use switchboard_tests::proxy::{Fault, Faults, seed};
use tokio::task::JoinSet;

use crate::halves::reconnecting;
use crate::rig::{Running, within};

/// How often each argument was run, and how many handlers and streams live.
#[derive(Clone, Default)]
struct Book {
    runs: Arc<Mutex<HashMap<u64, u32>>>,
    alive: Arc<AtomicUsize>,
    next: Arc<AtomicU64>,
    gaps: Arc<AtomicUsize>,
}

struct Living(Arc<AtomicUsize>);

impl Drop for Living {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Book {
    fn run(&self, argument: u64) -> Living {
        *self.runs.lock().unwrap().entry(argument).or_default() += 1;
        self.live()
    }

    fn live(&self) -> Living {
        self.alive.fetch_add(1, Ordering::SeqCst);
        Living(Arc::clone(&self.alive))
    }

    fn argument(&self) -> u64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    fn runs_of(&self, argument: u64) -> u32 {
        self.runs.lock().unwrap().get(&argument).copied().unwrap_or_default()
    }

    fn methods(&self) -> Router {
        let (work, note, count) = (self.clone(), self.clone(), self.clone());
        Router::builder()
            .add(Method::future("work", move |(argument,): (u64,), _: Context| {
                let living = work.run(argument);
                async move {
                    for _ in 0..argument % 9 {
                        tokio::task::yield_now().await;
                    }
                    drop(living);
                    Ok::<_, ErrorObject>(argument)
                }
            }))
            .add(Method::sync("note", move |(argument,): (u64,), _| {
                note.run(argument);
                Ok::<_, ErrorObject>(())
            }))
            .add(Method::stream("count", move |_: Json, _| {
                let pace = tokio::time::interval(Duration::from_millis(1));
                futures_util::stream::unfold(
                    (0_u64, pace, count.live()),
                    async |(number, mut pace, living)| {
                        pace.tick().await;
                        Some((number, (number + 1, pace, living)))
                    },
                )
            }))
            .build()
            .unwrap()
    }
}

/// Does one random thing, and checks what came of it. Gives the argument of a notification.
async fn act(peer: &Peer, book: &Book, random: &mut fastrand::Rng) -> Option<u64> {
    let argument = book.argument();
    match random.u8(0..4) {
        0 => match peer.call::<u64>("work", [argument]).await {
            Ok(answer) => assert_eq!((answer, book.runs_of(argument)), (argument, 1)),
            Err(CallError::Closed(_)) => assert!(book.runs_of(argument) <= 1),
            Err(other) => panic!("{other:?}"),
        },
        1 => assert_eq!(peer.call("work", [argument]).repeatable().await, Ok(argument)),
        2 => {
            let sent = peer.notify("note", [argument]).await;
            assert!(matches!(sent, Ok(()) | Err(CallError::Closed(_))), "{sent:?}");
            return Some(argument);
        }
        _ => {
            let Ok(mut items) = peer.stream::<u64>("count", ()).repeatable().await else { return None };
            let mut expected = 0;
            for _ in 0..random.usize(0..40) {
                match items.next().await {
                    // In order, and from the start after each gap.
                    Some(Ok(number)) => assert_eq!(number, std::mem::replace(&mut expected, number + 1)),
                    Some(Err(CallError::Gap(_))) => {
                        book.gaps.fetch_add(1, Ordering::SeqCst);
                        expected = 0;
                    }
                    // This reader was too slow, which ends a stream whatever the connection does.
                    Some(Err(CallError::Busy(_))) => break,
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    None
}

async fn load(client: &ReconnectingPeer, book: &Book, random: &mut fastrand::Rng) -> Vec<u64> {
    let mut tasks = JoinSet::new();
    for _ in 0..6 {
        let (peer, book, mut random) = (client.peer(), book.clone(), random.fork());
        tasks.spawn(async move {
            let mut noted = Vec::new();
            for _ in 0..50 {
                noted.extend(act(&peer, &book, &mut random).await);
            }
            noted
        });
    }
    within(tasks.join_all()).await.concat()
}

async fn check(url: &'static str) {
    let mut random = fastrand::Rng::with_seed(seed());
    let book = Book::default();
    let calls = Arc::default();
    let server = Running::serve(url, book.methods(), Settings::default(), calls).await;
    let cuts = Mutex::new(random.fork());
    let proxy = server.behind(move |_| {
        let mut random = cuts.lock().unwrap();
        // Enough for a handshake, most of the time.
        let (up, down) = (random.u64(0..3_000), random.u64(0..12_000));
        // The whole connection ends, or one direction and then the other by what the two sides make of it.
        let end = if random.bool() { Fault::Cut } else { Fault::HalfClose };
        if random.bool() {
            Faults { up: end(up), down: Fault::None }
        } else {
            Faults { up: Fault::None, down: end(down) }
        }
    });
    let proxy = proxy.await;
    let through = server.through(&proxy);
    let client = reconnecting(through);
    let noted = load(&client, &book, &mut random).await;
    assert!(format!("{client:?}").contains("waiting: 0"), "{client:?}");
    drop(client);
    within(async {
        while book.alive.load(Ordering::SeqCst) > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(noted.iter().all(|argument| book.runs_of(*argument) <= 1), "a notification came twice");
    let gaps = book.gaps.load(Ordering::SeqCst);
    println!("{url}: {} connections, {gaps} gaps", proxy.connections());
    assert!(proxy.connections() > 3, "it was cut only {} times", proxy.connections());
    assert!(gaps > 0, "no stream came back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_has_one_outcome_over_tcp() {
    check("tcp://127.0.0.1:0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_has_one_outcome_over_a_websocket() {
    check("ws://127.0.0.1:0").await;
}
