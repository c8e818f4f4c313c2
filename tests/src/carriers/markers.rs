//! How to tell over a connection that all is said: calls of `marker` are answered and bring nothing else, several in a row.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::Versions;

/// A connection that carries whole messages.
pub(super) trait Messages: Send {
    /// Sends one message; none if the connection has ended.
    fn write<'a>(&'a mut self, message: &'a [u8]) -> BoxFuture<'a, Option<()>>;

    /// The next message; none if the connection has ended.
    fn read(&mut self) -> BoxFuture<'_, Option<Bytes>>;
}

const PATIENCE: Duration = Duration::from_secs(20);
/// Short, for the limits that some transcripts set.
const MARKER: &str = "98765";
const QUIET_ROUNDS: usize = 4;

/// Collects what comes until all is said; none if the connection ends before.
pub(super) async fn hear_all(line: &mut impl Messages, versions: Versions) -> Option<Vec<Bytes>> {
    let version = if versions == Versions::V1 { r#""params":[]"# } else { r#""jsonrpc":"2.0""# };
    let marker = format!(r#"{{{version},"method":"marker","id":{MARKER}}}"#);
    let mut messages = Vec::new();
    let mut quiet = 0;
    while quiet < QUIET_ROUNDS {
        line.write(marker.as_bytes()).await?;
        let before = messages.len();
        loop {
            let frame = tokio::time::timeout(PATIENCE, line.read()).await.expect("something comes")?;
            if String::from_utf8_lossy(&frame).contains(&format!("\"id\":{MARKER}")) {
                break;
            }
            messages.push(frame);
        }
        quiet = if messages.len() == before { quiet + 1 } else { 0 };
    }
    Some(messages)
}
