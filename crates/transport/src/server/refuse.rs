//! Last messages to connections that are not served.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::shutdown::Shutdown;

/// Writes a last message and closes the connection so that the other side can read it.
///
/// For [`Accepted::refuse`](super::Accepted::refuse) of byte-stream transports. It takes two seconds at most.
pub async fn refuse_and_close(
    mut io: impl AsyncRead + AsyncWrite + Unpin,
    message: &[u8],
    shutdown: &Shutdown,
) {
    // An empty send buffer takes these few bytes at once.
    if io.write_all(message).await.is_ok() && io.shutdown().await.is_ok() {
        linger(io, shutdown).await;
    }
}

/// Reads and discards what arrives, within bounds of time and size, until the server shuts down. A socket that is closed with
/// unread bytes makes the system discard what was written last.
pub(crate) async fn linger(mut io: impl AsyncRead + AsyncWrite + Unpin, shutdown: &Shutdown) {
    const TIME: Duration = Duration::from_secs(2);
    const AMOUNT: usize = 16 << 20;
    let mut requested = pin!(shutdown.wait());
    let mut drain = pin!(async {
        // Usually done already, but not by hyper after a request that asked for an upgrade.
        let _ = io.shutdown().await;
        let mut discarded = vec![0; 16 << 10];
        let mut total = 0;
        while total < AMOUNT {
            match io.read(&mut discarded).await {
                Ok(1..) => total += discarded.len(),
                _ => break,
            }
        }
    });
    let either = poll_fn(|cx| match requested.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => drain.as_mut().poll(cx),
    });
    // However it ends, dropping the connection closes it.
    let _ = tokio::time::timeout(TIME, either).await;
}
