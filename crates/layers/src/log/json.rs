//! Lines for programs.

use std::fmt::Write as _;
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
    line.word("level", Some(record.level.name()));
    line.word("event", Some(record.event.name()));
    line.word("outcome", record.outcome);
    line.number("code", record.code.map(|code| code.0));
    if record.is_slow {
        line.number("slow", Some(true));
    }
    line.text("method", record.method.map(switchboard_core::Name::as_str));
    if let Some(id) = record.id {
        line.id(id.as_str());
    }
    if let Some(duration) = record.duration {
        line.milliseconds(duration.as_micros());
    }
    line.number("bytesIn", record.bytes_in);
    line.number("bytesOut", record.bytes_out);
    line.number(if record.event == Event::Batch { "entries" } else { "items" }, record.items);
    line.number("status", record.status);
    line.text("reason", record.reason);
    line.text("who", record.who);
    line.word("transport", record.transport);
    if let Some(peer) = record.address {
        let _ = write!(line.0, ",\"peer\":\"{peer}\"");
    }
    line.word("session", record.session);
    line.number("batch", record.batch.map(|batch| batch.0));
    line.number("entry", record.entry);
    line.word("trace", record.trace.map(|trace| trace.trace_id()).as_deref());
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

struct Line<'a>(&'a mut String);

impl Line<'_> {
    fn name(&mut self, name: &str) {
        self.0.push_str(",\"");
        self.0.push_str(name);
        self.0.push_str("\":");
    }

    /// A text without characters to escape.
    fn word(&mut self, name: &str, word: Option<&str>) {
        if let Some(word) = word {
            self.name(name);
            self.0.push('"');
            self.0.push_str(word);
            self.0.push('"');
        }
    }

    /// A text that anyone may have chosen.
    fn text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.name(name);
            push_json_string(self.0, &shortened(text));
        }
    }

    fn number(&mut self, name: &str, number: Option<impl std::fmt::Display>) {
        if let Some(number) = number {
            self.name(name);
            let _ = write!(self.0, "{number}");
        }
    }

    /// An identifier: a short number as it is, anything else as a string.
    fn id(&mut self, id: &str) {
        let is_number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        if id.len() <= 20 && id.bytes().all(is_number) {
            return self.number("id", Some(id));
        }
        // Escapes in it are shown as they were sent.
        let inside = id.strip_prefix('"').and_then(|id| id.strip_suffix('"'));
        self.text("id", Some(inside.unwrap_or(id)));
    }

    fn milliseconds(&mut self, micros: u128) {
        let _ = write!(self.0, ",\"ms\":{}.{:03}", micros / 1000, micros % 1000);
    }
}
