//! What the audit log says, and what it never says.
#![cfg(feature = "access")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::{CallError, ErrorObject, Peer, Router};
use switchboard_layers::access::{Access, Rule};
use switchboard_layers::audit::{Audit, AuditEvent, AuditKind};
use switchboard_layers::identity::{Authentication, Tokens};
use switchboard_transport::memory;

const TOKEN: &str = "2f9c1b7e55a04d13";
const LONG: Duration = Duration::from_secs(20);

/// An audit log, and a function that reads the lines so far.
fn audited() -> (Audit, impl Fn() -> Vec<String>) {
    let (lines, received): (_, Receiver<String>) = mpsc::channel();
    let audit = Audit::to_fn(move |line| lines.send(line.to_owned()).unwrap()).unwrap();
    let flushed = audit.clone();
    let read = move || {
        flushed.flush(LONG);
        received.try_iter().collect()
    };
    (audit, read)
}

fn guarded(audit: &Audit) -> Peer {
    let router = Router::builder()
        .method("echo", |(value,): (Value,), _| Ok::<_, ErrorObject>(value))
        .build()
        .unwrap();
    let rules = Access::new([
        Rule::allow(["echo".parse().unwrap()], ["authenticated".parse().unwrap()]),
        Rule::deny(["secret/**".parse().unwrap()], ["anyone".parse().unwrap()]).named("nobody reads secrets"),
    ]);
    let tokens = Authentication::new(Tokens::parse(&format!("alice:{TOKEN}")).unwrap()).optional();
    let service = router.layered(rules.with_audit(audit.clone()));
    let service = service.layered(tokens.with_audit(audit.clone()));
    memory::connect(service, Router::builder().build().unwrap())
}

fn read_lines(lines: &[String]) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn failures_are_recorded_without_secrets_and_params() {
    let (audit, lines) = audited();
    let peer = guarded(&audit);
    peer.call::<Value>("rpc.login", ["wrong-0123456789"]).await.unwrap_err();
    peer.call::<Value>("rpc.login", [TOKEN]).await.unwrap();
    peer.call::<Value>("echo", ["a param"]).await.unwrap();
    peer.call::<Value>("secret/plan\nB", ["a param"]).await.unwrap_err();
    let denied = peer.call::<Value>("other", ["a param"]).await.unwrap_err();
    let lines = lines();
    for secret in ["wrong-0123456789", TOKEN, "a param"] {
        // SEC-E-06: no payloads.
        assert!(!lines.concat().contains(secret), "{lines:?}");
    }
    let events = read_lines(&lines);
    assert_eq!(events.len(), 3, "{lines:?}");
    let told = |event: &Value| json!([event["event"], event["who"], event["method"], event["reason"]]);
    assert_eq!(told(&events[0]), json!(["authentication-failed", null, null, "wrong credentials"]));
    assert_eq!(told(&events[1]), json!(["access-denied", "alice", "secret/plan\nB", "nobody reads secrets"]));
    assert_eq!(told(&events[2]), json!(["access-denied", "alice", "other", "no rule allows it"]));
    assert_eq!(events[1]["transport"], "memory");
    // The caller knows the number under which the log has its call.
    let CallError::Rejected(error) = denied else { panic!("{denied:?}") };
    let data: Value = error.data.as_ref().unwrap().decode().unwrap();
    assert_eq!(data["incident"], events[2]["incident"]);
}

#[tokio::test]
async fn a_flood_of_denied_calls_writes_a_bounded_log() {
    let (audit, lines) = audited();
    let peer = guarded(&audit);
    for number in 0..2000 {
        let method = format!("{}{number}", "m".repeat(200));
        peer.call::<Value>(method.as_str(), ()).await.unwrap_err();
    }
    let lines = lines();
    let bytes: usize = lines.iter().map(String::len).sum();
    assert!(bytes < 20_000, "{bytes}");
    // Nothing is lost: each event is written or counted. A window may have ended in between.
    let counted: u64 = read_lines(&lines).iter().map(|line| line["repeated"].as_u64().unwrap_or(1)).sum();
    assert_eq!((counted, audit.lost()), (2000, 0));
}

#[tokio::test]
async fn blocked_addresses_are_recorded() {
    let (audit, lines) = audited();
    let peer = guarded(&audit);
    for _ in 0..12 {
        peer.call::<Value>("rpc.login", ["wrong-0123456789"]).await.unwrap_err();
    }
    let kinds: Vec<Value> = read_lines(&lines()).iter().map(|event| event["event"].clone()).collect();
    assert!(
        kinds.contains(&json!("authentication-failed")) && kinds.contains(&json!("address-blocked")),
        "{kinds:?}"
    );
}

// SEC-E-06: limit hits.
#[cfg(all(feature = "rate", feature = "shed"))]
#[tokio::test]
async fn exceeded_limits_are_recorded() {
    use switchboard_layers::rate::{RateLimits, RateRule};
    use switchboard_layers::shed::{ShedOptions, Shedding};
    let (audit, lines) = audited();
    let router = || {
        let hang = |(): (), _| async { std::future::pending::<Result<(), ErrorObject>>().await };
        Router::builder().async_method("hang", hang).build().unwrap()
    };
    let rate = RateLimits::new([RateRule::new("1/h".parse().unwrap()).named("strict")]);
    let limited = memory::connect(router().layered(rate.with_audit(audit.clone())), router());
    limited.call::<Value>("none", ["a param"]).await.unwrap_err();
    limited.call::<Value>("none", ["a param"]).await.unwrap_err();
    let shedding = Shedding::new(ShedOptions::default().with_running(1).with_queue(0));
    let shed = memory::connect(router().layered(shedding.with_audit(audit)), router());
    let busy = shed.clone();
    let running = tokio::spawn(async move { busy.call::<Value>("hang", ()).await });
    while shed
        .call::<Value>("none", ["a param"])
        .await
        .is_err_and(|error| !error.to_string().contains("-32005"))
    {
        tokio::task::yield_now().await;
    }
    running.abort();
    let lines = lines();
    assert!(!lines.concat().contains("a param"), "{lines:?}");
    let told: Vec<_> = read_lines(&lines)
        .iter()
        .map(|event| json!([event["event"], event["method"], event["reason"]]))
        .collect();
    assert_eq!(told[0], json!(["rate-limited", "none", "strict"]));
    assert_eq!((&told[1][0], &told[1][1], told.len()), (&json!("shed"), &json!("none"), 2));
}

#[test]
fn a_sink_that_blocks_holds_up_nobody() {
    let (lines, received) = mpsc::sync_channel::<()>(0);
    let audit = Audit::to_fn(move |_| lines.send(()).unwrap_or_default()).unwrap();
    // Different events, so that none are summed up. Nothing is read, and nothing waits.
    let reasons: Vec<String> = (0..100_000).map(|number| format!("{number}")).collect();
    for reason in &reasons {
        audit.record(&AuditEvent::new(AuditKind("test")).reason(reason));
    }
    drop(received);
}

#[test]
fn the_default_records_nothing() {
    let audit = Audit::default();
    audit.record(&AuditEvent::new(AuditKind::SHED));
    audit.flush(LONG);
    assert!(!audit.is_on() && audit.lost() == 0);
}
