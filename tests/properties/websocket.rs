//! Messages come out of their frames as they went in, however the frames and the bytes are cut.

use ::bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;
use switchboard_tests::socket::frame;
use switchboard_transport::internals::ws::{Decoded, MessageDecoder, MessageKind, Role};

use crate::config;

/// A message in as many frames as it has parts, with a ping behind each.
fn frames(kind: MessageKind, parts: &[Vec<u8>]) -> Vec<u8> {
    let last = parts.len() - 1;
    let opcode = if kind == MessageKind::Text { 1 } else { 2 };
    let one = |(n, part): (usize, &Vec<u8>)| {
        let first = if n == 0 { opcode } else { 0 } | if n == last { 0x80 } else { 0 };
        [frame(first, part), frame(0x89, b"ping")].concat()
    };
    parts.iter().enumerate().flat_map(one).collect()
}

/// All that comes of these bytes when they come in chunks of these lengths.
fn decode(bytes: &[u8], chunks: &[usize]) -> Vec<Decoded> {
    let mut decoder = MessageDecoder::new(Role::Server, 1 << 20);
    let (mut unread, mut received) = (BytesMut::new(), Vec::new());
    let mut lengths = chunks.iter().copied().cycle();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(lengths.next().unwrap_or(1).clamp(1, rest.len()));
        rest = behind;
        unread.extend_from_slice(chunk);
        loop {
            match decoder.next(&mut unread).unwrap() {
                Decoded::More(_) => break,
                Decoded::Ping(_) => {}
                other => received.push(other),
            }
        }
    }
    received
}

proptest! {
    #![proptest_config(config(300))]

    // JT-01
    #[test]
    fn messages_survive_any_frames_and_any_chunks(
        messages in vec((any::<bool>(), vec(vec(any::<u8>(), 0..300), 1..5)), 1..6),
        chunks in vec(1_usize..200, 1..20),
    ) {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        for (wants_text, parts) in &messages {
            let whole = parts.concat();
            let is_text = *wants_text && std::str::from_utf8(&whole).is_ok();
            let kind = if is_text { MessageKind::Text } else { MessageKind::Binary };
            bytes.extend(frames(kind, parts));
            expected.push(Decoded::Message(kind, whole.into()));
        }
        prop_assert_eq!(decode(&bytes, &chunks), expected);
    }

    // JT-01
    #[test]
    fn texts_survive_being_cut_within_characters(text in "\\PC{1,60}", cut in any::<prop::sample::Index>(), chunks in vec(1_usize..9, 1..9)) {
        let at = cut.index(text.len());
        let parts = [text.as_bytes()[..at].to_vec(), text.as_bytes()[at..].to_vec()];
        let expected = vec![Decoded::Message(MessageKind::Text, text.clone().into_bytes().into())];
        prop_assert_eq!(decode(&frames(MessageKind::Text, &parts), &chunks), expected);
    }

    // SEC-Z-03
    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in vec(any::<u8>(), 0..200), limit in 0_usize..300) {
        for role in [Role::Server, Role::Client] {
            let mut decoder = MessageDecoder::new(role, limit);
            let mut unread = BytesMut::from(&bytes[..]);
            while let Ok(received) = decoder.next(&mut unread) {
                match received {
                    Decoded::More(_) => break,
                    Decoded::Message(_, message) => prop_assert!(message.len() <= limit),
                    _ => {}
                }
            }
        }
    }
}
