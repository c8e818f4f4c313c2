//! Members and metadata that travel beside a reply.

use std::sync::Arc;

use switchboard_core::{
    Answer, Code, Context, Engine, ErrorObject, Json, Limits, Method, Reply, ReplyFuture, Router,
    RouterBuilder, Settings, service_fn,
};

use crate::rig::{Gate, Raw, client_of};

/// A method with this reply, which has members of `bytes` bytes beside it.
fn beside(name: &str, bytes: usize, reply: impl Fn() -> Reply + Send + Sync + 'static) -> Method {
    let members = Json::parse(format!(r#"{{"m":"{}"}}"#, "x".repeat(bytes - 8))).unwrap();
    assert_eq!(members.as_bytes().len(), bytes);
    Method::new(
        name,
        service_fn(move |_| {
            let mut reply = reply();
            reply.extra_mut().members = Some(members.clone());
            ReplyFuture::ready(reply)
        }),
    )
}

/// Calls with members of `bytes` bytes: beside a result of two bytes, and beside an error without data.
fn router(gate: &Gate, bytes: usize) -> RouterBuilder {
    Router::builder()
        .add(beside("value", bytes - 2, || Reply::value(Json::parse("[]").unwrap())))
        .add(beside("error", bytes, || Reply::error(ErrorObject::new(Code(7), "seven"))))
        .add(gate.method("wait"))
}

const CALLS: [&str; 2] =
    [r#"{"jsonrpc":"2.0","method":"value","id":1}"#, r#"{"jsonrpc":"2.0","method":"error","id":2}"#];

/// Makes the calls alone and in batches, over a connection and as a body, and checks how many answers are too large.
async fn check(bytes: usize, limits: Limits, alone: usize, batch: usize) {
    let too_large = |answer: &str| answer.matches("-32007").count();
    let settings = || Settings::default().with_limits(limits.clone());
    let gate = Gate::new();
    let (mut raw, _server) = Raw::against(router(&gate, bytes), settings());
    let engine = Engine::new(Arc::new(router(&gate, bytes).build().unwrap()), settings());
    let exchange = async |body: String| {
        let answer = engine.exchange(body, &Context::default()).await;
        String::from_utf8(answer.into_body().unwrap().to_vec()).unwrap()
    };
    let mut found = 0;
    for call in CALLS {
        raw.send(call).await;
        let answer = raw.receive().await.unwrap();
        found += too_large(&answer);
        assert_eq!(answer, exchange(call.to_owned()).await);
    }
    assert_eq!(found, alone, "{bytes} bytes alone");
    let whole = format!("[{}]", CALLS.join(","));
    raw.send(&whole).await;
    let answer = raw.receive().await.unwrap();
    assert_eq!(too_large(&answer), batch, "{bytes} bytes in a batch: {answer}");
    assert_eq!(answer, exchange(whole).await);
    // These wait for the entry before them.
    raw.send(&format!(r#"[{{"jsonrpc":"2.0","method":"wait","id":0}},{}]"#, CALLS.join(","))).await;
    gate.entered().await;
    gate.let_pass(1);
    let answer = raw.receive().await.unwrap();
    assert_eq!(too_large(&answer), batch, "{bytes} bytes behind another entry: {answer}");
}

#[tokio::test]
async fn members_beside_a_reply_count_against_its_limit() {
    // SEC-L-03
    let limits = || Limits::default().with_reply(100);
    check(100, limits(), 0, 0).await;
    check(101, limits(), 2, 2).await;
}

#[tokio::test]
async fn members_beside_the_entries_of_a_batch_count_against_its_limit() {
    // SEC-L-04
    let limits = || Limits::default().with_batch_reply(1000);
    check(400, limits(), 0, 0).await;
    check(800, limits(), 0, 1).await;
    check(1200, limits(), 0, 2).await;
}

/// A stream without items that has a member and metadata beside it.
fn stream(name: &str, member: usize) -> Method {
    let members = Json::parse(format!(r#"{{"m":"{}"}}"#, "x".repeat(member))).unwrap();
    Method::new(
        name,
        service_fn(move |_| {
            let mut reply = Reply::stream(futures_util::stream::empty::<u8>()).with_metadata("trace", "7");
            reply.extra_mut().members = Some(members.clone());
            ReplyFuture::ready(reply)
        }),
    )
}

const STREAM: &str = r#"{"jsonrpc":"2.0","method":"stream","id":1}"#;
const WAIT: &str = r#"{"jsonrpc":"2.0","method":"wait","id":0}"#;
const BESIDE: &str = r#""id":1,"m":"xxx","metadata":{"trace":"7"}}"#;

#[tokio::test]
async fn the_response_that_opens_a_stream_has_its_members_and_metadata() {
    let gate = Gate::new();
    let router = Router::builder().add(stream("stream", 3)).add(gate.method("wait"));
    let (mut raw, _server) = Raw::against(router, Settings::default());
    gate.let_pass(1);
    for message in [STREAM.to_owned(), format!("[{STREAM}]"), format!("[{WAIT},{STREAM}]")] {
        raw.send(&message).await;
        let answer = raw.receive().await.unwrap();
        assert!(answer.contains(r#""stream":true"#) && answer.contains(BESIDE), "{answer}");
        assert!(raw.receive().await.unwrap().contains("rpc.end"));
    }
}

#[tokio::test]
async fn the_members_and_metadata_of_a_stream_are_passed_on() {
    let (upstream, _server) = client_of(Router::builder().add(stream("stream", 3)));
    let (mut raw, _gateway) = Raw::against(Router::builder().fallback(upstream), Settings::default());
    raw.send(STREAM).await;
    let answer = raw.receive().await.unwrap();
    assert!(answer.contains(r#""stream":true"#) && answer.ends_with(BESIDE), "{answer}");
}

#[tokio::test]
async fn a_stream_that_is_collected_keeps_its_members_and_metadata() {
    let router = Router::builder().add(stream("stream", 3)).build().unwrap();
    let engine = Engine::new(Arc::new(router), Settings::default());
    let answer = engine.exchange(STREAM, &Context::default()).await;
    let Answer::Single { body, extra, .. } = answer else { panic!("{answer:?}") };
    assert_eq!(body, r#"{"jsonrpc":"2.0","result":[],"id":1,"m":"xxx"}"#);
    assert_eq!(extra.unwrap().metadata.text("trace"), Some("7"));
}

#[tokio::test]
async fn the_members_of_entries_keep_their_metadata_over_a_connection() {
    let value = || Reply::value(Json::NULL).with_metadata("trace", "7");
    let router = Router::builder().add(beside("stream", 11, value));
    let (mut raw, _server) = Raw::against(router, Settings::default());
    raw.send(&format!("[{STREAM}]")).await;
    raw.expect(&format!(r#"[{{"jsonrpc":"2.0","result":null,{BESIDE}]"#)).await;
}

#[tokio::test]
async fn a_stream_with_too_many_members_beside_it_is_not_opened() {
    // SEC-L-03, SEC-L-04
    for limits in [Limits::default().with_reply(50), Limits::default().with_batch_reply(50)] {
        let gate = Gate::new();
        let is_alone_refused = limits.reply == 50;
        let router = Router::builder().add(stream("stream", 50)).add(gate.method("wait"));
        let (mut raw, _server) = Raw::against(router, Settings::default().with_limits(limits));
        raw.send(STREAM).await;
        assert_eq!(raw.receive().await.unwrap().contains("-32007"), is_alone_refused);
        if !is_alone_refused {
            assert!(raw.receive().await.unwrap().contains("rpc.end"));
        }
        gate.let_pass(1);
        for batch in [format!("[{STREAM}]"), format!("[{WAIT},{STREAM}]")] {
            raw.send(&batch).await;
            let answer = raw.receive().await.unwrap();
            assert!(answer.contains("-32007") && !answer.contains("stream"), "{answer}");
        }
        raw.send(r#"{"jsonrpc":"2.0","method":"ask","id":7}"#).await;
        assert!(raw.receive().await.unwrap().contains("-32601"));
    }
}
