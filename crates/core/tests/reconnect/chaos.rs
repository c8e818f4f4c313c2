//! Connections cut at random moments under load: every call has one outcome, and nothing is left.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_core::reconnect::ReconnectingPeer;
use switchboard_core::{CallError, Context, ErrorObject, Json, Method, Peer, Router, RouterBuilder};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::rig::{Server, at_once};

/// How often each argument was run, and how many handlers and streams live.
#[derive(Clone, Default)]
struct Book {
    runs: Arc<Mutex<HashMap<u64, u32>>>,
    alive: Arc<AtomicUsize>,
    next: Arc<AtomicU64>,
    answered: Arc<AtomicUsize>,
}

impl Book {
    fn run(&self, argument: u64) {
        *self.runs.lock().unwrap().entry(argument).or_default() += 1;
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
}

struct Living(Arc<AtomicUsize>);

impl Drop for Living {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn methods(book: &Book) -> RouterBuilder {
    let (work, note, count) = (book.clone(), book.clone(), book.clone());
    Router::builder()
        .add(Method::future("work", move |(argument,): (u64,), _: Context| {
            work.run(argument);
            let living = work.live();
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
            let living = count.live();
            futures_util::stream::iter(0_u64..).map(move |n| {
                let _living = &living;
                n
            })
        }))
}

/// Does one random thing, and checks what came of it.
async fn act(peer: &Peer, book: &Book, random: &mut fastrand::Rng) {
    let argument = book.argument();
    match random.u8(0..5) {
        0 => match peer.call::<u64>("work", [argument]).await {
            Ok(answer) => assert_eq!((answer, book.runs_of(argument)), (argument, 1)),
            Err(CallError::Closed(_)) => assert!(book.runs_of(argument) <= 1),
            Err(other) => panic!("{other}"),
        },
        1 => assert_eq!(peer.call("work", [argument]).repeatable().await, Ok(argument)),
        2 => {
            let sent = peer.notify("note", [argument]).await;
            assert!(matches!(sent, Ok(()) | Err(CallError::Closed(_))), "{sent:?}");
        }
        3 => {
            let (first, second) = (argument, book.argument());
            let batch = peer.batch().call("work", [first]).repeatable().call("work", [second]);
            let outcomes = batch.send().await.unwrap();
            assert_eq!(outcomes[0].as_ref().unwrap().to_string(), first.to_string());
            assert!(matches!(outcomes[1], Ok(_) | Err(CallError::Closed(_))), "{outcomes:?}");
            assert!(book.runs_of(second) <= 1);
        }
        _ => {
            let Ok(mut items) = peer.stream::<u64>("count", ()).repeatable().await else { return };
            let mut expected = 0;
            for _ in 0..random.usize(0..200) {
                match items.next().await {
                    // In order, and from the start after each gap.
                    Some(Ok(n)) => assert_eq!(n, std::mem::replace(&mut expected, n + 1)),
                    Some(Err(CallError::Gap(_))) => expected = 0,
                    // This reader was too slow, which ends a stream whatever the connection does.
                    Some(Err(CallError::Unread(_))) => break,
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    book.answered.fetch_add(1, Ordering::SeqCst);
}

async fn load(client: &ReconnectingPeer, book: &Book, mut random: fastrand::Rng) {
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (peer, book, mut random) = (client.peer(), book.clone(), random.fork());
        tasks.spawn(async move {
            for _ in 0..150 {
                act(&peer, &book, &mut random).await;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_has_one_outcome_and_what_is_not_repeatable_runs_at_most_once() {
    let seed =
        std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let before = Handle::current().metrics().num_alive_tasks();
    let book = Book::default();
    let (server, _) = Server::new(methods(&book));
    let mut options = at_once();
    options.backoff.longest = Duration::from_millis(1);
    let client = server.client(options);
    let is_over = Arc::new(AtomicBool::new(false));
    let cutting = {
        let (server, is_over, mut random) = (server.clone(), Arc::clone(&is_over), random.fork());
        tokio::spawn(async move {
            while !is_over.load(Ordering::SeqCst) {
                for _ in 0..random.usize(0..400) {
                    tokio::task::yield_now().await;
                }
                server.cut();
            }
        })
    };
    load(&client, &book, random).await;
    is_over.store(true, Ordering::SeqCst);
    cutting.await.unwrap();
    println!("{} acts over {} connections", book.answered.load(Ordering::SeqCst), server.dialled());
    assert!(server.dialled() > 5, "the connection was cut only {} times", server.dialled());
    assert!(format!("{client:?}").contains("waiting: 0"), "{client:?}");
    drop(client);
    let settled = async {
        while Handle::current().metrics().num_alive_tasks() > before || book.alive.load(Ordering::SeqCst) > 0
        {
            tokio::task::yield_now().await;
        }
    };
    let settled = tokio::time::timeout(Duration::from_secs(20), settled).await;
    let tasks = Handle::current().metrics().num_alive_tasks() - before;
    assert!(settled.is_ok(), "{tasks} tasks and {} handlers are left", book.alive.load(Ordering::SeqCst));
}
