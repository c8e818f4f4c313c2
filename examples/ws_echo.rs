//! Echoes WebSocket messages, text and binary, over our own frames: a target for protocol test suites.
//!
//! ```text
//! cargo run --example ws_echo --features ws -- 127.0.0.1:9001
//! ```
//!
//! It runs until it is stopped. Without an address it talks to itself once and ends.

use std::future::poll_fn;
use std::time::Duration;

use switchboard::ws::{self, WebSocketOptions};
use switchboard::{ConnectionError, FrameSink, FrameSource};
use tokio::net::{TcpListener, TcpStream};

/// Test suites send messages of up to 16 MiB.
const LIMIT: usize = 64 << 20;
/// How long a handshake may take.
const TIME: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(address) = std::env::args().nth(1) else { return show().await };
    let listener = TcpListener::bind(address).await?;
    loop {
        let (tcp, _) = listener.accept().await?;
        tokio::spawn(serve(tcp));
    }
}

/// Accepts handshakes from any page: the server only echoes.
async fn serve(tcp: TcpStream) {
    let _ = tcp.set_nodelay(true);
    let Ok((source, sink, ending)) =
        ws::accept(tcp, LIMIT, TIME, &WebSocketOptions::default(), |_| true).await
    else {
        return;
    };
    let outcome = echo(source, sink).await;
    ending.finish(&outcome).await;
}

/// Echoes each message in its kind, until the client closes.
async fn echo(mut source: impl FrameSource, mut sink: impl FrameSink) -> Result<(), ConnectionError> {
    // The response to the handshake is still to be written.
    poll_fn(|cx| sink.poll_flush(cx)).await?;
    loop {
        // Pings are answered while a message is awaited.
        let message = poll_fn(|cx| {
            let message = source.poll_frame(cx);
            if sink.queued() > 0
                && let std::task::Poll::Ready(Err(error)) = sink.poll_flush(cx)
            {
                return std::task::Poll::Ready(Some(Err(error)));
            }
            message
        });
        let Some(message) = message.await else { return Ok(()) };
        sink.push(&message?);
        poll_fn(|cx| sink.poll_flush(cx)).await?;
    }
}

/// Connects to itself, and ends when both sides have closed.
async fn show() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("ws://{}/", listener.local_addr()?);
    let serving = tokio::spawn(async move {
        if let Ok((tcp, _)) = listener.accept().await {
            serve(tcp).await;
        }
    });
    let nothing = std::sync::Arc::new(switchboard::Router::builder().build()?);
    let settings = std::sync::Arc::default();
    let peer = ws::connect(&url, nothing, settings, &ws::WebSocketClientOptions::default()).await?;
    // Our own notification comes back, and no method handles it; the point is that it was sent.
    peer.notify("hello", ()).await?;
    drop(peer);
    serving.await?;
    Ok(())
}
