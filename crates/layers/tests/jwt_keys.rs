//! Keys that are fetched from their issuer: when, how often, and what happens while the issuer is away.
#![cfg(feature = "jwt")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod issuer;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use switchboard_core::{CallError, Code, ErrorObject, Router};
use switchboard_layers::identity::jwt::{Jwt, Keys, Refresh};
use switchboard_layers::identity::{Authenticate as _, Authentication, Credential, Verdict};
use switchboard_transport::http::Resource;
use switchboard_transport::memory;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::yield_now;
use tokio::time::advance;

use self::issuer::{AUDIENCE, ISSUER, Signer, claims, set};

/// An issuer that publishes its keys.
#[derive(Clone, Default)]
struct Issuer {
    /// Nothing while it is away.
    document: Arc<Mutex<Option<String>>>,
    fetches: Arc<AtomicUsize>,
}

impl Issuer {
    fn publish(&self, document: impl Into<Option<String>>) {
        *self.document.lock().unwrap() = document.into();
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::Relaxed)
    }

    fn jwt(&self) -> Jwt {
        let this = self.clone();
        let fetch = move || {
            let this = this.clone();
            async move {
                this.fetches.fetch_add(1, Ordering::Relaxed);
                yield_now().await;
                this.document.lock().unwrap().clone().map(Bytes::from).ok_or("the issuer is away")
            }
        };
        Jwt::new(ISSUER, [AUDIENCE], Keys::fetched_with(fetch, Refresh::default()))
    }
}

/// What a server decides, and whether it had to wait for keys.
async fn decide(jwt: &Jwt, token: &str) -> (bool, bool) {
    match jwt.authenticate(&Credential::Bearer(token.as_bytes())) {
        Verdict::Known(_) => (true, false),
        Verdict::Unknown => (false, false),
        Verdict::Later(decision) => (matches!(decision.await, Verdict::Known(_)), true),
        Verdict::Unavailable(_) => (false, false),
        other => panic!("{other:?}"),
    }
}

