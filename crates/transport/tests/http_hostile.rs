//! What hostile or broken clients get: SEC-O, SEC-H, SEC-Z-02, SEC-Z-04, SEC-Z-05.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::time::Duration;

use support::{ADD, Raw, SUM, ask, post, serve, serve_with};
use switchboard_transport::http::{Endpoint, EndpointOptions};
use switchboard_transport::server::ServerOptions;

/// A call that a smuggled request would make; it must never be answered.
const SMUGGLED: &str = r#"{"jsonrpc":"2.0","method":"echo","params":["smuggled"],"id":666}"#;

fn smuggled() -> String {
    let length = SMUGGLED.len();
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    format!("{head}content-length: {length}\r\n\r\n{SMUGGLED}")
}

// SEC-H-01, SEC-Z-04
#[tokio::test]
async fn a_request_that_could_be_read_in_two_ways_is_400_and_the_connection_closes() {
    let server = serve().await;
    let check = async |what: &str, head: &str, body: &str| {
        let mut raw = Raw::open(server.address).await;
        raw.send(format!("{head}\r\n\r\n{body}{}", smuggled())).await;
        let received = raw.response().await;
        assert_eq!(received.map(|received| received.status), Some(400), "{what}");
        assert!(raw.is_closed().await, "{what}");
    };
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let length = ADD.len();
    check("two lengths", &format!("{head}content-length: {length}\r\ncontent-length: 1"), ADD).await;
    check("a list of lengths", &format!("{head}content-length: {length}, 1"), ADD).await;
    check("a signed length", &format!("{head}content-length: +{length}"), ADD).await;
    check("a length too large", &format!("{head}content-length: 99999999999999999999"), ADD).await;
    check("a length that is none", &format!("{head}content-length: x"), ADD).await;
    check("not chunked", &format!("{head}transfer-encoding: gzip"), ADD).await;
    check("chunked before another", &format!("{head}transfer-encoding: chunked, gzip"), "0\r\n\r\n").await;
    check("nearly chunked", &format!("{head}transfer-encoding: xchunked"), "0\r\n\r\n").await;
    check("TE in 1.0", "POST / HTTP/1.0\r\nhost: localhost\r\ntransfer-encoding: chunked", "0\r\n\r\n").await;
    check("a folded line", &format!("{head}x-a: 1\r\n 2\r\ncontent-length: {length}"), ADD).await;
    check("space before the colon", &format!("{head}content-length : {length}"), ADD).await;
    check("a bare CR", &format!("{head}x-a: 1\r2\r\ncontent-length: {length}"), ADD).await;
    check("a NUL", &format!("{head}x-a: 1\0\r\ncontent-length: {length}"), ADD).await;
    check("a line without a colon", &format!("{head}x-a\r\ncontent-length: {length}"), ADD).await;
    check("no name", &format!("{head}: x\r\ncontent-length: {length}"), ADD).await;
    check("no host", "POST / HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 0", "").await;
    check("two hosts", &format!("{head}host: localhost\r\ncontent-length: {length}"), ADD).await;
    check("two different hosts", &format!("{head}host: evil.example\r\ncontent-length: {length}"), ADD).await;
    server.stop().await;
}

// SEC-H-01. RFC 9112 (6.3) lets a server go by `Transfer-Encoding` alone if it closes the connection after; what
// hyper hands on does not tell that there was a length too.
#[tokio::test]
async fn with_a_length_and_chunks_the_chunks_count_and_what_follows_is_never_read() {
    let server = serve().await;
    let chunked = format!("{:x}\r\n{ADD}\r\n0\r\n\r\n", ADD.len());
    let (te, cl) = ("transfer-encoding: chunked\r\n", "content-length: 4\r\n");
    for lines in [format!("{te}{cl}"), format!("{cl}{te}")] {
        let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        let mut raw = Raw::open(server.address).await;
        raw.send(format!("{head}{lines}\r\n{chunked}{}", smuggled())).await;
        let received = raw.response().await.unwrap();
        assert_eq!((&*received.body, received.header("connection")), (SUM, Some("close")));
        assert!(raw.is_closed().await, "{lines}");
    }
    server.stop().await;
}

