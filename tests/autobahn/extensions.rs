//! Compression (sections 12 and 13) is not offered, and an offer is declined.

use switchboard_transport::ws::{self, ConnectError, WebSocketClientOptions};
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::echo::{self, head};

/// The handshake with which every case against our server begins. It offers compression.
pub(crate) const OFFER: &str = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
    sec-websocket-extensions: permessage-deflate; client_max_window_bits\r\n\r\n";

/// The answer to the key in this request, computed by another library.
pub(crate) fn accept_key(request: &str) -> String {
    let fields = request.lines().filter_map(|line| line.split_once(": "));
    let mut keys = fields.filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"));
    derive_accept_key(keys.next().unwrap().1.as_bytes())
}

#[tokio::test(start_paused = true)]
async fn our_server_declines_compression_and_our_client_does_not_offer_it() {
    // Both look at the handshake themselves.
    echo::server().await;
    echo::client().await;
}

#[tokio::test(start_paused = true)]
async fn our_client_refuses_a_server_that_compresses_unasked() {
    let (mut theirs, ours) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        let key = accept_key(&head(&mut theirs).await);
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-accept: {key}\r\nsec-websocket-extensions: permessage-deflate\r\n\r\n"
        );
        theirs.write_all(answer.as_bytes()).await.unwrap();
    });
    let refused = ws::connect_frames(ours, "ws://localhost/", 1000, &WebSocketClientOptions::default()).await;
    assert!(matches!(refused, Err(ConnectError::NotWebSocket { why, .. }) if why.contains("extension")));
}
