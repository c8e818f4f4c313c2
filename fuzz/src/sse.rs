//! Reads any bytes as an event stream, cut in any way: the events are the same, and none exceeds the limit.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard_transport::internals::sse::{Parser, Piece, TooLong};

const LIMIT: usize = 256;

fuzz_target!(|input: (u8, &[u8])| {
    let (size, bytes) = input;
    let whole = read(bytes.chunks(bytes.len().max(1)));
    assert_eq!(whole, read(bytes.chunks(1)));
    assert_eq!(whole, read(bytes.chunks(usize::from(size).max(1))));
});

type Read = (Vec<(Piece, String)>, Result<(), TooLong>);

fn read<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Read {
    let mut parser = Parser::new(LIMIT);
    let mut pieces = Vec::new();
    for mut chunk in chunks {
        loop {
            match parser.next(&mut chunk) {
                Ok(Some(piece)) => pieces.push((piece, parser.last_event_id().to_owned())),
                Ok(None) => break,
                Err(error) => return (pieces, Err(error)),
            }
        }
    }
    for (piece, _) in &pieces {
        let (Piece::Comment(text)
        | Piece::Event(switchboard_transport::internals::sse::Event { data: text, .. })) = piece;
        // What is not UTF-8 is replaced by three bytes for each.
        assert!(text.len() <= 3 * LIMIT, "{piece:?}");
    }
    (pieces, Ok(()))
}
