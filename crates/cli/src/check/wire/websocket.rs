//! WebSocket by hand: the handshake, and frames that may be wrong.

use bytes::BytesMut;
use switchboard::Raw;
use switchboard::internals::ws::{Decoded as Frame, MessageDecoder, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::line::Received;
use super::{Endpoint, http};
use crate::responses::Head;

/// The opcode of a text message.
pub(crate) const TEXT: u8 = 1;
/// The opcode of a binary message.
pub(crate) const BINARY: u8 = 2;
/// The opcode of a ping.
pub(crate) const PING: u8 = 9;
/// The opcode of the answer to a ping.
pub(crate) const PONG: u8 = 10;
/// The bit of the last part of a message.
const LAST: u8 = 0x80;
/// The key of every handshake, and the server's answer to it.
const KEY: (&str, &str) = ("c3dpdGNoYm9hcmQtY2hlYw==", "9BxMBvfsfiOnpE0LJjufQdGKURs=");

/// Incoming frames.
#[derive(Debug)]
pub(crate) struct Frames {
    buffer: BytesMut,
    decoder: MessageDecoder,
}

impl Frames {
    pub(crate) fn new(rest: BytesMut, limit: usize) -> Frames {
        Frames { buffer: rest, decoder: MessageDecoder::new(Role::Client, limit) }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub(crate) fn next(&mut self) -> Result<Option<Received>, ()> {
        loop {
            return match self.decoder.next(&mut self.buffer).map_err(|_| ())? {
                Frame::Message(_, message) => Ok(Some(Received::Message(message))),
                Frame::Pong => Ok(Some(Received::Pong)),
                // No case takes long enough for a server to miss the answer.
                Frame::Ping(_) => continue,
                Frame::Close(close) => Ok(Some(Received::Closed(close.map(|close| close.code.0)))),
                _ => Ok(None),
            };
        }
    }
}

/// A frame that is a complete message.
pub(crate) fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    part(LAST | opcode, payload)
}

/// The same, masked with this key.
pub(crate) fn frame_with(key: [u8; 4], opcode: u8, payload: &[u8]) -> Vec<u8> {
    masked(key, LAST | opcode, payload)
}

/// A frame with this first byte: flags and opcode.
pub(crate) fn part(first: u8, payload: &[u8]) -> Vec<u8> {
    masked([0x37, 0xfa, 0x21, 0x3d], first, payload)
}

fn masked(mask: [u8; 4], first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    let length = payload.len();
    match (u16::try_from(length), length) {
        (_, 0..=125) => bytes.push(0x80 | u8::try_from(length).unwrap_or(125)),
        (Ok(length), _) => {
            bytes.push(0x80 | 126);
            bytes.extend(length.to_be_bytes());
        }
        _ => {
            bytes.push(0x80 | 127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// A frame that is not masked, as clients must not send it.
pub(crate) fn unmasked(payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![LAST | TEXT, u8::try_from(payload.len().min(125)).unwrap_or(125)];
    bytes.extend(&payload[..payload.len().min(125)]);
    bytes
}

/// Opens a WebSocket; returns also the bytes that followed the answer.
pub(crate) async fn shake_hands(mut raw: Raw, endpoint: &Endpoint) -> Result<(Raw, BytesMut), String> {
    let (host, path) = endpoint.target();
    let mut text = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n",
        KEY.0
    )
    .into_bytes();
    http::write_headers(&mut text, &endpoint.headers);
    text.extend(b"\r\n");
    raw.write_all(&text).await.map_err(|error| error.to_string())?;
    let mut buffer = BytesMut::new();
    loop {
        if let Some(head) = Head::take(&mut buffer)? {
            let accept = head.header("sec-websocket-accept");
            return match (head.status, accept) {
                (101, Some(accept)) if accept == KEY.1 => Ok((raw, buffer)),
                (101, _) => Err("the answer to the handshake does not match its key (RFC 6455)".to_owned()),
                (status, _) => Err(format!("the server did not open a WebSocket: status {status}")),
            };
        }
        if !matches!(raw.read_buf(&mut buffer).await, Ok(1..)) {
            return Err("the server closed the connection before the WebSocket was open".to_owned());
        }
    }
}
