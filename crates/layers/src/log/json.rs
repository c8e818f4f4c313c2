//! Lines for programs.

use std::cell::RefCell;
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use super::LogLevel;
use super::record::{Event, Record};
use crate::lines::{push_digit, push_hex, push_json_string, push_number, push_pair, push_time, rfc3339};

/// A record as a line of JSON, at this time since 1970. Unknown members are omitted.
///
/// It is written by hand: serde would take twice as long as the call that the line is about. The names of members are constants where they are
/// written, so that copying them takes a few instructions.
pub(super) fn push_line(line: &mut Vec<u8>, record: &Record<'_>, time: Duration) {
    let mut line = Line(line);
    line.0.extend_from_slice(b"{\"time\":\"");
    push_time(line.0, time);
    // Most lines are like this.
    if record.level == LogLevel::Info && record.event == Event::Call && record.outcome == Some("ok") {
        line.0.extend_from_slice(br#"","level":"info","event":"call","outcome":"ok""#);
    } else {
        line.0.push(b'"');
        line.word(br#","level":""#, Some(record.level.name()));
        line.word(br#","event":""#, Some(record.event.name()));
        line.word(br#","outcome":""#, record.outcome);
    }
    if let Some(code) = record.code {
        line.0.extend_from_slice(br#","code":"#);
        let _ = write!(line.0, "{}", code.0);
    }
    if record.is_slow {
        line.0.extend_from_slice(b",\"slow\":true");
    }
    line.text(br#","method":"#, record.method.map(switchboard_core::Name::as_bytes));
    if let Some(id) = record.id {
        line.id(id.as_bytes());
    }
    if let Some(duration) = record.duration {
        line.milliseconds(duration);
    }
    line.number(br#","bytesIn":"#, record.bytes_in.map(|bytes| bytes as u64));
    line.number(br#","bytesOut":"#, record.bytes_out.map(|bytes| bytes as u64));
    match record.event {
        Event::Batch => line.number(br#","entries":"#, record.items),
        _ => line.number(br#","items":"#, record.items),
    }
    line.number(br#","status":"#, record.status.map(u64::from));
    line.text(br#","reason":"#, record.reason.map(str::as_bytes));
    line.word(br#","incident":""#, record.incident);
    line.text(br#","who":"#, record.who.map(str::as_bytes));
    line.origin(Origin { transport: record.transport, address: record.address, session: record.session });
    line.number(br#","batch":"#, record.batch.map(|batch| batch.0));
    line.number(br#","entry":"#, record.entry.map(|entry| entry as u64));
    if let Some(trace) = &record.trace {
        line.0.extend_from_slice(br#","trace":""#);
        push_hex(line.0, &trace.trace);
        line.0.push(b'"');
    }
    line.0.extend_from_slice(b"}\n");
}

/// The same line, standing for so many others.
pub(super) fn repeated(line: &str, count: u64) -> String {
    format!("{},\"repeated\":{count}}}\n", line.trim_end().strip_suffix('}').unwrap_or(line))
}

/// The line in the place of lost ones.
pub(super) fn lost(count: u64) -> String {
    let time = rfc3339(SystemTime::now());
    format!("{{\"time\":\"{time}\",\"level\":\"warn\",\"event\":\"lines-lost\",\"lost\":{count}}}\n")
}

/// Where a call comes from: the same for all calls of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Origin<'a> {
    transport: Option<&'static str>,
    address: Option<SocketAddr>,
    session: Option<&'a str>,
}

/// The members of an origin as they are written.
#[derive(Default)]
struct WrittenOrigin {
    transport: Option<&'static str>,
    address: Option<SocketAddr>,
    session: Option<String>,
    members: Vec<u8>,
}

impl WrittenOrigin {
    fn is_of(&self, origin: &Origin<'_>) -> bool {
        self.session.as_deref() == origin.session
            && self.address == origin.address
            && self.transport == origin.transport
    }

    #[cold]
    fn write(&mut self, origin: &Origin<'_>) {
        (self.transport, self.address) = (origin.transport, origin.address);
        self.session = origin.session.map(str::to_owned);
        self.members.clear();
        let mut line = Line(&mut self.members);
        line.word(br#","transport":""#, origin.transport);
        if let Some(peer) = origin.address {
            line.address(peer);
        }
        line.word(br#","session":""#, origin.session);
    }
}

struct Line<'a>(&'a mut Vec<u8>);

/// Members are added with what precedes their values: a comma, the name and a colon, and the quote of a word.
impl Line<'_> {
    /// A text without characters to escape.
    #[inline(always)]
    fn word<const N: usize>(&mut self, name: &[u8; N], word: Option<&str>) {
        if let Some(word) = word {
            self.0.extend_from_slice(name);
            self.0.extend_from_slice(word.as_bytes());
            self.0.push(b'"');
        }
    }

    /// A text that anyone may have chosen.
    #[inline(always)]
    fn text<const N: usize>(&mut self, name: &[u8; N], text: Option<&[u8]>) {
        if let Some(text) = text {
            self.0.extend_from_slice(name);
            push_json_string(self.0, text);
        }
    }

    #[inline(always)]
    fn number<const N: usize>(&mut self, name: &[u8; N], number: Option<u64>) {
        if let Some(number) = number {
            self.0.extend_from_slice(name);
            push_number(self.0, number);
        }
    }

    /// The members of an origin. Those of the last ones are kept as text, because writing an address takes as long as half of the line.
    fn origin(&mut self, origin: Origin<'_>) {
        /// How many are kept in each thread.
        const KEPT: usize = 32;
        thread_local! {
            static LAST: RefCell<Vec<WrittenOrigin>> = const { RefCell::new(Vec::new()) };
        }
        LAST.with_borrow_mut(|last| {
            if last.is_empty() {
                last.resize_with(KEPT, WrittenOrigin::default);
            }
            // Identifiers of sessions are random.
            let sum: usize = origin.session.unwrap_or_default().bytes().map(usize::from).sum();
            let written = &mut last[sum % KEPT];
            if !written.is_of(&origin) {
                written.write(&origin);
            }
            self.0.extend_from_slice(&written.members);
        });
    }

    /// An identifier: a short number as it is, anything else as a string.
    fn id(&mut self, id: &[u8]) {
        let is_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        if id.len() <= 20 && id.iter().all(is_number) {
            self.0.extend_from_slice(br#","id":"#);
            return self.0.extend_from_slice(id);
        }
        // Escapes in it are shown as they were sent.
        let inside = id.strip_prefix(b"\"").and_then(|id| id.strip_suffix(b"\""));
        self.text(br#","id":"#, Some(inside.unwrap_or(id)));
    }

    fn milliseconds(&mut self, duration: Duration) {
        let micros =
            duration.as_secs().saturating_mul(1_000_000).saturating_add(duration.subsec_micros().into());
        self.0.extend_from_slice(br#","ms":"#);
        push_number(self.0, micros / 1000);
        self.0.push(b'.');
        push_digit(self.0, micros % 1000 / 100);
        push_pair(self.0, micros % 100);
    }

    fn address(&mut self, address: SocketAddr) {
        self.0.extend_from_slice(br#","peer":""#);
        match address {
            SocketAddr::V4(address) => {
                let [a, b, c, d] = address.ip().octets();
                push_number(self.0, a.into());
                for part in [b, c, d] {
                    self.0.push(b'.');
                    push_number(self.0, part.into());
                }
                self.0.push(b':');
                push_number(self.0, address.port().into());
            }
            address => drop(write!(self.0, "{address}")),
        }
        self.0.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn addresses_are_written_as_usual(ip in any::<std::net::IpAddr>(), port in any::<u16>()) {
            let (mut line, address) = (Vec::new(), SocketAddr::new(ip, port));
            Line(&mut line).address(address);
            prop_assert_eq!(line, format!(",\"peer\":\"{address}\"").into_bytes());
        }

        #[test]
        fn milliseconds_have_three_digits_of_the_next(micros in any::<u64>()) {
            let mut line = Vec::new();
            Line(&mut line).milliseconds(Duration::from_micros(micros));
            prop_assert_eq!(line, format!(",\"ms\":{}.{:03}", micros / 1000, micros % 1000).into_bytes());
        }
    }
}
