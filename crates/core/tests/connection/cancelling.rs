//! Cancelling: by dropping, by message, by time.

use std::sync::Mutex;
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_core::{
    CallError, Code, ErrorObject, Json, Limits, Method, Profile, Router, RouterBuilder, Settings,
};
use tokio::sync::mpsc;

use crate::rig::{Gate, Raw, client_of, echo, ends};

#[tokio::test]
async fn dropping_a_call_stops_its_handler() {
    let gate = Gate::new();
    let (client, _server) = client_of(Router::builder().add(gate.method("wait")).add(echo()));
    let call = tokio::spawn(client.call::<Json>("wait", ()).into_future());
    gate.entered().await;
    call.abort();
    gate.empty().await;
    assert_eq!(client.call::<[u8; 1]>("echo", [1]).await, Ok([1]));
}

#[tokio::test]
async fn a_call_that_timed_out_is_cancelled_and_its_late_answer_is_dropped() {
    // J2-22, JK-06
    let (mut raw, server) = Raw::against(Router::builder(), Settings::default());
    let peer = server.peer.clone();
    tokio::time::pause();
    let call =
        tokio::spawn(async move { peer.call::<Json>("ask", ()).timeout(Duration::from_secs(5)).await });
    raw.expect(r#"{"jsonrpc":"2.0","method":"ask","timeoutMs":5000,"id":1}"#).await;
    assert_eq!(call.await.unwrap(), Err(CallError::TimedOut));
    raw.expect(r#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":1}}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","result":"late","id":1}"#).await;
    let next = tokio::spawn(async move { server.peer.call::<String>("ask", ()).await });
    raw.expect(r#"{"jsonrpc":"2.0","method":"ask","id":2}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","result":"mine","id":2}"#).await;
    assert_eq!(next.await.unwrap().as_deref(), Ok("mine"));
}

async fn check_cancel(profile: Profile, cancel: &str, answer: &str) {
    let gate = Gate::new();
    let settings = Settings::default().with_profile(profile);
    let (mut raw, _server) = Raw::against(Router::builder().add(gate.method("wait")), settings);
    raw.send(r#"{"jsonrpc":"2.0","method":"wait","id":"x"}"#).await;
    gate.entered().await;
    raw.send(cancel).await;
    raw.expect(answer).await;
    gate.empty().await;
}

#[tokio::test]
async fn a_call_cancelled_by_message_is_answered_as_the_profile_says() {
    // J2-24, JK-05
    let answer = r#"{"jsonrpc":"2.0","error":{"code":-32800,"message":"Cancelled"},"id":"x"}"#;
    let ours = r#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":"x"}}"#;
    check_cancel(Profile::default(), ours, answer).await;
    let lsp = r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}"#;
    check_cancel(Profile::lsp(), lsp, answer).await;
}

#[tokio::test]
async fn a_call_that_has_not_started_can_be_cancelled() {
    let gate = Gate::new();
    let router = Router::builder().add(gate.method("wait")).add(echo());
    let (mut raw, _server) = Raw::against(router, Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","method":"wait"}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"echo","params":[],"id":1}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":1}}"#).await;
    assert!(raw.receive().await.unwrap().contains("-32800"));
    gate.let_pass(1);
}

#[tokio::test]
async fn an_entry_of_a_batch_can_be_cancelled_alone() {
    let gate = Gate::new();
    let router = Router::builder().add(gate.method("wait"));
    let (mut raw, _server) = Raw::against(router, Settings::default());
    raw.send(r#"[{"jsonrpc":"2.0","method":"wait","id":1},{"jsonrpc":"2.0","method":"wait","id":2}]"#).await;
    gate.entered().await;
    gate.entered().await;
    raw.send(r#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":2}}"#).await;
    gate.let_pass(1);
    let answer = raw.receive().await.unwrap();
    assert!(answer.contains(r#""result":true,"id":1"#) && answer.contains("-32800"), "{answer}");
}

#[tokio::test]
async fn cancelling_what_does_not_run_does_nothing() {
    let (mut raw, _server) = Raw::against(Router::builder().add(echo()), Settings::default());
    for nonsense in ["{}", "[]", r#"{"id":7}"#, r#"{"id":[1]}"#] {
        raw.send(&format!(r#"{{"jsonrpc":"2.0","method":"rpc.cancel","params":{nonsense}}}"#)).await;
    }
    raw.send(r#"{"jsonrpc":"2.0","method":"rpc.cancel"}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"echo","params":[],"id":1}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":[],"id":1}"#).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_may_not_take_longer_than_the_limit() {
    // SEC-L-12
    let gate = Gate::new();
    let limits = Limits::default().with_call_time(Duration::from_secs(3));
    let (client, _server) = ends(Router::builder(), Router::builder().add(gate.method("wait")), limits);
    let error = client.peer.call::<Json>("wait", ()).await.unwrap_err();
    assert_eq!(error.rejection().unwrap().code, Code::TIMED_OUT);
    gate.empty().await;
}

#[tokio::test]
async fn cancelling_chains_through_a_call_that_calls_on() {
    // The far end of the chain stops when the near end is dropped.
    let gate = Gate::new();
    let (middle_as_client, _far) = client_of(Router::builder().add(gate.method("wait")));
    let relay = Method::future("relay", move |_: Json, _| {
        let call = middle_as_client.call::<Json>("wait", ());
        async move { call.await.map_err(ErrorObject::from) }
    });
    let (near, _middle) = client_of(Router::builder().add(relay));
    let call = tokio::spawn(near.call::<Json>("relay", ()).into_future());
    gate.entered().await;
    call.abort();
    gate.empty().await;
}

/// A stream that never has an item. The other end of the channel is closed when the stream is dropped.
fn quiet() -> (Method, mpsc::UnboundedReceiver<()>) {
    let (sender, dropped) = mpsc::unbounded_channel::<()>();
    let sender = Mutex::new(Some(sender));
    let quiet = Method::stream("quiet", move |_: Json, _| {
        let sender = sender.lock().unwrap().take();
        futures_util::stream::pending::<u8>().map(move |item| {
            let _sender = &sender;
            item
        })
    });
    (quiet, dropped)
}

const QUIET: &str = r#"{"jsonrpc":"2.0","method":"quiet","id":1}"#;
const CANCEL_QUIET: &str = r#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":1}}"#;
const WAIT: &str = r#"{"jsonrpc":"2.0","method":"wait","id":2}"#;

/// The batch names a stream that was cancelled before: no stream is open, so one more may be.
async fn check_cancelled_before_it_opened(raw: &mut Raw) {
    let answer = raw.receive().await.unwrap();
    assert!(answer.starts_with('[') && answer.contains(r#""stream":true"#), "{answer}");
    raw.send(r#"{"jsonrpc":"2.0","method":"none","id":3}"#).await;
    assert!(raw.receive().await.unwrap().contains(r#""stream":true"#));
    assert!(raw.receive().await.unwrap().contains("rpc.end"));
}

fn one_stream(quiet: Method, gate: &Gate) -> (RouterBuilder, Settings) {
    let none = Method::stream("none", |_: Json, _| futures_util::stream::empty::<u8>());
    let limits = Limits::default().with_subscriptions(1);
    let router = Router::builder().add(quiet).add(none).add(gate.method("wait"));
    (router, Settings::default().with_limits(limits))
}

#[tokio::test]
async fn a_stream_that_waits_for_the_answer_to_its_batch_can_be_cancelled() {
    let (gate, (quiet, mut dropped)) = (Gate::new(), quiet());
    let (router, settings) = one_stream(quiet, &gate);
    let (mut raw, _server) = Raw::against(router, settings);
    raw.send(&format!("[{QUIET},{WAIT}]")).await;
    gate.entered().await;
    raw.send(CANCEL_QUIET).await;
    assert_eq!(dropped.recv().await, None);
    gate.let_pass(1);
    check_cancelled_before_it_opened(&mut raw).await;
}

#[tokio::test]
async fn a_batch_can_cancel_its_own_stream() {
    let (gate, (quiet, mut dropped)) = (Gate::new(), quiet());
    let (router, settings) = one_stream(quiet, &gate);
    let (mut raw, _server) = Raw::against(router, settings);
    raw.send(&format!("[{QUIET},{CANCEL_QUIET}]")).await;
    assert_eq!(dropped.recv().await, None);
    check_cancelled_before_it_opened(&mut raw).await;
}
