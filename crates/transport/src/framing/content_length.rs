//! A header with `Content-Length`, then the message: the base protocol of the Language Server Protocol (rules LSP-F).

use std::io::Write as _;

use bytes::{Bytes, BytesMut};
use switchboard_core::ConnectionError;

use super::too_long;

/// Bytes of one header, its line ends included (LSP-F-08).
const HEADER_BYTES: usize = 8 << 10;
/// Fields of one header (LSP-F-08).
const HEADER_FIELDS: usize = 32;

/// Reads headers and cuts by the lengths in them.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    header: Header,
    /// How many bytes of the line at hand are known to hold no line end.
    scanned: usize,
    /// The length of the message that is coming, once its header is read.
    content: Option<usize>,
}

/// What the lines of the header said so far.
#[derive(Debug, Default)]
struct Header {
    bytes: usize,
    fields: usize,
    length: Option<usize>,
}

impl Cutter {
    pub(super) fn cut(
        &mut self,
        buffer: &mut BytesMut,
        limit: usize,
    ) -> Result<Option<Bytes>, ConnectionError> {
        let length = match self.content {
            Some(length) => length,
            None => match self.read_header(buffer)? {
                Some(length) => length,
                None => return Ok(None),
            },
        };
        if length > limit {
            return Err(too_long(Some(length), limit));
        }
        let is_there = buffer.len() >= length;
        self.content = (!is_there).then_some(length);
        Ok(is_there.then(|| buffer.split_to(length).freeze()))
    }

    pub(super) fn is_partial(&self) -> bool {
        self.content.is_some() || self.header.bytes > 0
    }

    /// Reads the lines that are there; gives the length once the blank line was seen.
    fn read_header(&mut self, buffer: &mut BytesMut) -> Result<Option<usize>, ConnectionError> {
        loop {
            let found = memchr::memchr(b'\n', &buffer[self.scanned..]);
            let taken = found.map_or(buffer.len(), |at| self.scanned + at + 1);
            if self.header.bytes + taken > HEADER_BYTES {
                return Err(broken(format!("a header exceeds {HEADER_BYTES} bytes")));
            }
            if found.is_none() {
                self.scanned = taken;
                return Ok(None);
            }
            self.scanned = 0;
            let line = buffer.split_to(taken);
            self.header.bytes += taken;
            let Some(line) = line.strip_suffix(b"\r\n") else {
                return Err(broken("a header line ends with LF; it must end with CRLF"));
            };
            if line.is_empty() {
                let header = std::mem::take(&mut self.header);
                return header.length.map(Some).ok_or_else(|| broken("the header has no Content-Length"));
            }
            self.header.read_line(line)?;
        }
    }
}

impl Header {
    fn read_line(&mut self, line: &[u8]) -> Result<(), ConnectionError> {
        self.fields += 1;
        if self.fields > HEADER_FIELDS {
            return Err(broken(format!("a header has more than {HEADER_FIELDS} fields")));
        }
        let text = std::str::from_utf8(line).ok().filter(|text| text.is_ascii());
        let Some((name, value)) = text.and_then(|text| text.split_once(':')) else {
            return Err(broken("a header line is not `Name: value` in ASCII"));
        };
        if name.eq_ignore_ascii_case("content-length") {
            self.read_length(value.trim())
        } else if name.eq_ignore_ascii_case("content-type") {
            check_charset(value)
        } else {
            Ok(())
        }
    }

    fn read_length(&mut self, value: &str) -> Result<(), ConnectionError> {
        let is_decimal = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        // More digits than a length can have are a length that is too large for any limit.
        let length = value.parse().unwrap_or(usize::MAX);
        if !is_decimal {
            return Err(broken("Content-Length is not a decimal number"));
        }
        if self.length.is_some_and(|earlier| earlier != length) {
            return Err(broken("Content-Length appears twice, with different values"));
        }
        self.length = Some(length);
        Ok(())
    }
}

/// UTF-8 is the only charset; `utf8` is an old name of it (LSP-F-04, LSP-F-05).
fn check_charset(value: &str) -> Result<(), ConnectionError> {
    for parameter in value.split(';').skip(1) {
        let Some((name, value)) = parameter.split_once('=') else { continue };
        let charset = value.trim().trim_matches('"');
        let is_utf8 = charset.eq_ignore_ascii_case("utf-8") || charset.eq_ignore_ascii_case("utf8");
        if name.trim().eq_ignore_ascii_case("charset") && !is_utf8 {
            return Err(broken("the charset of a message is not utf-8"));
        }
    }
    Ok(())
}

fn broken(why: impl Into<String>) -> ConnectionError {
    ConnectionError::Framing(why.into())
}

/// Appends a message with its header (LSP-F-10).
pub(super) fn encode(message: &[u8], out: &mut Vec<u8>) {
    out.reserve(message.len() + 40);
    write!(out, "Content-Length: {}\r\n\r\n", message.len()).expect("a vector takes all that is written");
    out.extend_from_slice(message);
}
