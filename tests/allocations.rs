//! How much is allocated: little for an ordinary call, and in proportion to its length for a hostile one.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use bytes::Bytes;
use futures_util::FutureExt;
use switchboard_core::{Answer, Context, Engine, ErrorObject, Limits, Router, Settings};

fn router() -> Router {
    Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b)).build().unwrap()
}

/// Answers `body`, which must need no waiting, and counts what that allocates. The first time does not count.
fn allocated(body: &Bytes, settings: &Settings) -> (Answer, AllocationInfo) {
    let (engine, cx) = (Engine::new(Arc::new(router()), settings.clone()), Context::default());
    let answer = |body: Bytes| engine.exchange(body, &cx).now_or_never().unwrap();
    let first = answer(body.clone());
    let counted = measure(|| drop(answer(body.clone())));
    (first, counted)
}

#[test]
fn a_call_that_is_answered_at_once_allocates_its_answer_and_nothing_else() {
    let body = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}"#);
    let (answer, counted) = allocated(&body, &Settings::default());
    assert_eq!(answer.body().unwrap(), r#"{"jsonrpc":"2.0","result":5,"id":1}"#);
    assert_eq!(counted.count_total, 1, "{counted:?}");
}

/// A hostile body of which the limits let as much pass as they can allocates at most `factor` times its length.
fn check(name: &str, body: String, factor: u64) {
    let limits = Limits::default().with_frame(body.len());
    let (body, settings) = (Bytes::from(body), Settings::default().with_limits(limits));
    let (_, counted) = allocated(&body, &settings);
    let most = body.len() as u64 * factor;
    assert!(counted.bytes_max <= most, "{name}: {} bytes allocate {counted:?}", body.len());
}

fn call(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"add","params":{params},"id":1}}"#)
}

/// An object of `count` members, whose names begin with `prefix`.
fn object(prefix: &str, count: usize) -> String {
    let members: Vec<_> = (0..count).map(|n| format!("\"{prefix}{n}\":1")).collect();
    format!("{{{}}}", members.join(","))
}

const MILLION: usize = 1_000_000;

#[test]
fn what_a_limit_refuses_allocates_at_most_twice_its_length() {
    check("deep arrays", call(&format!("{}{}", "[".repeat(MILLION), "]".repeat(MILLION))), 2);
    check("deep objects", call(&format!("{}1{}", "{\"\":".repeat(MILLION), "}".repeat(MILLION))), 2);
    check("brackets and nothing else", "[".repeat(1 << 20), 2);
    check("members of params", call(&object("a", MILLION)), 2);
    check("members with escapes", call(&object("\\u0061", MILLION)), 2);
    check("unknown members", object("a", MILLION), 2);
    check("elements", call(&format!("[{}1]", "1,".repeat(MILLION))), 2);
    check("a number", call(&format!("[{}]", "1".repeat(MILLION))), 2);
    check("an id", format!(r#"{{"jsonrpc":"2.0","method":"add","id":"{}"}}"#, "x".repeat(MILLION)), 2);
    check("entries", format!("[{}1]", "1,".repeat(MILLION)), 2);
    check("an escaped name", format!(r#"{{"method":"{}"}}"#, "\\u0061".repeat(MILLION)), 2);
}

#[test]
fn what_the_limits_let_pass_allocates_a_small_multiple_of_its_length() {
    let most = Limits::default().members;
    check("members of params", call(&object("a", most)), 16);
    check("members with escapes", call(&object("\\u0061", most)), 16);
    check("unknown members", object("a", most), 16);
    check("unknown members with escapes", object("\\u0061", most), 16);
    check("one name many times", format!("{{{}\"\":1}}", "\"\":1,".repeat(most - 1)), 32);
    check("elements", call(&format!("[{}1]", "1,".repeat(most - 1))), 16);
}
