//! Writing an event stream (SSE-04).

/// Writes an event with this data. Each of its lines gets its own line; a carriage return becomes a line feed,
/// which in JSON makes no difference.
pub(crate) fn event(out: &mut Vec<u8>, data: &[u8]) {
    let mut rest = data;
    loop {
        out.extend_from_slice(b"data: ");
        let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            out.extend_from_slice(rest);
            break;
        };
        out.extend_from_slice(&rest[..end]);
        out.push(b'\n');
        rest = rest[end..].strip_prefix(b"\r\n").unwrap_or(&rest[end + 1..]);
    }
    out.extend_from_slice(b"\n\n");
}

/// Writes a comment, which readers skip. It must be one line.
pub(crate) fn comment(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b":");
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use super::super::{Parser, Piece};
    use super::*;

    // SSE-04
    #[test]
    fn what_is_written_is_read_as_it_was() {
        let check = |data: &str, expected: &str| {
            let mut out = Vec::new();
            comment(&mut out, " note");
            event(&mut out, data.as_bytes());
            let (mut parser, mut chunk) = (Parser::new(100), &out[..]);
            assert_eq!(parser.next(&mut chunk), Ok(Some(Piece::Comment(" note".to_owned()))));
            let Ok(Some(Piece::Event(event))) = parser.next(&mut chunk) else { panic!("{data:?}") };
            assert_eq!(event.data, expected);
            assert_eq!(parser.next(&mut chunk), Ok(None));
        };
        for data in ["", "a", " a", "[DONE]", "{\n \"a\": 1\n}", "\n", "\n\n", "data: a", ": a", "a\n", "é"]
        {
            check(data, data);
        }
        check("[1,\r\n2,\r3]", "[1,\n2,\n3]");
    }
}
