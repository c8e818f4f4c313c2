//! Decides which responses are plain.

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::StatusCode;
use httparse::Status;
use switchboard_core::{AllowedNames, Metadata};

use crate::http::media;

/// A response with more headers is not plain.
const HEADERS: usize = 64;

/// What the bytes from a server begin with.
#[derive(Debug)]
pub(super) enum Seen {
    /// A part of a head.
    Part,
    /// An interim response (1xx) of this length.
    Interim(usize),
    /// The head of a plain response.
    Plain(Head),
    /// Something else.
    Other,
}

/// The head of a plain response.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    /// Its length.
    pub(super) size: usize,
    pub(super) framing: Framing,
    /// Whether the connection stays open for another request.
    pub(super) stays_open: bool,
    pub(super) metadata: Metadata,
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length(usize),
    Chunked,
}

/// What these bytes begin with. Headers with these names become metadata.
///
/// A plain response is one that can be read in one way only. Anything that is not recognised here is left to hyper.
pub(super) fn read(bytes: &[u8], names: &AllowedNames) -> Seen {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let size = match config.parse_response_with_uninit_headers(&mut response, bytes, &mut headers) {
        Ok(Status::Complete(size)) => size,
        Ok(Status::Partial) => return Seen::Part,
        Err(_) => return Seen::Other,
    };
    let (Some(1), Some(code)) = (response.version, response.code) else { return Seen::Other };
    match code {
        100 | 102..=199 => return Seen::Interim(size),
        // Those that switch protocols, and redirects.
        ..=199 | 300..=399 => return Seen::Other,
        _ => {}
    }
    let Ok(status) = StatusCode::from_u16(code) else { return Seen::Other };
    let Some(fields) = Fields::read(response.headers, names) else { return Seen::Other };
    let is_events = |kind: &[u8]| kind != b"application/json" && media::is_events(kind);
    if status.is_success() && fields.content_type.is_some_and(is_events) {
        return Seen::Other;
    }
    let Some(framing) = fields.framing(status) else { return Seen::Other };
    let metadata: Metadata = fields.metadata.into_iter().collect();
    Seen::Plain(Head { status, size, framing, stays_open: fields.stays_open, metadata })
}

/// The headers that affect how a response is read.
struct Fields<'a> {
    content_type: Option<&'a [u8]>,
    length: Option<&'a [u8]>,
    coding: Option<&'a [u8]>,
    stays_open: bool,
    metadata: Vec<(String, Bytes)>,
}

