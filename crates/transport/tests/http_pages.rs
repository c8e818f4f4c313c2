//! Pages for browsers, at paths where others call.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use http::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use support::{ADD, Running, SUM, ask, post, router, serve_with};
use switchboard_transport::http::{Endpoint, EndpointOptions, Page};
use switchboard_transport::server::ServerOptions;

const BROWSER: &str = "accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n";

async fn serve() -> Running {
    let policy = HeaderValue::from_static("default-src 'self'");
    let options = EndpointOptions::default()
        .route("/", Page::new("<p>hello").with_header(CONTENT_SECURITY_POLICY, policy))
        .route("/small", Page::new("<p>small").with_gzip(&b"(gzip)"[..]));
    let endpoint = Endpoint::new(router()).with_options(options);
    serve_with(endpoint, ServerOptions::default()).await
}

#[tokio::test]
async fn a_browser_is_shown_the_page_and_everybody_else_calls() {
    let server = serve().await;
    let get = |method: &str, path: &str, headers: &str| {
        format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n{headers}\r\n", server.address)
    };
    let page = ask(server.address, get("GET", "/", BROWSER)).await;
    assert_eq!((page.status, page.body.as_str()), (200, "<p>hello"));
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("content-security-policy"), Some("default-src 'self'"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("vary"), Some("accept"));

    for (method, path, headers, status) in [
        ("GET", "/", "", 405),
        ("GET", "/", "accept: */*\r\n", 405),
        ("GET", "/", "accept: application/json, text/html;q=0.9\r\n", 405),
        ("GET", "/rpc", BROWSER, 405),
        ("GET", "/other", BROWSER, 404),
        ("PUT", "/", BROWSER, 405),
    ] {
        let answer = ask(server.address, get(method, path, headers)).await;
        assert_eq!(answer.status, status, "{method} {path} {headers:?}");
        assert!(answer.body.contains("jsonrpc"), "{}", answer.body);
    }
    let answer = ask(server.address, post(server.address, "", ADD)).await;
    assert_eq!(answer.body, SUM);
    server.stop().await;
}

#[tokio::test]
async fn a_page_is_sent_compressed_or_plain_as_the_client_accepts() {
    let server = serve().await;
    let get = |encoding: &str| {
        format!("GET /small HTTP/1.1\r\nhost: {}\r\naccept: text/html\r\n{encoding}\r\n", server.address)
    };
    for (encoding, body, coding) in [
        ("", "(gzip)", Some("gzip")),
        ("accept-encoding: gzip, br\r\n", "(gzip)", Some("gzip")),
        ("accept-encoding: *\r\n", "(gzip)", Some("gzip")),
        ("accept-encoding: gzip, identity;q=0\r\n", "(gzip)", Some("gzip")),
        ("accept-encoding: identity\r\n", "<p>small", None),
        ("accept-encoding: br\r\n", "<p>small", None),
    ] {
        let page = ask(server.address, get(encoding)).await;
        assert_eq!((page.status, page.body.as_str()), (200, body), "{encoding:?}");
        assert_eq!(page.header("content-encoding"), coding, "{encoding:?}");
        assert_eq!(page.header("vary"), Some("accept, accept-encoding"));
        assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    }
    for encoding in ["identity;q=0", "*;q=0"] {
        let refused = ask(server.address, get(&format!("accept-encoding: {encoding}\r\n"))).await;
        assert_eq!(refused.status, 406, "{encoding}");
        assert!(refused.body.contains("gzip or identity"), "{}", refused.body);
    }
    server.stop().await;
}

// SEC-O-01
#[tokio::test]
async fn a_page_is_not_shown_under_a_foreign_name() {
    let server = serve().await;
    let answer = ask(server.address, format!("GET / HTTP/1.1\r\nhost: evil.example\r\n{BROWSER}\r\n")).await;
    assert_eq!(answer.status, 403);
    server.stop().await;
}
