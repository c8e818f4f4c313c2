//! The keys, the server and the vectors that the tests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use switchboard_core::{
    Call, Context, Engine, FromContext as _, Json, Layer as _, Reply, ReplyFuture, Service, Settings,
    service_fn,
};
use switchboard_layers::Clock;
use switchboard_layers::identity::Identity;
use switchboard_layers::signing::{Key, Sign, SigningKeys, Verify};
use switchboard_layers::store::{MemoryStore, StoreLimits};

pub(crate) const NOW: u64 = 1_728_623_456;
pub(crate) const AUDIENCE: &str = "https://bank.example/rpc";
pub(crate) const BOB: &str =
    "bob-1 hmac-sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f subject=bob";

/// The vectors, and the keys that they use.
pub(crate) struct Vectors {
    pub(crate) all: Vec<Value>,
    pub(crate) keys: SigningKeys,
}

pub(crate) fn vectors() -> Vectors {
    let file: Value = serde_json::from_str(include_str!("../vectors/signing.json")).unwrap();
    let mut lines = String::new();
    for (kid, key) in file["keys"].as_object().unwrap() {
        let algorithm = key["alg"].as_str().unwrap();
        let hex = key["public"].as_str().or(key["secret"].as_str()).unwrap();
        let list = |name: &str| {
            key[name].as_array().map(|all| all.iter().filter_map(Value::as_str).collect::<Vec<_>>())
        };
        let scopes = list("scopes").map(|scopes| format!("scopes={}", scopes.join(","))).unwrap_or_default();
        let prefix = key["prefix"].as_str().map(|prefix| format!("prefix={prefix}")).unwrap_or_default();
        lines.push_str(&format!("{kid} {algorithm} {hex} {scopes} {prefix}\n"));
    }
    Vectors { all: file["vectors"].as_array().unwrap().clone(), keys: SigningKeys::parse(&lines).unwrap() }
}

pub(crate) fn bob() -> Arc<Key> {
    Arc::new(BOB.parse().unwrap())
}

/// A store that has been there for a while.
pub(crate) fn store(clock: &Clock, limits: StoreLimits) -> Arc<MemoryStore> {
    let own = Clock::manual(clock.seconds() - 10_000);
    let store = MemoryStore::with_clock(limits, own.clone());
    own.advance(Duration::from_secs(10_000));
    Arc::new(store)
}

/// Accepts Bob's signatures.
pub(crate) fn verify(clock: &Clock) -> Verify {
    let store = store(clock, StoreLimits::default());
    Verify::new(SigningKeys::parse(BOB).unwrap(), [AUDIENCE], store).with_clock(clock.clone())
}

/// Signs as Bob.
pub(crate) fn sign(clock: &Clock) -> Sign {
    Sign::new(bob(), AUDIENCE).with_clock(clock.clone())
}

/// A server that answers every call with the name of its caller, and counts them.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) engine: Engine,
    pub(crate) calls: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn new(verify: &Verify) -> Server {
        let (service, calls) = service(verify);
        Server { engine: Engine::new(service, Settings::default()), calls }
    }

    /// The answer to a message, as JSON; null if there is none.
    pub(crate) async fn ask(&self, message: &str) -> Value {
        self.ask_in(message, &Context::default()).await
    }

    pub(crate) async fn ask_in(&self, message: &str, cx: &Context) -> Value {
        let answer = self.engine.exchange(message.to_owned(), cx).await;
        answer.body().map_or(Value::Null, |body| serde_json::from_slice(body).unwrap())
    }

    pub(crate) fn count(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

/// Answers every call with the name of its caller.
pub(crate) fn service(verify: &Verify) -> (Arc<dyn Service>, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let inner = service_fn(move |call: &Call| {
        counted.fetch_add(1, Ordering::SeqCst);
        let who = Identity::from_context(&call.cx).map(|identity| identity.subject.clone());
        ReplyFuture::ready(Reply::value(Json::encode_ref(&who).unwrap()))
    });
    (verify.layer(Arc::new(inner)), calls)
}

/// The code of an error.
pub(crate) fn code(answer: &Value) -> Option<i64> {
    answer["error"]["code"].as_i64()
}