impl<'a> Fields<'a> {
    /// `None` if one of them is repeated.
    fn read(headers: &[httparse::Header<'a>], names: &AllowedNames) -> Option<Fields<'a>> {
        let (content_type, length, coding, metadata) = (None, None, None, Vec::new());
        let mut fields = Fields { content_type, length, coding, stays_open: true, metadata };
        for httparse::Header { name, value } in headers {
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            let place = match name.len() {
                12 if is("content-type") => &mut fields.content_type,
                14 if is("content-length") => &mut fields.length,
                17 if is("transfer-encoding") => &mut fields.coding,
                10 if is("connection") => {
                    fields.stays_open &= value.eq_ignore_ascii_case(b"keep-alive");
                    continue;
                }
                _ => continue,
            };
            if place.replace(value).is_some() {
                return None;
            }
        }
        for httparse::Header { name, value } in headers.iter().filter(|header| names.contains(header.name)) {
            let name = name.to_ascii_lowercase();
            if fields.metadata.iter().any(|(other, _)| *other == name) {
                return None;
            }
            fields.metadata.push((name, Bytes::copy_from_slice(value)));
        }
        Some(fields)
    }

    fn framing(&self, status: StatusCode) -> Option<Framing> {
        let framing = match (self.length, self.coding) {
            (Some(length), None) => Framing::Length(decimal(length)?),
            (None, Some(coding)) if coding.eq_ignore_ascii_case(b"chunked") => Framing::Chunked,
            (None, None) if status == StatusCode::NO_CONTENT => Framing::Length(0),
            _ => return None,
        };
        (status != StatusCode::NO_CONTENT || framing == Framing::Length(0)).then_some(framing)
    }
}

/// A number of digits only that fits.
fn decimal(text: &[u8]) -> Option<usize> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// What is there of a body in chunks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chunks {
    /// A part.
    Part,
    /// All of it, which took so many bytes.
    Whole { body: Vec<u8>, size: usize },
    /// Something else: extensions of chunks, trailers, or what is not allowed.
    Other,
}

/// Reads a body in chunks.
pub(super) fn chunks(bytes: &[u8]) -> Chunks {
    let (mut body, mut rest) = (Vec::new(), bytes);
    loop {
        let (length, data) = match chunk(rest) {
            Ok(Some(found)) => found,
            Ok(None) => return Chunks::Part,
            Err(NotPlain) => return Chunks::Other,
        };
        let after = data.get(length..).unwrap_or_default();
        match after {
            [b'\r', b'\n', ..] => body.extend_from_slice(&data[..length]),
            [] | [b'\r'] => return Chunks::Part,
            _ => return Chunks::Other,
        }
        rest = &after[2..];
        if length == 0 {
            return Chunks::Whole { body, size: bytes.len() - rest.len() };
        }
    }
}

struct NotPlain;

/// The length of a chunk, and what follows its first line; none if more bytes are needed.
fn chunk(bytes: &[u8]) -> Result<Option<(usize, &[u8])>, NotPlain> {
    let digits = bytes.iter().take(7).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (number, rest) = bytes.split_at(digits);
    let is_number = digits > 0 || bytes.is_empty();
    match rest {
        [b'\r', b'\n', data @ ..] if digits > 0 => {
            let number = std::str::from_utf8(number).map_err(|_| NotPlain)?;
            Ok(Some((usize::from_str_radix(number, 16).map_err(|_| NotPlain)?, data)))
        }
        [] | [b'\r'] if is_number => Ok(None),
        _ => Err(NotPlain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks what is seen in a response that is written with `\n` for line breaks.
    fn check(text: &str, expected: &str) {
        let text = text.replace('\n', "\r\n");
        let seen = match read(text.as_bytes(), &AllowedNames::from_iter(["retry-after"])) {
            Seen::Part => "part".to_owned(),
            Seen::Interim(size) => format!("interim {size}"),
            Seen::Other => "other".to_owned(),
            Seen::Plain(Head { status, framing, stays_open, metadata, .. }) => {
                let after = metadata.text("retry-after").unwrap_or_default().to_owned();
                format!("{} {framing:?} {stays_open} {after}", status.as_str())
            }
        };
        assert_eq!(seen.trim_end(), expected, "{text:?}");
    }

    #[test]
    fn a_response_that_can_be_read_in_one_way_only_is_plain() {
        check("HTTP/1.1 200 OK\ncontent-length: 5\n\nhello", "200 Length(5) true");
        check("HTTP/1.1 200 OK\nContent-Length: 0\nConnection: Keep-Alive\n\n", "200 Length(0) true");
        check(
            "HTTP/1.1 503 Busy\nretry-after: 3\nconnection: close\ncontent-length: 5\n\n",
            "503 Length(5) false 3",
        );
        check("HTTP/1.1 200 OK\nTransfer-Encoding: Chunked\n\n", "200 Chunked true");
        check("HTTP/1.1 204 No Content\n\n", "204 Length(0) true");
        check("HTTP/1.1 200 OK\ncontent-length: 5\nconnection: keep-alive, x\n\n", "200 Length(5) false");
    }

    #[test]
    fn interim_responses_and_parts_of_a_head_are_recognised() {
        check("HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\n", "interim 25");
        check("", "part");
        check("HTTP/1.1 200 OK\ncontent-length: 5\n", "part");
    }

    #[test]
    fn whatever_else_there_is_is_left_to_hyper() {
        for text in [
            "SSH-2.0\n\n",
            "HTTP/1.0 200 OK\ncontent-length: 5\n\n",
            "HTTP/1.1 101 Switching\n\n",
            "HTTP/1.1 307 Away\ncontent-length: 5\n\n",
            "HTTP/1.1 200 OK\n\n",
            "HTTP/1.1 204 No Content\ncontent-length: 5\n\n",
            "HTTP/1.1 200 OK\ncontent-length: +5\n\n",
            "HTTP/1.1 200 OK\ncontent-length: 5,5\n\n",
            "HTTP/1.1 200 OK\ncontent-length: \n\n",
            "HTTP/1.1 200 OK\ncontent-length: 99999999999999999999\n\n",
            "HTTP/1.1 200 OK\ncontent-length: 5\ncontent-length: 5\n\n",
            "HTTP/1.1 200 OK\ncontent-length: 5\ntransfer-encoding: chunked\n\n",
            "HTTP/1.1 200 OK\ntransfer-encoding: gzip, chunked\n\n",
            "HTTP/1.1 200 OK\ncontent-type: text/event-stream\ncontent-length: 5\n\n",
            "HTTP/1.1 200 OK\ncontent-length: 5\nretry-after: 1\nRetry-After: 2\n\n",
        ] {
            check(text, "other");
        }
        check(&format!("HTTP/1.1 200 OK\ncontent-length: 5\n{}\n", "x: y\n".repeat(HEADERS)), "other");
    }

    #[test]
    fn chunks_are_read_if_nothing_is_unusual_about_them() {
        let whole = |body: &str, size| Chunks::Whole { body: body.into(), size };
        let check = |text: &str, expected: Chunks| assert_eq!(chunks(text.as_bytes()), expected, "{text:?}");
        check("0\r\n\r\n", whole("", 5));
        check("5\r\nhello\r\n0\r\n\r\nmore", whole("hello", 15));
        check("1\r\na\r\n00A\r\n0123456789\r\n000\r\n\r\n", whole("a0123456789", 30));
        for odd in [
            "\r\n",
            "g\r\n",
            "+1\r\na",
            "1;x\r\na\r\n",
            "1\na",
            "1 \r\na",
            "1\r\nabc",
            "0\r\nx: y\r\n\r\n",
            "00000001\r\na\r\n",
        ] {
            check(odd, Chunks::Other);
        }
        let all = "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n";
        for at in 0..all.len() {
            check(&all[..at], Chunks::Part);
        }
    }
}
