//! Things that once went wrong.

use futures_util::StreamExt;
use switchboard_core::{
    CallError, CloseReason, Context, ErrorObject, Json, Limits, Method, Router, Settings,
};

use crate::rig::{End, Gate, Raw, client_of, echo, ends};

/// A stream that counts to `n`.
fn count() -> Method {
    Method::stream("count", |(n,): (u32,), _| futures_util::stream::iter(0..n))
}

#[tokio::test]
async fn an_answer_may_be_longer_than_a_call_may_be() {
    let long = Method::sync("long", |_: Json, _| Ok::<_, ErrorObject>("x".repeat(5 << 20)));
    let (client, _server) = client_of(Router::builder().add(long));
    assert_eq!(client.call::<String>("long", ()).await.unwrap().len(), 5 << 20);
}

#[tokio::test]
async fn a_call_longer_than_a_frame_may_be_is_refused_and_the_connection_goes_on() {
    // SEC-L-01
    let limits = Limits::default().with_frame(100);
    let (mut raw, _server) =
        Raw::against(Router::builder().add(echo()), Settings::default().with_limits(limits));
    raw.send(&format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{}"],"id":1}}"#, "x".repeat(100)))
        .await;
    assert!(raw.receive().await.unwrap().contains("limits.frame"));
    raw.send(r#"{"jsonrpc":"2.0","method":"echo","params":[],"id":2}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":[],"id":2}"#).await;
}

#[tokio::test]
async fn a_stream_of_a_batch_waits_for_its_own_answer_whatever_else_is_answered() {
    // ETH-07
    let gate = Gate::new();
    let router = Router::builder().add(count()).add(gate.method("wait"));
    let (mut raw, _server) = Raw::against(router, Settings::default());
    raw.send(
        r#"[{"jsonrpc":"2.0","method":"count","params":[1],"id":1},{"jsonrpc":"2.0","method":"wait","id":2}]"#,
    )
    .await;
    gate.entered().await;
    raw.send(r#"{"jsonrpc":"2.0","method":"count","params":[0],"id":3}"#).await;
    assert!(raw.receive().await.unwrap().contains(r#""id":3"#));
    assert!(raw.receive().await.unwrap().contains("rpc.end"));
    gate.let_pass(1);
    assert!(raw.receive().await.unwrap().starts_with('['));
    assert!(raw.receive().await.unwrap().contains("rpc.item"));
    assert!(raw.receive().await.unwrap().contains("rpc.end"));
}

#[tokio::test]
async fn large_items_do_not_make_a_prompt_reader_look_slow() {
    let large =
        Method::stream("large", |_: Json, _| futures_util::stream::iter(0..8).map(|_| "x".repeat(300_000)));
    let limits = Limits::default().with_outbox(500_000);
    let (here, there) = switchboard_transport::memory::pair(256);
    let client = End::start(here, Router::builder(), Settings::default());
    let _server = End::start(there, Router::builder().add(large), Settings::default().with_limits(limits));
    let items = client.peer.stream::<String>("large", ()).await.unwrap();
    assert_eq!(items.filter(|item| std::future::ready(item.is_ok())).count().await, 8);
}

#[tokio::test]
async fn one_long_answer_does_not_make_a_prompt_reader_look_slow() {
    let long = Method::sync("long", |_: Json, _| Ok::<_, ErrorObject>("x".repeat(300_000)));
    let limits = Limits::default().with_outbox(100_000);
    let (client, _server) = ends(Router::builder(), Router::builder().add(long), limits);
    assert_eq!(client.peer.call::<String>("long", ()).await.unwrap().len(), 300_000);
}

#[tokio::test]
async fn an_item_that_is_too_long_ends_its_stream() {
    // SEC-L-03
    let large = Method::stream("large", |_: Json, _| futures_util::stream::iter(["x".repeat(1000)]));
    let limits = Limits::default().with_reply(500);
    let (client, _server) = ends(Router::builder(), Router::builder().add(large), limits);
    let items: Vec<_> = client.peer.stream::<String>("large", ()).await.unwrap().collect().await;
    assert!(matches!(&items[..], [Err(CallError::Rejected(error))] if error.code.0 == -32007), "{items:?}");
}

#[tokio::test]
async fn a_batch_that_is_refused_is_refused_entry_by_entry() {
    // J2-41, J2-44
    let gate = Gate::new();
    let limits = Limits::default().with_in_flight(1);
    let router = Router::builder().add(gate.method("wait")).add(echo());
    let (mut raw, _server) = Raw::against(router, Settings::default().with_limits(limits));
    raw.send(r#"{"jsonrpc":"2.0","method":"wait","id":1}"#).await;
    gate.entered().await;
    raw.send(r#"[{"jsonrpc":"2.0","method":"echo"}]"#).await;
    raw.send(r#"[{"jsonrpc":"2.0","method":"echo"},{"jsonrpc":"2.0","method":"echo","id":2}]"#).await;
    let refused = raw.receive().await.unwrap();
    assert!(
        refused.starts_with('[') && refused.contains(r#""id":2"#) && refused.contains("-32005"),
        "{refused}"
    );
    gate.let_pass(1);
    raw.expect(r#"{"jsonrpc":"2.0","result":true,"id":1}"#).await;
}

#[tokio::test]
async fn a_broken_response_fails_its_call_and_is_never_answered() {
    // J2-50, J2-66, J2-73
    for broken in [
        r#"{"jsonrpc":"2.0","result":1,"x":1,"x":2,"id":1}"#,
        r#"{"jsonrpc":"2.1","result":1,"id":1}"#,
        r#"{"jsonrpc":"2.0","result":1,"error":{"code":1,"message":"x"},"id":1}"#,
    ] {
        let (mut raw, server) = Raw::against(Router::builder().add(echo()), Settings::default());
        let call = tokio::spawn(async move { server.peer.call::<Json>("ask", ()).await });
        raw.receive().await.unwrap();
        raw.send(broken).await;
        raw.send(r#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}"#).await;
        raw.send(r#"{"jsonrpc":"2.0","method":"echo","params":[],"id":1}"#).await;
        raw.expect(r#"{"jsonrpc":"2.0","result":[],"id":1}"#).await;
        let error = call.await.unwrap().unwrap_err();
        assert!(matches!(error, CallError::Protocol(_)), "{broken}: {error}");
    }
}

#[tokio::test]
async fn a_subscription_named_twice_leaves_no_stream_without_an_end() {
    let (mut raw, server) = Raw::against(Router::builder(), Settings::default());
    let peer = server.peer.clone();
    let calls = tokio::spawn(async move {
        let first = peer.stream::<u8>("sub", ()).await;
        (first, peer.stream::<u8>("sub", ()).await)
    });
    for id in 1..=2 {
        raw.receive().await.unwrap();
        raw.send(&format!(r#"{{"jsonrpc":"2.0","result":"s","stream":true,"id":{id}}}"#)).await;
    }
    let (first, second) = calls.await.unwrap();
    assert!(matches!(second, Err(CallError::Protocol(_))), "{second:?}");
    raw.send(r#"{"jsonrpc":"2.0","method":"rpc.item","params":{"subscription":"s","result":7}}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"rpc.end","params":{"subscription":"s"}}"#).await;
    assert_eq!(first.unwrap().collect::<Vec<_>>().await, [Ok(7)]);
}

#[tokio::test]
async fn a_batch_that_waits_for_itself_holds_up_nobody_else() {
    let gate = Gate::new();
    let limits = Limits::default().with_batch_concurrency(1);
    let router = Router::builder().add(gate.method("wait")).add(echo());
    let (mut raw, _server) = Raw::against(router, Settings::default().with_limits(limits));
    raw.send(r#"[{"jsonrpc":"2.0","method":"wait","id":1},{"jsonrpc":"2.0","method":"wait","id":2}]"#).await;
    gate.entered().await;
    raw.send(r#"{"jsonrpc":"2.0","method":"echo","params":[],"id":3}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":[],"id":3}"#).await;
    gate.let_pass(2);
    assert_eq!(raw.receive().await.unwrap().matches("true").count(), 2);
}

#[tokio::test]
async fn entries_that_wait_for_a_place_can_be_cancelled_and_are_answered_when_draining() {
    let gate = Gate::new();
    let limits = Limits::default().with_batch_concurrency(1);
    let router = Router::builder().add(gate.method("wait"));
    let (mut raw, server) = Raw::against(router, Settings::default().with_limits(limits));
    let entry = |id| format!(r#"{{"jsonrpc":"2.0","method":"wait","id":{id}}}"#);
    raw.send(&format!("[{},{},{}]", entry(1), entry(2), entry(3))).await;
    gate.entered().await;
    raw.send(r#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":3}}"#).await;
    server.session.close(CloseReason::shutting_down());
    gate.let_pass(2);
    let answer = raw.receive().await.unwrap();
    assert!(answer.matches("true").count() == 2 && answer.contains("-32800"), "{answer}");
    server.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_the_protocol_itself_answers_is_answered_in_its_place() {
    // J2-24, J2-41
    let gate = Gate::new();
    let (mut raw, _server) = Raw::against(Router::builder().add(gate.method("wait")), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":5},"id":1}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":null,"id":1}"#).await;
    raw.send(r#"[{"jsonrpc":"2.0","method":"rpc.unsubscribe","params":["s"],"id":2}]"#).await;
    raw.expect(r#"[{"jsonrpc":"2.0","result":false,"id":2}]"#).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":7}}"#;
    raw.send(&format!(r#"[{{"jsonrpc":"2.0","method":"wait","id":7}},{cancel}]"#)).await;
    assert!(raw.receive().await.unwrap().contains("-32800"));
}

#[tokio::test]
async fn streams_end_as_soon_as_a_drain_begins_though_calls_are_under_way() {
    let gate = Gate::new();
    let quiet = Method::stream("quiet", |_: Json, _: Context| futures_util::stream::pending::<u8>());
    let router = Router::builder().add(quiet).add(gate.method("wait"));
    let (mut raw, server) = Raw::against(router, Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","method":"quiet","id":1}"#).await;
    raw.receive().await.unwrap();
    raw.send(r#"{"jsonrpc":"2.0","method":"wait","id":2}"#).await;
    gate.entered().await;
    server.session.close(CloseReason::shutting_down());
    assert!(raw.receive().await.unwrap().contains("rpc.end"));
    gate.let_pass(1);
    raw.expect(r#"{"jsonrpc":"2.0","result":true,"id":2}"#).await;
}
