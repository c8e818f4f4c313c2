//! Lines for people.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use super::LogLevel;
use super::record::{Event, Record};
use crate::lines::{ascii, rfc3339, shortened};

/// A record in columns: the time, what happened, the method, how long it took, and the rest.
pub(super) fn push_line(line: &mut String, record: &Record<'_>, time: Duration, is_coloured: bool) {
    push_time_of_day(line, time);
    let (on, off) = match record.level {
        _ if !is_coloured => ("", ""),
        LogLevel::Off | LogLevel::Error => ("\x1b[1;31m", "\x1b[0m"),
        LogLevel::Warn => ("\x1b[33m", "\x1b[0m"),
        LogLevel::Info => ("\x1b[32m", "\x1b[0m"),
        LogLevel::Debug => ("\x1b[2m", "\x1b[0m"),
    };
    let _ = write!(line, "  {on}{:<13}{off}", happened(record));
    let method = record.method.map(|method| plain(method.as_str())).unwrap_or_default();
    let _ = write!(line, " {method:<24} {:>10}", record.duration.map(shown).unwrap_or_default());
    push_details(line, record);
    line.truncate(line.trim_end().len());
    line.push('\n');
}

fn push_details(line: &mut String, record: &Record<'_>) {
    if record.is_slow {
        line.push_str("  slow");
    }
    if let Some(items) = record.items {
        let what = if record.event == Event::Batch { "entries" } else { "items" };
        let _ = write!(line, "  {items} {what}");
    }
    if let Some(status) = record.status {
        let _ = write!(line, "  HTTP {status}");
    }
    if let Some(incident) = record.incident {
        let _ = write!(line, "  incident {incident}");
    }
    for text in [record.reason, record.who].into_iter().flatten() {
        let _ = write!(line, "  {}", plain(text));
    }
    if let Some(transport) = record.transport {
        let _ = write!(line, "  {transport}");
        if let Some(address) = record.address {
            let _ = write!(line, " {address}");
        }
    }
    if let Some(id) = record.id {
        let _ = write!(line, "  id {}", plain(id.as_str()));
    }
    if let (Some(bytes_in), Some(bytes_out)) = (record.bytes_in, record.bytes_out) {
        let _ = write!(line, "  {bytes_in} B in, {bytes_out} B out");
    }
    match (record.batch, record.entry) {
        (Some(batch), Some(entry)) => drop(write!(line, "  batch {} entry {entry}", batch.0)),
        (Some(batch), None) => drop(write!(line, "  batch {}", batch.0)),
        _ => {}
    }
    if let Some(session) = record.session.filter(|_| matches!(record.event, Event::Opened | Event::Closed)) {
        let _ = write!(line, "  session {session}");
    }
    if let Some(trace) = record.trace {
        let _ = write!(line, "  trace {}", trace.trace_id());
    }
}

/// The same line, standing for so many others.
pub(super) fn repeated(line: &str, count: u64) -> String {
    format!("{}  (and {count} more like it)\n", line.trim_end())
}

/// The line in the place of lost ones.
pub(super) fn lost(count: u64) -> String {
    format!("warning: {count} lines of the call log were dropped: they were not read in time\n")
}

/// What happened, in a word or two.
fn happened(record: &Record<'_>) -> String {
    match (record.outcome, record.code) {
        (Some("error"), Some(code)) => format!("error {}", code.0),
        (Some(outcome), _) => outcome.to_owned(),
        (None, Some(code)) => format!("refused {}", code.0),
        (None, None) => record.event.name().to_owned(),
    }
}

/// The time of the day, in UTC.
fn push_time_of_day(line: &mut String, time: Duration) {
    let whole = rfc3339(SystemTime::UNIX_EPOCH + time);
    line.push_str(whole.split_once('T').map_or(whole.as_str(), |(_, time)| time));
}

fn shown(duration: Duration) -> String {
    match duration.as_micros() {
        micros @ 0..1_000 => format!("{micros} us"),
        micros @ 1_000..1_000_000 => format!("{}.{:02} ms", micros / 1000, micros % 1000 / 10),
        micros => format!("{}.{:02} s", micros / 1_000_000, micros % 1_000_000 / 10_000),
    }
}

/// A text that anyone may have chosen, short and in ASCII.
fn plain(text: &str) -> String {
    ascii(&shortened(text))
}
