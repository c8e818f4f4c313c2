//! A WebSocket client of few lines, for tests: no library of ours or of others has a say in what it sends.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use switchboard_transport::internals::ws::{Decoded, MessageDecoder, MessageKind, Role};
use switchboard_transport::ws::Close;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// Nothing in these tests takes that long; it only keeps a mistake from hanging them.
const PATIENCE: Duration = Duration::from_secs(20);

/// One end of a connection whose handshake is done.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    decoder: MessageDecoder,
    unread: BytesMut,
    /// The close frame that came, if one did.
    pub closed: Option<Option<Close>>,
}

impl Socket {
    /// Upgrades a connection at this path.
    ///
    /// # Panics
    ///
    /// When the server refuses.
    pub async fn open(stream: TcpStream, path: &str) -> Socket {
        Socket::open_with(stream, path, b"").await
    }

    /// Upgrades a connection at this path, and sends these bytes right behind the request.
    ///
    /// # Panics
    ///
    /// When the server refuses.
    pub async fn open_with(mut stream: TcpStream, path: &str, behind: &[u8]) -> Socket {
        let host = stream.peer_addr().expect("it is connected").to_string();
        let unread = upgrade(&mut stream, &host, path, behind).await;
        Socket { stream, decoder: decoder(), unread, closed: None }
    }

    /// Sends a message as one frame. What the server has closed takes nothing, which is seen when reading.
    pub async fn send(&mut self, kind: MessageKind, message: &[u8]) {
        let opcode = if kind == MessageKind::Text { 1 } else { 2 };
        self.send_raw(&frame(0x80 | opcode, message)).await;
    }

    /// Sends these bytes as they are.
    pub async fn send_raw(&mut self, bytes: &[u8]) {
        let _ = within(self.stream.write_all(bytes)).await;
    }

    /// Sends these bytes as they are; whether the server takes them.
    pub async fn try_send_raw(&mut self, bytes: &[u8]) -> bool {
        within(self.stream.write_all(bytes)).await.is_ok()
    }

    /// Whether a ping comes, before anything else.
    pub async fn is_pinged(&mut self) -> bool {
        matches!(self.next().await, Some(Decoded::Ping(_)))
    }

    /// Whether the connection ends, whatever comes before.
    pub async fn is_ended(&mut self) -> bool {
        while self.closed.is_none() && self.next().await.is_some() {}
        let mut rest = Vec::new();
        matches!(within(self.stream.read_to_end(&mut rest)).await, Ok(0) | Err(_))
    }

    /// The next message; none if the connection ends before.
    pub async fn receive(&mut self) -> Option<(MessageKind, Bytes)> {
        loop {
            match self.next().await? {
                Decoded::Message(kind, message) => return Some((kind, message)),
                Decoded::Close(_) => return None,
                _ => {}
            }
        }
    }

    /// Whatever comes next; none if the connection ended.
    ///
    /// # Panics
    ///
    /// When the server breaks the protocol.
    async fn next(&mut self) -> Option<Decoded> {
        loop {
            match self.decoder.next(&mut self.unread).expect("the server keeps to the protocol") {
                Decoded::More(_) => {
                    if within(self.stream.read_buf(&mut self.unread)).await.unwrap_or(0) == 0 {
                        return None;
                    }
                }
                Decoded::Close(close) => {
                    self.closed = Some(close.clone());
                    return Some(Decoded::Close(close));
                }
                other => return Some(other),
            }
        }
    }

    /// The code with which the server closes, after all else that it sends.
    pub async fn close_code(&mut self) -> Option<u16> {
        while self.closed.is_none() && self.receive().await.is_some() {}
        self.closed.clone().flatten().map(|close| close.code.0)
    }
}

/// Upgrades a connection to this host at this path, and sends these bytes right behind the request. Gives what came right
/// behind the answer.
///
/// # Panics
///
/// When the server refuses.
pub async fn upgrade(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    host: &str,
    path: &str,
    behind: &[u8],
) -> BytesMut {
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(&[request.as_bytes(), behind].concat()).await.expect("the server listens");
    stream.flush().await.expect("the server listens");
    let mut unread = BytesMut::new();
    let end = loop {
        assert_ne!(within(stream.read_buf(&mut unread)).await.expect("it answers"), 0);
        if let Some(at) = unread.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = unread.split_to(end);
    assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
    unread
}

/// What reads the messages of a server.
#[must_use]
pub fn decoder() -> MessageDecoder {
    MessageDecoder::new(Role::Client, 64 << 20)
}

/// A frame of a client: its first byte, and a payload, masked.
#[must_use]
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
    let mut out = vec![first];
    match payload.len() {
        short @ ..=125 => out.push(0x80 | short as u8),
        middle @ ..=0xffff => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(middle as u16).to_be_bytes());
        }
        long => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&MASK);
    out.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, key)| byte ^ key));
    out
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("the far side does something in time")
}
