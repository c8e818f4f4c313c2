//! The driver for one body and one answer, where it shares a thread with others.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use switchboard_core::{Answer, Context, Engine, ErrorObject, Json, Method, Router, Settings};

fn engine(router: Router, settings: Settings) -> Engine {
    Engine::new(Arc::new(router), settings)
}

#[tokio::test]
async fn a_stream_that_always_has_an_item_leaves_room_for_others() {
    let pulled = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&pulled);
    let endless = Method::stream("endless", move |_: Json, _: Context| {
        let counter = Arc::clone(&counter);
        futures_util::stream::repeat_with(move || counter.fetch_add(1, Ordering::SeqCst))
    });
    let router = Router::builder().add(endless).build().unwrap();
    let task = tokio::spawn(async move {
        let body = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"endless","id":1}"#);
        engine(router, Settings::default()).exchange(body, &Context::default()).await
    });
    tokio::task::yield_now().await;
    let first = pulled.load(Ordering::SeqCst);
    tokio::task::yield_now().await;
    let second = pulled.load(Ordering::SeqCst);
    assert!(first < second && second < 10_000, "{first} {second}");
    task.abort();
}

#[tokio::test]
async fn a_batch_leaves_room_for_others() {
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&ran);
    let work = Method::sync("work", move |_: Json, _| {
        Ok::<_, ErrorObject>(counter.fetch_add(1, Ordering::SeqCst) as u64)
    });
    let router = Router::builder().add(work).build().unwrap();
    let mut settings = Settings::default();
    settings.limits.batch = 10_000;
    let task = tokio::spawn(async move {
        let entries = vec![r#"{"jsonrpc":"2.0","method":"work","id":1}"#; 10_000].join(",");
        engine(router, settings).exchange(format!("[{entries}]"), &Context::default()).await
    });
    tokio::task::yield_now().await;
    assert!(ran.load(Ordering::SeqCst) < 10_000);
    assert!(matches!(task.await.unwrap(), Answer::Batch(_)));
    assert_eq!(ran.load(Ordering::SeqCst), 10_000);
}

#[tokio::test]
async fn options_of_an_entry_of_a_batch_hold_for_that_entry() {
    let waits = Method::sync("waits", |_: Json, cx: Context| Ok::<_, ErrorObject>(cx.deadline.is_some()));
    let router = Router::builder().add(waits).build().unwrap();
    let body = Bytes::from_static(
        br#"[{"jsonrpc":"2.0","method":"waits","id":1},{"jsonrpc":"2.0","method":"waits","id":2,"timeoutMs":1000},
            {"jsonrpc":"2.0","method":"waits","id":3}]"#,
    );
    let answer = engine(router, Settings::default()).exchange(body, &Context::default()).await;
    let expected = [(1, false), (2, true), (3, false)]
        .map(|(id, has_deadline)| format!(r#"{{"jsonrpc":"2.0","result":{has_deadline},"id":{id}}}"#));
    assert_eq!(answer.body().unwrap(), format!("[{}]", expected.join(",")).as_str());
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_message_bounds_a_stream_that_is_collected() {
    for body in [
        r#"{"jsonrpc":"2.0","method":"stall","id":1,"timeoutMs":2000}"#,
        r#"[{"jsonrpc":"2.0","method":"stall","id":1,"timeoutMs":2000}]"#,
    ] {
        let stall = Method::stream("stall", |_: Json, _: Context| futures_util::stream::pending::<u8>());
        let engine = engine(Router::builder().add(stall).build().unwrap(), Settings::default());
        let start = tokio::time::Instant::now();
        let answer = engine.exchange(body, &Context::default()).await;
        assert!(String::from_utf8_lossy(answer.body().unwrap()).contains("-32003"), "{body}");
        assert_eq!(start.elapsed().as_millis(), 1950, "{body}");
    }
}
