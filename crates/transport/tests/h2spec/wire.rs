//! Frames of HTTP/2, written and read by hand: it shares no mistakes with what it checks.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::case::{Event, Step};

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;
pub(crate) const PRIORITIZED: u8 = 0x20;
/// A request without a body.
pub(crate) const WHOLE: u8 = END_STREAM | END_HEADERS;

pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;

/// Any frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Step {
    let mut bytes = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    Step::Send(bytes)
}

pub(crate) fn data(flags: u8, stream: u32) -> Step {
    frame(DATA, flags, stream, b"test")
}

pub(crate) fn headers(flags: u8, stream: u32, block: &[u8]) -> Step {
    frame(HEADERS, flags, stream, block)
}

pub(crate) fn continuation(flags: u8, stream: u32, block: &[u8]) -> Step {
    frame(CONTINUATION, flags, stream, block)
}

/// What a PRIORITY frame holds, and the beginning of a HEADERS frame with priority.
pub(crate) fn dependency(on: u32, weight: u8) -> Vec<u8> {
    let mut payload = on.to_be_bytes().to_vec();
    payload.push(weight);
    payload
}

pub(crate) fn priority(stream: u32, on: u32, weight: u8) -> Step {
    frame(PRIORITY, 0, stream, &dependency(on, weight))
}

pub(crate) fn reset(stream: u32, code: u32) -> Step {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

pub(crate) fn settings(values: &[(u16, u32)]) -> Step {
    let pairs =
        values.iter().flat_map(|(name, value)| name.to_be_bytes().into_iter().chain(value.to_be_bytes()));
    frame(SETTINGS, 0, 0, &pairs.collect::<Vec<_>>())
}

pub(crate) fn window_update(stream: u32, increment: u32) -> Step {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

pub(crate) fn ping(payload: &[u8; 8]) -> Step {
    frame(PING, 0, 0, payload)
}

/// The header block of these fields: literals that are not indexed, without Huffman coding.
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            length(&mut block, text.len());
            block.extend(text.as_bytes());
        }
    }
    block
}

/// An integer with a prefix of seven bits (RFC 7541, 5.1).
fn length(block: &mut Vec<u8>, length: usize) {
    if length < 127 {
        return block.push(u8::try_from(length).unwrap());
    }
    block.push(127);
    let mut rest = length - 127;
    while rest >= 128 {
        block.push(u8::try_from(rest % 128).unwrap() | 128);
        rest /= 128;
    }
    block.push(u8::try_from(rest).unwrap());
}

/// A connection.
pub(crate) struct Wire(TcpStream);

impl Wire {
    pub(crate) async fn open(address: SocketAddr) -> Wire {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Wire(stream)
    }

    /// Sends; that the server has closed meanwhile shows when reading.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes).await;
    }

    pub(crate) async fn event(&mut self) -> Event {
        let mut head = [0; 9];
        if self.0.read_exact(&mut head).await.is_err() {
            return Event::Closed;
        }
        if &head == b"HTTP/1.1 " {
            let mut text = String::new();
            let _ = self.0.read_to_string(&mut text).await;
            return Event::Http1(text.split(' ').next().unwrap_or_default().parse().unwrap());
        }
        let number = |bytes: &[u8]| bytes.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        let (length, flags, stream) = (number(&head[..3]), head[4], number(&head[5..]));
        let mut payload = vec![0; length as usize];
        if self.0.read_exact(&mut payload).await.is_err() {
            return Event::Closed;
        }
        let is_end = flags & END_STREAM != 0;
        match head[3] {
            DATA => Event::Data { stream, length, is_end },
            HEADERS => Event::Headers { stream, is_end },
            RST_STREAM => Event::Reset { stream, code: number(&payload) },
            SETTINGS => Event::Settings { is_ack: flags & ACK != 0 },
            PING => Event::Ping { is_ack: flags & ACK != 0, payload: payload.try_into().unwrap() },
            GOAWAY => Event::Goaway(number(&payload[4..8])),
            kind => Event::Other(kind),
        }
    }
}
