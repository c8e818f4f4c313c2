//! Bodies that nothing reads: announced, and sent late, in part or not at all. The answer arrives whole, and what follows on the
//! connection is a request or is not read (SEC-H-02).
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use http::Response;
use support::{ADD, Raw, Received, Running, SUM, post, router, serve_with};
use switchboard_transport::http::{
    Body, Cors, DocumentRoute, Endpoint, EndpointOptions, Get, Guarded, Page, Route, RouteFuture,
};
use switchboard_transport::server::ServerOptions;

/// More than the buffers of a socket hold.
const PAGE: usize = 8 << 20;

struct Health;

impl Route for Health {
    fn answer(&self, _: Guarded) -> RouteFuture {
        RouteFuture::ready(Response::new(Body::new("well")))
    }
}

async fn serve() -> Running {
    let options = EndpointOptions::default()
        .with_cors(Some(Cors::default()))
        .with_get(Get::only(["add"]))
        .route("/", Page::new("x".repeat(PAGE)))
        .route("/small", Page::new("small"))
        .route("/openrpc.json", DocumentRoute)
        .route("/health", Health);
    serve_with(Endpoint::new(router()).with_options(options), ServerOptions::default()).await
}

/// A request of each kind that has no use for a body, with its status.
const REQUESTS: [(&str, &str, u16); 7] = [
    ("a page", "GET / HTTP/1.1\r\naccept: text/html\r\n", 200),
    ("a small page", "GET /small HTTP/1.1\r\naccept: text/html\r\n", 200),
    ("a route", "GET /health HTTP/1.1\r\n", 200),
    ("a document, of which there is none", "GET /openrpc.json HTTP/1.1\r\n", 404),
    ("a method that is not safe", "GET /rpc/stream?method=echo HTTP/1.1\r\n", 403),
    ("what is allowed", "OPTIONS / HTTP/1.1\r\n", 204),
    ("nothing that is served", "GET /nothing HTTP/1.1\r\n", 404),
];

/// The head of a request with a body of five bytes.
fn with_body(server: &Running, head: &str) -> String {
    format!("{head}host: {}\r\ncontent-length: 5\r\n\r\n", server.address)
}

fn check_whole(what: &str, received: &Received, status: u16) {
    assert_eq!(received.status, status, "{what}");
    if what == "a page" {
        assert_eq!(received.body.len(), PAGE);
    }
}

/// What the server does after its answer: whether it closes the connection, as it says; otherwise it answers a call.
async fn closes(raw: &mut Raw, server: &Running, received: &Received) -> bool {
    if received.header("connection") == Some("close") {
        assert!(raw.is_closed().await);
        return true;
    }
    raw.send(post(server.address, "", ADD)).await;
    assert_eq!(raw.response().await.unwrap().body, SUM);
    false
}

#[tokio::test]
async fn a_body_that_comes_with_its_head_is_skipped_and_the_connection_is_used_again() {
    let server = serve().await;
    for (what, head, status) in REQUESTS {
        let mut raw = Raw::open(server.address).await;
        raw.send(with_body(&server, head) + "POST ").await;
        let received = raw.response().await.unwrap();
        check_whole(what, &received, status);
        // A refusal by the rules closes, because nothing is read of it.
        assert_eq!(closes(&mut raw, &server, &received).await, what == "nothing that is served", "{what}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_comes_after_the_answer_does_not_cut_it_off() {
    let server = serve().await;
    for (what, head, status) in REQUESTS {
        for body in ["POST ", "P", "POST / HTTP/1.1\r\n\r\n"] {
            let mut raw = Raw::open(server.address).await;
            raw.send(with_body(&server, head)).await;
            // The answer has begun when its first byte is there.
            raw.first_byte().await;
            raw.send(body).await;
            let received = raw.response().await.unwrap_or_else(|| panic!("{what} is cut off"));
            check_whole(what, &received, status);
            assert!(closes(&mut raw, &server, &received).await, "{what}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_waits_to_be_asked_for_is_not_waited_for() {
    let server = serve().await;
    for (what, head, status) in REQUESTS {
        let mut raw = Raw::open(server.address).await;
        raw.send(with_body(&server, &format!("{head}expect: 100-continue\r\n"))).await;
        let received = raw.response().await.unwrap();
        check_whole(what, &received, status);
        assert!(closes(&mut raw, &server, &received).await, "{what}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stream_by_get_reads_its_body_however_late_and_refuses_it() {
    let server = serve().await;
    let head = with_body(&server, "GET /rpc/stream?method=add&a=2&b=3 HTTP/1.1\r\n");
    let mut raw = Raw::open(server.address).await;
    raw.send(head).await;
    for byte in ["P", "O", "S", "T", " "] {
        raw.send(byte).await;
        tokio::task::yield_now().await;
    }
    let received = raw.response().await.unwrap();
    assert_eq!(received.status, 415);
    assert!(!closes(&mut raw, &server, &received).await);
    server.stop().await;
}
