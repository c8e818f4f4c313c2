//! How often callers may call: alone, in a batch, as a notification, over HTTP, and how much a check costs.
#![cfg(feature = "rate")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::{CallError, Code, Context, ErrorObject, Origin, Router};
use switchboard_layers::Clock;
use switchboard_layers::audit::Audit;
use switchboard_layers::identity::{Identity, Proof};
use switchboard_layers::rate::{RateBy, RateExceeded, RateLimits, RateRule};
use switchboard_layers::store::{MemoryStore, Store, StoreLimits};
use switchboard_transport::http::HttpServer;
use switchboard_transport::memory;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

fn rule(rate: &str) -> RateRule {
    RateRule::new(rate.parse().unwrap())
}

fn from(address: &str) -> Context {
    let address: SocketAddr = address.parse().unwrap();
    Context::new(Origin::new("tcp").with_address(address))
}

fn named(name: &str, address: &str) -> Context {
    let mut cx = from(address);
    Identity::new(name, Proof::Token).attach(&mut cx);
    cx
}

/// How many calls of a method pass at once.
fn passing(limits: &RateLimits, cx: &Context, method: &str) -> usize {
    (0..1000).take_while(|_| limits.charge(cx, method).is_ok()).count()
}

#[tokio::test(start_paused = true)]
async fn callers_count_by_name_and_strangers_by_network() {
    let limits = RateLimits::new([rule("5/s")]);
    assert_eq!(passing(&limits, &named("alice", "192.0.2.1:1"), "a"), 5);
    assert_eq!(passing(&limits, &named("alice", "192.0.2.2:1"), "b"), 0);
    assert_eq!(passing(&limits, &named("bob", "192.0.2.1:1"), "a"), 5);
    assert_eq!(passing(&limits, &from("192.0.2.1:1"), "a"), 5);
    assert_eq!(passing(&limits, &from("192.0.2.1:9"), "a"), 0);
    assert_eq!(passing(&limits, &from("[::ffff:192.0.2.1]:9"), "a"), 0);
    assert_eq!(passing(&limits, &from("[2001:db8::1]:1"), "a"), 5);
    assert_eq!(passing(&limits, &from("[2001:db8::2]:1"), "a"), 0, "a /64 is one caller");
    assert_eq!(passing(&limits, &Context::default(), "a"), 5);
    tokio::time::advance(Duration::from_millis(400)).await;
    assert_eq!(passing(&limits, &named("alice", "192.0.2.1:1"), "a"), 2);
}

#[tokio::test(start_paused = true)]
async fn every_matching_rule_counts_in_any_order() {
    let rules = || {
        [
            rule("100/h").by(RateBy::All),
            rule("20/h").by(RateBy::Address),
            rule("10/h").for_methods(["search/*".parse().unwrap()]),
            rule("3/h").for_callers(["user:bob".parse().unwrap(), "role:guest".parse().unwrap()]),
        ]
    };
    let reversed = rules().into_iter().rev();
    for limits in [RateLimits::new(rules()), RateLimits::new(reversed)] {
        let limits = limits.with_roles("carol", ["guest"]);
        assert_eq!(passing(&limits, &named("bob", "192.0.2.1:1"), "a"), 3);
        assert_eq!(passing(&limits, &named("carol", "192.0.2.2:1"), "a"), 3);
        assert_eq!(passing(&limits, &named("alice", "192.0.2.3:1"), "search/x"), 10);
        // Refused calls were charged nowhere: 20 for the address are still there, less 10.
        assert_eq!(passing(&limits, &named("alice", "192.0.2.3:1"), "a"), 10);
        assert_eq!(passing(&limits, &from("192.0.2.4:1"), "a"), 20);
        let left = 100 - 3 - 3 - 10 - 10 - 20;
        let others = (5..20).map(|number| passing(&limits, &from(&format!("192.0.2.{number}:1")), "a"));
        assert_eq!(others.sum::<usize>(), left);
    }
}

#[tokio::test(start_paused = true)]
async fn methods_have_weights_and_the_longest_wait_is_told() {
    let limits = RateLimits::new([
        rule("60/m")
            .with_weight("heavy/**".parse().unwrap(), 20)
            .with_weight("heavy/free".parse().unwrap(), 0),
        rule("1/h").for_methods(["heavy/rare".parse().unwrap()]).named("rare"),
    ]);
    let cx = from("192.0.2.1:1");
    assert_eq!(passing(&limits, &cx, "heavy/x"), 3);
    // Several weights match; the highest counts.
    assert_eq!(limits.charge(&cx, "heavy/free"), Err(exceeded(&limits, &cx, 0, 20)));
    tokio::time::advance(Duration::from_secs(20)).await;
    assert_eq!(limits.charge(&cx, "heavy/rare"), Ok(()));
    assert_eq!(limits.charge(&cx, "heavy/rare"), Err(exceeded(&limits, &cx, 1, 3600)));
}

/// The refusal by this rule, to be compared with another.
fn exceeded(limits: &RateLimits, cx: &Context, rule: usize, seconds: u64) -> RateExceeded {
    let method = if rule == 0 { "heavy/x" } else { "heavy/rare" };
    let exceeded = limits.charge(cx, method).unwrap_err();
    assert_eq!((exceeded.rule, exceeded.wait), (rule, Duration::from_secs(seconds)));
    exceeded
}

