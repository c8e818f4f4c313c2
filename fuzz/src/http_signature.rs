//! Changes the headers and the body of signed HTTP requests: one that is still accepted has the body and the address that were signed.
//!
//! The first bytes choose a request, one of its texts and a place; the rest replaces what is there.

#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use switchboard_core::{
    Context, Engine, Input, Json, Layer as _, Reply, ReplyFuture, RequestHead, Settings, service_fn,
};
use switchboard_layers::Clock;
use switchboard_layers::signing::{SigningKeys, Verify};
use switchboard_layers::store::{MemoryStore, StoreLimits};

/// A signed request: its target, headers and body.
type Request = (String, Vec<(String, String)>, String);

static REQUESTS: LazyLock<(Vec<Request>, SigningKeys)> = LazyLock::new(|| {
    let text = include_str!("../../crates/layers/tests/vectors/signing.json");
    let file: Value = serde_json::from_str(text).expect("the vectors are JSON");
    let mut lines = String::new();
    for (kid, key) in file["keys"].as_object().expect("there are keys") {
        let hex = key["public"].as_str().or(key["secret"].as_str()).expect("a key has a text");
        lines.push_str(&format!("{kid} {} {hex}\n", key["alg"].as_str().expect("a key has an algorithm")));
    }
    let vectors = file["vectors"].as_array().expect("there are vectors").iter();
    let accepted = vectors.filter(|vector| vector["expect"] == "ok" && vector["form"] == "http");
    let requests = accepted.map(|vector| {
        let request = &vector["request"];
        let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
        let headers = request["headers"].as_object().expect("there are headers").iter();
        let headers = headers.map(|(name, value)| (name.clone(), text(value)));
        (text(&request["target"]), headers.collect(), text(&request["body"]))
    });
    (requests.collect(), SigningKeys::parse(&lines).expect("the keys are valid"))
});

/// Calls that wait have a deadline, which needs a clock.
static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime can be built")
});

fn is_accepted((target, headers, body): &Request, keys: &SigningKeys) -> bool {
    let clock = Clock::manual(1_728_623_456);
    let store = MemoryStore::with_clock(StoreLimits::default(), Clock::manual(0));
    let verify = Verify::new(keys.clone(), ["https://bank.example/rpc"], Arc::new(store)).with_clock(clock);
    let ran = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let noted = Arc::clone(&ran);
    let service = service_fn(move |_| {
        noted.store(true, std::sync::atomic::Ordering::Relaxed);
        ReplyFuture::ready(Reply::value(Json::NULL))
    });
    let engine = Engine::new(verify.layer(Arc::new(service)), Settings::default());
    let (path, query) =
        target.split_once('?').map_or((target.as_str(), None), |(path, query)| (path, Some(query)));
    let head = RequestHead::new("POST", "https", "bank.example", path, query);
    let mut cx = Context::default();
    *cx.metadata_mut() = headers.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let input = Input::new(body.clone().into(), Some(head));
    input.attach(&mut cx);
    RUNTIME.block_on(engine.exchange(body.clone(), &cx));
    ran.load(std::sync::atomic::Ordering::Relaxed)
}

fuzz_target!(|bytes: &[u8]| {
    let [which, part, place, place_more, length, new @ ..] = bytes else { return };
    let (requests, keys) = &*REQUESTS;
    let original = &requests[usize::from(*which) % requests.len()];
    let mut request = original.clone();
    let parts = request.1.len() + 2;
    let text = match usize::from(*part) % parts {
        0 => &mut request.0,
        1 => &mut request.2,
        header => &mut request.1[header - 2].1,
    };
    let mut changed = text.clone().into_bytes();
    let start = (usize::from(*place) << 8 | usize::from(*place_more)) % (changed.len() + 1);
    let end = (start + usize::from(length % 32)).min(changed.len());
    changed.splice(start..end, new.iter().copied());
    let Ok(changed) = String::from_utf8(changed) else { return };
    *text = changed;
    if is_accepted(&request, keys) {
        assert_eq!((&request.0, &request.2), (&original.0, &original.2));
    }
});
