//! Messages of HTTP/1.1, read from a socket as they are: no library of ours or of others has a say in them.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Nothing in these tests takes that long; it only keeps a mistake from hanging them.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes both ways.
trait Bytewise: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytewise for T {}

/// One end of a connection.
pub struct Wire {
    stream: Box<dyn Bytewise>,
    unread: Vec<u8>,
}

/// A request or a response.
#[derive(Debug)]
pub struct Received {
    /// The first line and the headers.
    pub head: String,
    /// As many bytes as `Content-Length` says.
    pub body: Bytes,
}

impl Wire {
    /// Speaks over this connection.
    #[must_use]
    pub fn new(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Wire {
        Wire { stream: Box::new(stream), unread: Vec::new() }
    }

    /// Sends a first line with headers, each with its end of line, and then `Content-Length` and a body.
    ///
    /// # Errors
    ///
    /// When the far side closed the connection.
    pub async fn send(&mut self, head: &str, body: &[u8]) -> io::Result<()> {
        let mut text = format!("{head}content-length: {}\r\n\r\n", body.len()).into_bytes();
        text.extend_from_slice(body);
        within(self.stream.write_all(&text)).await
    }

    /// The next message; none if the connection closes before its end.
    pub async fn receive(&mut self) -> Option<Received> {
        loop {
            if let Some(received) = self.take() {
                return Some(received);
            }
            if within(self.stream.read_buf(&mut self.unread)).await.unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    /// The next message, which ends with its connection: whatever its head says of the length of its body.
    pub async fn receive_all(&mut self) -> Option<Received> {
        // A connection that breaks is at its end too.
        while within(self.stream.read_buf(&mut self.unread)).await.unwrap_or(0) > 0 {}
        let end = self.unread.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let body = Bytes::from(self.unread.split_off(end));
        let head = String::from_utf8(std::mem::take(&mut self.unread)).expect("a head is plain text");
        Some(Received { head, body })
    }

    /// A message that is here as a whole.
    fn take(&mut self) -> Option<Received> {
        let end = self.unread.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let head = String::from_utf8(self.unread[..end].to_vec()).expect("a head is plain text");
        let mut received = Received { head, body: Bytes::new() };
        let length: usize = received.header("content-length").map_or(0, |length| length.parse().unwrap());
        if self.unread.len() < end + length {
            return None;
        }
        let rest = self.unread.split_off(end + length);
        received.body = self.unread.split_off(end).into();
        self.unread = rest;
        Some(received)
    }
}

impl Received {
    /// The status, if this is a response.
    ///
    /// # Panics
    ///
    /// When it is none.
    #[must_use]
    pub fn status(&self) -> u16 {
        let status = self.head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
        status.expect("a response begins with its version and status")
    }

    /// The value of the first header with this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("the far side does something in time")
}
