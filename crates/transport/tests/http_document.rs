//! The document of an API, fetched with a GET.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use support::{ADD, Running, SUM, ask, post_to, serve_with};
use switchboard_core::{Context, ErrorObject, Json, Method, Router};
use switchboard_transport::http::{DocumentRoute, Endpoint, EndpointOptions};
use switchboard_transport::server::ServerOptions;

/// Tells of itself to who comes with a name.
fn router() -> Router {
    let discover = |(): (), cx: Context| {
        let is_known = cx.metadata().get("x-name").is_some();
        let document = Json::parse(r#"{"openrpc": "1.3.2"}"#).unwrap();
        if is_known { Ok(document) } else { Err(ErrorObject::unauthorized()) }
    };
    Router::builder()
        .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
        .extension(Method::sync("rpc.discover", discover))
        .build()
        .unwrap()
}

async fn serve(router: Router, path: Option<&str>) -> Running {
    let mut options = EndpointOptions::default().with_paths(Vec::new());
    if let Some(path) = path {
        options = options.route(path, DocumentRoute);
    }
    serve_with(Endpoint::new(router).with_options(options), ServerOptions::default()).await
}

async fn status(server: &Running, method: &str, headers: &str) -> u16 {
    let head = format!("{method} /openrpc.json HTTP/1.1\r\nhost: {}\r\n{headers}\r\n", server.address);
    ask(server.address, head).await.status
}

// OR-33
#[tokio::test]
async fn a_get_is_answered_with_what_discovery_tells_this_caller() {
    let server = serve(router(), Some("/openrpc.json")).await;
    let head = format!("GET /openrpc.json HTTP/1.1\r\nhost: {}\r\nx-name: ann\r\n\r\n", server.address);
    let answer = ask(server.address, head).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"openrpc": "1.3.2"}"#));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    // SEC-O-08: a browser that fetches by itself sends no `Origin`.
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
    assert!(answer.header("content-security-policy").is_some());
    // Whoever may not ask learns nothing.
    assert_eq!(status(&server, "GET", "").await, 404);
    assert_eq!(status(&server, "PUT", "x-name: ann\r\n").await, 405);
    // SEC-O-02: pages of other sites do not reach it with their origin.
    assert_eq!(status(&server, "GET", "x-name: ann\r\norigin: http://evil.example\r\n").await, 403);
    let call = post_to(server.address, "/openrpc.json", "content-type: application/json\r\n", ADD);
    assert_eq!(ask(server.address, call).await.body, SUM);
    server.stop().await;
}

// OR-34
#[tokio::test]
async fn there_is_no_document_where_discovery_or_its_path_is_off() {
    let server = serve(router(), None).await;
    assert_eq!(status(&server, "GET", "x-name: ann\r\n").await, 405);
    server.stop().await;
    let server = serve(support::router(), Some("/openrpc.json")).await;
    assert_eq!(status(&server, "GET", "x-name: ann\r\n").await, 404);
    server.stop().await;
}
