//! The head of a response to a plain request: what hyper writes of the headers that the long way gives it.

use std::cell::RefCell;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::StatusCode;

use crate::http::answer::ReplyHeaders;
use crate::http::media::Format;

/// Writes the head of a response with a body of this length (JH-25, SEC-O-08).
pub(super) fn write(
    status: StatusCode,
    format: Format,
    length: usize,
    closes: bool,
    beside: &ReplyHeaders,
    out: &mut Vec<u8>,
) {
    if status == StatusCode::OK {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    } else {
        line(
            out,
            format_args!("HTTP/1.1 {} {}", status.as_str(), status.canonical_reason().unwrap_or("<none>")),
        );
    }
    out.extend_from_slice(b"cache-control: no-store\r\nx-content-type-options: nosniff\r\n");
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

fn line(out: &mut Vec<u8>, line: std::fmt::Arguments<'_>) {
    write!(out, "{line}\r\n").expect("a vector takes every write");
}

thread_local! {
    static DATE: RefCell<Date> = const { RefCell::new(Date { second: u64::MAX, text: [0; 29] }) };
}

/// The date as responses tell it, made anew once a second.
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
