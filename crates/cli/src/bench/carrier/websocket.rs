//! WebSocket, after the handshake.

use bytes::BytesMut;
use switchboard::internals::ws::{Decoded, MessageDecoder, Role};

use super::{Event, LIMIT};
use crate::bench::form::{Form, Mask};
use crate::bench::work::Text;
use crate::check::wire::websocket::{PONG, TEXT, frame, frame_with};

/// Messages over WebSocket.
#[derive(Debug)]
pub(crate) struct WebSocket {
    buffer: BytesMut,
    decoder: MessageDecoder,
    /// One for the whole connection: it keeps scripts in browsers from choosing what is on the wire, and this is none.
    key: [u8; 4],
}

impl WebSocket {
    /// A connection on which this came behind the handshake.
    pub(crate) fn new(rest: BytesMut, key: [u8; 4]) -> WebSocket {
        WebSocket { buffer: rest, decoder: MessageDecoder::new(Role::Client, LIMIT), key }
    }

    pub(super) fn form(&self, text: &Text) -> Form {
        let bytes = frame_with(self.key, TEXT, &text.bytes);
        let from = bytes.len() - text.bytes.len();
        Form::new(bytes, &text.holes, from).masked(Mask { key: self.key, from })
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub(super) fn next(&mut self) -> Result<Option<Event>, String> {
        loop {
            return Ok(match self.decoder.next(&mut self.buffer).map_err(|error| error.to_string())? {
                Decoded::Message(_, message) => Some(Event::Message(message)),
                Decoded::Ping(payload) => Some(Event::Echo(frame(PONG, &payload))),
                Decoded::Pong => continue,
                Decoded::Close(_) => Some(Event::End),
                _ => None,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_masked_with_its_identifier() {
        let socket = WebSocket::new(BytesMut::new(), [1, 2, 3, 4]);
        for length in [0, 200, 70_000] {
            let text = [b"000000000", " ".repeat(length).as_bytes()].concat();
            let mut out = Vec::new();
            socket.form(&Text { bytes: text, holes: vec![0] }).write(123_456_789, &mut out);
            let mut far = MessageDecoder::new(Role::Server, LIMIT);
            match far.next(&mut BytesMut::from(&out[..])) {
                Ok(Decoded::Message(_, message)) => assert_eq!(message.trim_ascii(), b"123456789"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_ping_is_answered_and_a_close_is_an_end() {
        let mut socket = WebSocket::new(BytesMut::new(), [0; 4]);
        socket.feed(&[0x89, 1, b'p', 0x8a, 0, 0x88, 0]);
        assert!(matches!(socket.next(), Ok(Some(Event::Echo(pong))) if pong[0] == 0x8a));
        assert_eq!(socket.next(), Ok(Some(Event::End)));
    }
}
