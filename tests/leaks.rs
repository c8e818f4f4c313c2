//! Connections that come and go leave nothing: no task, no descriptor, no memory.
//!
//! A cycle connects, subscribes, hears an item and disconnects, in the middle of the stream. There are few cycles in a
//! debug build and 10^5 in an optimised one, over real sockets too (fewer for event streams, which are WebSocket's
//! cousins over the same server); `CYCLES` in the environment sets how many.

#![allow(clippy::unwrap_used, clippy::print_stdout)]
#![cfg(target_os = "linux")]

#[path = "support/broker.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod broker;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_core::{Connection, Engine, Json, Method, Origin, Peer, Router, Service, Settings};
use switchboard_transport::server::{Server, ServerOptions};
use switchboard_transport::{connect, memory, running};
use tokio::runtime::Handle;

use self::broker::Broker;

/// How much the memory of the process may grow after warming up, in bytes. With 10^5 cycles that is less than the smallest
/// allocation a cycle, and far more than what an allocator keeps for itself: a few pages were seen.
const GROWTH: usize = 1 << 20;
/// Nothing here takes that long; it only tells a hang from a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Streams of the server that live.
static ALIVE: AtomicUsize = AtomicUsize::new(0);

struct Living;

impl Living {
    fn new() -> Living {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        Living
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A method whose stream has one item and then none for ever.
fn router() -> Router {
    let ticks = Method::stream("ticks", |_: Json, _| {
        let living = Living::new();
        futures_util::stream::iter([1_u8]).chain(futures_util::stream::pending()).map(move |item| {
            let _living = &living;
            item
        })
    });
    Router::builder().add(ticks).build().unwrap()
}

/// How many cycles there are.
fn cycles(debug: usize, optimised: usize) -> usize {
    let given = std::env::var("CYCLES").ok().map(|cycles| cycles.parse().expect("CYCLES is a number"));
    given.unwrap_or(if cfg!(debug_assertions) { debug } else { optimised })
}

/// What the process holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    descriptors: usize,
    tasks: usize,
    bytes: usize,
}

impl Held {
    fn now() -> Held {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: usize = pages.split(' ').nth(1).unwrap().parse().unwrap();
        Held {
            descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count(),
            tasks: Handle::current().metrics().num_alive_tasks(),
            bytes: pages * 4096,
        }
    }

    /// What is held once as little is left as there was before, or all that is still left after a while.
    async fn settled(before: Held) -> Held {
        let settled = async {
            loop {
                let now = Held::now();
                let is_over = ALIVE.load(Ordering::SeqCst) == 0;
                if is_over && now.tasks <= before.tasks && now.descriptors <= before.descriptors {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, settled).await;
        Held::now()
    }
}

/// Uses a connection and drops it in the middle of a stream.
async fn use_once(peer: Peer) {
    let mut ticks = peer.stream::<u8>("ticks", ()).await.unwrap();
    assert_eq!(ticks.next().await, Some(Ok(1)));
}

async fn check(name: &str, cycles: usize, cycle: impl AsyncFn()) {
    let idle = Held::now();
    for _ in 0..cycles.div_ceil(10) {
        cycle().await;
    }
    let warm = Held::settled(idle).await;
    for _ in 0..cycles {
        cycle().await;
    }
    let after = Held::settled(idle).await;
    println!("{name}: {cycles} cycles; idle {idle:?}, warm {warm:?}, after {after:?}");
    assert_eq!(ALIVE.load(Ordering::SeqCst), 0, "{name}: streams are left");
    assert!(after.tasks <= idle.tasks, "{name}: tasks are left");
    assert!(after.descriptors <= idle.descriptors, "{name}: descriptors are left");
    assert!(after.bytes <= warm.bytes + GROWTH, "{name}: memory has grown");
}

#[tokio::test]
async fn nothing_is_left_of_connections_in_memory() {
    let service: Arc<dyn Service> = Arc::new(router());
    let nothing: Arc<dyn Service> = Arc::new(Router::builder().build().unwrap());
    let settings = Arc::new(Settings::default());
    check("memory", cycles(2_000, 100_000), async || {
        let (here, there) = memory::pair(1 << 10);
        let serve = |(source, sink), service| {
            let engine = Engine::new(service, Arc::clone(&settings));
            Connection::new(source, sink, engine, Origin::new("memory")).1
        };
        tokio::spawn(serve(there, Arc::clone(&service)));
        use_once(running::run(serve(here, Arc::clone(&nothing)))).await;
    })
    .await;
}

async fn check_at(url: &str, cycles: usize) {
    check_beside(url, cycles, 1).await;
}

/// The same where a server that nobody calls has so many tasks.
async fn check_beside(url: &str, cycles: usize, tasks: usize) {
    let options = ServerOptions::default().with_connections(1 << 14);
    let mut server = Server::new(router()).with_options(options);
    server.listen(url).await.unwrap();
    let url = server.urls().next().unwrap();
    let (handle, serving) = (server.handle(), tokio::spawn(server.serve()));
    // What is made once: the runtime's own, and the server's.
    use_once(connect(&url).await.unwrap()).await;
    while ALIVE.load(Ordering::SeqCst) > 0 || Handle::current().metrics().num_alive_tasks() > tasks {
        tokio::task::yield_now().await;
    }
    check(&url, cycles, async || use_once(connect(&url).await.unwrap()).await).await;
    handle.shutdown();
    tokio::time::timeout(PATIENCE, serving).await.expect("nothing is left to wait for").unwrap();
}

#[tokio::test]
async fn nothing_is_left_of_connections_over_tcp() {
    check_at("tcp://127.0.0.1:0", cycles(300, 100_000)).await;
}

#[tokio::test]
async fn nothing_is_left_of_websockets() {
    check_at("ws://127.0.0.1:0", cycles(300, 100_000)).await;
}

#[tokio::test]
async fn nothing_is_left_of_connections_over_a_unix_socket() {
    let name = format!("switchboard-leaks-{}.sock", std::process::id());
    check_at(&format!("unix:{}", std::env::temp_dir().join(name).display()), cycles(300, 100_000)).await;
}

#[tokio::test]
async fn nothing_is_left_of_event_streams() {
    check_at("http://127.0.0.1:0", cycles(300, 20_000)).await;
}

#[tokio::test]
async fn nothing_is_left_of_connections_to_a_broker() {
    let broker = Broker::start(&[]);
    // The server, its connection and what describes it, and three of its client: for events, messages and answers.
    check_beside(&format!("{}/leaks", broker.url()), cycles(100, 5_000), 6).await;
}