/// Lets a refresh in the background come to its end.
async fn settle() {
    for _ in 0..10 {
        yield_now().await;
    }
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn keys_are_fetched_once_for_all_that_wait_and_then_kept() {
    let (issuer, signer) = (Issuer::default(), Signer::p256("a"));
    issuer.publish(set(&[&signer]));
    let (jwt, token) = (issuer.jwt(), signer.sign(&claims()));
    assert_eq!(issuer.fetches(), 0, "nothing is fetched before the first token");
    let all = futures_util::future::join_all((0..100).map(|_| decide(&jwt, &token))).await;
    assert_eq!((all, issuer.fetches()), (vec![(true, true); 100], 1));
    advance(7 * MINUTE).await;
    assert_eq!((decide(&jwt, &token).await, issuer.fetches()), ((true, false), 1));
}

#[tokio::test(start_paused = true)]
async fn keys_are_fetched_ahead_of_their_age_without_making_callers_wait() {
    let (issuer, signer) = (Issuer::default(), Signer::p256("a"));
    issuer.publish(set(&[&signer]));
    let (jwt, token) = (issuer.jwt(), signer.sign(&claims()));
    decide(&jwt, &token).await;
    for round in 2..5 {
        advance(8 * MINUTE).await;
        assert_eq!(decide(&jwt, &token).await, (true, false));
        settle().await;
        assert_eq!(issuer.fetches(), round);
    }
}

#[tokio::test(start_paused = true)]
async fn a_withdrawn_key_is_not_accepted_after_its_age_even_by_an_idle_server() {
    let (issuer, old, new) = (Issuer::default(), Signer::p256("old"), Signer::p256("new"));
    issuer.publish(set(&[&old]));
    let (jwt, token) = (issuer.jwt(), old.sign(&claims()));
    assert_eq!(decide(&jwt, &token).await, (true, true));
    issuer.publish(set(&[&new]));
    advance(30 * MINUTE).await;
    assert_eq!(decide(&jwt, &token).await, (false, true), "the decision waits for the new keys");
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_fetched_when_a_token_names_it() {
    let (issuer, old, new) = (Issuer::default(), Signer::p256("old"), Signer::p256("new"));
    issuer.publish(set(&[&old]));
    let jwt = issuer.jwt();
    assert_eq!(decide(&jwt, &old.sign(&claims())).await, (true, true));
    issuer.publish(set(&[&old, &new]));
    advance(MINUTE).await;
    assert_eq!(decide(&jwt, &new.sign(&claims())).await, (true, true));
    assert_eq!(decide(&jwt, &old.sign(&claims())).await, (true, false));
    assert_eq!(issuer.fetches(), 2);
}

// SEC-T-03
#[tokio::test(start_paused = true)]
async fn a_storm_of_unknown_keys_costs_one_request_in_30_seconds() {
    let (issuer, signer) = (Issuer::default(), Signer::p256("a"));
    issuer.publish(set(&[&signer]));
    let jwt = issuer.jwt();
    let unknown =
        |number: u32| signer.sign_with(&json!({"alg": "ES256", "kid": format!("x{number}")}), &claims());
    for number in 0..310 {
        assert!(!decide(&jwt, &unknown(number)).await.0);
        advance(Duration::from_millis(100)).await;
    }
    // 31 seconds: at the start, and once more.
    assert_eq!(issuer.fetches(), 2);
    assert_eq!(decide(&jwt, &signer.sign(&claims())).await, (true, false), "others are not disturbed");
    let other = jwt_of_another_issuer(&signer);
    assert!(!decide(&jwt, &other).await.0);
    advance(MINUTE).await;
    assert!(!decide(&jwt, &other).await.1, "a token that cannot be right fetches nothing");
    assert_eq!(issuer.fetches(), 2);
}

fn jwt_of_another_issuer(signer: &Signer) -> String {
    let mut claims = claims();
    claims["iss"] = json!("https://evil.example");
    signer.sign_with(&json!({"alg": "ES256", "kid": "unknown"}), &claims)
}

#[tokio::test(start_paused = true)]
async fn keys_work_for_an_hour_longer_while_the_issuer_is_away() {
    let (issuer, signer) = (Issuer::default(), Signer::p256("a"));
    issuer.publish(set(&[&signer]));
    let (jwt, token) = (issuer.jwt(), signer.sign(&claims()));
    decide(&jwt, &token).await;
    issuer.publish(None);
    advance(11 * MINUTE).await;
    assert_eq!(decide(&jwt, &token).await, (true, true), "after a try");
    assert_eq!(decide(&jwt, &token).await, (true, false), "until the next one");
    for bad in ["not keys".to_owned(), "x".repeat(300 << 10), json!({"keys": []}).to_string()] {
        issuer.publish(bad);
        advance(15 * MINUTE).await;
        assert_eq!(decide(&jwt, &token).await, (true, true), "bad documents do not replace good ones");
    }
    advance(15 * MINUTE).await;
    assert_eq!(decide(&jwt, &token).await, (false, true), "70 minutes are over");
    issuer.publish(set(&[&signer]));
    advance(MINUTE).await;
    assert_eq!(decide(&jwt, &token).await, (true, true));
}

#[tokio::test(start_paused = true)]
async fn callers_are_not_blamed_while_the_issuer_is_away() {
    let (issuer, old, new) = (Issuer::default(), Signer::p256("old"), Signer::p256("new"));
    let router = Router::builder().method("ping", |(): (), _| Ok::<_, ErrorObject>("pong")).build().unwrap();
    let peer = memory::connect(
        router.layered(Authentication::new(issuer.jwt())),
        Router::builder().build().unwrap(),
    );
    let ping = async |token: &str| {
        let call = peer.call::<Value>("ping", ()).metadata("authorization", format!("Bearer {token}"));
        match call.await {
            Ok(_) => None,
            Err(CallError::Rejected(error)) => {
                Some((error.code, error.data.as_ref().map(|data| data.decode::<Value>().unwrap())))
            }
            other => panic!("{other:?}"),
        }
    };
    let unavailable = |wait: u64| {
        let details = "credentials of this kind cannot be checked now; try again later";
        Some((
            Code::OVER_LIMIT,
            Some(json!({"limit": "auth.keys", "details": details, "retryAfterMs": wait})),
        ))
    };
    let (valid, rotated) = (old.sign(&claims()), new.sign(&claims()));
    for _ in 0..20 {
        assert_eq!(ping(&valid).await, unavailable(30_000));
    }
    advance(Duration::from_secs(10)).await;
    assert_eq!(ping(&valid).await, unavailable(20_000), "until the next refresh");
    // Nothing was counted, so the first token after that is accepted.
    issuer.publish(set(&[&old]));
    advance(Duration::from_secs(20)).await;
    assert_eq!(ping(&valid).await, None);
    // Nobody knows whether an issuer that is away has another key by now.
    issuer.publish(None);
    advance(MINUTE).await;
    assert_eq!(ping(&rotated).await, unavailable(30_000));
    assert_eq!(ping(&valid).await, None);
    issuer.publish(set(&[&old]));
    advance(MINUTE).await;
    assert_eq!(ping(&rotated).await, Some((Code::UNAUTHORIZED, None)), "it has no such key");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_hangs_or_panics_holds_nobody_up_for_long() {
    let signer = Signer::p256("a");
    let token = signer.sign(&claims());
    let hanging = Keys::fetched(std::future::pending::<Result<Bytes, String>>);
    assert_eq!(decide(&Jwt::new(ISSUER, [AUDIENCE], hanging), &token).await, (false, true));
    let panicking = Keys::fetched(|| async { panic!("on purpose") as Result<Bytes, String> });
    assert_eq!(decide(&Jwt::new(ISSUER, [AUDIENCE], panicking), &token).await, (false, true));
}

// SEC-T-03
#[tokio::test]
async fn keys_are_fetched_over_http_from_this_machine() {
    let signer = Signer::ed25519("a");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
    let document = set(&[&signer]);
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", document.len());
        stream.write_all((head + &document).as_bytes()).await.unwrap();
    });
    let resource = Resource::new(&url).unwrap();
    let jwt = Jwt::new(ISSUER, [AUDIENCE], Keys::fetched(move || resource.get()));
    assert_eq!(decide(&jwt, &signer.sign(&claims())).await, (true, true));
    assert_eq!(decide(&jwt, &signer.sign(&claims())).await, (true, false));
}
