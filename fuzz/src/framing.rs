//! Cuts any bytes into frames: in one piece, in pieces, and byte by byte, with the same outcome.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use switchboard_transport::framing::{FrameDecoder, Framing};

const LIMIT: usize = 64;

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (framing, size, bytes) = input;
    let framing = Framing::ALL[usize::from(framing) % Framing::ALL.len()];
    let whole = frames(framing, bytes, bytes.len().max(1));
    assert_eq!(whole, frames(framing, bytes, usize::from(size).max(1)));
    assert_eq!(whole, frames(framing, bytes, 1));
    assert!(whole.0.iter().all(|frame| frame.len() <= LIMIT));
});

/// The frames of these bytes in pieces of this size, and what ended them.
fn frames(framing: Framing, bytes: &[u8], size: usize) -> (Vec<Bytes>, Option<String>) {
    let mut decoder = FrameDecoder::new(framing, LIMIT);
    let mut frames = Vec::new();
    for piece in bytes.chunks(size) {
        decoder.feed(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error.to_string())),
            }
        }
    }
    match decoder.finish() {
        Ok(last) => frames.extend(last),
        Err(error) => return (frames, Some(error.to_string())),
    }
    (frames, None)
}
