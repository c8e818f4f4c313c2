//! A WebSocket through an endpoint that is mounted into another server.

#![cfg(feature = "ws")]
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use switchboard_core::{Context, ErrorObject, Router, Settings};
use switchboard_transport::http::{Endpoint, Options, RequestHeaders};
use switchboard_transport::ws::{ClientOptions, connect};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

#[tokio::test]
async fn a_mounted_endpoint_upgrades_and_keeps_the_headers() {
    let router = Router::builder()
        .method("token", |(): (), cx: Context| {
            let headers = cx.get::<RequestHeaders>().map(|headers| headers.0.clone()).unwrap_or_default();
            let token = headers.get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
            Ok::<_, ErrorObject>((cx.origin().transport, token))
        })
        .build()
        .unwrap();
    let options = Options { paths: Vec::new(), keep_headers: true, ..Options::default() };
    let endpoint = Endpoint::mounted(router).with_options(options);
    let app: axum::Router = axum::Router::new().route_service("/here", endpoint);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/here", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, app).await.unwrap() });
    let mut options = ClientOptions::default();
    options.headers.insert("authorization", "Bearer abc".parse().unwrap());
    let nothing = Arc::new(Router::builder().build().unwrap());
    let peer = connect(&url, nothing, Arc::new(Settings::default()), &options).await.unwrap();
    let told: (String, Option<String>) = peer.call("token", ()).await.unwrap();
    assert_eq!(told, ("ws".to_owned(), Some("Bearer abc".to_owned())));
}
