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
use switchboard_layers::store::{MemoryStore, StoreLimits};
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

/// Servers that share a store, and a time that passes for all of them.
struct Fleet {
    servers: Vec<RateLimits>,
    store: Arc<MemoryStore>,
    clock: Clock,
}

impl Fleet {
    fn new(size: usize, rules: &[RateRule], limits: StoreLimits) -> Fleet {
        let clock = Clock::manual(1_000_000);
        let store = Arc::new(MemoryStore::with_clock(limits, clock.clone()));
        let server = |_| {
            let limits = RateLimits::new(rules.iter().cloned()).with_store(store.clone());
            limits.with_clock(clock.clone())
        };
        Fleet { servers: (0..size).map(server).collect(), store, clock }
    }

    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        tokio::time::sleep_until(tokio::time::Instant::now() + time).await;
    }

    /// How many calls pass at each server at once.
    fn passing(&self) -> Vec<usize> {
        self.servers.iter().map(|limits| passing(limits, &Context::default(), "m")).collect()
    }
}

/// Longer than it takes to tell the store.
const TOLD: Duration = Duration::from_millis(250);

/// At a constant load that is higher than allowed: how much more passed than one server lets pass, at most.
async fn overshoot(size: usize, seconds: u64) -> f64 {
    let fleet = Fleet::new(size, &[rule("100/s").with_burst(50).by(RateBy::All)], StoreLimits::default());
    let (mut passed, mut most) = (0.0, 0.0_f64);
    for step in 0..seconds * 200 {
        let calls = fleet.servers.iter().filter(|limits| limits.charge(&Context::default(), "m").is_ok());
        passed += calls.count() as f64;
        // 100 a second, in steps of 5 ms.
        most = most.max(passed - 50.0 - step as f64 * 0.5);
        fleet.pass(Duration::from_millis(5)).await;
    }
    assert!(passed > seconds as f64 * 100.0 * 0.95, "{passed} in {seconds} s");
    most
}

#[tokio::test(start_paused = true)]
async fn servers_that_share_a_store_keep_the_rate_together() {
    assert!(overshoot(1, 20).await <= 0.5);
    // Each server receives 200 calls a second, and learns of the others after 240 ms at most.
    for size in [2, 5] {
        let most = overshoot(size, 60).await;
        let stated = size as f64 * 200.0 * 0.24;
        assert!(most <= stated, "{size} servers: {most} above the limit, and {stated} are stated");
    }
}

#[tokio::test(start_paused = true)]
async fn what_passed_too_early_is_owed() {
    let fleet = Fleet::new(2, &[rule("6/m").by(RateBy::All)], StoreLimits::default());
    assert_eq!(fleet.passing(), [6, 6], "they have not heard of each other");
    let mut passed = 12;
    for _ in 0..600 {
        fleet.pass(Duration::from_secs(1)).await;
        passed += fleet.passing().iter().sum::<usize>();
    }
    // The burst, 6 a minute, and at most one more that a server let pass before it heard of the last of the other.
    assert!((65..=67).contains(&passed), "{passed}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_from_server_to_server_gains_nothing() {
    let fleet = Fleet::new(3, &[rule("60/m")], StoreLimits::default());
    let [bob, eve] = ["bob", "eve"].map(|name| named(name, "192.0.2.1:1"));
    assert_eq!(passing(&fleet.servers[0], &bob, "m"), 60);
    fleet.pass(TOLD).await;
    for server in &fleet.servers[1..] {
        // Enough to be told, and then refused.
        (0..5).for_each(|_| server.charge(&bob, "m").unwrap());
        fleet.pass(TOLD).await;
        assert_eq!(passing(server, &bob, "m"), 0);
        assert!(passing(server, &eve, "m") > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_far_from_its_limit_costs_the_store_nothing() {
    let fleet = Fleet::new(1, &[rule("1600/m")], StoreLimits::default());
    let bob = named("bob", "192.0.2.1:1");
    (0..100).for_each(|_| fleet.servers[0].charge(&bob, "m").unwrap());
    fleet.pass(TOLD).await;
    assert!(fleet.store.is_empty());
    fleet.servers[0].charge(&bob, "m").unwrap();
    fleet.pass(TOLD).await;
    assert_eq!(fleet.store.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_server_alone_keeps_its_limits_while_the_store_fails() {
    let full = StoreLimits::default().with_entries(0);
    let fleet = Fleet::new(2, &[rule("5/m")], full);
    assert_eq!(fleet.passing(), [5, 5]);
    fleet.pass(TOLD).await;
    assert!(fleet.servers.iter().all(|limits| limits.store_failures() == 1));
    fleet.pass(Duration::from_secs(12)).await;
    assert_eq!(fleet.passing(), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn many_callers_at_once_are_told_in_turns_and_the_closest_to_their_limits_first() {
    let fleet = Fleet::new(1, &[rule("10/h")], StoreLimits::default());
    let limits = &fleet.servers[0];
    for number in 0..1000 {
        limits.charge(&named(&format!("caller {number}"), "192.0.2.1:1"), "m").unwrap();
    }
    let bob = named("bob", "192.0.2.1:1");
    assert_eq!(passing(limits, &bob, "m"), 10);
    fleet.pass(TOLD).await;
    assert_eq!(fleet.store.len(), 256);
    let other = RateLimits::new([rule("10/h")]).with_store(fleet.store.clone());
    let other = other.with_clock(fleet.clock.clone());
    other.charge(&bob, "m").unwrap();
    fleet.pass(TOLD).await;
    assert_eq!(passing(&other, &bob, "m"), 0, "bob was among the first");
    for _ in 0..3 {
        fleet.pass(TOLD).await;
    }
    assert_eq!(fleet.store.len(), 1001);
}

#[tokio::test(start_paused = true)]
async fn a_copy_with_another_log_shares_the_counters() {
    let limits = RateLimits::new([RateRule::new("2/m".parse().unwrap())]);
    let copy = limits.clone().with_audit(Audit::default());
    let cx = Context::default();
    assert!(limits.charge(&cx, "m").is_ok() && copy.charge(&cx, "m").is_ok());
    assert!(limits.charge(&cx, "m").is_err() && copy.charge(&cx, "m").is_err());
}
