//! Copies of calls for a second upstream, and faults on purpose.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_core::{Call, CallError, Code, Layer, Outcome, Reply, ReplyFuture, Service, service_fn};
use switchboard_gateway::{Attempts, Breaker, CallLimits, Fault, Hedge, Mirror, Node, Pool, Retry};
use tokio::time::Instant;

use crate::fakes::{Fake, Mood, call, code, error, name};

const MS: Duration = Duration::from_millis(1);

fn mirrored(first: &Fake, mirror: &Mirror) -> Arc<dyn Service> {
    mirror.layer(Arc::new(first.clone()))
}

/// Lets tasks that are ready run.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_mirror_gets_copies_and_never_delays_the_caller() {
    let (first, second) = (Fake::new("first"), Fake::that("second", Mood::Hangs));
    let mirror = Mirror::new(Arc::new(second.clone()), 1.0);
    let service = mirrored(&first, &mirror);
    let begun = Instant::now();
    for _ in 0..100 {
        assert_eq!(name(&service.call(&call()).await), "first");
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    // A mirror that hangs gets only so many; the rest is left out, not queued.
    assert_eq!(second.take_asked(), 64);
    assert_eq!(mirror.counts().left_out.load(Ordering::Relaxed), 36);
    drop(service.call(&Call::notification("m", None)).await);
    assert_eq!((first.take_asked(), second.take_asked()), (101, 0));
    // It does not hang for good.
    tokio::time::advance(Duration::from_secs(31)).await;
    settle().await;
    assert_eq!((mirror.counts().timed_out.load(Ordering::Relaxed), second.cancelled()), (64, 64));
    assert_eq!(name(&service.call(&call()).await), "first");
    assert_eq!(second.take_asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn answers_of_a_mirror_are_compared() {
    let (first, second) = (Fake::new("same"), Fake::new("same"));
    let mirror = Mirror::new(Arc::new(second.clone()), 1.0).with_diff();
    let service = mirrored(&first, &mirror);
    let counts = || {
        let counts = mirror.counts();
        (counts.same.load(Ordering::Relaxed), counts.different.load(Ordering::Relaxed))
    };
    drop(service.call(&call()).await);
    settle().await;
    assert_eq!(counts(), (1, 0));
    second.set(Mood::Fails(Code::INVALID_PARAMS));
    drop(service.call(&call()).await);
    settle().await;
    assert_eq!(counts(), (1, 1));
    // Errors are compared by their codes.
    first.set(Mood::Fails(Code::INVALID_PARAMS));
    drop(service.call(&call()).await);
    settle().await;
    assert_eq!(counts(), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_mirror_gets_its_share_of_the_calls() {
    let (first, second) = (Fake::new("first"), Fake::new("second"));
    let none = mirrored(&first, &Mirror::new(Arc::new(second.clone()), 0.0));
    let half = mirrored(&first, &Mirror::new(Arc::new(second.clone()), 0.5));
    for _ in 0..1000 {
        drop(none.call(&call()).await);
    }
    assert_eq!(second.take_asked(), 0);
    for _ in 0..1000 {
        drop(half.call(&call()).await);
        settle().await;
    }
    let copies = second.take_asked();
    assert!((400..=600).contains(&copies), "{copies} of 1000 calls were copied");
}

#[tokio::test(start_paused = true)]
async fn faults_delay_refuse_and_cut_calls() {
    let server = Fake::new("server");
    let faulty = |fault: Fault| fault.layer(Arc::new(server.clone()));
    let slow = faulty(Fault::default().with_delay(Some(50 * MS)));
    let begun = Instant::now();
    assert_eq!(name(&slow.call(&call()).await), "server");
    assert_eq!((begun.elapsed(), server.take_asked()), (50 * MS, 1));
    let failing = faulty(Fault::default().with_error(Some(Code(-32050))));
    assert_eq!(code(&failing.call(&call()).await), Code(-32050));
    assert_eq!(server.take_asked(), 0, "the upstream is spared");
    let cut = faulty(Fault::default().with_cut(true)).call(&call()).await;
    assert!(matches!(error(&cut).unwrap().local(), Some(CallError::Closed(_))));
    assert_eq!(server.take_asked(), 1, "the call ran, its answer was lost");
    let rare = faulty(Fault::default().with_error(Some(Code(-32050))).with_traffic(0.0));
    assert_eq!(name(&rare.call(&call()).await), "server");
}

#[tokio::test(start_paused = true)]
async fn a_stream_passes_every_layer() {
    let count =
        service_fn(|_: &Call| ReplyFuture::ready(Reply::stream(futures_util::stream::iter([1, 2, 3]))));
    let pool = Pool::builder("u").node(Node::new("one", count)).build();
    let attempts = Attempts::new(pool.clone(), Retry::default(), Some(Hedge::After(MS)), |_| true);
    let limits = CallLimits::default().with_time(Some(50 * MS)).with_reply(Some(1));
    let mirror = Mirror::new(Arc::new(Fake::new("second")), 1.0).with_diff();
    let layers: [&dyn Layer; 4] = [&Breaker::default(), &Fault::default(), &limits, &mirror];
    let service = layers
        .into_iter()
        .fold(Arc::new(attempts) as Arc<dyn Service>, |service, layer| layer.layer(service));
    let reply = service.call(&call()).await;
    let Outcome::Stream(items) = reply.outcome else { panic!("{reply:?}") };
    let items: Vec<i64> = items.map(|item| item.unwrap().decode::<i64>().unwrap()).collect().await;
    assert_eq!(items, [1, 2, 3]);
    assert!(pool.nodes().all(|(_, node, _)| node.in_flight() == 0));
}
