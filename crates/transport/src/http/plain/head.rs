//! The head of a response to a plain request, identical to the one that hyper writes.

use std::cell::RefCell;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;

use crate::http::answer::ReplyHeaders;
use crate::http::cors::CorsHeaders;
use crate::http::head::write_length;
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
            write_length(out, length);
        }
        DATE.with_borrow_mut(|date| date.write(now(), out));
        out.extend_from_slice(b"\r\n");
    }
}

fn line(out: &mut Vec<u8>, line: std::fmt::Arguments<'_>) {
    write!(out, "{line}\r\n").expect("a vector takes every write");
}

/// The first second without a date: HTTP writes years with four digits.
const YEAR_10000: u64 = 253_402_300_800;

thread_local! {
    static DATE: RefCell<Date> = const { RefCell::new(Date { second: u64::MAX, text: [0; 29] }) };
}

/// Whether the clock of this machine shows a time that HTTP has a date for. Without one, responses have no `Date` (RFC 9110,
/// 6.6.1). hyper must not try, because it panics.
pub(in crate::http) fn has_date() -> bool {
    now().is_some()
}

/// The seconds since 1970, unless there is no date for them.
fn now() -> Option<u64> {
    writable(SystemTime::now())
}

fn writable(time: SystemTime) -> Option<u64> {
    let second = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
    (second < YEAR_10000).then_some(second)
}

/// The value of `Date`, formatted once a second.
struct Date {
    second: u64,
    text: [u8; 29],
}

impl Date {
    fn write(&mut self, second: Option<u64>, out: &mut Vec<u8>) {
        let Some(second) = second else { return };
        if second != self.second {
            self.set(second);
        }
        out.extend_from_slice(b"date: ");
        out.extend_from_slice(&self.text);
        out.extend_from_slice(b"\r\n");
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

    #[test]
    fn a_clock_that_shows_a_year_without_a_date_gives_no_date() {
        let check = |time: SystemTime, expected: &str| {
            let mut date = Date { second: u64::MAX, text: [0; 29] };
            let mut out = Vec::new();
            date.write(writable(time), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{time:?}");
        };
        let after = |second| UNIX_EPOCH + Duration::from_secs(second);
        check(UNIX_EPOCH - Duration::from_secs(1), "");
        check(UNIX_EPOCH, "date: Thu, 01 Jan 1970 00:00:00 GMT\r\n");
        check(after(YEAR_10000 - 1), "date: Fri, 31 Dec 9999 23:59:59 GMT\r\n");
        check(after(YEAR_10000), "");
        check(after(u64::MAX >> 4), "");
    }
}
