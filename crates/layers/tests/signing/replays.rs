//! Replays: SEC-R-01 to SEC-R-07, SEC-Z-06.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use switchboard_layers::Clock;
use switchboard_layers::signing::{Key, ParamsForm, Sign, SignedMessage, SigningKeys, Verify};
use switchboard_layers::store::{Store, StoreError, StoreFuture, StoreLimits};

use crate::rig::{AUDIENCE, BOB, NOW, Server, code, sign, store, verify};

const MESSAGE: &str = r#"{"jsonrpc":"2.0","method":"who","id":1}"#;

fn signed(sign: &Sign) -> String {
    SignedMessage::sign(MESSAGE, sign).unwrap()
}

#[tokio::test]
async fn the_same_message_twice_runs_once() {
    // SEC-R-01, SEC-R-05: the identifier is no nonce, so another message may have the same one.
    let clock = Clock::manual(NOW);
    let server = Server::new(&verify(&clock));
    let message = signed(&sign(&clock));
    assert_eq!(server.ask(&message).await["result"], "bob");
    assert_eq!(code(&server.ask(&message).await), Some(-32002));
    assert_eq!(server.ask(&signed(&sign(&clock))).await["result"], "bob");
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn a_message_is_refused_as_a_replay_for_as_long_as_it_would_be_accepted() {
    // SEC-R-02, SEC-R-03: signed by a clock that is as far ahead as it may be.
    let clock = Clock::manual(NOW);
    let store_clock = Clock::manual(NOW);
    let store = Arc::new(switchboard_layers::store::MemoryStore::with_clock(
        StoreLimits::default(),
        store_clock.clone(),
    ));
    let verify =
        Verify::new(SigningKeys::parse(BOB).unwrap(), [AUDIENCE], Arc::clone(&store) as Arc<dyn Store>);
    let server = Server::new(&verify.with_clock(clock.clone()));
    let message = signed(&sign(&Clock::manual(NOW + 60)));
    assert_eq!(server.ask(&message).await["result"], "bob");
    for _ in 0..=360 {
        assert_eq!(code(&server.ask(&message).await), Some(-32002));
        clock.advance(Duration::from_secs(1));
        store_clock.advance(Duration::from_secs(1));
        assert_eq!(store.len(), 1, "the nonce is remembered while the message could be accepted");
    }
    assert_eq!(code(&server.ask(&message).await), Some(-32002));
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn a_clock_that_is_set_back_reopens_nothing() {
    let clock = Clock::system();
    let server = Server::new(&verify(&clock));
    let message = signed(&sign(&clock));
    clock.advance(Duration::from_secs(301));
    // The machine's clock is behind now, and does not count.
    assert!(clock.lag() > Duration::from_secs(290));
    assert_eq!(code(&server.ask(&message).await), Some(-32002));
    assert_eq!(server.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_duplicates_one_runs() {
    // SEC-R-03, SEC-R-07.
    let clock = Clock::manual(NOW);
    let server = Server::new(&verify(&clock));
    let message: Arc<str> = signed(&sign(&clock)).into();
    let tasks = (0..64).map(|_| {
        let (server, message) = (server.clone(), Arc::clone(&message));
        tokio::spawn(async move { server.ask(&message).await["result"] == "bob" })
    });
    let answered = join_all(tasks).await.into_iter().filter(|ran| *ran.as_ref().unwrap()).count();
    assert_eq!((answered, server.count()), (1, 1));
}

#[tokio::test]
async fn the_same_nonce_of_another_key_or_another_realm_is_another_nonce() {
    let clock = Clock::manual(NOW);
    let carol = BOB.replace("bob", "carol").replace("0001", "ffff");
    let keys = SigningKeys::parse(&format!("{BOB}\n{carol}")).unwrap();
    let shared = store(&clock, StoreLimits::default());
    let server = |realm: &str| {
        let verify = Verify::new(keys.clone(), [AUDIENCE], Arc::clone(&shared) as Arc<dyn Store>);
        Server::new(&verify.with_clock(clock.clone()).with_realm(realm))
    };
    let message = signed(&sign(&clock));
    // SEC-R-04: two servers that share a store are one.
    assert_eq!(server("bank").ask(&message).await["result"], "bob");
    assert_eq!(code(&server("bank").ask(&message).await), Some(-32002));
    assert_eq!(server("gateway").ask(&message).await["result"], "bob");
    let key: Arc<Key> = Arc::new(carol.parse().unwrap());
    let other = signed(&Sign::new(key, AUDIENCE).with_clock(clock.clone()));
    assert_eq!(server("bank").ask(&other).await["result"], "carol");
}

// SEC-R-03
#[tokio::test]
async fn a_full_store_refuses_signed_calls_and_says_for_how_long() {
    let clock = Clock::manual(NOW);
    let store = store(&clock, StoreLimits::default().with_entries(2));
    let verify = Verify::new(SigningKeys::parse(BOB).unwrap(), [AUDIENCE], store).with_clock(clock.clone());
    let server = Server::new(&verify);
    for _ in 0..2 {
        assert_eq!(server.ask(&signed(&sign(&clock))).await["result"], "bob");
    }
    let answer = server.ask(&signed(&sign(&clock))).await;
    assert_eq!(code(&answer), Some(-32005));
    assert_eq!(answer["error"]["data"]["retryAfterMs"], json!(361_000));
    assert_eq!(server.count(), 2);
}

// SEC-R-02, SEC-R-03: only the nonces of messages that are right take up room.
#[tokio::test]
async fn messages_that_are_refused_for_another_reason_use_no_nonce() {
    let clock = Clock::manual(NOW);
    let store = store(&clock, StoreLimits::default());
    let verify =
        Verify::new(SigningKeys::parse(BOB).unwrap(), [AUDIENCE], Arc::clone(&store) as Arc<dyn Store>);
    let server = Server::new(&verify.with_clock(clock.clone()));
    let message = signed(&sign(&clock));
    for refused in [
        signed(&sign(&Clock::manual(NOW - 301))),
        signed(&sign(&Clock::manual(NOW + 61))),
        message.replace("\"who\"", "\"when\""),
        message.replace("bob-1", "eve-1"),
    ] {
        assert_eq!(code(&server.ask(&refused).await), Some(-32002));
        assert_eq!(store.len(), 0, "{refused}");
    }
    assert_eq!(server.ask(&message).await["result"], "bob", "its nonce is not used yet");
    assert_eq!((store.len(), server.count()), (1, 1));
}

/// A store that cannot be reached.
struct Broken;

impl Store for Broken {
    fn insert(&self, _: &[u8], _: &[u8], _: Duration) -> StoreFuture<bool> {
        StoreFuture::pending(async { Err(StoreError::Unavailable("no quorum".to_owned())) })
    }

    fn read(&self, _: &[u8]) -> StoreFuture<Option<bytes::Bytes>> {
        StoreFuture::ready(Ok(None))
    }

    fn replace(&self, _: &[u8], _: &[u8], _: &[u8], _: Duration) -> StoreFuture<bool> {
        StoreFuture::ready(Ok(false))
    }

    fn add(&self, _: &[u8], _: u64, _: Duration) -> StoreFuture<u64> {
        StoreFuture::ready(Ok(0))
    }

    fn remove(&self, _: &[u8]) -> StoreFuture<()> {
        StoreFuture::ready(Ok(()))
    }

    fn since(&self) -> u64 {
        0
    }

    fn capacity(&self) -> Option<usize> {
        None
    }
}

// SEC-R-03
#[tokio::test]
async fn a_store_that_cannot_be_reached_refuses_signed_calls() {
    let clock = Clock::manual(NOW);
    let verify =
        Verify::new(SigningKeys::parse(BOB).unwrap(), [AUDIENCE], Arc::new(Broken)).with_clock(clock.clone());
    let server = Server::new(&verify);
    let answer = server.ask(&signed(&sign(&clock))).await;
    assert_eq!((code(&answer), server.count()), (Some(-32005), 0));
    assert!(!answer.to_string().contains("quorum"));
}

#[tokio::test]
async fn messages_from_before_the_store_began_are_refused() {
    let clock = Clock::manual(NOW);
    let fresh = switchboard_layers::store::MemoryStore::with_clock(StoreLimits::default(), clock.clone());
    let verify =
        Verify::new(SigningKeys::parse(BOB).unwrap(), [AUDIENCE], Arc::new(fresh)).with_clock(clock.clone());
    let server = Server::new(&verify);
    assert_eq!(code(&server.ask(&signed(&sign(&Clock::manual(NOW - 1)))).await), Some(-32002));
    assert_eq!(server.ask(&signed(&sign(&clock))).await["result"], "bob");
}

#[cfg(feature = "store-file")]
#[tokio::test]
async fn a_restart_forgets_no_nonces_in_a_file() {
    // SEC-R-07: restart of the store.
    use switchboard_layers::store::FileStore;
    let path = std::env::temp_dir().join(format!("switchboard-nonces-{}", std::process::id()));
    let clock = Clock::manual(NOW);
    let message = signed(&sign(&clock));
    let mut answers = Vec::new();
    for _ in 0..2 {
        // The thread of an earlier store closes the file when it ends.
        let store = loop {
            match FileStore::open_with(&path, StoreLimits::default(), clock.clone()) {
                Ok(store) => break store,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let verify = Verify::new(SigningKeys::parse(BOB).unwrap(), [AUDIENCE], Arc::new(store));
        let server = Server::new(&verify.with_clock(clock.clone()));
        answers.push(code(&server.ask(&message).await));
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(answers, [None, Some(-32002)]);
}

#[tokio::test]
async fn a_timestamp_and_a_nonce_in_params_stop_repetitions_without_a_signature() {
    let clock = Clock::manual(NOW);
    let verify =
        verify(&clock).required_for([]).with_params_form(ParamsForm::unsigned(["transfer".parse().unwrap()]));
    let server = Server::new(&verify);
    let message = |nonce: &str, ts: u64| {
        json!({"jsonrpc": "2.0", "method": "transfer", "id": 1,
            "params": {"amount": 100, "timestamp": ts, "nonce": nonce}})
        .to_string()
    };
    assert_eq!(code(&server.ask(&message("xy12", NOW)).await), None);
    assert_eq!(code(&server.ask(&message("xy12", NOW)).await), Some(-32002));
    assert_eq!(code(&server.ask(&message("xy13", NOW - 301)).await), Some(-32002));
    assert_eq!(code(&server.ask(&message("xy13", NOW)).await), None);
    assert_eq!(server.count(), 2);
}
