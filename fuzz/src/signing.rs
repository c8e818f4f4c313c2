//! Changes signed messages: one that is still accepted says what the original said.
//!
//! The first bytes choose a message and a place; the rest replaces what is there.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use switchboard_layers::Clock;
use switchboard_layers::signing::{SignedMessage, SigningKeys, Verifier};

static VECTORS: LazyLock<Vec<(String, Verifier, Option<String>)>> = LazyLock::new(|| {
    let text = include_str!("../../crates/layers/tests/vectors/signing.json");
    let file: Value = serde_json::from_str(text).expect("the vectors are JSON");
    let mut lines = String::new();
    for (kid, key) in file["keys"].as_object().expect("there are keys") {
        let hex = key["public"].as_str().or(key["secret"].as_str()).expect("a key has a text");
        lines.push_str(&format!("{kid} {} {hex}\n", key["alg"].as_str().expect("a key has an algorithm")));
    }
    let keys = SigningKeys::parse(&lines).expect("the keys are valid");
    let vectors = file["vectors"].as_array().expect("there are vectors").iter();
    let accepted = vectors.filter(|vector| {
        vector["expect"] == "ok" && ["request", "batch"].contains(&vector["form"].as_str().unwrap_or(""))
    });
    accepted
        .map(|vector| {
            let clock = Clock::manual(vector["now"].as_u64().expect("a vector has a time"));
            let verifier = Verifier::new(keys.clone(), ["https://bank.example/rpc"]).with_clock(clock);
            let raw = vector["raw"].as_str().expect("a vector has a message").to_owned();
            (raw, verifier, vector["session"].as_str().map(str::to_owned))
        })
        .collect()
});

fn is_accepted(message: &[u8], verifier: &Verifier, session: Option<&str>) -> bool {
    SignedMessage::parse(message).is_ok_and(|message| message.verify(verifier, session).is_ok())
}

fuzz_target!(|bytes: &[u8]| {
    let [which, place, place_more, length, new @ ..] = bytes else { return };
    let (message, verifier, session) = &VECTORS[usize::from(*which) % VECTORS.len()];
    let start = (usize::from(*place) << 8 | usize::from(*place_more)) % message.len();
    let end = (start + usize::from(length % 32)).min(message.len());
    let changed = [&message.as_bytes()[..start], new, &message.as_bytes()[end..]].concat();
    if is_accepted(&changed, verifier, session.as_deref()) {
        let meaning =
            |text: &[u8]| serde_json::from_slice::<Value>(text).expect("an accepted message is JSON");
        // Members that the signature does not cover may have been added.
        let (old, new) = (meaning(message.as_bytes()), meaning(&changed));
        let entries = |message: &Value| message.as_array().cloned().unwrap_or_else(|| vec![message.clone()]);
        let (old, new) = (entries(&old), entries(&new));
        assert_eq!(old.len(), new.len());
        for (old, new) in old.iter().zip(&new) {
            for name in ["jsonrpc", "method", "params", "id", "signature"] {
                assert_eq!(old.get(name), new.get(name), "{}", String::from_utf8_lossy(&changed));
            }
        }
    }
});
