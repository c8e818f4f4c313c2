//! The wire as `-v` shows it: what a case sends, byte for byte as far as it is readable, and what it receives.

use bytes::BytesMut;
use http::HeaderMap;
use switchboard::internals::ws::{Decoded, MessageDecoder, Role};
use switchboard::{Direction, Tap, Wire};

use super::outcome::shortened;
use crate::responses::Head;

/// How many characters of a message are shown. Some cases send megabytes.
const MOST: usize = 1000;
/// The largest frame that is decoded, in bytes.
const LIMIT: usize = 64 << 20;

/// Bytes of a stream: a message with its framing, or what a case sends instead.
pub(crate) fn bytes(tap: &Tap, direction: Direction, bytes: &[u8]) {
    // Cut before it is decoded: most of it would be discarded.
    let start = &bytes[..bytes.len().min(4 * MOST)];
    let mut text = shortened(String::from_utf8_lossy(start).trim_end_matches('\n'), MOST);
    if start.len() < bytes.len() {
        text.push_str(&format!("… ({} bytes)", bytes.len()));
    }
    tap.show(direction, Wire::Message(text.as_bytes()));
}

/// Bytes that go over a WebSocket: the messages in them, or how many bytes are not a valid frame.
pub(crate) fn frames(tap: &Tap, sent: &[u8]) {
    let mut buffer = BytesMut::from(sent);
    let mut decoder = MessageDecoder::new(Role::Server, LIMIT);
    while !buffer.is_empty() {
        match decoder.next(&mut buffer) {
            Ok(Decoded::Message(_, message)) => bytes(tap, Direction::Sent, &message),
            Ok(Decoded::Ping(_)) => tap.show(Direction::Sent, Wire::Carrier("a ping")),
            Ok(Decoded::Pong | Decoded::Close(_)) => {
                tap.show(Direction::Sent, Wire::Carrier("a control frame"));
            }
            _ => {
                let what = format!("{} bytes that are not a valid frame", buffer.len());
                return tap.show(Direction::Sent, Wire::Carrier(&what));
            }
        }
    }
}

/// The lines of a request's head, and its body. Values of headers from the command line are omitted: they may be secret.
fn parts<'a>(sent: &'a [u8], given: &HeaderMap) -> (Vec<String>, &'a [u8]) {
    let end = sent.windows(4).position(|part| part == b"\r\n\r\n").map_or(sent.len(), |at| at + 4);
    let (head, body) = sent.split_at(end);
    let head = String::from_utf8_lossy(head);
    let lines = head.trim_end().lines().map(|line| match line.split_once(':') {
        Some((name, _)) if given.contains_key(name) => format!("{name}: …"),
        _ => shortened(line, MOST),
    });
    (lines.collect(), body)
}

/// An HTTP request as it is sent, for a report.
pub(crate) fn head_and_body(sent: &[u8], given: &HeaderMap) -> String {
    let (lines, body) = parts(sent, given);
    format!("{}\r\n\r\n{}", lines.join("\r\n"), shortened(&String::from_utf8_lossy(body), MOST))
}

/// An HTTP request.
pub(crate) fn request(tap: &Tap, sent: &[u8], given: &HeaderMap) {
    let (lines, body) = parts(sent, given);
    tap.show(Direction::Sent, Wire::Carrier(&lines.join("\n")));
    if !body.is_empty() {
        bytes(tap, Direction::Sent, body);
    }
}

/// An HTTP response.
pub(crate) fn response(tap: &Tap, head: &Head, body: &[u8]) {
    tap.show(Direction::Received, Wire::Carrier(&head.to_string()));
    if !body.is_empty() {
        bytes(tap, Direction::Received, body);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::check::wire::websocket;

    fn seen(show: impl FnOnce(&Tap)) -> String {
        let seen = Arc::new(Mutex::new(String::new()));
        let out = Arc::clone(&seen);
        show(&Tap::new(move |_, what| {
            let text = match what {
                Wire::Message(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Wire::Carrier(text) => format!("({text})"),
                _ => String::new(),
            };
            out.lock().unwrap().push_str(&text);
        }));
        let seen = seen.lock().unwrap();
        seen.clone()
    }

    #[test]
    fn secrets_of_the_command_line_are_not_shown() {
        let given = HeaderMap::from_iter([(http::header::AUTHORIZATION, "Bearer sekret".parse().unwrap())]);
        let sent = b"POST / HTTP/1.1\r\nAccept: a/b\r\nauthorization: Bearer sekret\r\n\r\n{}";
        let text = seen(|tap| request(tap, sent, &given));
        assert_eq!(text, "(POST / HTTP/1.1\nAccept: a/b\nauthorization: …){}");
    }

    #[test]
    fn long_messages_are_cut() {
        let text = seen(|tap| bytes(tap, Direction::Sent, &[b'x'; 100_000]));
        assert!(text.len() < 5000 && text.ends_with("(100000 bytes)"), "{text}");
    }

    #[test]
    fn frames_are_shown_by_their_messages() {
        let sent = [websocket::frame(websocket::TEXT, b"{}"), websocket::unmasked(b"x")].concat();
        let text = seen(|tap| frames(tap, &sent));
        assert_eq!(text, "{}(3 bytes that are not a valid frame)");
    }
}
