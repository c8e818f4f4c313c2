//! The endpoint inside of other people's servers.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use axum::extract::Request;
use axum::middleware::{self, Next};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use support::{ADD, SUM, router, within};
use switchboard_core::{Context, ErrorObject, Origin, Router};
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
async fn bodies_that_do_not_fit_into_the_buffers_of_an_endpoint_are_503() {
    let options = http::Options { paths: Vec::new(), buffers: 100 << 10, ..http::Options::default() };
    let mut endpoint = Endpoint::new(router()).with_options(options);
    let mut status = async |length: usize| {
        let body =
            format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{}"],"id":1}}"#, "x".repeat(length));
        let request = ::http::Request::post("/").header("host", "localhost");
        let request = request.header("content-type", "application/json").body(Full::new(Bytes::from(body)));
        endpoint.call(request.unwrap()).await.unwrap().status().as_u16()
    };
    assert_eq!(status(90 << 10).await, 200);
    assert_eq!(status(110 << 10).await, 503);
    assert_eq!(status(90 << 10).await, 200, "the room is free again");
}
