//! Plain requests take a short way past hyper. Whoever sends them cannot tell.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use support::{ADD, Raw, Running, SUM, ask, post, router, serve, serve_with};
use switchboard_core::{ErrorObject, Json, Limits, Router, Settings};
use switchboard_transport::http::{Endpoint, Options};
use switchboard_transport::server::ServerOptions;

/// A server that sends every request the long way, because it keeps their headers.
async fn serve_long() -> Running {
    let options = Options { keep_headers: true, ..Options::default() };
    let endpoint = Endpoint::new(router()).with_options(options);
    serve_with(endpoint, ServerOptions::default()).await
}

/// All that the server says to these bytes until it closes the connection, which the last request asks for. Its date is
/// left out.
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
    said.split("\r\n").filter(is_date).collect::<Vec<_>>().join("\r\n")
}

const LAST: &str = "POST / HTTP/1.1\r\nhost: HOST\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 54\r\n\r\n\
                    {\"jsonrpc\":\"2.0\",\"method\":\"add\",\"params\":[2,3],\"id\":1}";

fn with_host(request: &str, address: SocketAddr) -> String {
    request.replace("HOST", &address.to_string())
}

/// Picks by a fixed sequence of numbers, so that a failure comes again.
struct Picks(u64);

impl Picks {
    fn number(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    /// One of these: the first every other time.
    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        if self.number(2) == 0 { list[0] } else { list[self.number(list.len())] }
    }

    fn request(&mut self) -> String {
        let body = self.of(&[
            ADD,
            r#"[{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1},{"jsonrpc":"2.0","method":"x"}]"#,
            r#"{"jsonrpc":"2.0","method":"add","params":[2,3]}"#,
            r#"{"method":"add","params":[2,3],"id":1}"#,
            r#"{"jsonrpc":"2.0","method":"none","id":null}"#,
            "{",
            "",
        ]);
        let length = body.len().to_string();
        let (plus, long, short) = (format!("+{length}"), format!("0{length}"), body.len().saturating_sub(1));
        let short = short.to_string();
        let start = self.of(&[
            "POST / HTTP/1.1",
            "POST /rpc HTTP/1.1",
            "POST /jsonrpc HTTP/1.1",
            "POST /?a=b HTTP/1.1",
            "POST /none HTTP/1.1",
            "POST /rpc/stream HTTP/1.1",
            "POST http://HOST/ HTTP/1.1",
            "POST  / HTTP/1.1",
            "post / HTTP/1.1",
            "GET / HTTP/1.1",
            "PUT / HTTP/1.1",
            "POST / HTTP/1.0",
            "POST / HTTP/1.2",
            "\r\nPOST / HTTP/1.1",
        ]);
        let host =
            self.of(&["host: HOST", "Host:HOST  ", "HOST: localhost", "host: evil.com", "host:", "x: y"]);
        let kind = self.of(&[
            "content-type: application/json",
            "Content-Type: application/json; charset=utf-8",
            "content-type:application/json-rpc",
            "content-type: text/plain",
            "content-type : application/json",
            "content-type: application/json\r\ncontent-type: application/json",
            "x: y",
        ]);
        let size = self.of(&[&length, &plus, &long, &short, "0", "-1", "", "99999999999", "1, 1"]).to_owned();
        let more = self.of(&[
            "user-agent: test",
            "accept: application/json",
            "Accept: */*",
            "accept: application/json-rpc",
            "accept: text/event-stream",
            "accept: text/html",
            "accept: application/json\r\naccept: text/html",
            "accept-encoding: gzip",
            "accept-language: de",
            "connection: keep-alive",
            "connection: Keep-Alive",
            "connection: close",
            "connection: keep-alive, x",
            "switchboard-timeout-ms: 5000",
            "switchboard-timeout-ms: soon",
            "expect: 100-continue",
            "transfer-encoding: chunked",
            "transfer-encoding: gzip, chunked",
            "content-encoding: gzip",
            "content-length: 3",
            "origin: http://evil.com",
            "origin: http://HOST",
            "upgrade: websocket",
            "x-other: \u{e4}",
            "x-folded: a\r\n b",
            "x-nul: \0",
            "no colon",
        ]);
        format!("{start}\r\n{host}\r\n{kind}\r\ncontent-length: {size}\r\n{more}\r\n\r\n{body}")
    }
}

// SEC-H-01
#[tokio::test]
async fn no_request_is_answered_differently_on_the_short_way() {
    let (short, long) = (serve().await, serve_long().await);
    let mut picks = Picks(7);
    // At once, because some that are refused are given time to read why.
    let both = |()| {
        let request = picks.request() + &picks.request() + LAST;
        let (short, long) = (short.address, long.address);
        tokio::spawn(async move {
            let said = talk(short, &[with_host(&request, short)]).await;
            let said_long = talk(long, &[with_host(&request, long)]).await;
            assert_eq!(said, said_long, "to {request:?}");
        })
    };
    let conversations: Vec<_> = std::iter::repeat_n((), 600).map(both).collect();
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
    let settings =
        Settings { limits: Limits { reply: 20 << 20, ..Limits::default() }, ..Settings::default() };
    let router = router.method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b));
    serve_with(Endpoint::new(router.build().unwrap()).with_settings(settings), options).await
}

// SEC-L-14, SEC-H-05
#[tokio::test]
async fn who_does_not_read_a_large_answer_loses_its_connection() {
    let options =
        ServerOptions { connections: 1, idle_time: Duration::from_millis(200), ..ServerOptions::default() };
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
    let options = ServerOptions { header_time: Duration::from_millis(100), ..ServerOptions::default() };
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
