//! The scanner, the members and the batches.

use bytes::Bytes;
use switchboard_core::codec::{Incoming, decode};
use switchboard_core::{Context, Engine, ErrorObject, Limits, Router, Settings};

use crate::Case;

const SIZE: usize = 4 << 10;

pub(crate) const CASES: &[Case] = &[
    ("json: arrays in arrays", SIZE, |size| call(&["[".repeat(size / 2), "]".repeat(size / 2)].concat())),
    ("json: objects in objects", SIZE, |size| {
        call(&[r#"{"a":"#.repeat(size / 6), "1".to_owned(), "}".repeat(size / 6)].concat())
    }),
    ("json: a string", SIZE, |size| call(&format!("[\"{}\"]", "é".repeat(size / 2)))),
    ("json: a string of escapes", SIZE, |size| call(&format!("[\"{}\"]", r"\u00e9\n".repeat(size / 8)))),
    ("json: members", SIZE, |size| call(&object(size, |n| format!("\"{n:07}\":1")))),
    ("json: members that are written with escapes", SIZE, |size| {
        call(&object(size, |n| format!("\"\\u0061{n:07}\":1")))
    }),
    ("json: members with a long beginning in common", SIZE, |size| {
        call(&object(size, |n| format!("\"{}{n:07}\":1", "x".repeat(100))))
    }),
    ("json: objects with members", SIZE, |size| {
        let one = object(100, |n| format!("\"{n:07}\":1"));
        call(&format!("[{}]", vec![one; size / 100].join(",")))
    }),
    ("json: a number", SIZE, |size| call(&format!("[{}]", "1".repeat(size)))),
    ("json: numbers", SIZE, |size| call(&format!("[{}]", vec!["1e1"; size / 4].join(",")))),
    ("json: blanks", SIZE, |size| call(&format!("[{}]", " ".repeat(size)))),
    ("batch: entries", SIZE / 8, |size| read(format!("[{}]", vec!["1"; size / 2].join(",")))),
    ("batch: calls that are answered", SIZE, |size| {
        let calls = (0..size / 50).map(|n| format!(r#"{{"jsonrpc":"2.0","id":{n:06},"method":"none"}}"#));
        answer(format!("[{}]", calls.collect::<Vec<_>>().join(",")).replace(":0", ":1"))
    }),
    ("batch: entries that are no calls", SIZE / 8, |size| {
        answer(format!("[{}]", vec!["1"; size / 2].join(",")))
    }),
    ("batch: the same identifier", SIZE, |size| {
        let calls = vec![r#"{"jsonrpc":"2.0","id":"1","method":"none"}"#; size / 43];
        answer(format!("[{}]", calls.join(",")))
    }),
];

fn object(size: usize, member: impl Fn(usize) -> String) -> String {
    let count = size / member(0).len();
    format!("{{{}}}", (0..count).map(member).collect::<Vec<_>>().join(","))
}

fn call(params: &str) -> Box<dyn FnOnce()> {
    let params = if params.starts_with(['[', '{']) { params.to_owned() } else { format!("[{params}]") };
    read(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"none","params":{params}}}"#))
}

/// As large as an input is.
fn unlimited() -> Settings {
    let most = usize::MAX;
    let limits = Limits::default()
        .with_frame(most)
        .with_depth(most)
        .with_members(most)
        .with_number(most)
        .with_name(most)
        .with_id(most)
        .with_batch(most)
        .with_reply(1 << 30)
        .with_batch_reply(1 << 30);
    Settings::default().with_limits(limits)
}

fn read(text: String) -> Box<dyn FnOnce()> {
    let (frame, settings) = (Bytes::from(text), unlimited());
    Box::new(move || {
        if let Incoming::Batch(entries) = decode(&frame, &settings).expect("it is JSON") {
            assert!(entries.iter().count() > 0);
        }
    })
}

fn answer(text: String) -> Box<dyn FnOnce()> {
    let router = Router::builder().method("none", |(): (), _| Ok::<_, ErrorObject>(())).build().unwrap();
    let engine = Engine::new(std::sync::Arc::new(router), unlimited());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    Box::new(move || {
        let answer = runtime.block_on(engine.exchange(Bytes::from(text), &Context::default()));
        assert!(answer.body().is_some());
    })
}
