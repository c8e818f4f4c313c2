//! Health checks.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use switchboard_core::{
    Call, CallError, Code, Json, Layer as _, Peer, Reply, ReplyFuture, Service, service_fn,
};
use switchboard_gateway::{Health, Node, Pool, PoolBuilder, Probe, Skipped};
use switchboard_layers::merge::Merge;

use crate::fakes::{Fake, answers, call, code, share};

const SECOND: Duration = Duration::from_secs(1);

/// What a check of a node says: its height, or why it is down. None: it does not return.
type Said = Arc<Mutex<Option<Result<String, String>>>>;

struct Script(Said);

impl Probe for Script {
    fn probe(&self) -> Pin<Box<dyn Future<Output = Result<Option<Json>, String>> + Send>> {
        let said = self.0.lock().unwrap().clone();
        Box::pin(async move {
            match said {
                Some(result) => result.map(|text| Some(Json::parse(text).unwrap())),
                None => std::future::pending().await,
            }
        })
    }
}

fn scripted(fake: &Fake, first: &str) -> (Node, Said) {
    let said = Arc::new(Mutex::new(Some(Ok(first.to_owned()))));
    (fake.node().with_probe(Script(Arc::clone(&said))), said)
}

fn every_second() -> Health {
    let mut health = Health::default();
    (health.every, health.timeout) = (SECOND, SECOND / 2);
    health
}

/// Lets checks of some seconds pass.
async fn pass(seconds: u32) {
    for _ in 0..seconds {
        tokio::time::advance(SECOND).await;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
}

fn skipped(pool: &Pool, name: &str) -> Option<Skipped> {
    pool.nodes().find(|(node, ..)| *node == name).and_then(|(_, _, skipped)| skipped)
}

#[tokio::test(start_paused = true)]
async fn a_node_is_down_after_three_failed_checks_and_up_after_two_good_ones() {
    let (one, two) = (Fake::new("one"), Fake::new("two"));
    let (node, said) = scripted(&one, "true");
    let pool = Pool::builder("u").node(node).node(two.node()).health(every_second()).build();
    pass(1).await;
    *said.lock().unwrap() = Some(Err("disk full".to_owned()));
    pass(2).await;
    assert_eq!(skipped(&pool, "one"), None, "two failed checks are not enough");
    pass(1).await;
    assert_eq!(skipped(&pool, "one"), Some(Skipped::Down("disk full".into())));
    assert_eq!(share(&answers(&pool, 20).await, "two"), 20);
    *said.lock().unwrap() = Some(Ok("true".to_owned()));
    pass(1).await;
    assert!(skipped(&pool, "one").is_some(), "one good check is not enough");
    pass(1).await;
    assert_eq!(skipped(&pool, "one"), None);
    pass(10).await;
    assert!(share(&answers(&pool, 40).await, "one") > 0);
}

#[tokio::test(start_paused = true)]
async fn a_check_without_an_answer_fails() {
    let one = Fake::new("one");
    let (node, said) = scripted(&one, "true");
    let pool = Pool::builder("u").node(node).health(every_second()).build();
    *said.lock().unwrap() = None;
    // A check that hangs takes half a second more.
    pass(10).await;
    let Some(Skipped::Down(reason)) = skipped(&pool, "one") else { panic!("it is up") };
    assert!(reason.contains("no answer"), "{reason}");
    assert_eq!(code(&pool.call(&call()).await), Code::UPSTREAM_FAILED);
    assert_eq!(one.take_asked(), 0, "calls must not wait for a node that is down");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_lags_gets_no_calls_until_it_has_caught_up() {
    let fakes = ["one", "two", "three"].map(Fake::new);
    let heights = ["\"0x64\"", "100", "{\"wrong\":true}"];
    let (nodes, said): (Vec<_>, Vec<_>) =
        fakes.iter().zip(heights).map(|(fake, height)| scripted(fake, height)).unzip();
    let mut health = every_second();
    health.max_lag = Some(3);
    let pool = nodes.into_iter().fold(Pool::builder("u"), PoolBuilder::node);
    let pool = pool.health(health).build();
    pass(3).await;
    assert_eq!(skipped(&pool, "one"), None);
    assert!(matches!(skipped(&pool, "three"), Some(Skipped::Down(_))), "its check has no number");
    *said[1].lock().unwrap() = Some(Ok("104".to_owned()));
    pass(1).await;
    assert_eq!(skipped(&pool, "one"), Some(Skipped::Lagging(4)));
    assert_eq!(share(&answers(&pool, 20).await, "two"), 20);
    *said[0].lock().unwrap() = Some(Ok("\"0x65\"".to_owned()));
    pass(1).await;
    assert_eq!(skipped(&pool, "one"), None);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_lags_is_better_than_none() {
    let (one, two) = (Fake::new("one"), Fake::new("two"));
    let ((old, _), (new, said)) = (scripted(&one, "1"), scripted(&two, "100"));
    let mut health = every_second();
    health.max_lag = Some(3);
    let pool = Pool::builder("u").node(old).node(new).health(health).build();
    pass(1).await;
    assert_eq!(share(&answers(&pool, 10).await, "two"), 10);
    *said.lock().unwrap() = Some(Err("gone".to_owned()));
    pass(3).await;
    assert_eq!(share(&answers(&pool, 10).await, "one"), 10);
}

#[tokio::test(start_paused = true)]
async fn merged_streams_leave_a_node_that_goes_down_or_falls_behind() {
    let server = |name: &'static str| {
        let items = move || stream::iter([name]).chain(stream::pending());
        service_fn(move |_: &Call| ReplyFuture::ready(Reply::stream(items())))
    };
    for fault in [Ok("1".to_owned()), Err("no answer".to_owned())] {
        let said = [(); 2].map(|()| Said::new(Mutex::new(Some(Ok("10".to_owned())))));
        let nodes = ["one", "two"].into_iter().zip(&said).zip(1..);
        let mut health = every_second();
        health.max_lag = Some(2);
        let pool = nodes.fold(Pool::builder("u").health(health), |pool, ((name, said), priority)| {
            let node = Node::new(name, server(name)).with_probe(Script(Arc::clone(said)));
            pool.node(node.with_priority(priority))
        });
        let merge = Merge::new("**".parse().ok()).shared();
        let merged = Peer::local(merge.layer(Arc::new(pool.build())));
        let mut items = merged.stream::<String>("m", ()).await.unwrap();
        assert_eq!(items.next().await, Some(Ok("one".to_owned())));
        *said[0].lock().unwrap() = Some(fault);
        assert!(matches!(items.next().await, Some(Err(CallError::Gap(_)))));
        assert_eq!(items.next().await, Some(Ok("two".to_owned())));
    }
}
