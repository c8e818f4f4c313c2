//! One input and its answer in parts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use switchboard_core::{
    Answer, CallError, Cause, Code, Context, Delivery, Engine, ErrorObject, First, Json, Limits, Method,
    Output, Outputs, Reply, ReplyFuture, Router, Settings, service_fn,
};

fn open(router: Router, body: &'static str, limits: Limits) -> Outputs {
    let settings = Settings::default().with_limits(limits);
    Engine::new(Arc::new(router), settings).outputs(body, &Context::default(), Delivery::Parts)
}

async fn all(outputs: Outputs) -> Vec<String> {
    let show = |output| match output {
        Output::Started(id) => format!("started {id}"),
        Output::Message(text, _) => String::from_utf8(text.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    };
    outputs.map(show).collect().await
}

fn with(method: Method) -> Router {
    Router::builder().add(method).build().unwrap()
}

const CALL: &str = r#"{"jsonrpc":"2.0","method":"m","id":1}"#;

#[tokio::test]
async fn what_a_handler_pushes_comes_before_its_reply_in_order() {
    let router = with(Method::future("m", |(): (), cx: Context| async move {
        cx.peer().notify("progress", [1]).await?;
        tokio::task::yield_now().await;
        cx.peer().notify("progress", [2]).await?;
        Ok::<_, CallError>("done")
    }));
    let expected = [
        r#"{"jsonrpc":"2.0","method":"progress","params":[1]}"#,
        r#"{"jsonrpc":"2.0","method":"progress","params":[2]}"#,
        r#"{"jsonrpc":"2.0","result":"done","id":1}"#,
    ];
    assert_eq!(all(open(router, CALL, Limits::default())).await, expected);
}

#[tokio::test]
async fn the_caller_cannot_be_asked_and_cannot_be_told_when_it_is_too_late() {
    let (sender, mut peers) = tokio::sync::mpsc::unbounded_channel();
    let router = with(Method::future("m", move |(): (), cx: Context| {
        let sender = sender.clone();
        async move {
            let asked = cx.peer().call::<Json>("ask", ()).await;
            sender.send(cx.peer().clone()).unwrap();
            Ok::<_, ErrorObject>(matches!(asked, Err(CallError::Unsupported(_))))
        }
    }));
    let answer = all(open(router, CALL, Limits::default())).await;
    assert_eq!(answer, [r#"{"jsonrpc":"2.0","result":true,"id":1}"#]);
    let late = peers.recv().await.unwrap().notify("late", ()).await;
    assert!(matches!(late, Err(CallError::Closed(_))), "{late:?}");
}

#[tokio::test]
async fn who_pushes_too_much_waits_until_it_is_taken() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    let router = with(Method::future("m", move |(): (), cx: Context| {
        let counter = Arc::clone(&counter);
        async move {
            for _ in 0..100 {
                cx.peer().notify("progress", ["x".repeat(100)]).await?;
                counter.fetch_add(1, Ordering::SeqCst);
            }
            Ok::<_, CallError>(())
        }
    }));
    let mut events = open(router, CALL, Limits::default().with_outbox(1000));
    assert!(events.next().await.is_some());
    assert!(sent.load(Ordering::SeqCst) < 10, "{sent:?}");
    assert_eq!(all(events).await.len(), 100);
}

#[tokio::test]
async fn items_are_responses_and_none_is_pulled_before_it_is_asked_for() {
    let pulled = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&pulled);
    let router = with(Method::stream("m", move |(): (), _| {
        let counter = Arc::clone(&counter);
        stream::repeat_with(move || counter.fetch_add(1, Ordering::SeqCst)).take(3)
    }));
    let mut events = open(router, CALL, Limits::default());
    assert_eq!(events.next().await, Some(Output::Started(1.into())));
    assert_eq!(pulled.load(Ordering::SeqCst), 0);
    let first = events.next().await;
    let text = Bytes::from_static(br#"{"jsonrpc":"2.0","result":0,"id":1}"#);
    assert_eq!(first, Some(Output::Message(text, Cause::Answer)));
    assert_eq!(pulled.load(Ordering::SeqCst), 1);
    assert_eq!(all(events).await.len(), 2);
}

#[tokio::test]
async fn an_error_is_the_last_of_a_stream_and_an_item_too_long_is_one() {
    let broken = service_fn(|_| {
        let items = [Ok(1), Err(ErrorObject::new(Code(7), "broke")), Ok(3)];
        ReplyFuture::ready(Reply::try_stream(stream::iter(items)))
    });
    let answer = all(open(with(Method::new("m", broken)), CALL, Limits::default())).await;
    assert_eq!(answer.len(), 3, "{answer:?}");
    assert_eq!(answer[2], r#"{"jsonrpc":"2.0","error":{"code":7,"message":"broke"},"id":1}"#);

    let long = with(Method::stream("m", |(): (), _| stream::iter(["ok", "much too long"])));
    let answer = all(open(long, CALL, Limits::default().with_reply(8))).await;
    assert!(answer.len() == 3 && answer[2].contains("-32007"), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_ends_with_its_reply_and_not_within_its_stream() {
    let slow = with(Method::stream("m", |(): (), _| {
        stream::iter([1, 2]).then(|item| async move {
            tokio::time::advance(std::time::Duration::from_secs(3600)).await;
            item
        })
    }));
    assert_eq!(all(open(slow, CALL, Limits::default())).await.len(), 3);
    let never = with(Method::future("m", |(): (), _| std::future::pending::<Result<(), ErrorObject>>()));
    let answer = all(open(never, CALL, Limits::default())).await;
    assert!(answer.len() == 1 && answer[0].contains("-32003"), "{answer:?}");
}

#[tokio::test]
async fn what_is_interrupted_is_answered_with_the_error() {
    let never = with(Method::stream("m", |(): (), _| stream::pending::<u8>()));
    let mut events = open(never, CALL, Limits::default());
    assert_eq!(events.next().await, Some(Output::Started(1.into())));
    assert_eq!(events.next().now_or_never(), None);
    events.interrupt(&ErrorObject::from_code(Code::SHUTTING_DOWN));
    let rest = all(events).await;
    assert_eq!(rest, [r#"{"jsonrpc":"2.0","error":{"code":-32006,"message":"Shutting down"},"id":1}"#]);
}

#[tokio::test]
async fn notifications_alone_are_not_answered_and_a_batch_is_answered_as_one() {
    let router = || with(Method::sync("m", |(): (), _| Ok::<_, ErrorObject>(5)));
    let mut silent = open(router(), r#"[{"jsonrpc":"2.0","method":"m"}]"#, Limits::default());
    assert!(matches!(silent.first().await, First::Whole(Answer::Nothing)));
    assert_eq!(all(silent).await, [""; 0]);
    let batch = r#"[{"jsonrpc":"2.0","method":"m","id":1},{"jsonrpc":"2.0","method":"m","id":2}]"#;
    let mut batch = open(router(), batch, Limits::default());
    assert!(matches!(batch.first().await, First::Parts));
    let answer = all(batch).await;
    assert!(answer.len() == 1 && answer[0].starts_with('['), "{answer:?}");
}
