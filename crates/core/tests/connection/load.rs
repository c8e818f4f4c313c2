//! Many peers that drop, cancel and reconnect at random, and leave nothing behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_core::{
    CloseReason, Context, ErrorObject, Json, Limits, Method, Peer, Router, RouterBuilder,
};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::rig::{echo, ends};

/// Counts what is alive: a handler or a stream holds one clone for as long as it lives.
#[derive(Clone)]
struct Alive(Arc<AtomicUsize>);

struct Token(Arc<AtomicUsize>);

impl Alive {
    fn token(&self) -> Token {
        self.0.fetch_add(1, Ordering::SeqCst);
        Token(Arc::clone(&self.0))
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn methods(alive: &Alive) -> RouterBuilder {
    let (work, never, count) = (alive.clone(), alive.clone(), alive.clone());
    Router::builder()
        .add(echo())
        .add(Method::future("work", move |(steps,): (u32,), cx: Context| {
            let token = work.token();
            async move {
                for step in 0..steps {
                    tokio::task::yield_now().await;
                    if step % 7 == 3 {
                        let _ = cx.peer().call::<Json>("echo", [step]).await;
                    }
                }
                drop(token);
                Ok::<_, ErrorObject>(steps)
            }
        }))
        .add(Method::future("never", move |_: Json, _: Context| {
            let token = never.token();
            async move {
                std::future::pending::<()>().await;
                drop(token);
                Ok::<_, ErrorObject>(())
            }
        }))
        .add(Method::stream("count", move |_: Json, _: Context| {
            let token = count.token();
            futures_util::stream::iter(0_u64..).map(move |n| {
                let _token = &token;
                n
            })
        }))
}

/// One random thing that a client may do.
async fn act(peer: &Peer, random: &mut fastrand::Rng) {
    let patience = Duration::from_micros(random.u64(0..300));
    match random.u8(0..6) {
        0 => {
            let _ = peer.call::<Json>("work", [random.u32(0..20)]).await;
        }
        1 => {
            let _ = peer.call::<Json>("work", [random.u32(0..500)]).timeout(patience).await;
        }
        2 => {
            let _ = peer.call::<Json>("never", ()).timeout(patience).await;
        }
        3 => {
            let _ = peer.notify("work", [random.u32(0..5)]).await;
        }
        4 => {
            let calls = (0..random.usize(1..10)).map(|n| n as u32 * 3);
            let batch = calls.fold(peer.batch(), |batch, n| batch.call("work", [n]));
            let _ = tokio::time::timeout(patience * 4, batch.send()).await;
        }
        _ => {
            if let Ok(items) = peer.stream::<u64>("count", ()).await {
                let _: Vec<_> = items.take(random.usize(0..50)).collect().await;
            }
        }
    }
}

/// One client that connects, acts, and leaves in one way or another.
async fn session(alive: Alive, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let limits = Limits::default()
        .with_in_flight(random.usize(1..20))
        .with_outbox(random.usize(2_000..200_000))
        .with_batch_concurrency(random.usize(1..5))
        .with_items(10_000)
        // Notifications of both ends that call back can wait for each other; only this ends that.
        .with_call_time(Duration::from_millis(300))
        .with_drain_time(Duration::from_millis(200));
    let (client, server) = ends(methods(&alive), methods(&alive), limits);
    let mut tasks = JoinSet::new();
    for seed in 0..random.u64(1..5) {
        let peers = [client.peer.clone(), server.peer.clone()];
        let mut random = random.fork();
        tasks.spawn(async move {
            for _ in 0..random.usize(1..15) {
                act(&peers[(seed % 2) as usize], &mut random).await;
            }
        });
    }
    match random.u8(0..4) {
        0 => client.task.abort(),
        1 => server.session.close(CloseReason::shutting_down()),
        2 => {
            while tasks.join_next().await.is_some() {}
            server.task.abort();
        }
        _ => {
            while tasks.join_next().await.is_some() {}
            client.session.close(CloseReason::shutting_down());
        }
    }
    while tasks.join_next().await.is_some() {}
    drop((client.peer, server.peer));
    let _ = client.task.await;
    let _ = server.task.await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_after_random_drops_cancels_and_reconnects() {
    let seed =
        std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    let alive = Alive(Arc::default());
    let before = Handle::current().metrics().num_alive_tasks();
    let mut sessions = JoinSet::new();
    for n in 0..300 {
        sessions.spawn(session(alive.clone(), seed.wrapping_add(n)));
        if sessions.len() >= 16 {
            sessions.join_next().await.unwrap().unwrap();
        }
    }
    while let Some(ended) = sessions.join_next().await {
        ended.unwrap();
    }
    // Aborted tasks end when they are next polled; nothing else may be left.
    let settled = async {
        while Handle::current().metrics().num_alive_tasks() > before || alive.0.load(Ordering::SeqCst) > 0 {
            tokio::task::yield_now().await;
        }
    };
    let settled = tokio::time::timeout(Duration::from_secs(20), settled).await;
    let (tasks, handlers) = (Handle::current().metrics().num_alive_tasks(), alive.0.load(Ordering::SeqCst));
    assert!(settled.is_ok(), "{} tasks and {handlers} handlers are left", tasks - before);
}
