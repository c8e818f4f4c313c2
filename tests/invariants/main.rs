//! The invariants of the architecture, as far as the core alone can hold them.

#![allow(clippy::unwrap_used)]

mod batches;
mod cancellation;
mod layers;
mod limits;
mod logs;
mod raw;
mod sources;

use std::sync::Arc;

use bytes::Bytes;
use switchboard_core::{Context, Engine, Service, Settings};
use switchboard_tests::tree::Tree;

/// What the service answers to one body, as text; nothing if it does not answer.
async fn ask(service: impl Service, body: impl Into<Bytes>, settings: &Settings) -> Option<String> {
    let answer = Engine::new(Arc::new(service), settings.clone()).exchange(body, &Context::default()).await;
    answer.body().map(|body| String::from_utf8(body.to_vec()).unwrap())
}

/// The code of an answer that must be one error.
fn code(answer: Option<&str>) -> i64 {
    let tree = Tree::read(answer.expect("an error is answered")).unwrap();
    match tree.member("error").and_then(|error| error.member("code")) {
        Some(Tree::Number(code)) => code.parse().unwrap(),
        _ => panic!("{tree} is no error"),
    }
}
