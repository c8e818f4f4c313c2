//! What our client makes of answers that are event streams: progress, plain calls, batches, and servers of others.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use support::{Running, serve_with, within};
use switchboard_core::{
    CallError, Code, Context, ErrorObject, Json, Method, Peer, Reply, ReplyFuture, Request, Router,
    service_fn,
};
use switchboard_transport::http::{Client, Endpoint, HttpClientOptions, connect};
use switchboard_transport::server::ServerOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

/// Methods that tell progress in three ways of answering.
fn router() -> Router {
    let either = service_fn(|call| {
        let cx = call.cx.clone();
        ReplyFuture::pending(async move {
            cx.progress("thinking").await;
            match cx.wants_stream() {
                true => Reply::try_stream(stream::iter(["one ", "two"].map(Ok::<_, ErrorObject>))),
                false => Reply::of(&"one two"),
            }
        })
    });
    Router::builder()
        .async_method("build", |(): (), cx: Context| async move {
            for percent in [10, 50, 100] {
                cx.progress(&percent).await;
            }
            Ok::<_, ErrorObject>(cx.wants_progress())
        })
        .method("fail", |(): (), _| Err::<(), _>(ErrorObject::new(Code(7), "no")))
        .add(Method::new("either", either))
        .add(Method::stream("count", |(to,): (u32,), _| stream::iter(1..=to)))
        .build()
        .unwrap()
}

async fn serve(router: Router) -> Running {
    serve_with(Endpoint::new(router), ServerOptions::default()).await
}

/// The progress of a call and, last, its result.
async fn watch(request: Request<Json>) -> Vec<String> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let see = Arc::clone(&seen);
    let result = within(request.on_progress(move |value: Json| see.lock().unwrap().push(value.to_string())));
    let result = result.await.unwrap();
    let mut seen = seen.lock().unwrap().clone();
    seen.push(result.to_string());
    seen
}

