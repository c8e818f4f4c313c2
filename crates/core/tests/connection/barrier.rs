//! The order in which calls start.

use switchboard_core::{Context, ErrorObject, Json, Limits, Method, Profile, Router, Settings};

use crate::rig::{Gate, Raw, echo, ends};

#[tokio::test]
async fn a_notification_is_done_before_anything_after_it_starts() {
    let gate = Gate::new();
    let router = Router::builder().add(gate.method("wait")).add(echo());
    let (mut raw, _server) = Raw::against(router, Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","method":"wait"}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"wait"}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"echo","params":[2],"id":2}"#).await;
    gate.entered().await;
    gate.let_pass(1);
    raw.expect(r#"{"jsonrpc":"2.0","result":[1],"id":1}"#).await;
    gate.entered().await;
    gate.let_pass(1);
    raw.expect(r#"{"jsonrpc":"2.0","result":[2],"id":2}"#).await;
}

#[tokio::test]
async fn a_service_may_do_without_that_order() {
    let gate = Gate::new();
    let router = Router::builder().add(gate.method("wait")).add(echo());
    let mut profile = Profile::default();
    profile.ordered_notifications = false;
    let (mut raw, _server) = Raw::against(router, Settings::default().with_profile(profile));
    raw.send(r#"{"jsonrpc":"2.0","method":"wait"}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":[1],"id":1}"#).await;
    gate.entered().await;
}

#[tokio::test]
async fn a_notification_may_call_back_while_everything_waits_for_it() {
    // J2-75
    let ask = Method::future("ask", |_: Json, cx: Context| async move {
        cx.peer().call::<Json>("echo", ["back"]).await
    });
    let server = Router::builder().add(ask).add(echo());
    let (client, _server) = ends(Router::builder().add(echo()), server, Limits::default());
    client.peer.notify("ask", ()).await.unwrap();
    assert_eq!(client.peer.call::<[u8; 1]>("echo", [1]).await, Ok([1]));
}

#[tokio::test]
async fn calls_start_in_the_order_they_arrive() {
    let (started, mut starts) = tokio::sync::mpsc::unbounded_channel();
    let method = Method::future("start", move |(n,): (u32,), _: Context| {
        started.send(n).unwrap();
        async move {
            tokio::task::yield_now().await;
            Ok::<_, ErrorObject>(n)
        }
    });
    let (mut raw, _server) = Raw::against(Router::builder().add(method), Settings::default());
    for n in 0..50 {
        raw.send(&format!(r#"{{"jsonrpc":"2.0","method":"start","params":[{n}],"id":{n}}}"#)).await;
        raw.receive().await.unwrap();
    }
    for n in 0..50 {
        assert_eq!(starts.recv().await, Some(n));
    }
}
