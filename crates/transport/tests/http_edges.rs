//! What a server does at its edges: heads that do not come, methods it does not have, more than it has room for.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::time::Duration;

use support::{ADD, Raw, SUM, ask, post, router, serve, serve_with};
use switchboard_transport::http::{Endpoint, HttpServer};
use switchboard_transport::server::{ListenError, Server, ServerOptions};

fn soon() -> ServerOptions {
    ServerOptions::default().with_header_time(Duration::from_millis(100))
}

// SEC-H-05
#[tokio::test]
async fn a_first_head_that_does_not_end_is_answered_with_408() {
    let server = serve_with(Endpoint::new(router()), soon()).await;
    let upgrade =
        "GET /rpc/ws HTTP/1.1\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n";
    for head in ["POST / HTTP/1.1\r\nhost: ", "P", "\r\n", upgrade] {
        let mut raw = Raw::open(server.address).await;
        raw.send(head).await;
        let received = raw.response().await.expect("an answer");
        assert_eq!((received.status, received.header("connection")), (408, Some("close")), "{head:?}");
        assert!(received.body.contains("-32003"), "{}", received.body);
        assert!(raw.is_closed().await);
    }
    server.stop().await;
}

// SEC-H-05
#[tokio::test]
async fn who_says_nothing_or_has_had_an_answer_is_left_without_a_word() {
    let server = serve_with(Endpoint::new(router()), soon()).await;
    assert!(Raw::open(server.address).await.is_closed().await);
    let mut raw = Raw::open(server.address).await;
    raw.send(post(server.address, "", ADD)).await;
    assert_eq!(raw.response().await.unwrap().body, SUM);
    raw.send("POST / HT").await;
    // A client takes what comes now for the answer to its next request.
    assert!(raw.is_closed().await);
    server.stop().await;
}

// SEC-H-05
#[tokio::test]
async fn a_connection_of_http2_without_a_request_is_closed() {
    let server = serve_with(Endpoint::new(router()), soon()).await;
    let mut raw = Raw::open(server.address).await;
    // The preface and empty settings.
    raw.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await;
    raw.read_to_end().await;
    server.stop().await;
}

#[tokio::test]
async fn nobody_is_connected_on_to_others() {
    let server = serve().await;
    for target in [server.address.to_string(), "example.com:443".to_owned()] {
        let request = format!("CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n\r\n");
        let mut raw = Raw::open(server.address).await;
        raw.send(request).await;
        let received = raw.response().await.expect("an answer");
        let expected = if target.starts_with("example") { 403 } else { 405 };
        assert_eq!((received.status, received.header("connection")), (expected, Some("close")), "{target}");
        assert!(raw.is_closed().await);
    }
    server.stop().await;
}

fn text(length: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{}"],"id":1}}"#, "x".repeat(length))
}

#[tokio::test]
async fn bodies_that_do_not_fit_in_together_are_503_and_short_ones_are_answered() {
    // Each connection has 64 KiB, and one of them these beside.
    let options = ServerOptions::default().with_buffers(50 << 10);
    let server = serve_with(Endpoint::new(router()), options).await;
    let body = text(100 << 10).replace("echo", "nowhere");
    let (head, rest) =
        post(server.address, "expect: 100-continue\r\n", &body).split_once("\r\n\r\n").map(owned).unwrap();
    let mut first = Raw::open(server.address).await;
    first.send(format!("{head}\r\n\r\n")).await;
    // Once it asks for the body, it has made room for it.
    assert_eq!(first.response().await.unwrap().status, 100);

    let refused = ask(server.address, post(server.address, "", &body)).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert!(refused.body.contains("-32005") && refused.body.contains("buffers"), "{}", refused.body);
    let chunked = format!(
        "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        server.address,
        body.len()
    );
    assert_eq!(ask(server.address, &chunked).await.status, 503);
    assert_eq!(ask(server.address, post(server.address, "", ADD)).await.body, SUM);

    first.send(rest).await;
    assert_eq!(first.response().await.unwrap().status, 200);
    assert_eq!(ask(server.address, &chunked).await.status, 200, "the room is free again");
    server.stop().await;
}

fn owned((head, rest): (&str, &str)) -> (String, String) {
    (head.to_owned(), rest.to_owned())
}

#[cfg(all(feature = "tcp", feature = "ws"))]
#[tokio::test]
async fn messages_that_do_not_fit_in_are_refused_and_end_their_connection() {
    use switchboard_core::CallError;
    use switchboard_transport::server::Server;

    let options = ServerOptions::default().with_buffers(150 << 10);
    let mut server = Server::new(router()).with_options(options);
    server.listen("tcp://127.0.0.1:0").await.unwrap();
    server.listen("ws://127.0.0.1:0").await.unwrap();
    let (urls, handle): (Vec<String>, _) = (server.urls().collect(), server.handle());
    let serving = tokio::spawn(server.serve());
    for url in &urls {
        let echo = async |length: usize| {
            let peer = switchboard_transport::connect(url).await.unwrap();
            support::within(peer.call::<String>("echo", ["x".repeat(length)])).await.map(|text| text.len())
        };
        assert_eq!(echo(60 << 10).await, Ok(60 << 10), "{url}");
        for _ in 0..3 {
            assert_eq!(echo(100 << 10).await, Ok(100 << 10), "{url}: the room is free again");
        }
        let refused = echo(400 << 10).await;
        assert!(matches!(refused, Err(CallError::Closed(_) | CallError::Rejected(_))), "{url}: {refused:?}");
    }
    let mut raw = Raw::open(urls[0].strip_prefix("tcp://").unwrap().parse().unwrap()).await;
    raw.send(&text(400 << 10)[..300 << 10]).await;
    let said = raw.read_to_end().await;
    assert!(said.contains("-32005") && said.contains("buffers"), "{said}");
    handle.shutdown();
    serving.await.unwrap();
}

// SEC-O-05
#[tokio::test]
async fn an_address_that_other_machines_reach_must_be_asked_for() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let error = HttpServer::bind(address).await.unwrap_err().to_string();
        assert!(
            error.contains("can be reached from other machines; use `HttpServer::bind_public`"),
            "{error}"
        );
    }
    let public = HttpServer::bind_public("0.0.0.0:0").await.unwrap();
    assert!(public.local_addr().ip().is_unspecified());
}

// SEC-O-05
#[tokio::test]
async fn a_listener_that_other_machines_reach_is_adopted_only_if_asked_for() {
    let bind = |address: &str| std::net::TcpListener::bind(address).unwrap();
    let server = || Server::new(router());
    for address in ["0.0.0.0:0", "[::]:0"] {
        let error = server().adopt(bind(address)).unwrap_err();
        assert!(matches!(error, ListenError::Public(ip) if ip.is_unspecified()), "{error}");
        server().public().adopt(bind(address)).unwrap();
    }
    server().adopt(bind("127.0.0.1:0")).unwrap();
}
