//! What is refused, and that refusing never turns into waiting for ever.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use switchboard_core::{
    Code, ConnectionError, Context, ErrorObject, Json, Limits, Method, Peer, Reply, ReplyFuture, Router,
    Settings, service_fn,
};

use crate::rig::{Gate, Raw, echo, ends};

#[tokio::test]
async fn at_the_limit_calls_are_refused_and_reading_goes_on() {
    // SEC-L-10, J2-75
    let gate = Gate::new();
    let limits = Limits::default().with_in_flight(2);
    let router = Router::builder().add(gate.method("wait")).add(echo());
    let (mut raw, server) = Raw::against(router, Settings::default().with_limits(limits));
    for id in 1..=3 {
        raw.send(&format!(r#"{{"jsonrpc":"2.0","method":"wait","id":{id}}}"#)).await;
    }
    let refused = raw.receive().await.unwrap();
    assert!(refused.contains(r#""id":3"#) && refused.contains("-32005"), "{refused}");
    // A response of ours is still taken.
    let call = tokio::spawn(async move { server.peer.call::<u8>("ask", ()).await });
    raw.expect(r#"{"jsonrpc":"2.0","method":"ask","id":1}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","result":5,"id":1}"#).await;
    assert_eq!(call.await.unwrap(), Ok(5));
    gate.let_pass(2);
    assert!(raw.receive().await.unwrap().contains("true"));
}

#[tokio::test]
async fn calls_that_are_answered_at_once_take_no_place_however_many_are_pipelined() {
    // SEC-L-10
    let limits = Limits::default().with_in_flight(1);
    let later = Method::future("async_echo", |params: Json, _| async { Ok::<_, ErrorObject>(params) });
    let router = Router::builder().add(echo()).add(later);
    let (mut raw, _server) = Raw::against(router, Settings::default().with_limits(limits));
    for id in 0..256 {
        let method = if id % 2 == 0 { "echo" } else { "async_echo" };
        raw.send(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":[{id}],"id":{id}}}"#)).await;
    }
    for id in 0..256 {
        raw.expect(&format!(r#"{{"jsonrpc":"2.0","result":[{id}],"id":{id}}}"#)).await;
    }
}

/// Two ends with a limit of one call that call each other `depth` times, each from within the handler of the other.
#[tokio::test]
async fn two_ends_that_call_each_other_with_a_limit_of_one_never_deadlock() {
    let limits = Limits::default().with_in_flight(1);
    let bounce = || {
        Method::future("bounce", |(depth,): (u32,), cx: Context| async move {
            match depth {
                0 => Ok::<_, ErrorObject>(Json::NULL),
                _ => Ok(cx.peer().call::<Json>("bounce", [depth - 1]).await?),
            }
        })
    };
    let (one, other) = ends(Router::builder().add(bounce()), Router::builder().add(bounce()), limits);
    // One call each way fits.
    assert_eq!(one.peer.call::<Json>("bounce", [1]).await, Ok(Json::NULL));
    // The third would be the second at one end: it is refused, and the refusal comes back all the way.
    let refused = one.peer.call::<Json>("bounce", [2]).await.unwrap_err();
    assert_eq!(refused.rejection().unwrap().code, Code::OVER_LIMIT);
    // Both at once, many times: each is answered, one way or the other.
    for _ in 0..100 {
        let (left, right) =
            tokio::join!(one.peer.call::<Json>("bounce", [1]), other.peer.call::<Json>("bounce", [1]));
        for outcome in [left, right] {
            let refused = outcome.err().map(|error| error.rejection().unwrap().code);
            assert!(refused.is_none_or(|code| code == Code::OVER_LIMIT), "{refused:?}");
        }
    }
    assert_eq!(other.peer.call::<Json>("bounce", [0]).await, Ok(Json::NULL));
}

#[tokio::test]
async fn two_ends_with_tiny_outboxes_that_call_each_other_all_get_answers() {
    let limits = Limits::default().with_outbox(4096).with_in_flight(1000);
    let (one, other) = ends(Router::builder().add(echo()), Router::builder().add(echo()), limits);
    let flood = |peer: Peer| async move {
        let calls = (0..500_u32).map(|n| peer.call::<[u32; 1]>("echo", [n]).into_future());
        futures_util::future::join_all(calls).await
    };
    let (left, right) = tokio::join!(flood(one.peer.clone()), flood(other.peer.clone()));
    for (n, outcome) in left.into_iter().enumerate() {
        assert_eq!(outcome, Ok([n as u32]));
    }
    assert_eq!(right.len(), 500);
}

#[tokio::test]
async fn a_peer_whose_answers_are_longer_than_what_may_wait_is_cut_off() {
    // SEC-L-14, JK-07
    let limits = Limits::default().with_outbox(10_000);
    let (mut raw, server) =
        Raw::against(Router::builder().add(echo()), Settings::default().with_limits(limits));
    // A call of this side waits for the peer, so what that sends is read although it takes nothing.
    let waiting = server.peer.call::<Json>("never", ());
    let waiting = tokio::spawn(waiting.into_future());
    let long = "x".repeat(100);
    for id in 0..1000 {
        let frame = format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{long}"],"id":{id}}}"#);
        if raw.try_send(&frame).await.is_err() {
            break;
        }
    }
    let error = server.task.await.unwrap().unwrap_err();
    assert!(matches!(error, ConnectionError::SlowReader { limit: 10_000, .. }), "{error}");
    assert!(waiting.await.unwrap().is_err());
}

#[tokio::test]
async fn our_own_notifications_wait_for_room_and_none_is_lost() {
    let limits = Limits::default().with_outbox(2000);
    let (mut raw, server) = Raw::against(Router::builder(), Settings::default().with_limits(limits));
    let sender = tokio::spawn(async move {
        for n in 0..1000 {
            server.peer.notify("tick", [n]).await.unwrap();
        }
        server
    });
    for n in 0..1000 {
        raw.expect(&format!(r#"{{"jsonrpc":"2.0","method":"tick","params":[{n}]}}"#)).await;
    }
    assert!(!sender.await.unwrap().task.is_finished());
}

#[tokio::test]
async fn a_reply_that_is_too_long_is_replaced() {
    // SEC-L-03
    let limits = Limits::default().with_reply(100);
    let router = Router::builder().add(echo());
    let (mut raw, _server) = Raw::against(router, Settings::default().with_limits(limits));
    raw.send(&format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{}"],"id":1}}"#, "x".repeat(100)))
        .await;
    let answer = raw.receive().await.unwrap();
    assert!(answer.contains("-32007") && answer.contains(r#""id":1"#), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_notification_that_never_ends_holds_up_its_sender_only_for_a_time() {
    let gate = Gate::new();
    let limits = Limits::default().with_call_time(Duration::from_secs(3));
    let (client, _server) =
        ends(Router::builder(), Router::builder().add(gate.method("wait")).add(echo()), limits);
    client.peer.notify("wait", ()).await.unwrap();
    assert_eq!(client.peer.call::<[u8; 1]>("echo", [1]).await, Ok([1]));
}

#[tokio::test]
async fn a_peer_kept_by_a_handler_does_not_keep_the_connection() {
    let kept: Arc<OnceLock<Peer>> = Arc::default();
    let keeper = Arc::clone(&kept);
    let keep = Method::sync("keep", move |_: Json, cx: Context| {
        keeper.set(cx.peer().clone()).unwrap();
        Ok::<_, ErrorObject>(())
    });
    let (client, server) = ends(Router::builder(), Router::builder().add(keep), Limits::default());
    client.peer.call::<()>("keep", ()).await.unwrap();
    client.task.abort();
    server.task.await.unwrap().unwrap();
    let error = kept.get().unwrap().call::<Json>("anything", ()).await.unwrap_err();
    assert!(matches!(error, switchboard_core::CallError::Closed(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_limits_its_own_time_is_only_ended_by_its_callers_deadline() {
    let limits = Limits::default().with_call_time(Duration::from_secs(3));
    let slow = Method::new(
        "slow",
        service_fn(|_| {
            let reply = ReplyFuture::untimed(async {
                tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_secs(10)).await;
                Reply::value(Json::TRUE)
            });
            // A layer that changes the reply does not give it a limit.
            reply.map(|reply| reply)
        }),
    );
    let (mut raw, _server) =
        Raw::against(Router::builder().add(slow), Settings::default().with_limits(limits));
    raw.send(r#"{"jsonrpc":"2.0","method":"slow","id":1}"#).await;
    raw.expect(r#"{"jsonrpc":"2.0","result":true,"id":1}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"slow","id":2,"timeoutMs":5000}"#).await;
    assert!(raw.receive().await.unwrap().contains("-32003"));
}