fn router() -> Router {
    Router::builder().method("ping", |(): (), _| Ok::<_, ErrorObject>("pong")).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_entry_of_a_batch_and_each_notification_is_charged() {
    let peer = memory::connect(router().layered(RateLimits::new([rule("4/m")])), router());
    peer.notify("ping", ()).await.unwrap();
    let mut batch = peer.batch();
    let calls: Vec<_> = (0..5).map(|_| batch.add(peer.call::<Value>("ping", ()))).collect();
    let outcomes = batch.send().await.unwrap();
    let codes: Vec<_> = calls
        .into_iter()
        .map(|call| match call.read(&outcomes) {
            Ok(_) => 0,
            Err(CallError::Rejected(error)) => {
                let data: Value = error.data.as_ref().unwrap().decode().unwrap();
                assert_eq!((&data["limit"], &data["retryAfterMs"]), (&json!("rate"), &json!(15_000)));
                error.code.0
            }
            Err(error) => panic!("{error:?}"),
        })
        .collect();
    // SEC-L-21.
    let over = Code::OVER_LIMIT.0;
    assert_eq!(codes, [0, 0, 0, over, over]);
}

#[tokio::test]
async fn over_http_a_single_request_gets_429_and_a_batch_200() {
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().to_string();
    tokio::spawn(server.serve(router().layered(RateLimits::new([rule("1/h")]))));
    let ping = r#"{"jsonrpc":"2.0","method":"ping","id":1}"#;
    assert!(ask(&address, ping).await.starts_with("HTTP/1.1 200 "));
    let refused = ask(&address, ping).await;
    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
    assert!(refused.contains("\r\nretry-after: 3") && refused.contains(r#""code":-32005"#), "{refused}");
    let batch = ask(&address, &format!("[{ping}]")).await;
    assert!(batch.starts_with("HTTP/1.1 200 ") && batch.contains(r#""retryAfterMs":3"#), "{batch}");
}

/// What a server answers to a POST, as text.
async fn ask(address: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "POST / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Two servers with the same limits that share a store: how many of twenty calls each of them answers.
async fn answered(store: &Arc<dyn Store>, clock: &Clock, rules: &[RateRule]) -> [usize; 2] {
    let mut counts = [0; 2];
    for count in &mut counts {
        let limits = RateLimits::new(rules.iter().cloned()).with_store(Arc::clone(store));
        let peer = memory::connect(router().layered(limits.with_clock(clock.clone())), router());
        for _ in 0..20 {
            match peer.call::<Value>("ping", ()).await {
                Ok(_) => *count += 1,
                Err(CallError::Rejected(error)) => assert_eq!(error.code, Code::OVER_LIMIT),
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    counts
}

/// What servers that share a store promise together.
async fn check_sharing(store: Arc<dyn Store>, clock: Clock) {
    let rules = [rule("5/m").by(RateBy::All)];
    assert_eq!(answered(&store, &clock, &rules).await, [5, 0]);
    // A window is over after as long as it takes to regain the burst.
    clock.advance(Duration::from_secs(60));
    assert_eq!(answered(&store, &clock, &rules).await, [5, 0]);
    let other = [rule("7/m").by(RateBy::All)];
    assert_eq!(answered(&store, &clock, &other).await, [7, 0], "another limit");
    let heavy = [rule("7/h").with_weight("ping".parse().unwrap(), 3)];
    assert_eq!(answered(&store, &clock, &heavy).await, [2, 0]);
}

#[tokio::test]
async fn servers_that_share_a_store_in_memory_share_their_limits() {
    let clock = Clock::manual(1_000_000);
    check_sharing(Arc::new(MemoryStore::with_clock(StoreLimits::default(), clock.clone())), clock).await;
}

#[cfg(feature = "store-file")]
#[tokio::test(flavor = "multi_thread")]
async fn servers_that_share_a_file_share_their_limits() {
    use switchboard_layers::store::FileStore;
    let path = std::env::temp_dir().join(format!("switchboard-rates-{}", std::process::id()));
    let clock = Clock::manual(1_000_000);
    let store = FileStore::open_with(&path, StoreLimits::default(), clock.clone()).unwrap();
    check_sharing(Arc::new(store), clock).await;
    std::fs::remove_file(&path).unwrap();
}

#[tokio::test]
async fn each_server_alone_keeps_its_limits_while_the_store_is_full() {
    let clock = Clock::manual(1_000_000);
    let full = StoreLimits::default().with_entries(0);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::with_clock(full, clock.clone()));
    let rules = [rule("5/m")];
    assert_eq!(answered(&store, &clock, &rules).await, [5, 5]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_by_the_store_tells_the_wait_and_is_not_charged_here() {
    let clock = Clock::manual(1_000_000);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::with_clock(StoreLimits::default(), clock.clone()));
    let rules = [rule("5/m").by(RateBy::All)];
    assert_eq!(answered(&store, &clock, &rules).await, [5, 0]);
    let limits = RateLimits::new(rules).with_store(store).with_clock(clock.clone());
    let peer = memory::connect(router().layered(limits.clone()), router());
    let Err(CallError::Rejected(error)) = peer.call::<Value>("ping", ()).await else { panic!() };
    let data: Value = error.data.as_ref().unwrap().decode().unwrap();
    let wait = data["retryAfterMs"].as_u64().unwrap();
    assert!((1..=60_000).contains(&wait), "{wait}");
    assert_eq!(passing(&limits, &Context::default(), "ping"), 5, "nothing was charged in memory");
    clock.advance(Duration::from_millis(wait));
    tokio::time::advance(Duration::from_secs(60)).await;
    peer.call::<Value>("ping", ()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_copy_with_another_log_shares_the_counters() {
    let limits = RateLimits::new([RateRule::new("2/m".parse().unwrap())]);
    let copy = limits.clone().with_audit(Audit::default());
    let cx = Context::default();
    assert!(limits.charge(&cx, "m").is_ok() && copy.charge(&cx, "m").is_ok());
    assert!(limits.charge(&cx, "m").is_err() && copy.charge(&cx, "m").is_err());
}
