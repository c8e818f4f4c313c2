//! The endpoint inside of other people's servers.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::middleware::{self, Next};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use support::{ADD, SUM, router, within};
use switchboard_core::{Context, ErrorObject, Limits, Method, Origin, Router, Settings};
use switchboard_transport::http::{self, Endpoint};
use tower_service::Service;

async fn serve(app: axum::Router) -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

#[tokio::test]
async fn an_endpoint_mounts_into_axum_beside_other_routes() {
    let app = axum::Router::new()
        .route("/health", axum::routing::get(|| async { "well" }))
        .route_service("/api/rpc", Endpoint::mounted(router()));
    let address = serve(app).await;
    let peer = http::connect(&format!("http://{address}/api/rpc")).unwrap();
    let sum: i64 = within(async { peer.call("add", [2, 3]).await }).await.unwrap();
    assert_eq!(sum, 5);
    let health = support::ask(address, "GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!(health.body, "well");
    let wrong = support::ask(address, "GET /api/rpc HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("POST")));
}

#[tokio::test]
async fn a_layer_in_front_says_who_calls() {
    struct User(&'static str);
    let router = Router::builder()
        .method("whoami", |(): (), cx: Context| Ok::<_, ErrorObject>(cx.get::<User>().map(|user| user.0)));
    let identify = middleware::from_fn(async |mut request: Request, next: Next| {
        let mut cx = Context::new(Origin::new("http"));
        cx.insert(User("ada"));
        request.extensions_mut().insert(cx);
        next.run(request).await
    });
    let endpoint = Endpoint::mounted(router.build().unwrap());
    let address = serve(axum::Router::new().route_service("/rpc", endpoint).layer(identify)).await;
    let peer = http::connect(&format!("http://{address}/rpc")).unwrap();
    let name: String = within(async { peer.call("whoami", ()).await }).await.unwrap();
    assert_eq!(name, "ada");
}

#[tokio::test]
async fn an_endpoint_is_a_tower_service_for_any_body() {
    let mut endpoint = Endpoint::mounted(router());
    let request = ::http::Request::post("/anywhere")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(ADD.as_bytes())))
        .unwrap();
    let response = endpoint.call(request).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), SUM);

    let foreign = ::http::Request::post("/")
        .header("host", "localhost")
        .header("origin", "https://evil.example")
        .body(Full::new(Bytes::new()))
        .unwrap();
    assert_eq!(endpoint.call(foreign).await.unwrap().status(), 403);
}

#[tokio::test]
async fn each_request_has_a_context_of_its_own() {
    let seen: Arc<Mutex<Vec<Context>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let keep = move |(): (), cx: Context| {
        kept.lock().unwrap().push(cx);
        Ok::<_, ErrorObject>(())
    };
    let endpoint = Endpoint::mounted(Router::builder().method("keep", keep).build().unwrap());
    let address = serve(axum::Router::new().route_service("/rpc", endpoint)).await;
    let peer = http::connect(&format!("http://{address}/rpc")).unwrap();
    for _ in 0..2 {
        within(peer.call::<()>("keep", ())).await.unwrap();
    }
    let seen = seen.lock().unwrap();
    assert!(!std::ptr::eq(seen[0].origin(), seen[1].origin()), "callers that share a proxy are not one");
}

#[tokio::test]
async fn shutting_an_endpoint_down_waits_for_requests_and_ends_streams_with_an_error() {
    let limits = Limits::default().with_drain_time(Duration::from_millis(200));
    let endless = Method::stream("endless", |(): (), _| futures_util::stream::pending::<u8>());
    let mut endpoint = Endpoint::mounted(Router::builder().add(endless).build().unwrap())
        .with_settings(Settings::default().with_limits(limits));
    let handle = endpoint.handle();
    let request = || {
        let body = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"endless","id":1}"#);
        ::http::Request::post("/")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .body(Full::new(body))
            .unwrap()
    };
    let stream = endpoint.call(request()).await.unwrap();
    handle.shutdown();
    assert_eq!(endpoint.call(request()).await.unwrap().status(), 503);
    let events = within(stream.into_body().collect()).await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&events).contains("-32006"), "{events:?}");
    within(handle.finished()).await;
}

#[tokio::test]
async fn bodies_that_do_not_fit_into_the_buffers_of_an_endpoint_are_503() {
    let options = http::EndpointOptions::default().with_paths(Vec::new()).with_buffers(100 << 10);
    let mut endpoint = Endpoint::new(router()).with_options(options);
    let mut status = async |length: usize| {
        let body =
            format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{}"],"id":1}}"#, "x".repeat(length));
        let request = ::http::Request::post("/").header("host", "localhost");
        let request = request.header("content-type", "application/json").body(Full::new(Bytes::from(body)));
        endpoint.call(request.unwrap()).await.unwrap().status().as_u16()
    };
    assert_eq!(status(90 << 10).await, 200);
    assert_eq!(status(180 << 10).await, 503);
    assert_eq!(status(90 << 10).await, 200, "the room is free again");
}
