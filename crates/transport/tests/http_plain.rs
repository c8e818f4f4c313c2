//! Plain requests bypass hyper, and clients cannot tell the difference.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use support::picks::Picks;
use support::{ADD, Raw, Running, SUM, ask, by_hyper, post, router, serve, serve_with};
use switchboard_core::{ErrorObject, Json, Limits, Router, Settings};
use switchboard_transport::http::{Endpoint, EndpointOptions};
use switchboard_transport::server::ServerOptions;

/// All that the server says to these bytes until it closes the connection, which the last request asks for. Its date is
/// left out, and its address.
async fn talk(address: SocketAddr, pieces: &[String]) -> String {
    let mut raw = Raw::open(address).await;
    for piece in pieces {
        // A server that has closed already has said all.
        if !raw.try_send(piece).await {
            break;
        }
        tokio::task::yield_now().await;
    }
    let said = raw.read_to_end().await;
    let is_date = |line: &&str| !line.starts_with("date: ");
    let said = said.split("\r\n").filter(is_date).collect::<Vec<_>>().join("\r\n");
    said.replace(&address.to_string(), "HOST")
}

const LAST: &str = "POST / HTTP/1.1\r\nhost: HOST\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 54\r\n\r\n\
                    {\"jsonrpc\":\"2.0\",\"method\":\"add\",\"params\":[2,3],\"id\":1}";

fn with_host(request: &str, address: SocketAddr) -> String {
    request.replace("HOST", &address.to_string())
}

/// Two servers with the same options; the second sends every request to hyper.
async fn serve_both(
    options: EndpointOptions,
    settings: Settings,
    server: ServerOptions,
) -> (Running, Running) {
    let serve = |settings| {
        let endpoint = Endpoint::new(router()).with_options(options.clone()).with_settings(settings);
        serve_with(endpoint, server.clone())
    };
    (serve(settings.clone()).await, serve(by_hyper(settings)).await)
}

// SEC-H-01
#[tokio::test]
async fn plain_requests_are_answered_exactly_as_by_hyper() {
    let mut picks = Picks(7);
    let defaults = (EndpointOptions::default(), Settings::default(), ServerOptions::default());
    let mut all_options: Vec<_> = std::iter::repeat_with(|| picks.options()).take(29).collect();
    all_options.push(defaults);
    // Several at once to save time; not all, because each conversation takes two sockets.
    for options in all_options.chunks(5) {
        let servers: Vec<_> =
            options.iter().map(|options| compare(options.clone(), picks.number(1 << 30))).collect();
        for compared in servers.into_iter().map(tokio::spawn).collect::<Vec<_>>() {
            compared.await.unwrap();
        }
    }
}

/// Sends the same requests to both servers.
async fn compare((options, settings, server): (EndpointOptions, Settings, ServerOptions), seed: usize) {
    let shown = format!("{options:?}, {:?}, {}", settings.limits.frame, server.header_size);
    let (short, long) = serve_both(options, settings, server).await;
    let mut picks = Picks(seed as u64);
    let both = |()| {
        let requests: String = (0..4).map(|_| picks.request()).collect();
        let (requests, shown) = (requests + LAST, shown.clone());
        let (short, long) = (short.address, long.address);
        tokio::spawn(async move {
            let requests_short = [with_host(&requests, short)];
            let requests_long = [with_host(&requests, long)];
            let (said, said_long) = tokio::join!(talk(short, &requests_short), talk(long, &requests_long));
            assert_eq!(said, said_long, "to {requests:?} with {shown}");
        })
    };
    let conversations: Vec<_> = std::iter::repeat_n((), 40).map(both).collect();
    for conversation in conversations {
        conversation.await.unwrap();
    }
    short.stop().await;
    long.stop().await;
}

#[tokio::test]
async fn requests_may_be_cut_anywhere() {
    let server = serve().await;
    let (plain, other) =
        (LAST.replace("connection: close\r\n", ""), LAST.replace("connection: close", "x: y"));
    let stream = with_host(&(plain + &other + LAST), server.address);
    let whole = talk(server.address, std::slice::from_ref(&stream)).await;
    assert_eq!(whole.matches(SUM).count(), 3, "{whole}");
    for at in 1..stream.len() {
        let pieces = [stream[..at].to_owned(), stream[at..].to_owned()];
        assert_eq!(talk(server.address, &pieces).await, whole, "cut at {at}");
    }
    server.stop().await;
}

#[tokio::test]
async fn large_answers_between_small_ones_keep_their_order() {
    let server = serve().await;
    let mut raw = Raw::open(server.address).await;
    let large = "x".repeat(7000);
    let echo = format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{large}"],"id":1}}"#);
    let many: String = (0..12).map(|_| r#"{"jsonrpc":"2.0","method":"from","id":1},"#).collect();
    let batch = format!("[{}]", many.trim_end_matches(','));
    for body in [ADD, &echo, &batch, ADD] {
        raw.send(post(server.address, "", body)).await;
    }
    assert_eq!(raw.response().await.unwrap().body, SUM);
    assert!(raw.response().await.unwrap().body.contains(&large));
    assert_eq!(raw.response().await.unwrap().body.matches("127.0.0.1").count(), 12);
    assert_eq!(raw.response().await.unwrap().body, SUM);
    server.stop().await;
}

/// Answers short questions with as much as no buffer holds.
async fn serve_large(options: ServerOptions) -> Running {
    let large = Json::encode(&"x".repeat(16 << 20)).unwrap();
    let router = Router::builder().method("large", move |(): (), _| Ok::<_, ErrorObject>(large.clone()));
    let settings = Settings::default().with_limits(Limits::default().with_reply(20 << 20));
    let router = router.method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b));
    serve_with(Endpoint::new(router.build().unwrap()).with_settings(settings), options).await
}

// SEC-L-14, SEC-H-05
#[tokio::test]
async fn who_does_not_read_a_large_answer_loses_its_connection() {
    let options = ServerOptions::default().with_connections(1).with_idle_time(Duration::from_millis(200));
    let server = serve_large(options).await;
    let mut stalled = Raw::open(server.address).await;
    stalled.send(post(server.address, "", r#"{"jsonrpc":"2.0","method":"large","id":1}"#)).await;
    let status = async || ask(server.address, post(server.address, "", ADD)).await.status;
    support::within(async { while status().await != 200 {} }).await;
    drop(stalled);
    server.stop().await;
}

#[tokio::test]
async fn a_large_answer_is_read_to_its_end() {
    let server = serve_large(ServerOptions::default()).await;
    let received =
        ask(server.address, post(server.address, "", r#"{"jsonrpc":"2.0","method":"large","id":1}"#)).await;
    assert_eq!(received.body.matches('x').count(), 16 << 20);
    server.stop().await;
}

// SEC-H-05
#[tokio::test]
async fn only_what_is_no_line_break_begins_another_request() {
    let options = ServerOptions::default().with_header_time(Duration::from_millis(100));
    let server = serve_with(Endpoint::new(router()), options).await;
    let mut raw = Raw::open(server.address).await;
    for end in ["\r\n", "\n\r\n", ""] {
        raw.send(post(server.address, "", ADD) + end).await;
        assert_eq!(raw.response().await.unwrap().body, SUM);
    }
    // Half of a request does, whose head is awaited.
    let mut raw = Raw::open(server.address).await;
    raw.send(post(server.address, "", ADD) + "POST").await;
    assert_eq!(raw.response().await.unwrap().body, SUM);
    assert!(raw.is_closed().await, "who has had an answer is left without a word");
    server.stop().await;
}
