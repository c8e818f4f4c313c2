//! Framings: the vectors of the Language Server Protocol, and what holds for any bytes.

#![allow(clippy::unwrap_used)]

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use switchboard_core::ConnectionError;
use switchboard_transport::framing::{FrameDecoder, Framing};

#[derive(Deserialize)]
struct Vector {
    name: String,
    chunks: Vec<String>,
    #[serde(default)]
    eof: bool,
    expect: Value,
}

const LIMIT: usize = 1 << 16;

/// The frames of these chunks, and what ended them.
fn decode<'a>(
    framing: Framing,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    has_ended: bool,
) -> (Vec<Bytes>, Option<ConnectionError>) {
    let mut decoder = FrameDecoder::new(framing, LIMIT);
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    match decoder.finish() {
        Ok(last) if has_ended => frames.extend(last),
        Err(error) if has_ended => return (frames, Some(error)),
        _ => {}
    }
    (frames, None)
}

#[test]
fn every_framing_vector_is_read_as_it_demands() {
    // LSP-F-01, LSP-F-03, LSP-F-04, LSP-F-05, LSP-F-07, LSP-F-09, LSP-F-12, JT-03
    let vectors: Vec<Vector> = serde_json::from_str(include_str!("vectors/lsp_framing.json")).unwrap();
    for Vector { name, chunks, eof, expect } in vectors {
        let chunks: Vec<_> = chunks.iter().map(|chunk| BASE64_STANDARD.decode(chunk).unwrap()).collect();
        let (frames, error) = decode(Framing::ContentLength, chunks.iter().map(Vec::as_slice), eof);
        let error = error.map(|error| error.to_string());
        if let Some(messages) = expect["messages"].as_array() {
            let found: Vec<_> = frames.iter().map(|frame| std::str::from_utf8(frame).unwrap()).collect();
            assert!(error.is_none() && messages.iter().eq(found.iter()), "{name}: {found:?} {error:?}");
        } else if expect["parse_error"] == true {
            assert!(frames == [Bytes::new()], "{name}: an empty frame is answered with -32700");
        } else {
            let word = match expect["error"].as_str() {
                Some("charset") => "charset",
                Some("eof") => "middle of a message",
                _ => "",
            };
            assert!(error.as_ref().is_some_and(|text| text.contains(word)), "{name}: {error:?}");
        }
    }
}

/// The bytes in pieces that end at these places.
fn pieces<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn framing() -> impl Strategy<Value = Framing> {
    proptest::sample::select(Framing::ALL.to_vec())
}

proptest! {
    #[test]
    fn any_pieces_give_the_same_frames(
        framing in framing(),
        text in r#"([\[\]{}",:\\ 1a\r\n]|Content-Length: [0-9]\r\n|\x00){0,80}"#,
        cuts in proptest::collection::vec(any::<usize>(), 0..20),
    ) {
        let bytes = text.as_bytes();
        let (frames, error) = decode(framing, [bytes], true);
        let (pieced, again) = decode(framing, pieces(bytes, &cuts), true);
        prop_assert_eq!(frames, pieced);
        prop_assert_eq!(error.map(|error| error.to_string()), again.map(|error| error.to_string()));
    }

    #[test]
    fn what_is_written_is_read_back(
        framing in framing(),
        texts in proptest::collection::vec("[a-z\\\\\"é{}\\[\\] ]{0,20}", 0..8),
        cuts in proptest::collection::vec(any::<usize>(), 0..20),
    ) {
        let messages: Vec<Vec<u8>> =
            texts.iter().map(|text| serde_json::to_vec(&[text]).unwrap()).collect();
        let mut out = Vec::new();
        messages.iter().for_each(|message| framing.encode(message, &mut out));
        let (frames, error) = decode(framing, pieces(&out, &cuts), true);
        prop_assert!(error.is_none());
        prop_assert_eq!(frames, messages);
    }
}