// SEC-H-01: chunk sizes
#[tokio::test]
async fn chunks_that_are_framed_badly_end_the_connection() {
    let server = serve().await;
    for chunk in
        ["fffffffffffffffff\r\n", "-1\r\n", "x\r\n", "5\r\nabcdefg\r\n", "5;\x01\nabcde\r\n0\r\n\r\n"]
    {
        let mut raw = Raw::open(server.address).await;
        let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        raw.send(format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}{}", smuggled())).await;
        if let Some(received) = raw.response().await {
            assert!(!received.body.contains("smuggled"), "{chunk:?} {}", received.body);
            assert_eq!(received.status, 400, "{chunk:?}");
        }
        assert!(raw.is_closed().await, "{chunk:?}");
    }
    server.stop().await;
}

// SEC-H-02
#[tokio::test]
async fn after_a_refusal_with_the_body_unread_nothing_more_is_read() {
    let server = serve().await;
    let mut raw = Raw::open(server.address).await;
    let length = ADD.len();
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\n";
    raw.send(format!("{head}content-length: {length}\r\n\r\n{ADD}{}", smuggled())).await;
    let received = raw.response().await.unwrap();
    assert_eq!((received.status, received.header("connection")), (415, Some("close")));
    assert!(raw.is_closed().await);
    server.stop().await;
}

