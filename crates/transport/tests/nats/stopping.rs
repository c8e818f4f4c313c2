//! Workers that stop, and that lose nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use switchboard_core::{Code, ErrorObject, Limits, Method, Settings};
use switchboard_transport::server::ServerOptions;
use tokio::task::JoinHandle;

use super::{Broker, Worker, connect, router, within};

/// A worker, and how many calls it has executed.
struct Counting {
    worker: Worker,
    ran: Arc<AtomicU64>,
}

impl Counting {
    async fn start(broker: &Broker) -> Counting {
        let ran = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&ran);
        let router = router().method("work", move |(number,): (u64,), _| {
            count.fetch_add(1, SeqCst);
            Ok::<_, ErrorObject>(number)
        });
        Counting { worker: Worker::start(broker, router.build().unwrap()).await, ran }
    }

    fn ran(&self) -> u64 {
        self.ran.load(SeqCst)
    }

    /// Waits until it has executed more calls.
    async fn executes(&self, more: u64) {
        let called = self.ran();
        while self.ran() < called + more {
            tokio::task::yield_now().await;
        }
    }
}

/// Callers that make calls, each of which has to be answered, until they are told to stop.
struct Load {
    is_over: Arc<AtomicBool>,
    callers: Vec<JoinHandle<u64>>,
}

impl Load {
    async fn start(broker: &Broker) -> Load {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut callers = Vec::new();
        for _ in 0..4 {
            let (is_over, peer) = (Arc::clone(&is_over), connect(broker).await);
            callers.push(tokio::spawn(async move {
                let mut answered = 0;
                while !is_over.load(SeqCst) {
                    let calls = (0..16_u64).map(|number| {
                        let call = peer.call::<u64>("work", [number]).into_future();
                        async move { (number, call.await) }
                    });
                    for (number, reply) in join_all(calls).await {
                        assert_eq!(reply.unwrap(), number, "it comes back to its caller");
                        answered += 1;
                    }
                }
                answered
            }));
        }
        Load { is_over, callers }
    }

    /// Stops. How many calls were answered: all of them.
    async fn stop(self) -> u64 {
        self.is_over.store(true, SeqCst);
        within(join_all(self.callers)).await.into_iter().map(Result::unwrap).sum()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_come_and_go_under_load_and_no_call_is_lost() {
    let broker = Broker::start(&[]);
    let first = Counting::start(&broker).await;
    let load = Load::start(&broker).await;
    let mut ran = 0;
    for _ in 0..10 {
        let other = Counting::start(&broker).await;
        other.executes(500).await;
        other.worker.stop().await;
        ran += other.ran.load(SeqCst);
    }
    assert_eq!(load.stop().await, ran + first.ran(), "each call ran once");
    first.worker.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_has_reconnected_loses_no_call_either_when_it_stops() {
    let mut broker = Broker::start(&[]);
    let first = Counting::start(&broker).await;
    for _ in 0..5 {
        let other = Counting::start(&broker).await;
        // What it has received over the connection that is lost must not count.
        let load = Load::start(&broker).await;
        within(other.executes(500)).await;
        load.stop().await;
        broker.kill();
        broker.restart();
        let (before, peer) = ((first.ran(), other.ran()), connect(&broker).await);
        let both_serve = async {
            while first.ran() == before.0 || other.ran() == before.1 {
                // Nobody serves until they have reconnected.
                let reply = peer.call::<u64>("work", [1]).await;
                assert!(reply.map_or_else(|error| error.is_unsent(), |number| number == 1));
            }
        };
        within(both_serve).await;
        let before = first.ran() + other.ran();
        let load = Load::start(&broker).await;
        within(other.executes(500)).await;
        other.worker.stop().await;
        within(first.executes(100)).await;
        assert_eq!(load.stop().await, first.ran() + other.ran.load(SeqCst) - before, "each call ran once");
    }
    first.worker.stop().await;
}

#[tokio::test]
async fn a_worker_stops_while_its_broker_is_gone() {
    let mut broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let peer = connect(&broker).await;
    let slow = tokio::spawn(peer.call::<u64>("slow", [60_000]).into_future());
    within(peer.call::<u64>("slow", [200])).await.unwrap();
    broker.kill();
    within(slow).await.unwrap().unwrap_err();
    worker.stop().await;
}

#[tokio::test]
async fn a_worker_that_stops_finishes_its_calls() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let peer = connect(&broker).await;
    let slow = tokio::spawn(peer.call::<u64>("slow", [700]).into_future());
    within(peer.call::<u64>("slow", [200])).await.unwrap();
    worker.stop().await;
    assert_eq!(within(slow).await.unwrap().unwrap(), 700);
    let unheard = peer.call::<i64>("math/add", [1, 2]).timeout(Duration::from_secs(10));
    assert!(within(unheard).await.unwrap_err().is_unsent());
}

#[tokio::test]
async fn a_worker_that_stops_ends_its_streams_and_in_the_end_its_calls() {
    let broker = Broker::start(&[]);
    let endless = Method::stream("endless", |(): (), _| stream::iter([1]).chain(stream::pending::<u64>()));
    let never = router().add(endless).async_method("never", |(): (), _| async {
        std::future::pending::<()>().await;
        Ok::<_, ErrorObject>(())
    });
    let limits = Limits::default().with_drain_time(Duration::from_millis(300));
    let settings = Settings::default().with_limits(limits);
    let worker =
        Worker::start_with(&broker, never.build().unwrap(), settings, ServerOptions::default()).await;
    let peer = connect(&broker).await;
    let mut items = within(peer.stream::<u64>("endless", ())).await.unwrap();
    assert_eq!(within(items.next()).await.unwrap().unwrap(), 1);
    let never = tokio::spawn(peer.call::<()>("never", ()).into_future());
    // It is accepted when a call that was sent later and takes longer is answered.
    within(peer.call::<u64>("slow", [200])).await.unwrap();
    worker.stop().await;
    let ended = within(items.next()).await.unwrap().unwrap_err();
    assert_eq!(ended.rejection().map(|error| error.code), Some(Code::SHUTTING_DOWN), "{ended:?}");
    let ended = within(never).await.unwrap().unwrap_err();
    assert_eq!(ended.rejection().map(|error| error.code), Some(Code::SHUTTING_DOWN), "{ended:?}");
    assert!(!ended.rejection().unwrap().is_refused_at_shutdown(), "it may have run: {ended:?}");
}
