//! Event streams, served and read: SSE-01 to SSE-08, LLM-01 to LLM-08, JH-27.
#![cfg(all(feature = "http", feature = "__internals"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Method as HttpMethod, Request, Response};
use http_body_util::{BodyExt, Full};
use support::{Raw, Running, ask, post, serve_with, within};
use switchboard_core::{
    CallError, Code, Context, ErrorObject, Json, Limits, Method, MethodDescription, Peer, Reply, ReplyFuture,
    Router, Schemas, Settings, service_fn,
};
use switchboard_transport::http::{Body, Client, Endpoint, EndpointOptions, Get, HttpClientOptions, Origins};
use switchboard_transport::internals::sse::{Parser, Piece};
use switchboard_transport::server::ServerOptions;
use tokio::sync::{Notify, mpsc};
use tower_service::Service as _;

/// Tells when it is dropped.
struct Alarm(mpsc::UnboundedSender<&'static str>);

impl Drop for Alarm {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

fn safe(_: &mut Schemas) -> MethodDescription {
    MethodDescription::default().safe()
}

fn router(alarm: &mpsc::UnboundedSender<&'static str>) -> Router {
    let alarm = alarm.clone();
    let broken = service_fn(|_| {
        let items = [Ok(1), Err(ErrorObject::new(Code(7), "broke")), Ok(3)];
        ReplyFuture::ready(Reply::try_stream(stream::iter(items)))
    });
    Router::builder()
        .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
        .async_method("work", |(): (), cx: Context| async move {
            cx.peer().notify("progress", [1]).await?;
            cx.peer().notify("progress", [2]).await?;
            Ok::<_, CallError>("done")
        })
        .add(Method::stream("count", |(to,): (u32,), _| stream::iter(1..=to)).described(safe))
        .add(Method::stream("wait", move |_: Json, _| {
            let alarm = Alarm(alarm.clone());
            stream::iter([1]).chain(stream::pending()).inspect(move |_| _ = &alarm)
        }))
        .add(Method::new("broken", broken))
        .build()
        .unwrap()
}

async fn serve(options: EndpointOptions) -> (Running, mpsc::UnboundedReceiver<&'static str>) {
    let (alarm, dropped) = mpsc::unbounded_channel();
    let limits = Limits::default().with_drain_time(Duration::from_millis(400));
    let settings = Settings::default().with_limits(limits);
    let endpoint = Endpoint::new(router(&alarm)).with_options(options).with_settings(settings);
    (serve_with(endpoint, ServerOptions::default()).await, dropped)
}

fn call(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":7}}"#)
}

/// Asks an endpoint without any server around it.
async fn request(endpoint: &mut Endpoint, body: &str) -> Response<Body> {
    let request = Request::post("/").header("host", "h").header("content-type", "application/json");
    let request = request.header("accept", "text/event-stream");
    endpoint.call(request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap()).await.unwrap()
}

async fn piece(body: &mut Body) -> String {
    let frame = body.frame().await.unwrap().unwrap();
    String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
}

fn endpoint() -> (Endpoint, mpsc::UnboundedReceiver<&'static str>) {
    let (alarm, dropped) = mpsc::unbounded_channel();
    (Endpoint::mounted(router(&alarm)), dropped)
}

async fn text(endpoint: &mut Endpoint, body: &str) -> String {
    let body = request(endpoint, body).await.into_body().collect().await.unwrap();
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}

// LLM-01, LLM-05, LLM-07
#[tokio::test]
async fn a_stream_is_one_event_an_item_and_done() {
    let (mut endpoint, _) = endpoint();
    let streamed = text(&mut endpoint, &call("count", "[2]")).await;
    let item = |item| format!("data: {{\"jsonrpc\":\"2.0\",\"result\":{item},\"id\":7}}\n\n");
    assert_eq!(streamed, format!(": stream\n\n{}{}data: [DONE]\n\n", item(1), item(2)));
    let plain = text(&mut endpoint, &call("add", "[2,3]")).await;
    assert_eq!(plain, format!("{}data: [DONE]\n\n", item(5)));
    let broken = text(&mut endpoint, &call("broken", "[]")).await;
    assert!(broken.contains(r#""error":{"code":7,"message":"broke"}"#), "{broken}");
    assert!(broken.ends_with("data: [DONE]\n\n") && !broken.contains("result\":3"), "{broken}");
}

#[tokio::test]
async fn who_takes_both_gets_json_unless_there_is_more_to_say() {
    let (mut endpoint, _) = endpoint();
    for accept in ["application/json, text/event-stream", "text/event-stream, application/json;q=0.9"] {
        for (method, params, expected) in [
            ("add", "[2,3]", "application/json"),
            ("unknown", "[]", "application/json"),
            ("count", "[2]", "text/event-stream; charset=utf-8"),
            ("work", "[]", "text/event-stream; charset=utf-8"),
        ] {
            let request = Request::post("/").header("host", "h").header("content-type", "application/json");
            let request = request.header("accept", accept).body(Full::new(Bytes::from(call(method, params))));
            let response = endpoint.call(request.unwrap()).await.unwrap();
            assert_eq!(response.status(), 200);
            assert_eq!(response.headers()["content-type"], expected, "{method}, {accept}");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body.starts_with(b"{"), expected == "application/json", "{method}, {accept}");
        }
    }
}

#[tokio::test]
async fn what_is_pushed_goes_into_the_same_stream_before_the_reply() {
    let (mut endpoint, _) = endpoint();
    let text = text(&mut endpoint, &call("work", "[]")).await;
    let places: Vec<_> = ["\"params\":[1]", "\"params\":[2]", "\"done\"", "[DONE]"]
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part} is missing in {text}")))
        .into();
    assert!(places.is_sorted(), "{text}");
}

// SSE-01, JH-23
#[tokio::test]
async fn the_head_says_what_follows_and_a_notification_has_no_stream() {
    let (mut endpoint, _) = endpoint();
    let response = request(&mut endpoint, &call("add", "[2,3]")).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    assert_eq!(response.headers()["cache-control"], "no-cache, no-store, no-transform");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    assert!(!response.headers().contains_key("content-length"));
    let response = request(&mut endpoint, r#"{"jsonrpc":"2.0","method":"add","params":[2,3]}"#).await;
    assert_eq!(response.status(), 204);
    assert!(!response.headers().contains_key("content-type"));
}

// LLM-08
#[tokio::test(start_paused = true)]
async fn a_silent_stream_shows_that_it_is_alive() {
    let (mut endpoint, _) = endpoint();
    let mut body = request(&mut endpoint, &call("wait", "[]")).await.into_body();
    assert!(piece(&mut body).await.contains("\"result\":1"));
    for _ in 0..3 {
        let before = tokio::time::Instant::now();
        assert_eq!(piece(&mut body).await, ":\n\n");
        assert_eq!(before.elapsed(), Duration::from_secs(15));
    }
}

// SSE-08, LLM-08
#[tokio::test]
async fn nothing_is_pulled_while_nobody_reads_and_a_reader_that_goes_away_cancels_the_call() {
    let pulled = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&pulled);
    let endless = Method::stream("endless", move |_: Json, _| {
        let counter = Arc::clone(&counter);
        stream::repeat_with(move || *counter.lock().unwrap() += 1)
    });
    let mut endpoint = Endpoint::mounted(Router::builder().add(endless).build().unwrap());
    let mut body = request(&mut endpoint, &call("endless", "[]")).await.into_body();
    assert_eq!(*pulled.lock().unwrap(), 0);
    piece(&mut body).await;
    let once = *pulled.lock().unwrap();
    tokio::task::yield_now().await;
    assert!(once > 0 && once < 2000 && *pulled.lock().unwrap() == once, "{once}");

    for http2 in [false, true] {
        let (server, mut dropped) = serve(EndpointOptions::default()).await;
        let options = HttpClientOptions::default().with_http2(http2);
        let peer = Peer::new(Client::with_options(&server.url(), options).unwrap());
        let mut items = within(peer.stream::<i64>("wait", ())).await.unwrap();
        assert_eq!(within(items.next()).await, Some(Ok(1)));
        drop(items);
        assert_eq!(within(dropped.recv()).await, Some("dropped"), "http2: {http2}");
        server.stop().await;
    }
}

#[tokio::test]
async fn many_items_arrive_in_order_over_both_versions_of_http() {
    for http2 in [false, true] {
        let (server, _) = serve(EndpointOptions::default()).await;
        let options = HttpClientOptions::default().with_http2(http2);
        let peer = Peer::new(Client::with_options(&server.url(), options).unwrap());
        let items = within(peer.stream::<u32>("count", [10_000])).await.unwrap();
        let items: Vec<_> = within(items.map(Result::unwrap).collect()).await;
        assert!(items.into_iter().eq(1..=10_000), "http2: {http2}");
        let one = within(peer.stream::<i64>("add", [2, 3])).await.unwrap();
        assert_eq!(within(one.collect::<Vec<_>>()).await, [Ok(5)]);
        let collected: Vec<u32> = within(peer.call("count", [3]).into_future()).await.unwrap();
        assert_eq!(collected, [1, 2, 3], "a plain call gets one answer");
        drop(peer);
        server.stop().await;
    }
}

#[tokio::test]
async fn a_client_is_told_errors_and_hears_notifications() {
    let (server, _) = serve(EndpointOptions::default()).await;
    let (heard, mut notifications) = mpsc::unbounded_channel();
    let service = service_fn(move |call| {
        heard.send(format!("{} {}", call.method, call.params.as_ref().unwrap())).unwrap();
        ReplyFuture::ready(Reply::value(Json::NULL))
    });
    let peer = Peer::new(Client::new(&server.url()).unwrap().with_service(service));
    let unknown = within(peer.stream::<Json>("unknown", ())).await.unwrap_err();
    assert_eq!(unknown.rejection().map(|error| error.code), Some(Code::METHOD_NOT_FOUND));
    let broken: Vec<_> = within(within(peer.stream::<i64>("broken", ())).await.unwrap().collect()).await;
    assert!(matches!(&broken[..], [Ok(1), Err(CallError::Rejected(error))] if error.code == Code(7)));
    let done: Vec<_> = within(within(peer.stream::<String>("work", ())).await.unwrap().collect()).await;
    assert_eq!(done, [Ok("done".to_owned())]);
    assert_eq!(notifications.recv().await.as_deref(), Some("progress [1]"));
    assert_eq!(notifications.recv().await.as_deref(), Some("progress [2]"));
    server.stop().await;
}

/// A request for a stream path.
fn on_path(server: &Running, method: &HttpMethod, query: &str, headers: &str) -> String {
    let address = server.address;
    format!("{method} /rpc/stream{query} HTTP/1.0\r\nhost: {address}\r\n{headers}\r\n")
}

async fn status(server: &Running, request: String) -> u16 {
    ask(server.address, request).await.status
}

// JH-27, SEC-O-02
#[tokio::test]
async fn a_get_calls_only_for_those_who_may() {
    let get = Get::safe(&router(&mpsc::unbounded_channel().0).describe());
    let (server, _) = serve(EndpointOptions::default().with_get(get)).await;
    let get = |query: &str, headers: &str| on_path(&server, &HttpMethod::GET, query, headers);
    let query = "?method=count&to=1";
    assert_eq!(status(&server, get(query, "")).await, 200);
    assert_eq!(status(&server, get(query, "sec-fetch-site: same-origin\r\n")).await, 200);
    assert_eq!(status(&server, get(query, "sec-fetch-site: cross-site\r\n")).await, 403);
    assert_eq!(status(&server, get(query, "sec-fetch-site: same-site\r\n")).await, 403);
    assert_eq!(status(&server, get(query, "origin: http://evil.example\r\n")).await, 403);
    // `add` and `unknown` are not marked safe, nor is the method without a name.
    for query in ["?method=add&a=1&b=2", "?method=unknown", "?method=", "?method", "?method=add&method=count"]
    {
        let refused = ask(server.address, get(query, "")).await;
        assert_eq!(refused.status, 403, "{query}");
        assert!(
            refused.body.contains("not marked safe") && refused.body.contains("POST"),
            "{}",
            refused.body
        );
    }
    assert_eq!(status(&server, get("?method=count&to=1&method=add", "")).await, 400);
    assert_eq!(status(&server, get(query, "accept: application/json\r\n")).await, 406);
    assert_eq!(status(&server, get("?to=1", "")).await, 400);
    assert_eq!(status(&server, get("?method=%zz", "")).await, 400);
    // SEC-O-08: a browser that fetches by itself sends no `Origin`.
    let answer = ask(server.address, get(query, "")).await;
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
    assert!(answer.header("content-security-policy").is_some());
    let put = on_path(&server, &HttpMethod::PUT, query, "");
    assert_eq!(ask(server.address, put).await.header("allow"), Some("GET, POST"));
    server.stop().await;

    let get = Get::only(["count"]);
    let origins = Origins::only(["https://a.example"]).unwrap();
    let (server, _) = serve(EndpointOptions::default().with_get(get).with_origins(origins)).await;
    let get = |query: &str, headers: &str| on_path(&server, &HttpMethod::GET, query, headers);
    assert_eq!(status(&server, get(query, "")).await, 200);
    assert_eq!(status(&server, get("?method=add&a=1&b=2", "")).await, 403);
    let allowed = "sec-fetch-site: cross-site\r\norigin: https://a.example\r\n";
    assert_eq!(status(&server, get(query, allowed)).await, 200);
    server.stop().await;
    // By default nothing is called by GET, on a loopback address neither.
    let (server, _) = serve(EndpointOptions::default()).await;
    assert_eq!(status(&server, on_path(&server, &HttpMethod::GET, query, "")).await, 405);
    server.stop().await;
}

#[tokio::test]
async fn a_call_by_post_stands_in_the_query_or_in_the_body() {
    let (server, _) = serve(EndpointOptions::default()).await;
    let check = async |query: &str, headers: &str, body: &str, expected: u16| {
        let length = format!("{headers}content-length: {}\r\n", body.len());
        let request = on_path(&server, &HttpMethod::POST, query, &length) + body;
        assert_eq!(status(&server, request).await, expected, "{query} {headers} {body}");
    };
    let (json, add) = ("content-type: application/json\r\n", call("add", "[2,3]"));
    check("", json, &add, 200).await;
    check("?method=add&a=2&b=3", "", "", 200).await;
    check("?method=add&a=2&b=3", json, "", 200).await;
    check("?method=add&a=2&b=3", json, &add, 400).await;
    check("", "", &add, 415).await;
    check("?method=add", "content-type: text/plain\r\n", "", 415).await;
    check("", json, "", 400).await;
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_stops_ends_its_streams_with_an_error() {
    let (server, _) = serve(EndpointOptions::default()).await;
    let peer = switchboard_transport::http::connect(&server.url()).unwrap();
    let mut items = within(peer.stream::<i64>("wait", ())).await.unwrap();
    assert_eq!(within(items.next()).await, Some(Ok(1)));
    server.handle.shutdown();
    let last = within(items.next()).await.unwrap().unwrap_err();
    assert_eq!(last.rejection().map(|error| error.code), Some(Code::SHUTTING_DOWN));
    assert_eq!(within(items.next()).await, None);
    within(server.task).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_shutdown_is_requested_and_a_call_under_way_is_answered_first() {
    let (alarm, mut dropped) = mpsc::unbounded_channel();
    let release = Arc::new(Notify::new());
    let released = Arc::clone(&release);
    let slow = Router::builder().async_method("slow", move |(): (), _| {
        let released = Arc::clone(&released);
        async move {
            released.notified().await;
            Ok::<_, ErrorObject>("done")
        }
    });
    let endpoint = Endpoint::mounted(slow.mount("s.", router(&alarm)).build().unwrap());
    let mut stream = request(&mut endpoint.clone(), &call("s.wait", "[]")).await.into_body();
    assert!(piece(&mut stream).await.contains("\"result\":1"));
    let mut call = request(&mut endpoint.clone(), &call("slow", "[]")).await.into_body();
    let before = tokio::time::Instant::now();
    endpoint.handle().shutdown();
    // The error, then the end; the clock does not move for it.
    let last = piece(&mut stream).await;
    assert!(last.contains("-32006") && last.ends_with("data: [DONE]\n\n"), "{last}");
    assert!(stream.frame().await.is_none());
    assert_eq!(dropped.recv().await, Some("dropped"), "the method's stream is dropped");
    release.notify_one();
    let answered = piece(&mut call).await;
    assert!(answered.contains("\"done\"") && answered.ends_with("data: [DONE]\n\n"), "{answered}");
    assert_eq!(before.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_answered_gets_the_drain_time_and_no_more() {
    let never = Router::builder()
        .async_method("never", |(): (), _| std::future::pending::<Result<(), ErrorObject>>())
        .build();
    let mut endpoint = Endpoint::mounted(never.unwrap());
    let mut body = request(&mut endpoint, &call("never", "[]")).await.into_body();
    endpoint.handle().shutdown();
    let before = tokio::time::Instant::now();
    assert!(piece(&mut body).await.contains("-32006"));
    assert_eq!(before.elapsed(), Duration::from_millis(8750));
}

#[tokio::test]
async fn the_head_is_sent_before_there_is_an_item() {
    let (server, _) = serve(EndpointOptions::default()).await;
    let mut raw = Raw::open(server.address).await;
    raw.send(post(server.address, "accept: text/event-stream\r\n", &call("wait", "[]"))).await;
    let head = raw.response().await.unwrap();
    assert_eq!(head.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert_eq!(head.header("transfer-encoding"), Some("chunked"));
    drop(raw);
    server.stop().await;
}

// SSE-02, SSE-03, SSE-05
#[test]
fn every_vector_is_read_as_it_demands_however_it_is_cut() {
    let vectors: Vec<serde_json::Value> =
        serde_json::from_str(include_str!("../../../tests/vectors/sse.json")).unwrap();
    for vector in vectors {
        let stream = vector["stream"].as_str().unwrap().as_bytes();
        for size in 1..=stream.len() {
            let mut parser = Parser::new(1000);
            let mut events = Vec::new();
            for mut chunk in stream.chunks(size) {
                while let Some(piece) = parser.next(&mut chunk).unwrap() {
                    if let Piece::Event(event) = piece {
                        events.push((event, parser.last_event_id().to_owned()));
                    }
                }
            }
            let expected = vector["events"].as_array().unwrap();
            assert_eq!(events.len(), expected.len(), "{vector}");
            for ((event, id), expected) in events.iter().zip(expected) {
                assert_eq!(
                    (&*event.name, &*event.data),
                    (expected["event"].as_str().unwrap(), expected["data"].as_str().unwrap(),),
                    "{vector}"
                );
                let is_same = |expected: &serde_json::Value| *expected == **id;
                assert!(expected.get("last_event_id").is_none_or(is_same), "{vector}");
            }
            if let Some(retry) = vector.get("retry_ms") {
                assert_eq!(parser.retry(), retry.as_u64().map(Duration::from_millis), "{vector}");
            }
        }
    }
}
