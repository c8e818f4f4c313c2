//! Signed calls over transports, alone, in a batch, as notifications and in 1.0.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use switchboard_core::{
    Call, CallError, Code, ErrorObject, Json, Layer as _, Outcome, Peer, Reply, ReplyFuture, Router, Service,
    Settings, Version, Versions, service_fn,
};
use switchboard_layers::Clock;
use switchboard_layers::signing::{Key, Sign, SigningAlgorithm, SigningKeys, Verify};
use switchboard_layers::store::StoreLimits;
use switchboard_transport::Dial;
use switchboard_transport::http::{Endpoint, HttpServer};
use switchboard_transport::memory;

use crate::rig::{AUDIENCE, BOB, NOW, Server, bob, code, service, sign, store, verify};

fn nothing() -> Router {
    Router::builder().build().unwrap()
}

/// A client without a signature and one that signs, of the same service.
fn connected(service: impl Service, sign: Sign) -> (Peer, Peer) {
    let peer = memory::connect(service, nothing());
    (peer.clone(), sign.peer(peer))
}

fn code_of<T: std::fmt::Debug>(result: Result<T, CallError>) -> Code {
    match result {
        Err(CallError::Rejected(error)) => error.code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_signed_call_has_the_identity_of_its_key_on_every_transport() {
    let clock = Clock::manual(NOW);
    let (service, calls) = service(&verify(&clock));
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr();
    tokio::spawn(server.serve_endpoint(Endpoint::new(Arc::clone(&service))));
    let mut peers = vec![memory::connect(Arc::clone(&service), nothing())];
    for scheme in ["http", "ws"] {
        peers.push(Dial::new(&format!("{scheme}://{address}")).unwrap().connect().await.unwrap());
    }
    for peer in peers {
        assert_eq!(code_of(peer.call::<Value>("who", ()).await), Code::UNAUTHORIZED);
        let signed = sign(&clock).requiring_signed_replies().peer(peer);
        assert_eq!(signed.call::<Value>("who", json!({"a": [1, 2.50]})).await.unwrap(), "bob");
        // The idempotency key is signed too.
        let with_key = signed.call::<Value>("who", ()).metadata("idempotency-key", "pay-1");
        assert_eq!(with_key.await.unwrap(), "bob");
        let before = calls.load(Ordering::SeqCst);
        signed.notify("who", [1]).await.unwrap();
        let batch = signed.batch().call("who", ()).notify("who", ()).call("who", [2]);
        let results = batch.send().await.unwrap().into_iter().map(|result| result.unwrap().to_string());
        assert_eq!(results.collect::<Vec<_>>(), ["\"bob\"", "\"bob\""]);
        assert_eq!(calls.load(Ordering::SeqCst) - before, 4);
    }
}

#[tokio::test]
async fn calls_of_1_0_are_signed_over_http() {
    let clock = Clock::manual(NOW);
    let (service, _) = service(&verify(&clock));
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", server.local_addr());
    tokio::spawn(server.serve_endpoint(Endpoint::new(service)));
    let peer = Dial::new(&url).unwrap().with_version(Version::V1).connect().await.unwrap();
    let signed = sign(&clock).requiring_signed_replies().peer(peer);
    assert_eq!(signed.call::<Value>("who", ()).await.unwrap(), "bob");
    assert_eq!(signed.call::<Value>("who", [1]).await.unwrap(), "bob");
}

#[tokio::test]
async fn unsigned_calls_run_only_where_no_signature_is_required() {
    let verify = verify(&Clock::manual(NOW)).required_for(["admin/**".parse().unwrap()]);
    let (plain, signed) = connected(service(&verify).0, sign(&Clock::manual(NOW)));
    assert_eq!(plain.call::<Value>("read", ()).await.unwrap(), Value::Null);
    assert_eq!(code_of(plain.call::<Value>("admin/stop", ()).await), Code::UNAUTHORIZED);
    assert_eq!(signed.call::<Value>("admin/stop", ()).await.unwrap(), "bob");
}

#[tokio::test]
async fn every_failure_gets_the_same_answer() {
    // SEC-S-06: apart from the reference, which is random.
    let clock = Clock::manual(NOW);
    let server = Server::new(&verify(&clock));
    let message = r#"{"jsonrpc":"2.0","method":"who","id":1}"#;
    let signed = |sign: &Sign| switchboard_layers::signing::SignedMessage::sign(message, sign).unwrap();
    let other = "eve-1 hmac-sha256 ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
    let replayed = signed(&sign(&clock));
    server.ask(&replayed).await;
    let messages = [
        message.to_owned(),
        signed(&Sign::new(Arc::new(other.parse().unwrap()), AUDIENCE).with_clock(clock.clone())),
        signed(&Sign::new(bob(), "https://other.example").with_clock(clock.clone())),
        signed(&sign(&Clock::manual(NOW - 301))),
        signed(&sign(&Clock::manual(NOW + 61))),
        signed(&sign(&clock)).replace("\"id\":1", "\"id\":2"),
        replayed,
    ];
    for message in &messages {
        let mut answer = server.ask(message).await;
        answer["error"]["data"]["ref"] = json!("");
        answer["id"] = json!(1);
        let error = json!({"code": -32002, "message": "Unauthorized",
            "data": {"reason": "signature", "serverTime": NOW, "ref": ""}});
        assert_eq!(answer, json!({"jsonrpc": "2.0", "error": error, "id": 1}), "{message}");
    }
    assert_eq!(server.count(), 1);
    let malformed = signed(&sign(&clock)).replace("\"v\":1", "\"v\":2");
    let answer = server.ask(&malformed).await;
    assert_eq!((code(&answer), &answer["error"]["data"]["at"]), (Some(-32600), &json!("/signature/v")));
}

// SEC-S-05
#[tokio::test]
async fn a_key_is_refused_outside_of_its_scopes_and_once_it_is_revoked() {
    let clock = Clock::manual(NOW);
    let keys = SigningKeys::parse(&format!("{BOB} scopes=read,math/*")).unwrap();
    let store = store(&clock, StoreLimits::default());
    let verify = Verify::new(keys.clone(), [AUDIENCE], store).with_clock(clock.clone());
    let (_, signed) = connected(service(&verify).0, sign(&clock));
    assert_eq!(signed.call::<Value>("math/add", ()).await.unwrap(), "bob");
    assert_eq!(code_of(signed.call::<Value>("transfer", ()).await), Code::UNAUTHORIZED);
    keys.replace(&SigningKeys::parse(&BOB.replace("bob-1", "bob-2")).unwrap());
    assert_eq!(code_of(signed.call::<Value>("read", ()).await), Code::UNAUTHORIZED);
}

/// A server that fails or answers, behind someone on the way who changes its replies.
fn tampered(
    clock: &Clock,
    reply_key: Option<Arc<Key>>,
    change: impl Fn(Reply) -> Reply + Clone + Send + Sync + 'static,
) -> Arc<dyn Service> {
    let inner = service_fn(|call: &Call| {
        ReplyFuture::ready(match call.method.as_str() {
            "fail" => Reply::error(ErrorObject::new(-31_000, "no \u{e4}").with_data(&"why")),
            _ => Reply::value(Json::TRUE),
        })
    });
    let verify = verify(clock);
    let verify = match reply_key {
        Some(key) => verify.with_reply_key(key),
        None => verify,
    };
    let verified = verify.layer(Arc::new(inner));
    Arc::new(service_fn(move |call: &Call| {
        let change = change.clone();
        verified.call(call).map(change)
    }))
}

#[tokio::test]
async fn a_changed_reply_is_not_taken_for_the_servers() {
    // SEC-R-06: a reply is bound to its call.
    let clock = Clock::manual(NOW);
    let check = async |change: fn(Reply) -> Reply, expected: Result<bool, &str>| {
        let (_, signed) = connected(tampered(&clock, None, change), sign(&clock));
        let found = signed.call::<bool>("ok", ()).await.map_err(|error| error.to_string());
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
            other => panic!("{other:?}"),
        }
    };
    check(|reply| reply, Ok(true)).await;
    let changed = |mut reply: Reply| {
        reply.outcome = Outcome::Value(Json::FALSE);
        reply
    };
    check(changed, Err("the signature of the response is wrong")).await;
    let failed = |mut reply: Reply| {
        reply.outcome = Outcome::Error(ErrorObject::timed_out());
        reply
    };
    check(failed, Err("the signature of the response is wrong")).await;
    // Without the requirement a missing signature is not noticed.
    check(|_| Reply::value(Json::FALSE), Ok(false)).await;
}

#[tokio::test]
async fn where_signed_replies_are_required_unsigned_ones_are_no_results() {
    let clock = Clock::manual(NOW);
    let required = sign(&clock).requiring_signed_replies();
    let (_, signed) = connected(tampered(&clock, None, |_| Reply::value(Json::FALSE)), required.clone());
    let error = signed.call::<bool>("ok", ()).await.unwrap_err();
    assert!(matches!(&error, CallError::Protocol(_)) && error.to_string().contains("not signed"), "{error}");
    let stripped = |mut reply: Reply| {
        reply.extra = None;
        reply
    };
    let (_, signed) = connected(tampered(&clock, None, stripped), required.clone());
    let error = signed.call::<bool>("fail", ()).await.unwrap_err();
    assert!(error.to_string().contains("not signed by the server"), "{error}");
    let (_, signed) = connected(tampered(&clock, None, |reply| reply), required);
    let error = signed.call::<bool>("fail", ()).await.unwrap_err();
    assert!(matches!(error, CallError::Rejected(error) if error.message == "no \u{e4}"));
}

#[tokio::test]
async fn a_server_signs_replies_with_its_own_key_which_clients_know() {
    let clock = Clock::manual(NOW);
    let new = Key::generate("server-1", SigningAlgorithm::Ed25519, "bank").unwrap();
    let own = Arc::new(new.signer.parse::<Key>().unwrap());
    let service = tampered(&clock, Some(own), |reply| reply);
    let (_, stranger) = connected(Arc::clone(&service), sign(&clock));
    assert!(stranger.call::<bool>("ok", ()).await.is_err());
    let sign = sign(&clock).with_server_keys(SigningKeys::parse(&new.verifier).unwrap());
    let (_, signed) = connected(service, sign.requiring_signed_replies());
    assert!(signed.call::<bool>("ok", ()).await.unwrap());
}

#[tokio::test]
async fn the_entries_of_a_batch_are_accepted_or_refused_alone() {
    let clock = Clock::manual(NOW);
    let server = Server::new(&verify(&clock));
    let entry = |id: u8| format!(r#"{{"jsonrpc":"2.0","method":"who","id":{id}}}"#);
    let signed = |id| switchboard_layers::signing::SignedMessage::sign(&entry(id), &sign(&clock)).unwrap();
    let answer = server.ask(&format!("[{},{},{}]", signed(1), entry(2), signed(3))).await;
    let codes: Vec<_> = answer.as_array().unwrap().iter().map(code).collect();
    assert_eq!((codes, server.count()), (vec![None, Some(-32002), None], 2));
}

// SEC-S-03, SEC-S-04
#[tokio::test]
async fn a_public_key_is_not_the_secret_of_another_algorithm() {
    let clock = Clock::manual(NOW);
    let new = Key::generate("ann-1", SigningAlgorithm::Ed25519, "ann").unwrap();
    let keys = SigningKeys::parse(&new.verifier).unwrap();
    let verify = Verify::new(keys, [AUDIENCE], store(&clock, StoreLimits::default()));
    let server = Server::new(&verify.with_clock(clock.clone()));
    let signed = |line: &str| {
        let sign = Sign::new(Arc::new(line.parse().unwrap()), AUDIENCE).with_clock(clock.clone());
        let message = r#"{"jsonrpc":"2.0","method":"who","id":1}"#;
        switchboard_layers::signing::SignedMessage::sign(message, &sign).unwrap()
    };
    let confused = new.verifier.replace(" ed25519 ", " hmac-sha256 ");
    assert_eq!(code(&server.ask(&signed(&confused)).await), Some(-32002));
    let right = signed(&new.signer);
    assert_eq!(server.ask(&right).await["result"], "ann");
    // Signatures are compared as bytes of the right length, not as a beginning of the right one.
    for cut in [2, 64, 126] {
        let message: Value = serde_json::from_str(&signed(&new.signer)).unwrap();
        let whole = message["signature"]["sig"].as_str().unwrap();
        let short = message.to_string().replace(whole, &whole[..cut]);
        assert!(code(&server.ask(&short).await).is_some(), "{cut}");
    }
}

#[tokio::test]
async fn versions_do_not_mix() {
    let clock = Clock::manual(NOW);
    let server = Server::new(&verify(&clock));
    let message = r#"{"method":"who","params":[],"id":1}"#;
    let signed = switchboard_layers::signing::SignedMessage::sign(message, &sign(&clock)).unwrap();
    let moved = signed.replacen('{', r#"{"jsonrpc":"2.0","#, 1);
    assert_eq!(code(&server.ask(&moved).await), Some(-32002));
    assert_eq!(server.ask(&signed).await["result"], "bob");
    // A server of 1.0 alone reads a message of 2.0 as one of 1.0, which its signature does not allow.
    let mut settings = Settings::default();
    settings.profile.versions = Versions::V1;
    let (service, calls) = service(&verify(&clock));
    let engine = switchboard_core::Engine::new(service, settings);
    let message = r#"{"jsonrpc":"2.0","method":"who","params":[],"id":1}"#;
    let signed = switchboard_layers::signing::SignedMessage::sign(message, &sign(&clock)).unwrap();
    engine.exchange(signed, &switchboard_core::Context::default()).await;
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}
