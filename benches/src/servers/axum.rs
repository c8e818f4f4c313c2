//! An axum handler that takes the body and answers with serde_json, written by hand.

use std::io;
use std::net::TcpListener;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::serve::ListenerExt;
use bytes::Bytes;

use crate::cases::raw_value::answer;

/// Serves on `listener`.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|stream| {
        // Without it the figures would be wrong, and on loopback it cannot fail.
        stream.set_nodelay(true).expect("TCP_NODELAY can be set");
    });
    axum::serve(listener, Router::new().route("/", post(rpc))).await
}

async fn rpc(body: Bytes) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], answer(&body))
}
