//! Calls: cancelling, deadlines, progress, errors.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use switchboard_core::{Call, CallError, Code, Context, ErrorObject, Outcome, Router, Service};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::{Chain, Pair, call_with, endless, proxy};

over_every_pair!(a_cancelled_call_is_cancelled_at_the_upstream);

async fn a_cancelled_call_is_cancelled_at_the_upstream(pair: Pair) {
    let (router, mut seen) = endless();
    let chain = Chain::open(pair, router).await;
    let reply = Service::call(&chain.client, &Call::new("hang", None));
    let waiting = tokio::spawn(reply);
    assert_eq!(seen.recv().await, Some("started"));
    waiting.abort();
    assert_eq!(seen.recv().await, Some("dropped"));
}

over_every_pair!(a_stream_that_is_dropped_ends_at_the_upstream);

async fn a_stream_that_is_dropped_ends_at_the_upstream(pair: Pair) {
    let (router, mut seen) = endless();
    let chain = Chain::open(pair, router).await;
    let mut items = chain.client.stream::<u32>("tick", ()).await.unwrap();
    assert_eq!(items.next().await.unwrap(), Ok(1));
    assert_eq!(seen.recv().await, Some("started"));
    drop(items);
    assert_eq!(seen.recv().await, Some("dropped"));
}

over_every_pair!(a_deadline_shrinks_with_each_hop);

async fn a_deadline_shrinks_with_each_hop(pair: Pair) {
    let left = |(): (), cx: Context| Ok::<_, ErrorObject>(cx.time_left().map(|left| left.as_millis() as u64));
    let chain = Chain::open(pair, Router::builder().method("left", left)).await;
    let told: Option<u64> = chain.client.call("left", ()).timeout(Duration::from_secs(60)).await.unwrap();
    // Each of the two servers keeps 50 ms for the way back.
    let told = told.unwrap();
    assert!((40_000..=59_900).contains(&told), "{told} ms");
    assert_eq!(chain.client.call::<Option<u64>>("left", ()).await, Ok(None));
}

over_every_pair!(a_call_that_takes_too_long_is_answered_and_cancelled);

async fn a_call_that_takes_too_long_is_answered_and_cancelled(pair: Pair) {
    let (router, mut seen) = endless();
    let chain = Chain::open(pair, router).await;
    // Told by hand, so that the client itself waits.
    let call = call_with("hang", r#"{"timeoutMs":300}"#);
    let reply = Service::call(&chain.client, &call).await;
    let Outcome::Error(error) = reply.outcome else { panic!("{reply:?}") };
    assert_eq!((error.code, error.is_local()), (Code::TIMED_OUT, false));
    assert_eq!((seen.recv().await, seen.recv().await), (Some("started"), Some("dropped")));
}

over_every_pair!(progress_arrives_before_the_reply);

async fn progress_arrives_before_the_reply(pair: Pair) {
    let work = |(): (), cx: Context| async move {
        cx.progress(&30).await;
        cx.progress(&60).await;
        Ok::<_, ErrorObject>("done")
    };
    let chain = Chain::open(pair, Router::builder().async_method("work", work)).await;
    let (progress, mut seen) = mpsc::unbounded_channel();
    let call = chain.client.call::<String>("work", ()).on_progress(move |percent: u8| {
        progress.send(percent).unwrap();
    });
    assert_eq!(call.await.unwrap(), "done");
    assert_eq!((seen.recv().await, seen.recv().await, seen.recv().await), (Some(30), Some(60), None));
}

over_every_pair!(an_error_keeps_its_data);

async fn an_error_keeps_its_data(pair: Pair) {
    let error = ErrorObject::new(Code(1234), "boom \u{1f4a5}").with_data(&json!({"x": [1, null, 1e-7]}));
    let sent = error.clone();
    let fail = move |(): (), _: Context| Err::<(), _>(sent.clone());
    let chain = Chain::open(pair, Router::builder().method("fail", fail)).await;
    assert_eq!(chain.client.call::<()>("fail", ()).await, Err(CallError::Rejected(error.clone())));
    let outcomes = chain.client.batch().call("fail", ()).call("fail", ()).send().await.unwrap();
    let rejected = || Err(CallError::Rejected(error.clone()));
    assert_eq!(outcomes, [rejected(), rejected()]);
}

// SEC-J-02
#[tokio::test]
async fn the_upstream_gets_what_the_proxy_read_and_not_what_the_client_wrote() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let front = proxy("tcp://127.0.0.1:0", &format!("tcp://{}", upstream.local_addr().unwrap())).await;
    let client = TcpStream::connect(front.url.strip_prefix("tcp://").unwrap()).await.unwrap();
    let mut client = BufReader::new(client);
    // Two names that mean the same could mean two methods to two readers. The upstream does not see them.
    let twice = r#"{"jsonrpc":"2.0","method":"read","m\u0065thod":"write","id":1}"#;
    let plain = r#"{ "id" : 2.0 , "m\u0065thod" : "re\u0061d", "params" : [1e2, "\u0061"],"jsonrpc":"2.0"}"#;
    client.write_all(format!("{twice}\n{plain}\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    client.read_line(&mut answer).await.unwrap();
    assert!(answer.contains("-32600"), "{answer}");
    let (stream, _) = upstream.accept().await.unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await.unwrap();
    assert!(line.starts_with(r#"{"jsonrpc":"2.0","method":"read","params":[1e2, "\u0061"],"id":"#), "{line}");
}
