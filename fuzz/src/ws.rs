//! Decodes any bytes as frames of WebSocket: whole and one by one they come to the same, within the limit.

#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use switchboard_transport::internals::ws::{Decoded, MessageDecoder, Role};
use switchboard_transport::ws::Violation;

/// Messages may be this long.
const LIMIT: usize = 1000;

fuzz_target!(|bytes: &[u8]| {
    for role in [Role::Server, Role::Client] {
        let at_once = decode(role, bytes, bytes.len().max(1));
        for chunk in [1, 7] {
            let (received, outcome) = decode(role, bytes, chunk);
            assert_eq!((&received, outcome), (&at_once.0, at_once.1));
        }
    }
});

fn decode(role: Role, bytes: &[u8], chunk: usize) -> (Vec<Decoded>, Option<Violation>) {
    let mut decoder = MessageDecoder::new(role, LIMIT);
    let (mut unread, mut all) = (BytesMut::new(), Vec::new());
    for chunk in bytes.chunks(chunk) {
        unread.extend_from_slice(chunk);
        loop {
            match decoder.next(&mut unread) {
                Ok(Decoded::More(missing)) => {
                    assert!(missing > 0);
                    break;
                }
                Ok(received) => {
                    if let Decoded::Message(_, message) = &received {
                        assert!(message.len() <= LIMIT);
                    }
                    all.push(received);
                }
                Err(violation) => {
                    assert!(violation.code().is_sendable());
                    return (all, Some(violation));
                }
            }
        }
    }
    (all, None)
}
