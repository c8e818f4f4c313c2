//! Calls, notifications and faults in both directions.

use switchboard_core::{CallError, Code, Context, ErrorObject, Json, Limits, Method, Router, Settings};
use tokio::sync::mpsc;

use crate::rig::{Raw, client_of, echo, ends};

#[tokio::test]
async fn both_ends_call_each_other() {
    // J2-73, J1-13: each direction has identifiers of its own.
    let (one, other) = ends(Router::builder().add(echo()), Router::builder().add(echo()), Limits::default());
    for round in 0..3_u32 {
        let (left, right) =
            tokio::join!(one.peer.call("echo", [round]), other.peer.call("echo", [round + 1]));
        assert_eq!((left, right), (Ok([round]), Ok([round + 1])));
    }
}

#[tokio::test]
async fn a_handler_can_call_its_caller_back() {
    // J2-75
    let ask = Method::future("ask", |_: Json, cx: Context| async move {
        cx.peer().call::<Json>("echo", ["back"]).await
    });
    let (client, _server) =
        ends(Router::builder().add(echo()), Router::builder().add(ask), Limits::default());
    assert_eq!(client.peer.call::<[String; 1]>("ask", ()).await, Ok(["back".to_owned()]));
}

#[tokio::test]
async fn what_a_handler_sends_before_it_returns_comes_before_its_reply() {
    let work = Method::future("work", |_: Json, cx: Context| async move {
        for step in 0..3 {
            cx.peer().notify("progress", [step]).await?;
        }
        Ok::<_, CallError>("done")
    });
    let (mut raw, _server) = Raw::against(Router::builder().add(work), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","method":"work","id":1}"#).await;
    for step in 0..3 {
        raw.expect(&format!(r#"{{"jsonrpc":"2.0","method":"progress","params":[{step}]}}"#)).await;
    }
    raw.expect(r#"{"jsonrpc":"2.0","result":"done","id":1}"#).await;
}

#[tokio::test]
async fn a_notification_is_executed_and_not_answered() {
    // J2-17, J2-18
    let (heard, mut hears) = mpsc::unbounded_channel();
    let hello = Method::sync("hello", move |params: Json, _| {
        heard.send(params.to_string()).unwrap();
        Err::<(), _>(ErrorObject::new(Code(1), "nobody hears this"))
    });
    let (mut raw, _server) = Raw::against(Router::builder().add(hello).add(echo()), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","method":"hello","params":[7]}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"unknown"}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"echo","params":[],"id":1}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":[],"id":1}"#).await;
    assert_eq!(hears.recv().await.as_deref(), Some("[7]"));
}

#[tokio::test]
async fn what_cannot_be_understood_is_said_and_the_connection_goes_on() {
    // J2-32, J2-53
    let (mut raw, _server) = Raw::against(Router::builder().add(echo()), Settings::default());
    raw.send("{nonsense").await;
    assert!(raw.receive().await.unwrap().contains("-32700"));
    raw.send("[]").await;
    assert!(raw.receive().await.unwrap().contains("-32600"));
    raw.send(r#"{"jsonrpc":"2.0","method":"echo","params":[1],"id":"é"}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":[1],"id":"é"}"#).await;
}

#[tokio::test]
async fn a_response_to_no_call_is_dropped_and_never_answered() {
    // J2-50, J2-67
    let (mut raw, server) = Raw::against(Router::builder().add(echo()), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","result":1,"id":99}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"},"id":null}"#).await;
    raw.send(r#"{"result":1,"error":null,"id":999}"#).await;
    let call = tokio::spawn(async move { server.peer.call::<u8>("ask", ()).await });
    raw.expect(r#"{"jsonrpc":"2.0","method":"ask","id":1}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","result":5,"id":1}"#).await;
    assert_eq!(call.await.unwrap(), Ok(5));
}

#[tokio::test]
async fn an_answer_that_breaks_the_protocol_is_a_failure_of_its_own_kind() {
    // J2-66
    for (answer, expected) in [
        (r#"{"jsonrpc":"2.0","result":1,"error":{"code":1,"message":"x"},"id":1}"#, "`result` and `error`"),
        (r#"{"jsonrpc":"2.0","error":"no","id":1}"#, "must be an object"),
        (r#"{"jsonrpc":"2.0","error":{"code":1.5,"message":"x"},"id":1}"#, "must be an object"),
    ] {
        let (mut raw, server) = Raw::against(Router::builder(), Settings::default());
        let call = tokio::spawn(async move { server.peer.call::<Json>("ask", ()).await });
        raw.receive().await.unwrap();
        raw.send(answer).await;
        match call.await.unwrap() {
            Err(CallError::Protocol(why)) => assert!(why.contains(expected), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn an_answer_is_matched_by_the_value_of_its_number_but_not_by_a_string() {
    // J2-16, J2-28
    let (mut raw, server) = Raw::against(Router::builder(), Settings::default());
    let call = tokio::spawn(async move { server.peer.call::<u8>("ask", ()).await });
    raw.receive().await.unwrap();
    raw.send(r#"{"jsonrpc":"2.0","result":1,"id":"1"}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","result":2,"id":1.0}"#).await;
    assert_eq!(call.await.unwrap(), Ok(2));
}

#[tokio::test]
async fn an_error_without_an_identifier_fails_the_only_call_that_waits() {
    // J2-68
    let (mut raw, server) = Raw::against(Router::builder(), Settings::default());
    let call = tokio::spawn(async move { server.peer.call::<Json>("ask", ()).await });
    raw.receive().await.unwrap();
    raw.send(r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}"#).await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.rejection().unwrap().code, Code::INVALID_REQUEST);
}

#[tokio::test]
async fn a_panic_is_one_calls_failure() {
    // JK-04
    let crash = Method::sync("crash", |_: Json, _| -> Result<(), ErrorObject> { panic!("secret at src/") });
    let later = Method::future("crash_later", |_: Json, _: Context| async {
        tokio::task::yield_now().await;
        if true {
            panic!("secret at src/")
        }
        Ok::<_, ErrorObject>(())
    });
    let (client, _server) = client_of(Router::builder().add(crash).add(later).add(echo()));
    for method in ["crash", "crash_later"] {
        let error = client.call::<Json>(method, ()).await.unwrap_err();
        let error = error.rejection().unwrap();
        assert_eq!(error.code, Code::INTERNAL_ERROR);
        let data = error.data.as_ref().unwrap().to_string();
        assert!(data.contains("incident") && !data.contains("secret"), "{data}");
    }
    assert_eq!(client.call::<[u8; 1]>("echo", [1]).await, Ok([1]));
}

#[tokio::test]
async fn members_that_the_protocol_does_not_define_are_sent_on() {
    // J2-62
    let forward = Method::new(
        "forward",
        switchboard_core::service_fn(|call| {
            let mut call = call.clone();
            let peer = call.cx.peer().clone();
            call.method = "there".into();
            switchboard_core::Service::call(&peer, &call)
        }),
    );
    let (mut raw, _server) = Raw::against(Router::builder().add(forward), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","method":"forward","params":[1],"id":"a","meta":{"x":[1]},"y":2}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","method":"there","params":[1],"meta":{"x":[1]},"y":2,"id":1}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","result":{"big":12345678901234567890},"id":1}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":{"big":12345678901234567890},"id":"a"}"#).await;
}
