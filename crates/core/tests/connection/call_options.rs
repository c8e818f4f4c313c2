//! Deadlines that travel, progress before the reply, and the dialect of language servers.

use std::future::IntoFuture;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_core::{
    Call, CallError, Code, Context, ErrorObject, Json, Method, Profile, ProgressSink, Reply, ReplyFuture,
    Router, RouterBuilder, Service as _, Settings, Subscription, service_fn,
};
use tokio::sync::mpsc;

use crate::rig::{End, Gate, Raw, client_of};

/// A method that answers with what is left of its time, in milliseconds.
fn left() -> Method {
    Method::sync("left", |_: Json, cx: Context| {
        Ok::<_, ErrorObject>(cx.time_left().map(|left| left.as_millis() as u64))
    })
}

#[tokio::test(start_paused = true)]
async fn a_timeout_travels_and_shrinks_on_the_way() {
    let (far, _far) = client_of(Router::builder().add(left()));
    let (near, _middle) = client_of(Router::builder().fallback(far));
    let told = |ms| near.call::<Option<u64>>("left", ()).timeout(Duration::from_millis(ms));
    // Each hop keeps a twentieth, or 50 ms, for the answer.
    assert_eq!(told(1000).await, Ok(Some(902)));
    assert_eq!(told(10_000).await, Ok(Some(9900)));
    assert_eq!(near.call::<Option<u64>>("left", ()).await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_answered_before_its_caller_gives_up() {
    let gate = Gate::new();
    let (client, _server) = client_of(Router::builder().add(gate.method("wait")));
    let error = client.call::<Json>("wait", ()).timeout(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!(error.rejection().map(|error| error.code), Some(Code::TIMED_OUT));
    gate.empty().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_caller_has_given_up_is_not_run() {
    let (ran, mut runs) = mpsc::unbounded_channel();
    let run = Method::sync("run", move |_: Json, _| ran.send(()).map_err(|_| ErrorObject::timed_out()));
    let (mut raw, server) = Raw::against(Router::builder().add(run), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"run","timeoutMs":0}"#).await;
    assert!(raw.receive().await.unwrap().contains("-32003"));
    assert!(runs.try_recv().is_err());
    // Nor is it passed on.
    let call = server.peer.call::<Json>("run", ()).timeout(Duration::ZERO);
    assert_eq!(call.await, Err(CallError::TimedOut));
}

/// A method that tells three steps, each after the gate.
fn steps(gate: &Gate) -> Method {
    let gate = gate.clone();
    Method::future("work", move |_: Json, cx: Context| {
        let gate = gate.clone();
        async move {
            for step in 1..=3 {
                gate.pass().await;
                cx.progress(&step).await;
            }
            Ok::<_, ErrorObject>("done")
        }
    })
}

fn open_gate() -> Gate {
    let gate = Gate::new();
    gate.let_pass(100);
    gate
}

#[tokio::test]
async fn progress_comes_before_the_reply_also_through_others() {
    let (far, _far) = client_of(Router::builder().add(steps(&open_gate())));
    let (near, _middle) = client_of(Router::builder().fallback(far));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    let call = near.call::<String>("work", ()).on_progress(move |step: u32| sees.lock().unwrap().push(step));
    assert_eq!(call.await.as_deref(), Ok("done"));
    assert_eq!(*seen.lock().unwrap(), [1, 2, 3]);
}

#[tokio::test]
async fn progress_is_told_to_those_only_who_ask() {
    let (mut raw, _server) = Raw::against(Router::builder().add(steps(&open_gate())), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"work"}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":"done","id":1}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","id":"a","method":"work","progress":true}"#).await;
    for step in 1..=3 {
        raw.expect(&format!(
            r#"{{"jsonrpc":"2.0","method":"rpc.progress","params":{{"id":"a","value":{step}}}}}"#
        ))
        .await;
    }
    raw.expect(r#"{"jsonrpc":"2.0","result":"done","id":"a"}"#).await;
}

#[tokio::test]
async fn progress_that_nobody_reads_is_dropped_and_holds_up_nothing() {
    let flood = Method::future("flood", |_: Json, cx: Context| async move {
        for step in 0..10_000 {
            cx.progress(&step).await;
        }
        Ok::<_, ErrorObject>(true)
    });
    let (client, _server) = client_of(Router::builder().add(flood));
    let call = client.call::<bool>("flood", ()).on_progress(|_: u32| {});
    assert_eq!(call.await, Ok(true));
}

#[tokio::test(start_paused = true)]
async fn progress_starts_the_timeout_anew_up_to_the_cap() {
    let slow = Method::future("slow", |(count,): (u32,), cx: Context| async move {
        for step in 0..count {
            let later = tokio::time::Instant::now() + Duration::from_secs(2);
            let _ = tokio::time::timeout_at(later, std::future::pending::<()>()).await;
            cx.progress(&step).await;
        }
        Ok::<_, ErrorObject>(count)
    });
    let (client, _server) = client_of(Router::builder().add(slow));
    let call = |count: u32| {
        let call = client.call::<u32>("slow", [count]).timeout(Duration::from_secs(3));
        call.reset_on_progress(Duration::from_secs(9))
    };
    assert_eq!(call(4).await, Ok(4));
    let error = call(5).await.unwrap_err();
    assert_eq!(error.rejection().map(|error| error.code), Some(Code::TIMED_OUT));
    let plain = client.call::<u32>("slow", [4]).timeout(Duration::from_secs(3)).await;
    assert!(plain.is_err(), "{plain:?}");
}

fn lsp() -> Settings {
    Settings::default().with_profile(Profile::lsp())
}

fn references() -> RouterBuilder {
    let found = Method::stream("references", |_: Json, _| futures_util::stream::iter(["a", "b"]));
    Router::builder().add(found)
}

#[tokio::test]
async fn partial_results_go_by_their_token_and_the_response_is_empty() {
    // LSP-P-01, LSP-P-05
    let (mut raw, _server) = Raw::against(references(), lsp());
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"references","params":{"partialResultToken":"t"}}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","method":"$/progress","params":{"token":"t","value":["a","b"]}}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":[],"id":1}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","id":2,"method":"references","params":{}}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":["a","b"],"id":2}"#).await;
}

#[tokio::test]
async fn a_language_server_tells_work_done_by_the_callers_token() {
    // LSP-P-01, LSP-P-03
    let (mut raw, _server) = Raw::against(Router::builder().add(steps(&open_gate())), lsp());
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"work","params":{"workDoneToken":5}}"#).await;
    for step in 1..=3 {
        raw.expect(&format!(
            r#"{{"jsonrpc":"2.0","method":"$/progress","params":{{"token":5,"value":{step}}}}}"#
        ))
        .await;
    }
    raw.expect(r#"{"jsonrpc":"2.0","result":"done","id":1}"#).await;
}

#[tokio::test]
async fn a_client_of_a_language_server_gives_a_token_and_sees_progress() {
    // LSP-P-03
    let (here, there) = switchboard_transport::memory::pair(256);
    let client = End::start(here, Router::builder(), lsp());
    let _server = End::start(there, Router::builder().add(steps(&open_gate())), lsp());
    let (sender, mut steps) = mpsc::unbounded_channel();
    let call = client.peer.call::<String>("work", serde_json::json!({"x": 1}));
    let call = call.on_progress(move |step: u32| sender.send(step).unwrap());
    assert_eq!(call.await.as_deref(), Ok("done"));
    assert_eq!((steps.recv().await, steps.recv().await, steps.recv().await), (Some(1), Some(2), Some(3)));
}

#[tokio::test]
async fn cancelling_stops_the_handler_in_each_dialect_and_by_each_way() {
    // LSP-C-01, LSP-C-02, SUB-02
    let method = |gate: &Gate| {
        let gate = gate.clone();
        Method::stream("subscribe_x", move |_: Json, _| {
            let gate = gate.clone();
            futures_util::stream::once(async move { gate.pass().await })
        })
    };
    let named = Subscription::named("x", "unsubscribe_x");
    let cases = [
        (Settings::default(), None, r#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":1}}"#),
        (Settings::default(), Some(named), r#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":1}}"#),
        (lsp(), None, r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#),
    ];
    for (mut settings, names, cancel) in cases {
        // Whoever has gone may still read, for so long.
        settings.limits.drain_time = Duration::ZERO;
        for by_message in [true, false] {
            let gate = Gate::new();
            let streams = method(&gate);
            let streams = match names.clone() {
                Some(names) => streams.subscription(names),
                None => streams,
            };
            let (mut raw, _server) = Raw::against(Router::builder().add(streams), settings.clone());
            raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"subscribe_x"}"#).await;
            gate.entered().await;
            if by_message {
                raw.send(cancel).await;
            } else {
                drop(raw);
            }
            gate.empty().await;
        }
    }
}

/// A method that answers with one value, or with a stream for whoever reads one.
fn either() -> Method {
    Method::new(
        "say",
        service_fn(|call| {
            ReplyFuture::ready(match call.cx.wants_stream() {
                true => Reply::stream(futures_util::stream::iter(["a", "b"])),
                false => Reply::of(&"ab"),
            })
        }),
    )
}

#[tokio::test]
async fn a_method_learns_that_its_caller_reads_a_stream_also_when_the_call_is_passed_on() {
    let (far, _far) = client_of(Router::builder().add(either()));
    let (near, _middle) = client_of(Router::builder().fallback(far));
    let items: Vec<_> = near.stream::<String>("say", ()).await.unwrap().collect().await;
    assert_eq!(items, [Ok("a".to_owned()), Ok("b".to_owned())]);
    assert_eq!(near.call::<String>("say", ()).await.as_deref(), Ok("ab"));
}

#[tokio::test]
async fn a_token_for_partial_results_asks_for_a_stream_and_is_all_that_is_said() {
    // LSP-P-05
    let settings = Settings::default().with_profile(Profile::lsp());
    let (mut raw, server) = Raw::against(Router::builder().add(either()), settings);
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"say","params":{"partialResultToken":7}}"#).await;
    let told = r#"{"jsonrpc":"2.0","method":"$/progress","params":{"token":7,"value":["a","b"]}}"#;
    assert_eq!(raw.receive().await.unwrap(), told);
    assert_eq!(raw.receive().await.unwrap(), r#"{"jsonrpc":"2.0","result":[],"id":1}"#);
    raw.send(r#"{"jsonrpc":"2.0","id":2,"method":"say"}"#).await;
    assert_eq!(raw.receive().await.unwrap(), r#"{"jsonrpc":"2.0","result":"ab","id":2}"#);

    let call = tokio::spawn(server.peer.stream::<String>("other", ()).into_future());
    let sent = raw.receive().await.unwrap();
    assert!(sent.contains("partialResultToken") && !sent.contains(r#""stream""#), "{sent}");
    call.abort();
}

#[tokio::test]
async fn whoever_reads_a_subscription_under_its_own_names_does_not_ask_for_a_stream() {
    let (mut raw, server) = Raw::against(Router::builder(), Settings::default());
    let call = tokio::spawn(server.peer.stream::<String>("eth_subscribe", ["newHeads"]).into_future());
    assert!(!raw.receive().await.unwrap().contains(r#""stream""#));
    call.abort();
    let call = tokio::spawn(server.peer.stream::<String>("count", [2]).into_future());
    // What gave up on the first is told too.
    let mut sent = raw.receive().await.unwrap();
    while !sent.contains(r#""count""#) {
        sent = raw.receive().await.unwrap();
    }
    assert!(sent.contains(r#""stream":true"#), "{sent}");
    call.abort();
}

#[tokio::test]
async fn a_protocol_can_take_progress_and_report_it_in_its_own_way() {
    let (sender, mut seen) = mpsc::unbounded_channel();
    let router = Router::builder()
        .method("work", |(): (), cx: Context| {
            assert!(cx.wants_progress());
            drop(cx.progress(&1));
            Ok::<_, ErrorObject>("done")
        })
        .build()
        .unwrap();
    let mut call = Call::new("work", None);
    call.cx.insert(ProgressSink::new(move |value: Json| {
        sender.send(value).unwrap();
        std::future::ready(())
    }));
    let _ = router.call(&call).await;
    assert_eq!(seen.recv().await.unwrap().as_str(), "1");
}
