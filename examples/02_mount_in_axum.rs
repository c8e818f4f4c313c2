//! An application with its own server, here axum, that also serves JSON-RPC calls on one of its paths.
//!
//! ```text
//! cargo run -p switchboard --features http --example 02_mount_in_axum
//! curl -H 'content-type: application/json' http://127.0.0.1:8000/rpc \
//!      -d '{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}'
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use axum::routing::get;
use switchboard::http::{self, Endpoint};
use switchboard::{ErrorObject, Router};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The methods, as in every other example.
    let methods =
        Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b)).build()?;

    // The application. `mounted` serves the path it is mounted at; axum does the routing.
    let app = axum::Router::new()
        .route("/health", get(|| async { "well" }))
        .route_service("/rpc", Endpoint::mounted(methods));

    let once = std::env::var_os("SWITCHBOARD_EXAMPLE_ONCE").is_some();
    let listener = TcpListener::bind(if once { "127.0.0.1:0" } else { "127.0.0.1:8000" }).await?;
    let url = format!("http://{}/rpc", listener.local_addr()?);
    println!("calls are answered at {url}");
    let serving = tokio::spawn(async move { axum::serve(listener, app).await });

    // A call to ourselves.
    let peer = http::connect(&url)?;
    let sum: i64 = peer.call("add", [2, 3]).await?;
    println!("2 + 3 = {sum}");

    if !once {
        serving.await??;
    }
    Ok(())
}
