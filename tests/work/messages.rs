//! Framings, WebSocket and event streams, over reads of every size.

use std::future::poll_fn;
use std::time::Duration;

use switchboard_core::{FrameSource, Limits, Settings};
use switchboard_transport::framing::Framing;
use switchboard_transport::internals::sse::Parser;
use switchboard_transport::{stream, ws};
use tokio::runtime::Runtime;

use crate::Case;
use crate::drip::Drip;

const SIZE: usize = 4 << 10;
/// As much as a system gives at once.
const AT_ONCE: usize = 8 << 10;

pub(crate) const CASES: &[Case] = &[
    ("lines: a message, byte by byte", SIZE, |size| framed(Framing::Lines, message(size) + "\n", 1)),
    ("lines: messages", SIZE, |size| framed(Framing::Lines, "1\n".repeat(size / 2), AT_ONCE)),
    ("lines: blank lines", SIZE, |size| framed(Framing::Lines, "\n".repeat(size), 1)),
    ("lines: blanks before a message", SIZE, |size| framed(Framing::Lines, " ".repeat(size) + "1\n", 1)),
    ("json stream: a message, byte by byte", SIZE, |size| framed(Framing::JsonStream, message(size), 1)),
    ("json stream: messages", SIZE, |size| framed(Framing::JsonStream, "{}".repeat(size / 2), AT_ONCE)),
    ("json stream: blank lines", SIZE, |size| framed(Framing::JsonStream, "\n".repeat(size), 1)),
    ("json stream: depth, byte by byte", SIZE, |size| {
        framed(Framing::JsonStream, "[".repeat(size / 2) + &"]".repeat(size / 2), 1)
    }),
    ("json stream: messages that are cut short", SIZE, |size| {
        framed(Framing::JsonStream, "{\"a\":\n".repeat(size / 6), AT_ONCE)
    }),
    ("json stream: lines that are no messages", SIZE, |size| {
        framed(Framing::JsonStream, "a\n".repeat(size / 2), 1)
    }),
    ("lsp: a message, byte by byte", SIZE, |size| {
        framed(Framing::ContentLength, format!("Content-Length: {size}\r\n\r\n{}", message(size)), 1)
    }),
    ("lsp: messages", SIZE, |size| {
        framed(Framing::ContentLength, "Content-Length: 1\r\n\r\n1".repeat(size / 22), AT_ONCE)
    }),
    ("lsp: long headers, byte by byte", 4 * SIZE, |size| {
        let one = format!("Content-Length: 1\r\nX: {}\r\n\r\n1", "x".repeat(8000));
        framed(Framing::ContentLength, one.repeat(size / one.len()), 1)
    }),
    ("length: a message, byte by byte", SIZE, |size| {
        let length = u32::try_from(size).unwrap().to_be_bytes();
        framed(Framing::LengthPrefix, [&length[..], message(size).as_bytes()].concat(), 1)
    }),
    ("length: messages", SIZE, |size| {
        framed(Framing::LengthPrefix, [0, 0, 0, 1, b'1'].repeat(size / 5), AT_ONCE)
    }),
    ("ws: a message, byte by byte", SIZE, |size| websocket(frame(0x81, message(size).as_bytes()), 1)),
    ("ws: a message", SIZE, |size| websocket(frame(0x81, message(size).as_bytes()), AT_ONCE)),
    ("ws: messages", SIZE, |size| websocket(frame(0x81, b"1").repeat(size / 7), AT_ONCE)),
    ("ws: a message in parts of one byte", SIZE, |size| websocket(parts(size / 7, b""), AT_ONCE)),
    ("ws: parts of one byte, byte by byte", SIZE, |size| websocket(parts(size / 7, b""), 1)),
    ("ws: parts with pings between them", SIZE, |size| {
        websocket(parts(size / 20, &frame(0x89, b"12345")), AT_ONCE)
    }),
    ("ws: empty parts", SIZE, |size| {
        websocket([frame(0x01, b""), frame(0x00, b"").repeat(size / 6), frame(0x80, b"1")].concat(), AT_ONCE)
    }),
    ("ws: the head of a handshake, byte by byte", 512, |size| {
        let head = HANDSHAKE.replace("\r\n\r\n", &format!("\r\nx: {}\r\n\r\n", "x".repeat(size)));
        accepted([head.as_bytes(), &frame(0x81, b"1")].concat(), 0, 1)
    }),
    ("ws: the head of an answer, byte by byte", 512, |size| {
        let head = format!("HTTP/1.1 101 Switching Protocols\r\nx: {}\r\n\r\n", "x".repeat(size));
        Box::new(move || {
            let url = "ws://localhost/";
            let options = ws::WebSocketClientOptions::default();
            let connecting = ws::connect_frames(Drip::new(head.into_bytes(), 0, 1), url, 1000, &options);
            assert!(runtime().block_on(connecting).is_err());
        })
    }),
    ("sse: an event, byte by byte", SIZE, |size| events(format!("data: {}\n\n", message(size)), 1)),
    ("sse: events", SIZE, |size| events("data: 1\n\n".repeat(size / 9), AT_ONCE)),
    ("sse: an event of many lines", SIZE, |size| events("data: 1\n".repeat(size / 8) + "\n", AT_ONCE)),
    ("sse: lines that end with a return", SIZE, |size| events("data\r".repeat(size / 5) + "\r", 1)),
    ("sse: names and identifiers", SIZE, |size| events("id: 1234567\nevent: a\n".repeat(size / 21), AT_ONCE)),
    ("sse: comments", SIZE, |size| events(":\n".repeat(size / 2), AT_ONCE)),
    ("sse: bytes that are no text", SIZE, |size| {
        events([b"data: ".to_vec(), vec![0xff; size], b"\n\n".to_vec()].concat(), AT_ONCE)
    }),
];

