//! Copies of calls for a second upstream, and faults on purpose.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use switchboard_core::{Call, CallError, Code, Layer, Service};
use switchboard_gateway::{Fault, Mirror};
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
