//! What the audit log says about signed calls that are refused: SEC-E-06.

use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_layers::Clock;
use switchboard_layers::audit::Audit;
use switchboard_layers::signing::{Sign, SignedMessage, SigningKeys, Verify};
use switchboard_layers::store::StoreLimits;

use crate::rig::{AUDIENCE, BOB, NOW, Server, bob, sign, store, verify};

const MESSAGE: &str = r#"{"jsonrpc":"2.0","method":"who","params":["a param"],"id":1}"#;

/// The layer with an audit log, and a function that reads the lines so far.
fn audited(verify: Verify) -> (Server, impl Fn() -> Vec<String>) {
    let (lines, received) = mpsc::channel();
    let audit = Audit::to_fn(move |line| lines.send(line.to_owned()).unwrap()).unwrap();
    let server = Server::new(&verify.with_audit(audit.clone()));
    (server, move || {
        audit.flush(Duration::from_secs(20));
        received.try_iter().collect()
    })
}

/// Event, caller, method, reason and key of a line.
fn told(line: &str) -> Value {
    let event: Value = serde_json::from_str(line).unwrap();
    json!([event["event"], event["who"], event["method"], event["reason"], event["key"]])
}

#[tokio::test]
async fn refused_signatures_and_replays_are_recorded_without_secrets() {
    let clock = Clock::manual(NOW);
    let (server, lines) = audited(verify(&clock));
    let message = SignedMessage::sign(MESSAGE, &sign(&clock)).unwrap();
    assert_eq!(server.ask(&message).await["result"], "bob");
    let replayed = server.ask(&message).await;
    server.ask(MESSAGE).await;
    server.ask(&message.replace("a param", "a changed param")).await;
    server.ask(&message.replace("bob-1", "eve-1")).await;
    server.ask(&SignedMessage::sign(MESSAGE, &sign(&Clock::manual(NOW - 301))).unwrap()).await;
    server.ask(&SignedMessage::sign(MESSAGE, &Sign::new(bob(), "https://other.example")).unwrap()).await;
    let lines = lines();
    let expected = [
        json!(["replayed", "bob", "who", "replay", "bob-1"]),
        json!(["signature-failed", null, "who", "missing", null]),
        // Anyone can name a key, so a wrong signature says nothing about the caller.
        json!(["signature-failed", null, "who", "bad_signature", "bob-1"]),
        json!(["signature-failed", null, "who", "unknown_key", "eve-1"]),
        json!(["signature-failed", "bob", "who", "expired", "bob-1"]),
        json!(["signature-failed", "bob", "who", "wrong_audience", "bob-1"]),
    ];
    assert_eq!(lines.iter().map(|line| told(line)).collect::<Vec<_>>(), expected);
    // The caller knows the number under which the log has its call.
    let first: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(replayed["error"]["data"]["ref"], first["incident"]);
    let signature: Value = serde_json::from_str(&message).unwrap();
    let secret = BOB.split(' ').nth(2).unwrap();
    for hidden in ["param", secret, signature["signature"]["sig"].as_str().unwrap()] {
        assert!(!lines.concat().contains(hidden), "{hidden}: {lines:?}");
    }
}

#[tokio::test]
async fn calls_outside_the_scope_of_a_key_and_a_full_store_are_recorded() {
    let clock = Clock::manual(NOW);
    let keys = SigningKeys::parse(&format!("{BOB} scopes=who")).unwrap();
    let store = store(&clock, StoreLimits::default().with_entries(1));
    let (server, lines) = audited(Verify::new(keys, [AUDIENCE], store).with_clock(clock.clone()));
    let signed = |message: &str| SignedMessage::sign(message, &sign(&clock)).unwrap();
    server.ask(&signed(&MESSAGE.replace("who", "transfer"))).await;
    assert_eq!(server.ask(&signed(MESSAGE)).await["result"], "bob");
    server.ask(&signed(MESSAGE)).await;
    let expected = [
        json!(["access-denied", "bob", "transfer", "out_of_scope", "bob-1"]),
        json!(["shed", "bob", "who", "store_full", "bob-1"]),
    ];
    assert_eq!(lines().iter().map(|line| told(line)).collect::<Vec<_>>(), expected);
}
