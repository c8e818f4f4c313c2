//! Streams of a caller in the dialect of language servers: partial results, and the response last.

use futures_util::StreamExt;
use serde_json::json;
use switchboard_core::{
    CallError, Code, Json, Limits, Method, Profile, Router, RouterBuilder, Settings, Values,
};
use switchboard_transport::memory;

use crate::rig::{End, Gate, Raw};

fn lsp() -> Settings {
    Settings::default().with_profile(Profile::lsp())
}

/// A call for a stream, and the far side that answers it by hand.
async fn ask(settings: Settings) -> (Raw, End, tokio::task::JoinHandle<Result<Values<u8>, CallError>>) {
    let (mut raw, end) = Raw::against(Router::builder(), settings);
    let peer = end.peer.clone();
    let call = tokio::spawn(peer.stream::<u8>("references", json!({"at": 1})).into_future());
    raw.expect(
        r#"{"jsonrpc":"2.0","method":"references","params":{"at":1,"partialResultToken":"part-1"},"id":1}"#,
    )
    .await;
    (raw, end, call)
}

fn progress(value: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"$/progress","params":{{"token":"part-1","value":{value}}}}}"#)
}

const DONE: &str = r#"{"jsonrpc":"2.0","result":[],"id":1}"#;

// LSP-P-01, LSP-P-05
#[tokio::test]
async fn partial_results_are_items_and_the_response_is_the_end() {
    let (mut raw, _end, call) = ask(lsp()).await;
    raw.send(&progress("[1,2]")).await;
    let mut items = call.await.unwrap().unwrap();
    assert_eq!((items.next().await, items.next().await), (Some(Ok(1)), Some(Ok(2))));
    raw.send(&progress("[3]")).await;
    raw.send(DONE).await;
    assert_eq!((items.next().await, items.next().await), (Some(Ok(3)), None));
    // The end was heard: nothing is cancelled.
    drop(items);
    raw.send(r#"{"jsonrpc":"2.0","method":"ask","id":7}"#).await;
    assert!(raw.receive().await.unwrap().contains("-32601"));
}

// LSP-P-05
#[tokio::test]
async fn a_server_without_partial_results_answers_with_all_items_at_once() {
    for (result, expected) in [("[1,2]", vec![1, 2]), ("[]", vec![]), ("null", vec![]), ("7", vec![7])] {
        let (mut raw, _end, call) = ask(lsp()).await;
        raw.send(&format!(r#"{{"jsonrpc":"2.0","result":{result},"id":1}}"#)).await;
        let items: Vec<u8> = call.await.unwrap().unwrap().map(Result::unwrap).collect().await;
        assert_eq!(items, expected, "{result}");
    }
}

#[tokio::test]
async fn an_error_is_the_answer_or_the_end() {
    const ERROR: &str = r#"{"jsonrpc":"2.0","error":{"code":7,"message":"no"},"id":1}"#;
    let (mut raw, _end, call) = ask(lsp()).await;
    raw.send(ERROR).await;
    assert_eq!(call.await.unwrap().unwrap_err().rejection().unwrap().code, Code(7));
    let (mut raw, _end, call) = ask(lsp()).await;
    raw.send(&progress("[1]")).await;
    raw.send(ERROR).await;
    let mut items = call.await.unwrap().unwrap();
    assert_eq!(items.next().await, Some(Ok(1)));
    assert_eq!(items.next().await.unwrap().unwrap_err().rejection().unwrap().code, Code(7));
    assert_eq!(items.next().await, None);
}

#[tokio::test]
async fn dropping_the_items_cancels_the_call_and_late_parts_are_nobodys() {
    let (mut raw, _end, call) = ask(lsp()).await;
    raw.send(&progress("[1]")).await;
    drop(call.await.unwrap().unwrap());
    raw.expect(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#).await;
    raw.send(&progress("[2]")).await;
    raw.send(DONE).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"ask","id":7}"#).await;
    assert!(raw.receive().await.unwrap().contains("\"id\":7"));
}

#[tokio::test]
async fn a_call_that_is_dropped_before_the_first_part_is_cancelled() {
    let (mut raw, _end, call) = ask(lsp()).await;
    call.abort();
    raw.expect(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#).await;
}

#[tokio::test]
async fn parts_that_nobody_reads_end_the_stream() {
    let limits = Limits::default().with_outbox(150);
    let (mut raw, _end, call) = ask(lsp().with_limits(limits)).await;
    raw.send(&progress("[1,2,3]")).await;
    raw.expect(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#).await;
    let mut items = call.await.unwrap().unwrap();
    assert_eq!((items.next().await, items.next().await), (Some(Ok(1)), Some(Ok(2))));
    assert!(matches!(items.next().await, Some(Err(CallError::Unread(_)))));
}

#[tokio::test]
async fn a_connection_that_ends_ends_the_items() {
    let (mut raw, _end, call) = ask(lsp()).await;
    raw.send(&progress("[1]")).await;
    let mut items = call.await.unwrap().unwrap();
    assert_eq!(items.next().await, Some(Ok(1)));
    drop(raw);
    assert!(matches!(items.next().await, Some(Err(CallError::Closed(_)))));
    assert_eq!(items.next().await, None);
}

/// Items with a gate between the first and the rest.
fn numbers(gate: &Gate) -> RouterBuilder {
    let gate = gate.clone();
    Router::builder().add(Method::stream("numbers", move |_: Json, _| {
        let gate = gate.clone();
        let rest = futures_util::stream::once(async move { gate.pass().await }).map(|()| 2_u8);
        futures_util::stream::iter([1_u8]).chain(rest)
    }))
}

// LSP-P-05
#[tokio::test]
async fn a_server_of_ours_tells_items_while_they_come() {
    let gate = Gate::new();
    let (here, there) = memory::pair(256);
    let client = End::start(here, Router::builder(), lsp());
    let _server = End::start(there, numbers(&gate), lsp());
    let mut items = client.peer.stream::<u8>("numbers", ()).await.unwrap();
    assert_eq!(items.next().await, Some(Ok(1)));
    gate.let_pass(1);
    assert_eq!((items.next().await, items.next().await), (Some(Ok(2)), None));
    // One that is dropped is cancelled there.
    let mut items = client.peer.stream::<u8>("numbers", ()).await.unwrap();
    assert_eq!(items.next().await, Some(Ok(1)));
    gate.entered().await;
    gate.entered().await;
    drop(items);
    gate.empty().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_items_cannot_be_sent_any_more_fails_its_call() {
    let gate = Gate::new();
    let passing = gate.clone();
    let numbers = Method::stream("numbers", move |_: Json, _| {
        let gate = passing.clone();
        let second = futures_util::stream::once(async move { gate.pass().await }).map(|()| 2_u8);
        second.chain(futures_util::stream::pending())
    });
    let (mut raw, end) = Raw::against(Router::builder().add(numbers), lsp());
    raw.send(r#"{"jsonrpc":"2.0","method":"numbers","params":{"partialResultToken":1},"id":1}"#).await;
    gate.entered().await;
    raw.finish().await;
    end.peer.closed().await;
    gate.let_pass(1);
    // It does not go on until the time for calls under way is over.
    let answer = raw.receive().await.unwrap();
    assert!(answer.contains(r#""error":"#) && !answer.contains("-32006"), "{answer}");
    assert_eq!(raw.receive().await, None);
}