#[tokio::test]
async fn progress_arrives_before_the_result_over_both_versions_of_http() {
    let server = serve(router()).await;
    for http2 in [false, true] {
        let options = HttpClientOptions::default().with_http2(http2);
        let peer = Peer::new(Client::with_options(&server.url(), options).unwrap());
        assert_eq!(watch(peer.call("build", ())).await, ["10", "50", "100", "true"]);
        assert!(!within(peer.call::<bool>("build", ())).await.unwrap(), "nobody asked for it");
        assert_eq!(watch(peer.call("count", [3])).await, ["[1,2,3]"]);
        assert_eq!(watch(peer.call("count", [1])).await, ["[1]"]);
        assert_eq!(watch(peer.call("count", [0])).await, ["[]"]);
        let failed = within(peer.call::<()>("fail", ()).on_progress(|_: Json| {})).await.unwrap_err();
        assert_eq!(failed.rejection().unwrap().code, Code(7));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_method_that_can_stream_gives_one_value_to_whoever_wants_only_progress() {
    let server = serve(router()).await;
    let peer = connect(&server.url()).unwrap();
    assert_eq!(watch(peer.call("either", ())).await, ["\"thinking\"", "\"one two\""]);
    let items = within(peer.stream::<String>("either", ())).await.unwrap();
    assert_eq!(within(items.map(Result::unwrap).collect::<Vec<_>>()).await, ["one ", "two"]);
    drop(peer);
    server.stop().await;
}

#[tokio::test]
async fn progress_goes_through_a_server_that_forwards_over_http() {
    let upstream = serve(router()).await;
    let forward = connect(&upstream.url()).unwrap();
    let front = serve(Router::builder().fallback(forward).build().unwrap()).await;
    let peer = connect(&front.url()).unwrap();
    assert_eq!(watch(peer.call("build", ())).await, ["10", "50", "100", "true"]);
    assert_eq!(watch(peer.call("either", ())).await, ["\"thinking\"", "\"one two\""]);
    drop(peer);
    front.stop().await;
    upstream.stop().await;
}

#[tokio::test]
async fn progress_arrives_while_the_call_goes_on() {
    let go = Arc::new(Notify::new());
    let held = Arc::clone(&go);
    let router = Router::builder().async_method("long", move |(): (), cx: Context| {
        let go = Arc::clone(&held);
        async move {
            for step in 0..3 {
                go.notified().await;
                cx.progress(&step).await;
            }
            go.notified().await;
            Ok::<_, ErrorObject>("done")
        }
    });
    let server = serve(router.build().unwrap()).await;
    let peer = connect(&server.url()).unwrap();
    go.notify_one();
    let next = Arc::clone(&go);
    let call = peer.call::<String>("long", ()).on_progress(move |_: u32| next.notify_one());
    assert_eq!(within(call).await.as_deref(), Ok("done"));
    drop(peer);
    server.stop().await;
}

/// A server that is not ours: answers the first request with exactly this. Gives its URL.
async fn foreign(answer: String) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    url
}

/// A server that answers with these events and closes the connection.
async fn events(events: &str) -> Peer {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";
    connect(&foreign(format!("{head}{events}")).await).unwrap()
}

fn item(result: u8) -> String {
    format!("data: {{\"jsonrpc\":\"2.0\",\"result\":{result},\"id\":1}}\r\n\r\n")
}

const DONE: &str = "data: [DONE]\n\n";
const ANNOUNCED: &str = ": stream\n\n";
const NOTE: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":[1]}\n\n";
const ERROR: &str = "data: {\"jsonrpc\":\"2.0\",\"error\":{\"code\":7,\"message\":\"no\"},\"id\":1}\n\n";

/// What a plain call comes to that is answered with these events.
async fn called(text: &str) -> String {
    shown(within(events(text).await.call::<Json>("ask", ())).await)
}

/// The result of a call, or which kind of failure it is.
fn shown(outcome: Result<Json, CallError>) -> String {
    match outcome {
        Ok(json) => json.to_string(),
        Err(CallError::Rejected(error)) => format!("rejected {}", error.code),
        Err(CallError::Protocol(_)) => "protocol".to_owned(),
        Err(CallError::Closed(_)) => "closed".to_owned(),
        Err(other) => format!("{other:?}"),
    }
}

#[tokio::test]
async fn a_plain_call_takes_an_event_stream_for_an_answer() {
    let check = async |text: String, expected: &str| assert_eq!(called(&text).await, expected, "{text}");
    check(item(1) + DONE, "1").await;
    check(item(1), "1").await;
    check(format!("{NOTE}: still here\n\n{}{NOTE}", item(1)), "1").await;
    check(format!("event: message\nid: 5\n{}", item(1)), "1").await;
    check(item(1) + &item(2) + DONE, "[1,2]").await;
    check(item(1) + &item(2), "[1,2]").await;
    check(format!("{ANNOUNCED}{}{DONE}", item(1)), "[1]").await;
    check(format!("{ANNOUNCED}{DONE}"), "[]").await;
    check(format!("{ERROR}{DONE}"), "rejected 7").await;
    check(ERROR.to_owned(), "rejected 7").await;
    check(item(1) + ERROR, "rejected 7").await;
    let lost = r#"{"jsonrpc":"2.0","error":{"code":-32008,"message":"x","data":{"lost":2}},"id":1}"#;
    check(format!("{}data: {lost}\n\n{}{DONE}", item(1), item(2)), "rejected -32008").await;
    check(format!("data: [{}]\n\n", r#"{"jsonrpc":"2.0","result":1,"id":1}"#), "protocol").await;
    check("data: hello\n\n".to_owned(), "protocol").await;
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_no_answer() {
    let check = async |text: String| assert_eq!(called(&text).await, "closed", "{text}");
    check(String::new()).await;
    check(NOTE.to_owned()).await;
    check(DONE.replace("[DONE]", "")).await;
    check(item(1) + "data: {\"jsonrpc\"").await;
    check(item(1).trim_end().to_owned()).await;
    check(format!("{ANNOUNCED}{}", item(1))).await;
    let start = "data: {\"jsonrpc\":\"2.0\",\"result\":\"\",\"id\":1,\"event\":\"start\"}\n\n";
    check(format!("{start}{}", item(1))).await;
    // The connection breaks before the last chunk, which is empty.
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let whole = format!("{head}{:x}\r\n{}\r\n", item(1).len(), item(1));
    let cut = connect(&foreign(whole.clone()).await).unwrap();
    let failed = within(cut.call::<Json>("ask", ())).await.unwrap_err();
    assert!(matches!(failed, CallError::Closed(_)), "{failed:?}");
    let complete = connect(&foreign(whole + "0\r\n\r\n").await).unwrap();
    assert_eq!(within(complete.call::<u8>("ask", ())).await, Ok(1));
}

// LLM-04
#[tokio::test]
async fn a_stream_ends_with_done_or_cleanly_after_an_item() {
    async fn read(text: &str) -> Result<Vec<Result<u8, CallError>>, CallError> {
        let peer = events(text).await;
        Ok(within(within(peer.stream::<u8>("ask", ())).await?.collect()).await)
    }
    let whole = read(&format!("{}: x\n\n{}{DONE}", item(1), item(2))).await;
    assert_eq!(whole, Ok(vec![Ok(1), Ok(2)]));
    assert_eq!(read(&(item(1) + &item(2))).await, Ok(vec![Ok(1), Ok(2)]));
    let start = "data: {\"jsonrpc\":\"2.0\",\"result\":\"\",\"id\":1,\"event\":\"start\"}\n\n";
    assert_eq!(read(&format!("{start}{}{DONE}", item(3))).await, Ok(vec![Ok(3)]));
    for announced in [ANNOUNCED, start] {
        let cut = read(&format!("{announced}{}", item(1))).await.unwrap();
        assert!(matches!(&cut[..], [Ok(1), Err(CallError::Closed(_))]), "{cut:?}");
    }
    let cut = read(&(item(1) + "data: {")).await.unwrap();
    assert!(matches!(&cut[..], [Ok(1), Err(CallError::Closed(_))]), "{cut:?}");
    assert!(matches!(read("").await, Err(CallError::Closed(_))));
    assert!(matches!(read("data: hello\n\n").await, Err(CallError::Protocol(_))));
}

#[tokio::test]
async fn a_collected_answer_has_a_limit() {
    let options = |reply| {
        HttpClientOptions::default().with_limits(switchboard_core::Limits::default().with_reply(reply))
    };
    // What is around the results is not counted, up to 64 KiB.
    let text: String = std::iter::repeat_n(item(1), 40 << 10).collect();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    for (reply, fits) in [(32 << 10, true), (8 << 10, false)] {
        let url = foreign(format!("{head}{text}")).await;
        let peer = Peer::new(Client::with_options(&url, options(reply)).unwrap());
        let result = within(peer.call::<Vec<u8>>("ask", ())).await;
        match result {
            Ok(items) => assert!(fits && items.len() == 40 << 10),
            Err(error) => assert!(!fits && error.to_string().contains("limits.reply"), "{error}"),
        }
    }
}

#[tokio::test]
async fn a_notification_does_not_wait_for_events() {
    let (head, events) = ("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n", ": for ever\n\n");
    let endless = format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{events}\r\n", events.len());
    let peer = connect(&foreign(endless).await).unwrap();
    assert_eq!(within(peer.notify("note", ())).await, Ok(()));
}

#[tokio::test]
async fn a_batch_takes_an_event_stream_for_an_answer() {
    let entry = |id: u8| format!(r#"{{"jsonrpc":"2.0","result":{id},"id":{id}}}"#);
    let check = async |text: String, expected: [&str; 2]| {
        let peer = events(&text).await;
        let outcomes = within(peer.batch().call("a", ()).call("b", ()).send()).await.unwrap();
        assert_eq!(outcomes.into_iter().map(shown).collect::<Vec<_>>(), expected, "{text}");
    };
    let list = format!("data: [{},\ndata: {}]\n\n", entry(2), entry(1));
    check(format!("{list}{DONE}"), ["1", "2"]).await;
    check(format!("{NOTE}{list}"), ["1", "2"]).await;
    let alone = |id| format!("data: {}\n\n", entry(id));
    check(alone(2) + &alone(1), ["1", "2"]).await;
    check(format!("{}data: [{}]\n\n", alone(1), entry(2)), ["1", "2"]).await;
    check(alone(2), ["protocol", "2"]).await;
    let fault = "data: {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"x\"},\"id\":null}\n\n";
    check(fault.to_owned(), ["rejected -32600"; 2]).await;
    check(String::new(), ["closed"; 2]).await;
}
