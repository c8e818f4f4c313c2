//! How a connection ends, and what becomes of what is under way.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use switchboard_core::{
    CallError, CloseReason, Code, Connection, Context, EndReason, Engine, Json, Limits, Method, Origin,
    Router, Settings,
};
use switchboard_transport::memory;

use crate::rig::{Gate, Raw, client_of, echo, ends};

#[tokio::test]
async fn when_the_connection_ends_every_call_fails_with_a_local_error() {
    // J2-74, J1-15
    let gate = Gate::new();
    let (client, server) = client_of(Router::builder().add(gate.method("wait")));
    let call = tokio::spawn(client.call::<Json>("wait", ()).into_future());
    gate.entered().await;
    server.task.abort();
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, CallError::Closed(_)), "{error}");
    gate.empty().await;
    let later = client.call::<Json>("wait", ()).await.unwrap_err();
    assert!(matches!(later, CallError::Closed(_)), "{later}");
    assert!(matches!(client.notify("wait", ()).await, Err(CallError::Closed(_))));
}

#[tokio::test]
async fn what_was_asked_before_the_far_side_stopped_sending_is_still_answered() {
    let gate = Gate::new();
    let router = Router::builder().add(gate.method("wait")).add(echo());
    let ((source, sink), there) = memory::pair(4096);
    let server = crate::rig::End::start(there, router, Settings::default());
    let mut sink = sink;
    switchboard_core::FrameSink::push(&mut sink, br#"{"jsonrpc":"2.0","method":"wait","id":1}"#);
    std::future::poll_fn(|cx| switchboard_core::FrameSink::poll_close(&mut sink, cx)).await.unwrap();
    gate.entered().await;
    gate.let_pass(1);
    server.task.await.unwrap().unwrap();
    let mut source = source;
    let frame = std::future::poll_fn(|cx| switchboard_core::FrameSource::poll_frame(&mut source, cx)).await;
    assert_eq!(&frame.unwrap().unwrap()[..], br#"{"jsonrpc":"2.0","result":true,"id":1}"#);
}

#[tokio::test]
async fn draining_finishes_what_is_under_way_and_refuses_the_rest() {
    // JK-08
    let gate = Gate::new();
    let (mut raw, server) = Raw::against(Router::builder().add(gate.method("wait")), Settings::default());
    raw.send(r#"{"jsonrpc":"2.0","method":"wait","id":1}"#).await;
    gate.entered().await;
    server.session.close(CloseReason::shutting_down());
    raw.send(r#"{"jsonrpc":"2.0","method":"wait","id":2}"#).await;
    let refused = raw.receive().await.unwrap();
    assert!(refused.contains("-32006") && refused.contains(r#""id":2"#), "{refused}");
    gate.let_pass(1);
    raw.expect(r#"{"jsonrpc":"2.0","result":true,"id":1}"#).await;
    assert_eq!(raw.receive().await, None);
    server.task.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn draining_does_not_wait_for_ever_and_leaves_nothing_unanswered() {
    let gate = Gate::new();
    let limits = Limits::default().with_drain_time(Duration::from_secs(2));
    let router = Router::builder().add(gate.method("wait"));
    let (mut raw, server) = Raw::against(router, Settings::default().with_limits(limits));
    raw.send(r#"{"jsonrpc":"2.0","method":"wait","id":1}"#).await;
    gate.entered().await;
    server.session.close(CloseReason::shutting_down());
    let stopped = raw.receive().await.unwrap();
    assert!(stopped.contains("-32006") && stopped.contains(r#""executed":"unknown""#), "{stopped}");
    assert_eq!(raw.receive().await, None);
    server.task.await.unwrap().unwrap();
    gate.empty().await;
}

#[tokio::test]
async fn draining_ends_streams_with_the_reason() {
    let quiet = Method::stream("quiet", |_: Json, _| futures_util::stream::pending::<u8>());
    let (client, server) = client_of(Router::builder().add(quiet));
    let mut items = client.stream::<u8>("quiet", ()).await.unwrap();
    server.session.close(CloseReason::shutting_down());
    let end = futures_util::StreamExt::next(&mut items).await.unwrap().unwrap_err();
    assert_eq!(end.rejection().unwrap().code, Code::SHUTTING_DOWN);
    server.task.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn draining_gives_up_on_a_far_side_that_does_not_read() {
    let limits = Limits::default().with_drain_time(Duration::from_secs(2));
    let router = Router::builder().add(echo());
    let (mut raw, server) = Raw::against(router, Settings::default().with_limits(limits));
    for _ in 0..3 {
        let long = "x".repeat(200);
        raw.send(&format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{long}"],"id":1}}"#)).await;
    }
    server.session.close(CloseReason::shutting_down());
    assert!(server.task.await.unwrap().is_err());
}

#[tokio::test]
async fn both_ends_can_drain_at_once() {
    let (one, other) = ends(Router::builder().add(echo()), Router::builder().add(echo()), Limits::default());
    assert_eq!(one.peer.call::<[u8; 1]>("echo", [1]).await, Ok([1]));
    one.session.close(CloseReason::shutting_down());
    other.session.close(CloseReason::shutting_down());
    one.task.await.unwrap().unwrap();
    other.task.await.unwrap().unwrap();
}

/// A connection in this context, which nothing is sent over.
fn idle(cx: &Context) -> (memory::MemorySink, Connection) {
    let ((_, sink), (source, reading)) = memory::pair(256);
    let engine = Engine::new(Arc::new(Router::builder().build().unwrap()), Settings::default());
    (sink, Connection::new(source, reading, engine, cx.clone()).1)
}

#[tokio::test]
async fn a_second_connection_in_one_context_has_its_own_session() {
    let cx = Context::new(Origin::new("test"));
    let ((_first_sink, first), (_second_sink, second)) = (idle(&cx), idle(&cx));
    assert_eq!(first.session().id(), cx.session().id());
    assert_ne!(second.session().id(), cx.session().id());
    assert_eq!(second.session().origin().transport, "test");
    let (sender, ends) = std::sync::mpsc::channel();
    cx.session().on_end(move |reason| sender.send(reason.clone()).unwrap());
    second.session().close(CloseReason::new("enough"));
    second.await.unwrap();
    assert!(ends.try_recv().is_err(), "the end of the second is not that of the first");
    cx.session().close(CloseReason::new("over"));
    first.await.unwrap();
    assert_eq!(ends.recv(), Ok(EndReason::Closed(CloseReason::new("over"))));
}

#[test]
fn of_two_connections_that_begin_at_once_one_gets_the_session() {
    for _ in 0..500 {
        let (cx, barrier) = (Context::new(Origin::new("test")), Barrier::new(2));
        let begin = || {
            barrier.wait();
            idle(&cx).1.session().id() == cx.session().id()
        };
        let both =
            thread::scope(|scope| [begin; 2].map(|begin| scope.spawn(begin)).map(|run| run.join().unwrap()));
        assert_eq!(both.into_iter().filter(|is_its| *is_its).count(), 1);
    }
}
