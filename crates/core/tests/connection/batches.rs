//! Batches over a duplex connection, in both directions.

use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use switchboard_core::{
    CallError, Code, Context, ErrorObject, Json, Limits, Method, Profile, Router, Settings,
};

use crate::rig::{Gate, Raw, client_of, echo};

#[tokio::test]
async fn answers_come_in_the_order_of_the_entries() {
    // J2-41, J2-43
    let (slow, quick) = (Gate::new(), Gate::new());
    let router = Router::builder().add(slow.method("slow")).add(quick.method("quick")).add(echo());
    let (mut raw, _server) = Raw::against(router, Settings::default());
    raw.send(
        r#"[{"jsonrpc":"2.0","method":"slow","id":1},{"jsonrpc":"2.0","method":"echo","params":[2],"id":2},7,
            {"jsonrpc":"2.0","method":"quick","id":3},{"jsonrpc":"2.0","method":"echo"}]"#,
    )
    .await;
    quick.entered().await;
    quick.let_pass(1);
    quick.empty().await;
    slow.let_pass(1);
    let answer: Vec<serde_json::Value> = serde_json::from_str(&raw.receive().await.unwrap()).unwrap();
    let ids: Vec<_> = answer.iter().map(|entry| entry["id"].to_string()).collect();
    assert_eq!(ids, ["1", "2", "null", "3"]);
}

#[tokio::test]
async fn no_more_entries_run_at_once_than_may() {
    let gate = Gate::new();
    let limits = Limits::default().with_batch_concurrency(2);
    let (mut raw, _server) =
        Raw::against(Router::builder().add(gate.method("wait")), Settings::default().with_limits(limits));
    let entries: Vec<_> =
        (0..6).map(|n| format!(r#"{{"jsonrpc":"2.0","method":"wait","id":{n}}}"#)).collect();
    raw.send(&format!("[{}]", entries.join(","))).await;
    for _ in 0..6 {
        gate.entered().await;
        gate.let_pass(1);
    }
    assert_eq!(raw.receive().await.unwrap().matches("true").count(), 6);
    assert_eq!(gate.most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_batch_of_notifications_is_not_answered() {
    // J2-44
    let (mut raw, _server) = Raw::against(Router::builder().add(echo()), Settings::default());
    raw.send(r#"[{"jsonrpc":"2.0","method":"echo"},{"jsonrpc":"2.0","method":"unknown"}]"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"echo","params":[],"id":1}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":[],"id":1}"#).await;
}

#[tokio::test]
async fn a_stream_can_be_opened_in_a_batch() {
    // ETH-07, ETH-10: its items come after the answer that names it.
    let count = Method::stream("count", |(n,): (u32,), _| futures_util::stream::iter(0..n));
    let (mut raw, _server) = Raw::against(Router::builder().add(count).add(echo()), Settings::default());
    raw.send(
        r#"[{"jsonrpc":"2.0","method":"count","params":[2],"id":1},{"jsonrpc":"2.0","method":"echo","params":[],"id":2}]"#,
    )
    .await;
    let answer = raw.receive().await.unwrap();
    assert!(answer.starts_with('[') && answer.contains(r#""stream":true"#), "{answer}");
    assert!(raw.receive().await.unwrap().contains(r#""result":0"#));
    assert!(raw.receive().await.unwrap().contains(r#""result":1"#));
    assert!(raw.receive().await.unwrap().contains("rpc.end"));
}

#[tokio::test]
async fn a_client_sends_a_batch_and_gets_each_outcome_in_its_place() {
    let (client, _server) = client_of(Router::builder().add(echo()));
    let outcomes =
        client.batch().call("echo", [1]).notify("echo", ()).call("nope", ()).call("echo", [2]).send();
    let outcomes = outcomes.await.unwrap();
    assert_eq!(outcomes[0].as_ref().map(Json::as_str), Ok("[1]"));
    assert_eq!(outcomes[1].as_ref().unwrap_err().rejection().unwrap().code, Code::METHOD_NOT_FOUND);
    assert_eq!(outcomes[2].as_ref().map(Json::as_str), Ok("[2]"));
}

#[tokio::test]
async fn one_error_for_a_batch_fails_every_call_of_it() {
    // J2-71
    let (mut raw, server) = Raw::against(Router::builder(), Settings::default());
    let batch = tokio::spawn(async move { server.peer.batch().call("a", ()).call("b", ()).send().await });
    raw.expect(r#"[{"jsonrpc":"2.0","method":"a","id":1},{"jsonrpc":"2.0","method":"b","id":2}]"#).await;
    raw.send(r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no batches"},"id":null}"#).await;
    let outcomes = batch.await.unwrap().unwrap();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Err(CallError::Rejected(_)))), "{outcomes:?}");
}

#[tokio::test]
async fn a_stream_of_the_far_side_ends_where_it_ends() {
    let count = Method::stream("count", |(n,): (u32,), _| futures_util::stream::iter(0..n));
    let (client, _server) = client_of(Router::builder().add(count));
    let items: Vec<_> = client.stream::<u32>("count", [5]).await.unwrap().collect().await;
    assert_eq!(items, (0..5).map(Ok).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_session_may_be_allowed_batches_after_a_handshake() {
    // J2-72
    struct Negotiated;
    let begin = Method::sync("begin", |(): (), cx: Context| {
        cx.session().set(Negotiated);
        Ok::<_, ErrorObject>(true)
    });
    let profile = Profile::default().with_batches_if(Some(|session| session.get::<Negotiated>().is_some()));
    let (mut raw, _server) =
        Raw::against(Router::builder().add(begin).add(echo()), Settings::default().with_profile(profile));
    let batch = r#"[{"jsonrpc":"2.0","method":"echo","params":[],"id":1}]"#;
    raw.send(batch).await;
    let refused = raw.receive().await.unwrap();
    assert!(refused.contains("-32600") && refused.contains(r#""id":null"#), "{refused}");
    raw.send(r#"{"jsonrpc":"2.0","method":"begin","id":2}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":true,"id":2}"#).await;
    raw.send(batch).await;
    raw.expect(r#"[{"jsonrpc":"2.0","result":[],"id":1}]"#).await;
}