const HANDSHAKE: &str = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// A message of this many bytes.
fn message(size: usize) -> String {
    format!("[\"{}\"]", "x".repeat(size - 4))
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

fn framed(framing: Framing, bytes: impl Into<Vec<u8>>, each: usize) -> Box<dyn FnOnce()> {
    let bytes = bytes.into();
    let limits = Limits::default().with_frame(2 * bytes.len());
    let options = stream::StreamOptions::new(framing).with_settings(Settings::default().with_limits(limits));
    Box::new(move || {
        runtime().block_on(async {
            let (source, _sink) = stream::frames(Drip::new(bytes, 0, each), tokio::io::sink(), &options);
            drain(source).await;
        });
    })
}

fn websocket(bytes: impl AsRef<[u8]>, each: usize) -> Box<dyn FnOnce()> {
    accepted([HANDSHAKE.as_bytes(), bytes.as_ref()].concat(), HANDSHAKE.len(), each)
}

fn accepted(bytes: Vec<u8>, first: usize, each: usize) -> Box<dyn FnOnce()> {
    Box::new(move || {
        runtime().block_on(async {
            let (limit, time) = (bytes.len(), Duration::from_secs(10));
            let stream = Drip::new(bytes, first, each);
            let opened = ws::accept(stream, limit, time, &ws::WebSocketOptions::default(), |_| true).await;
            drain(opened.unwrap().0).await;
        });
    })
}

/// Takes the frames up to the end; there are some, or none was sent.
async fn drain(mut source: impl FrameSource) {
    while let Some(Ok(frame)) = poll_fn(|cx| source.poll_frame(cx)).await {
        std::hint::black_box(frame);
    }
}

fn events(bytes: impl Into<Vec<u8>>, each: usize) -> Box<dyn FnOnce()> {
    let bytes = bytes.into();
    Box::new(move || {
        let mut parser = Parser::new(4 * bytes.len());
        for mut chunk in bytes.chunks(each) {
            while parser.next(&mut chunk).unwrap().is_some() {}
        }
    })
}

/// A frame of a client with fewer than 64 KiB, or with eight bytes for its length.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    switchboard_tests::socket::frame(first, payload)
}

/// A text in so many parts of one byte, with these bytes between them.
fn parts(count: usize, between: &[u8]) -> Vec<u8> {
    let part = [between, &frame(0x00, b"x")].concat();
    [frame(0x01, b"x"), part.repeat(count), frame(0x80, b"x")].concat()
}
