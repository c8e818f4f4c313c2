//! The head of a response to a plain request, identical to the one that hyper writes.

use std::cell::RefCell;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;

use crate::http::answer::ReplyHeaders;
use crate::http::cors::CorsHeaders;
use crate::http::media::Format;

/// Headers of every response (JH-25, SEC-O-08).
const EVERY: &[u8] = b"cache-control: no-store\r\nx-content-type-options: nosniff\r\n";

/// Additional headers for pages, which send an `Origin`.
const FOR_BROWSERS: &[u8] = b"cross-origin-resource-policy: same-origin\r\n\
    content-security-policy: default-src 'none'; frame-ancestors 'none'\r\n";

/// The values that a response head depends on.
pub(super) struct Head<'a> {
    pub(super) status: StatusCode,
    pub(super) format: Format,
    /// The length of the body.
    pub(super) length: usize,
    /// The `Origin` of the request.
    pub(super) origin: Option<&'a [u8]>,
    /// Headers that the reply asks for.
    pub(super) beside: &'a ReplyHeaders,
    /// Whether the connection closes after this response.
    pub(super) closes: bool,
}

impl Head<'_> {
    /// Writes the head, in hyper's order.
    pub(super) fn write(&self, cors: Option<&CorsHeaders>, out: &mut Vec<u8>) {
        let Head { status, format, length, origin, beside, closes } = *self;
        if status == StatusCode::OK {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        } else {
            let reason = status.canonical_reason().unwrap_or("<none>");
            line(out, format_args!("HTTP/1.1 {} {reason}", status.as_str()));
        }
        out.extend_from_slice(EVERY);
        if origin.is_some() {
            out.extend_from_slice(FOR_BROWSERS);
        }
        if let Some(cors) = cors {
            cors.write(origin, out);
        }
        if length > 0 {
            out.extend_from_slice(b"content-type: ");
            out.extend_from_slice(format.name().as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        for (name, value) in beside {
            out.extend_from_slice(name.as_str().as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        if closes {
            out.extend_from_slice(b"connection: close\r\n");
        }
        if status != StatusCode::NO_CONTENT {
            line(out, format_args!("content-length: {length}"));
        }
        out.extend_from_slice(b"date: ");
        DATE.with_borrow_mut(|date| out.extend_from_slice(date.now()));
        out.extend_from_slice(b"\r\n\r\n");
    }
}

fn line(out: &mut Vec<u8>, line: std::fmt::Arguments<'_>) {
    write!(out, "{line}\r\n").expect("a vector takes every write");
}

thread_local! {
    static DATE: RefCell<Date> = const { RefCell::new(Date { second: u64::MAX, text: [0; 29] }) };
}

/// The value of `Date`, formatted once a second.
struct Date {
    second: u64,
    text: [u8; 29],
}

impl Date {
    fn now(&mut self) -> &[u8] {
        let second = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if second != self.second {
            self.set(second);
        }
        &self.text
    }

    fn set(&mut self, second: u64) {
        let date = httpdate::HttpDate::from(UNIX_EPOCH + Duration::from_secs(second));
        self.second = second;
        write!(&mut self.text[..], "{date}").expect("a date has 29 characters");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_written_as_http_wants_it() {
        let mut date = Date { second: u64::MAX, text: [0; 29] };
        date.set(784_111_777);
        assert_eq!(&date.text, b"Sun, 06 Nov 1994 08:49:37 GMT");
    }
}
