//! What holds for any input.

#![allow(clippy::unwrap_used)]

mod batches;
mod bytes;
mod grammar;
mod ids;
mod passing;
mod text;
mod websocket;

use proptest::test_runner::Config;
use switchboard_core::{Context, Service, Settings, exchange};

/// A few hundred cases each, and no file of past failures: what fails becomes a test of its own.
fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// What the service answers to one body; nothing if it does not answer.
fn ask(service: &dyn Service, body: impl Into<::bytes::Bytes>, settings: &Settings) -> Option<String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let answer = runtime.block_on(exchange(service, body.into(), &Context::default(), settings));
    answer.body().map(|body| String::from_utf8(body.to_vec()).unwrap())
}
