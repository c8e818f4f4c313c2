//! Lines for programs.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::SystemTime;

use super::record::{Event, Record};
use crate::lines::{push_json_string, push_rfc3339, shortened};

/// A record as a line of JSON. Unknown members are omitted.
///
/// It is written by hand: serde would take twice as long as the call that the line is about.
pub(super) fn push_line(text: &mut String, record: &Record<'_>, time: SystemTime) {
    let mut line = Line(text);
    line.0.push_str("{\"time\":\"");
    push_rfc3339(line.0, time);
    line.0.push('"');
    line.word(r#","level":"#, Some(record.level.name()));
    line.word(r#","event":"#, Some(record.event.name()));
    line.word(r#","outcome":"#, record.outcome);
    if let Some(code) = record.code {
        line.0.push_str(r#","code":"#);
        let _ = write!(line.0, "{}", code.0);
    }
    if record.is_slow {
        line.0.push_str(",\"slow\":true");
    }
    line.text(r#","method":"#, record.method.map(switchboard_core::Name::as_str));
    if let Some(id) = record.id {
        line.id(id.as_str());
    }
    if let Some(duration) = record.duration {
        line.milliseconds(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }
    line.number(r#","bytesIn":"#, record.bytes_in.map(|bytes| bytes as u64));
    line.number(r#","bytesOut":"#, record.bytes_out.map(|bytes| bytes as u64));
    let items = if record.event == Event::Batch { r#","entries":"# } else { r#","items":"# };
    line.number(items, record.items);
    line.number(r#","status":"#, record.status.map(u64::from));
    line.text(r#","reason":"#, record.reason);
    line.word(r#","incident":"#, record.incident);
    line.text(r#","who":"#, record.who);
    line.word(r#","transport":"#, record.transport);
    if let Some(peer) = record.address {
        line.0.push_str(r#","peer":"#);
        line.address(peer);
    }
    line.word(r#","session":"#, record.session);
    line.number(r#","batch":"#, record.batch.map(|batch| batch.0));
    line.number(r#","entry":"#, record.entry.map(|entry| entry as u64));
    line.word(r#","trace":"#, record.trace.map(|trace| trace.trace_id()).as_deref());
    line.0.push_str("}\n");
}

/// The same line, standing for so many others.
pub(super) fn repeated(line: &str, count: u64) -> String {
    format!("{},\"repeated\":{count}}}\n", line.trim_end().strip_suffix('}').unwrap_or(line))
}

/// The line in the place of lost ones.
pub(super) fn lost(count: u64) -> String {
    let mut line = String::from("{\"time\":\"");
    push_rfc3339(&mut line, SystemTime::now());
    let _ = writeln!(line, "\",\"level\":\"warn\",\"event\":\"lines-lost\",\"lost\":{count}}}");
    line
}

/// Adds a number. The usual formatting takes several times as long.
fn push_number(text: &mut String, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    // Digits are ASCII.
    text.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

struct Line<'a>(&'a mut String);

/// Members are added with what precedes their values: a comma, the name and a colon.
impl Line<'_> {
    /// A text without characters to escape.
    fn word(&mut self, name: &str, word: Option<&str>) {
        if let Some(word) = word {
            self.0.push_str(name);
            self.0.push('"');
            self.0.push_str(word);
            self.0.push('"');
        }
    }

    /// A text that anyone may have chosen.
    fn text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.0.push_str(name);
            push_json_string(self.0, &shortened(text));
        }
    }

    fn number(&mut self, name: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.0.push_str(name);
            push_number(self.0, number);
        }
    }

    /// An identifier: a short number as it is, anything else as a string.
    fn id(&mut self, id: &str) {
        let is_number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        if id.len() <= 20 && id.bytes().all(is_number) {
            self.0.push_str(r#","id":"#);
            return self.0.push_str(id);
        }
        // Escapes in it are shown as they were sent.
        let inside = id.strip_prefix('"').and_then(|id| id.strip_suffix('"'));
        self.text(r#","id":"#, Some(inside.unwrap_or(id)));
    }

    fn milliseconds(&mut self, micros: u64) {
        self.0.push_str(r#","ms":"#);
        push_number(self.0, micros / 1000);
        // The digits of the rest, with zeros before it.
        let rest = micros % 1000;
        let [a, b, c] = [rest / 100, rest / 10 % 10, rest % 10].map(|digit| b'0' + digit as u8);
        self.0.push_str(std::str::from_utf8(&[b'.', a, b, c]).unwrap_or_default());
    }

    fn address(&mut self, address: SocketAddr) {
        self.0.push('"');
        match address {
            SocketAddr::V4(address) => {
                for (index, part) in address.ip().octets().into_iter().enumerate() {
                    if index > 0 {
                        self.0.push('.');
                    }
                    push_number(self.0, part.into());
                }
                self.0.push(':');
                push_number(self.0, address.port().into());
            }
            address => drop(write!(self.0, "{address}")),
        }
        self.0.push('"');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_and_addresses_are_written_as_usual(number in any::<u64>(), shift in 0..64_u32, ip in any::<std::net::IpAddr>(), port in any::<u16>()) {
            let mut text = String::new();
            push_number(&mut text, number >> shift);
            prop_assert_eq!(&text, &(number >> shift).to_string());
            text.clear();
            let address = SocketAddr::new(ip, port);
            Line(&mut text).address(address);
            prop_assert_eq!(text, format!("\"{address}\""));
        }

        #[test]
        fn milliseconds_have_three_digits_of_the_next(micros in any::<u64>()) {
            let mut text = String::new();
            Line(&mut text).milliseconds(micros);
            prop_assert_eq!(text, format!(",\"ms\":{}.{:03}", micros / 1000, micros % 1000));
        }
    }
}
