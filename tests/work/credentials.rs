//! Wrong credentials: how much work they cost must not tell what is wrong with them (SEC-E-07, SEC-S-04, SEC-S-05, SEC-Z-10).

use std::sync::Arc;

use futures_util::FutureExt as _;
use switchboard_core::{
    Call, Code, Context, Engine, Json, Layer as _, Origin, Outcome, Reply, ReplyFuture, Settings, service_fn,
};
use switchboard_layers::Clock;
use switchboard_layers::identity::{
    ApiKeys, Authenticate, Authentication, Credential, Identity, NewApiKey, Proof, Tokens,
};
use switchboard_layers::signing::{Key, Sign, SignedMessage, SigningAlgorithm, SigningKeys, Verify};
use switchboard_layers::store::MemoryStore;

use crate::{Comparison, Repeatable};

pub(crate) const COMPARISONS: &[Comparison] = &[
    ("tokens", || {
        let tokens = Arc::new(Tokens::parse("alice:0123456789abcdef0123456789abcdef").unwrap());
        [
            "x123456789abcdef0123456789abcdef",
            "0123456789abcdef0123456789abcdex",
            "no-such-token-is-in-that-file-!!",
        ]
        .map(|token| refused(&tokens, token.to_owned()))
        .into()
    }),
    ("API keys: a wrong secret, and an unknown key", || {
        let [alice, bob] =
            ["alice", "bob"].map(|name| NewApiKey::generate(&Identity::new(name, Proof::ApiKey)).unwrap());
        let keys = Arc::new(ApiKeys::parse(&alice.line).unwrap());
        let (prefix, secret) = alice.key.rsplit_once('_').unwrap();
        let (_, other) = bob.key.rsplit_once('_').unwrap();
        let (first, last) = (
            format!("{prefix}_{}", changed(secret, 0)),
            format!("{prefix}_{}", changed(secret, secret.len() - 1)),
        );
        [first, last, format!("{prefix}_{other}"), bob.key.clone()].map(|key| refused(&keys, key)).into()
    }),
    ("whole requests with an API key: a wrong secret, and an unknown key", || {
        let [alice, bob] =
            ["alice", "bob"].map(|name| NewApiKey::generate(&Identity::new(name, Proof::ApiKey)).unwrap());
        let token = "t".repeat(alice.key.len());
        let checks = || {
            let tokens = Tokens::parse(&format!("alice:{token}")).unwrap();
            Authentication::new(tokens).or(ApiKeys::parse(&alice.line).unwrap())
        };
        // Each has its own count of failures, which takes a little longer to grow than to fill.
        [changed(&alice.key, alice.key.len() - 1), bob.key.clone()]
            .map(|key| refused_request(&checks(), &key))
            .into()
    }),
    ("HMAC: a wrong signature, and an unknown key", || signatures(SigningAlgorithm::HmacSha256)),
    ("Ed25519: a wrong signature, and an unknown key", || signatures(SigningAlgorithm::Ed25519)),
];

/// The text with another letter at this place.
fn changed(text: &str, at: usize) -> String {
    let other = if text.as_bytes()[at] == b'a' { "b" } else { "a" };
    [&text[..at], other, &text[at + 1..]].concat()
}

/// Checks a wrong credential.
fn refused(by: &Arc<impl Authenticate>, token: String) -> Repeatable {
    let by = Arc::clone(by);
    Box::new(move || {
        let verdict = by.authenticate(&Credential::Bearer(token.as_bytes()));
        assert!(!format!("{verdict:?}").starts_with("Known"));
    })
}

/// Answers a request with a wrong credential.
fn refused_request(by: &Authentication, token: &str) -> Repeatable {
    let inner = service_fn(|_: &Call| ReplyFuture::ready(Reply::value(Json::NULL)));
    let service = by.layer(Arc::new(inner));
    let authorization = format!("Bearer {token}");
    let mut number = 0;
    Box::new(move || {
        // Each from another address, because one that fails often has to wait.
        number += 1;
        let address = std::net::SocketAddr::from(([192, 0, 2, number], 1));
        let cx = Context::new(Origin::new("tcp").with_address(address));
        let metadata = [("authorization", authorization.clone())].into_iter().collect();
        let call = Call::new("m", None).with_context(cx.with_metadata(metadata));
        is_unauthorized(service.call(&call));
    })
}

fn is_unauthorized(reply: ReplyFuture) {
    let reply = reply.now_or_never().unwrap();
    assert!(matches!(reply.outcome, Outcome::Error(error) if error.code == Code::UNAUTHORIZED));
}

/// Answers messages whose signature is wrong at its first byte, at its last, altogether, and of an unknown key.
fn signatures(algorithm: SigningAlgorithm) -> Vec<Repeatable> {
    let [ann, bob] = ["ann-1", "bob-1"].map(|kid| Key::generate(kid, algorithm, "someone").unwrap());
    let clock = Clock::manual(1_728_623_456);
    let keys = SigningKeys::parse(&ann.verifier).unwrap();
    let store =
        Arc::new(MemoryStore::with_clock(switchboard_layers::store::StoreLimits::default(), clock.clone()));
    let verify = Verify::new(keys, ["here"], store).with_clock(clock.clone());
    let inner = service_fn(|_: &Call| ReplyFuture::ready(Reply::value(Json::NULL)));
    let engine = Engine::new(verify.layer(Arc::new(inner)), Settings::default());
    let signed = |line: &str| {
        let sign = Sign::new(Arc::new(line.parse().unwrap()), "here").with_clock(clock.clone());
        SignedMessage::sign(r#"{"jsonrpc":"2.0","method":"m","params":[1],"id":1}"#, &sign).unwrap()
    };
    let right = signed(&ann.signer);
    let sig = right.split_once(r#""sig":""#).unwrap().1.split('"').next().unwrap();
    let by_other = signed(&bob.signer.replace("bob-1", "ann-1"));
    let messages = match algorithm {
        // An Ed25519 signature whose number is out of range is refused before it is verified.
        SigningAlgorithm::Ed25519 => vec![by_other, signed(&bob.signer)],
        _ => vec![
            right.replace(sig, &changed(sig, 0)),
            right.replace(sig, &changed(sig, sig.len() - 1)),
            by_other,
            signed(&bob.signer),
        ],
    };
    let runtime = Arc::new(tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap());
    let works = messages.into_iter().map(|message| {
        let (engine, runtime) = (engine.clone(), Arc::clone(&runtime));
        Box::new(move || {
            let answer = runtime.block_on(engine.exchange(message.clone(), &Context::default()));
            assert!(answer.body().unwrap().windows(6).any(|part| part == b"-32002"));
        }) as Repeatable
    });
    works.collect()
}
