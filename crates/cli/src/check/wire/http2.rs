//! Just enough HTTP/2 to find out whether a server speaks it.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::Endpoint;

/// The first bytes of a client (RFC 9113, section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// The position of a frame's type, after its length.
const TYPE: usize = 3;

/// Whether the server answers the preface with its settings, as HTTP/2 requires.
pub(crate) async fn is_spoken(endpoint: &Endpoint, time: Duration) -> bool {
    let shake = async {
        let mut raw = endpoint.open_http2().await.ok()?;
        raw.write_all(&[PREFACE, &SETTINGS].concat()).await.ok()?;
        raw.flush().await.ok()?;
        let mut head = [0; SETTINGS.len()];
        raw.read_exact(&mut head).await.ok()?;
        Some(head[TYPE] == SETTINGS[TYPE] && head[TYPE + 1..] == [0; 5])
    };
    timeout(time, shake).await.ok().flatten() == Some(true)
}