// SEC-O-01, SEC-Z-05
#[tokio::test]
async fn a_foreign_host_is_403() {
    let server = serve().await;
    let port = server.address.port();
    let check = async |host: &str, status: u16| {
        let length = ADD.len();
        let head = format!("POST / HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n");
        let received = ask(server.address, format!("{head}content-length: {length}\r\n\r\n{ADD}")).await;
        assert_eq!(received.status, status, "{host}");
        if status == 403 {
            assert!(
                received.body.contains("-32002") && received.body.contains(r#""id":null"#),
                "{}",
                received.body
            );
            assert_eq!(received.header("connection"), Some("close"));
        }
    };
    check("localhost", 200).await;
    check("LOCALHOST", 200).await;
    check(&format!("localhost:{port}"), 200).await;
    check(&format!("127.0.0.1:{port}"), 200).await;
    check(&format!("[::1]:{port}"), 200).await;
    check("localhost.", 403).await;
    check("localhost:1", 403).await;
    check("localhost.evil.com", 403).await;
    check("127.0.0.1.evil.com", 403).await;
    check(&format!("user@localhost:{port}"), 403).await;
    check("evil.com", 403).await;
    check("", 403).await;
    server.stop().await;
}

#[tokio::test]
async fn a_foreign_host_in_the_target_is_403_too() {
    let server = serve().await;
    let length = ADD.len();
    let check = async |target: &str, status: u16| {
        let head = format!("POST {target} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
        let received = ask(server.address, format!("{head}content-length: {length}\r\n\r\n{ADD}")).await;
        assert_eq!(received.status, status, "{target}");
    };
    check("http://localhost/rpc", 200).await;
    check("http://evil.com/rpc", 403).await;
    server.stop().await;
}

// SEC-O-02, SEC-Z-05: every method, not only POST
#[tokio::test]
async fn a_foreign_origin_is_403_whatever_it_asks() {
    let server = serve().await;
    let port = server.address.port();
    let check = async |origin: &str, allowed: bool| {
        let request = post(server.address, &format!("origin: {origin}\r\n"), ADD);
        let received = ask(server.address, request).await;
        assert_eq!(received.status, if allowed { 200 } else { 403 }, "{origin}");
        assert_eq!(received.header("access-control-allow-origin"), None, "{origin}");
        for method in ["GET", "DELETE", "OPTIONS"] {
            let request = format!("{method} / HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\n\r\n");
            let received = ask(server.address, request).await;
            assert_eq!(received.status, if allowed { 405 } else { 403 }, "{method} {origin}");
        }
    };
    check(&format!("http://localhost:{port}"), true).await;
    check(&format!("http://127.0.0.1:{port}"), true).await;
    check(&format!("http://[::1]:{port}"), true).await;
    check("http://localhost:1", false).await;
    check("null", false).await;
    check("http://evil.com", false).await;
    check(&format!("http://localhost.evil.com:{port}"), false).await;
    check(&format!("http://localhost:{port}, http://evil.com"), false).await;
    server.stop().await;
}

fn quick() -> ServerOptions {
    let soon = Duration::from_millis(200);
    ServerOptions::default().with_header_time(soon).with_idle_time(soon)
}

// SEC-H-05, SEC-Z-02
#[tokio::test]
async fn a_head_that_does_not_come_in_time_ends_the_connection() {
    let options = quick().with_idle_time(Duration::from_secs(600));
    let server = serve_with(Endpoint::new(support::router()), options).await;
    for start in ["", "P", "PRI", "POST / HTTP/1.1\r\nhost: localhost\r\nx-slow: "] {
        let mut raw = Raw::open(server.address).await;
        raw.send(start).await;
        let said = raw.read_to_end().await;
        assert!(said.starts_with(if start.is_empty() { "" } else { "HTTP/1.1 408 " }), "{start:?}: {said}");
    }
    // Also later on the same connection.
    let mut raw = Raw::open(server.address).await;
    raw.send(post(server.address, "", ADD)).await;
    assert_eq!(raw.response().await.unwrap().body, SUM);
    raw.send("POST / HTTP/1.1\r\n").await;
    assert!(raw.is_closed().await);
    server.stop().await;
}

// SEC-H-05, SEC-Z-02: hyper alone never closes a stalled body
#[tokio::test]
async fn a_body_that_does_not_come_in_time_is_408_and_ends_the_connection() {
    let options = EndpointOptions::default().with_body_time(Duration::from_millis(200));
    let endpoint = Endpoint::new(support::router()).with_options(options);
    let server = serve_with(endpoint, ServerOptions::default()).await;
    let request = post(server.address, "", ADD);
    for sent in [request.len() - ADD.len(), request.len() - 1] {
        let mut raw = Raw::open(server.address).await;
        raw.send(&request[..sent]).await;
        let received = raw.response().await.unwrap();
        assert_eq!((received.status, received.header("connection")), (408, Some("close")));
        assert!(received.body.contains("-32003"), "{}", received.body);
        assert!(raw.is_closed().await);
    }
    server.stop().await;
}

// SEC-H-05
#[tokio::test]
async fn an_idle_connection_is_closed() {
    let server = serve_with(Endpoint::new(support::router()), quick()).await;
    let mut raw = Raw::open(server.address).await;
    raw.send(post(server.address, "", ADD)).await;
    assert_eq!(raw.response().await.unwrap().body, SUM);
    assert!(raw.is_closed().await);
    server.stop().await;
}

// SEC-L-14, SEC-Z-02
#[tokio::test]
async fn a_reader_that_stopped_reading_loses_its_connection() {
    let options = quick().with_connections(1).with_header_time(Duration::from_secs(10));
    let server = serve_with(Endpoint::new(support::router()), options).await;
    let mut stalled = Raw::open(server.address).await;
    // More than the buffers between us hold.
    let call = format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{}"],"id":1}}"#, "x".repeat(3 << 20));
    let is_sent = stalled.try_send(post(server.address, "", &call).repeat(8)).await;
    assert!(!is_sent, "the server reads no more while nobody reads its answers, and then hangs up");
    let status = async || ask(server.address, post(server.address, "", ADD)).await.status;
    support::within(async { while status().await != 200 {} }).await;
    server.stop().await;
}

#[tokio::test]
async fn times_without_an_end_are_times() {
    let options = ServerOptions::default().with_header_time(Duration::MAX).with_idle_time(Duration::MAX);
    let endpoint = Endpoint::new(support::router());
    let endpoint = endpoint.with_options(EndpointOptions::default().with_body_time(Duration::MAX));
    let server = serve_with(endpoint, options).await;
    let mut raw = Raw::open(server.address).await;
    let request = post(server.address, "", ADD);
    let (one, two) = request.split_at(request.len() - 10);
    raw.send(one).await;
    raw.send(two).await;
    assert_eq!(raw.response().await.unwrap().body, SUM);
    server.stop().await;
}

// SEC-L-16
#[tokio::test]
async fn a_head_too_large_is_431_and_ends_the_connection() {
    let server = serve().await;
    for (size, status) in [(8 << 10, 200), (20 << 10, 431)] {
        let request = post(server.address, &format!("x-large: {}\r\n", "x".repeat(size)), ADD);
        let mut raw = Raw::open(server.address).await;
        raw.send(request).await;
        assert_eq!(raw.response().await.unwrap().status, status);
    }
    server.stop().await;
}
