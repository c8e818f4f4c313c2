//! What holds for any input.

#![allow(clippy::unwrap_used)]

mod batches;
mod bytes;
mod grammar;
mod ids;
mod passing;
mod text;
mod websocket;

use std::sync::Arc;

use proptest::test_runner::Config;
use switchboard_core::{Context, Engine, Service, Settings};

/// A few hundred cases each, and no file of past failures: what fails becomes a test of its own.
fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// What the service answers to one body; nothing if it does not answer.
fn ask(service: impl Service, body: impl Into<::bytes::Bytes>, settings: &Settings) -> Option<String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let engine = Engine::new(Arc::new(service), settings.clone());
    let answer = runtime.block_on(engine.exchange(body, &Context::default()));
    answer.body().map(|body| String::from_utf8(body.to_vec()).unwrap())
}
