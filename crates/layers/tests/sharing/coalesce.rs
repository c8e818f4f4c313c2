//! Identical calls in flight.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{FutureExt as _, StreamExt as _};
use switchboard_core::{
    Call, Layer as _, Outcome, Reply, ReplyFuture, Router, Service, StreamWanted, service_fn,
};
use switchboard_layers::coalesce::Coalesce;
use switchboard_transport::memory;
use tokio::time::Instant;

use crate::upstream::{Upstream, call, error, shown, value};

fn private() -> Coalesce {
    Coalesce::new(["get".parse().unwrap(), "read/*".parse().unwrap()])
}

fn rig(coalesce: &Coalesce) -> (Arc<dyn Service>, Upstream) {
    let upstream = Upstream::default();
    (coalesce.layer(Arc::new(upstream.clone())), upstream)
}

async fn all(replies: Vec<ReplyFuture>) -> Vec<String> {
    join_all(replies).await.iter().map(shown).collect()
}

#[tokio::test]
async fn identical_calls_in_flight_are_one_and_later_ones_are_not() {
    let (service, upstream) = rig(&private());
    let get = || service.call(&call("ann", "get", r#"{"a":1,"b":2}"#));
    let same = service.call(&call("ann", "get", r#"{"b": 2, "a": 1}"#));
    let replies = vec![get(), same, get()];
    assert_eq!(upstream.count(), 1);
    assert!(upstream.answer(0, value("7").with_metadata("x", "y").with_status(203)));
    let replies = join_all(replies).await;
    for reply in &replies {
        let extra = reply.extra.as_ref().unwrap();
        assert_eq!(
            (shown(reply), extra.metadata.text("x"), extra.status),
            ("7".into(), Some("y"), Some(203))
        );
    }
    let later = get();
    assert!(upstream.answer(1, value("8")));
    assert_eq!(shown(&later.await), "8");
}

#[tokio::test]
async fn errors_are_shared() {
    let (service, upstream) = rig(&private());
    let replies = (0..3).map(|_| service.call(&call("ann", "read/x", "[]"))).collect();
    assert!(upstream.answer(0, error(-31_000)));
    assert_eq!(all(replies).await, ["-31000"; 3]);
    assert_eq!(upstream.count(), 1);
}

#[tokio::test]
async fn other_callers_params_and_methods_make_their_own_calls() {
    let (service, upstream) = rig(&private());
    let calls = [
        call("ann", "get", "[1]"),
        call("bob", "get", "[1]"),
        call("ann", "get", "[1.0]"),
        call("ann", "read/get", "[1]"),
        call("ann", "put", "[1]"),
        call("ann", "put", "[1]"),
        // Nobody knows whether these are the same caller.
        call("", "get", "[1]"),
        call("", "get", "[1]"),
    ];
    let replies = calls.iter().map(|call| service.call(call)).collect();
    assert_eq!(upstream.count(), calls.len());
    for number in 0..calls.len() {
        assert!(upstream.answer(number, value(&number.to_string())));
    }
    assert_eq!(all(replies).await, ["0", "1", "2", "3", "4", "5", "6", "7"]);
}

#[tokio::test]
async fn shared_methods_answer_everybody_alike() {
    let (service, upstream) = rig(&private().shared());
    let replies = ["ann", "bob", ""].map(|who| service.call(&call(who, "get", "[1]")));
    assert!(upstream.answer(0, value("1")));
    assert_eq!((all(replies.into()).await, upstream.count()), (vec!["1".to_owned(); 3], 1));
}

#[tokio::test]
async fn the_call_is_cancelled_with_its_last_caller() {
    let (service, upstream) = rig(&private());
    let get = || service.call(&call("ann", "get", "[]"));
    // Whoever leaves first, the others get the answer.
    for leaver in 0..3 {
        let number = upstream.count();
        let mut replies = vec![get(), get(), get()];
        drop(replies.remove(leaver));
        tokio::task::yield_now().await;
        assert!(upstream.answer(number, value("1")));
        assert_eq!(all(replies).await, ["1", "1"]);
    }
    let replies = vec![get(), get()];
    drop(replies);
    upstream.cancelled(3).await;
    // Who comes then makes a new call.
    let reply = get();
    assert!(upstream.answer(4, value("2")));
    assert_eq!(shown(&reply.await), "2");
}

#[tokio::test(start_paused = true)]
async fn each_caller_has_its_own_deadline() {
    let upstream = Upstream::default();
    let peer = memory::connect(
        private().shared().layer(Arc::new(upstream.clone())),
        Router::builder().build().unwrap(),
    );
    let hasty = peer.call::<u64>("get", ()).timeout(Duration::from_secs(1)).into_future();
    let patient = peer.call::<u64>("get", ()).timeout(Duration::from_secs(20)).into_future();
    let answers = async {
        while upstream.count() == 0 {
            tokio::task::yield_now().await;
        }
        // The call knows no deadline, because it has several.
        assert_eq!(upstream.call_made(0).cx.deadline, None);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(upstream.answer(0, value("1")));
    };
    let began = Instant::now();
    let (hasty, patient, ()) = tokio::join!(hasty, patient, answers);
    assert!(hasty.is_err());
    assert_eq!((patient.unwrap(), upstream.count()), (1, 1));
    assert!(began.elapsed() < Duration::from_secs(6));
}

#[tokio::test]
async fn a_stream_is_not_shared() {
    let (service, upstream) = rig(&private());
    let replies: Vec<_> = (0..3).map(|_| service.call(&call("ann", "get", "[]"))).collect();
    let stream = || Reply::stream(futures_util::stream::iter([1, 2]));
    assert!(upstream.answer(0, stream()));
    let replies = async {
        let mut count = 0;
        for reply in join_all(replies).await {
            let Outcome::Stream(items) = reply.outcome else { panic!("{reply:?}") };
            count += items.count().await;
        }
        count
    };
    let answers = async {
        for number in 1..3 {
            while upstream.count() <= number {
                tokio::task::yield_now().await;
            }
            assert!(upstream.answer(number, stream()));
        }
    };
    assert_eq!(tokio::join!(replies, answers).0, 6);
    // Callers that ask for one do not wait for each other.
    let mut wanting = call("ann", "get", "[]");
    wanting.cx.insert(StreamWanted);
    let _both = (service.call(&wanting), service.call(&wanting));
    assert_eq!(upstream.count(), 5);
}

#[tokio::test]
async fn notifications_pass() {
    let (service, upstream) = rig(&private().shared());
    let _both = [(); 2].map(|()| service.call(&Call::notification("get", None)));
    assert_eq!(upstream.count(), 2);
}

#[tokio::test]
async fn what_is_ready_is_answered_at_once() {
    let inner = service_fn(|_: &Call| ReplyFuture::ready(value("1")));
    let service = private().layer(Arc::new(inner));
    let reply = service.call(&call("ann", "get", "[]")).into_ready().unwrap();
    assert_eq!(shown(&reply), "1");
}

#[tokio::test]
async fn a_panic_answers_all_who_wait() {
    let inner = service_fn(|_: &Call| ReplyFuture::pending(async { panic!("as planned") }));
    let service = private().layer(Arc::new(inner));
    let replies = (0..2).map(|_| service.call(&call("ann", "get", "[]"))).collect();
    assert_eq!(all(replies).await, ["-32603"; 2]);
    // The next call is made again.
    assert!(service.call(&call("ann", "get", "[]")).now_or_never().is_none());
}

#[tokio::test]
async fn entries_of_a_batch_are_coalesced() {
    let upstream = Upstream::default();
    let service = private().shared().layer(Arc::new(upstream.clone()));
    let peer = memory::connect(service, Router::builder().build().unwrap());
    let mut batch = peer.batch();
    let calls: Vec<_> = (0..3).map(|_| batch.add(peer.call::<u64>("get", ()))).collect();
    let answer = async {
        while upstream.count() == 0 {
            tokio::task::yield_now().await;
        }
        assert!(upstream.answer(0, value("5")));
    };
    let (outcomes, ()) = tokio::join!(batch.send(), answer);
    let outcomes = outcomes.unwrap();
    assert!(calls.into_iter().all(|call| call.read(&outcomes).unwrap() == 5));
    assert_eq!(upstream.count(), 1);
}
