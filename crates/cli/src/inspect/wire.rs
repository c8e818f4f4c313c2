//! What went over the wire, for the page: bounded, and numbered, so that the page notices what it has missed.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;
use switchboard::{Direction, Wire};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The most messages that are kept, and their bytes.
const MOST: usize = 5000;
const ROOM: usize = 32 << 20;

/// Longer messages are cut.
const LONGEST: usize = 4 << 20;

/// Messages of the current connection.
pub(super) struct Log {
    kept: Mutex<Kept>,
    /// Something was added.
    pub(super) grown: Notify,
}

struct Kept {
    records: VecDeque<Record>,
    bytes: usize,
    last: u64,
    start: Instant,
    began: SystemTime,
}

/// Something that went over the wire.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Record {
    /// Counted from 1.
    pub(super) number: u64,
    /// Milliseconds since the connection began.
    pub(super) at: f64,
    /// Sent to the server, not received.
    pub(super) sent: bool,
    /// What the transport adds, such as the head of a request; not a message.
    pub(super) head: bool,
    /// The message as it was written.
    pub(super) text: String,
    /// It was longer.
    pub(super) cut: bool,
}

impl Default for Log {
    fn default() -> Log {
        let (records, start, began) = (VecDeque::new(), Instant::now(), SystemTime::now());
        Log { kept: Mutex::new(Kept { records, bytes: 0, last: 0, start, began }), grown: Notify::new() }
    }
}

impl Log {
    /// Begins anew, for another connection. Numbers go on.
    pub(super) fn clear(&self) {
        let mut kept = self.kept();
        kept.records.clear();
        (kept.bytes, kept.start, kept.began) = (0, Instant::now(), SystemTime::now());
    }

    pub(super) fn add(&self, direction: Direction, what: Wire<'_>) {
        let (text, head) = match what {
            Wire::Message(text) => (text.trim_ascii(), false),
            Wire::Carrier(text) => (text.as_bytes(), true),
            _ => return,
        };
        let cut = text.len() > LONGEST;
        let text = String::from_utf8_lossy(&text[..text.len().min(LONGEST)]).into_owned();
        let mut kept = self.kept();
        kept.last += 1;
        kept.bytes += text.len();
        let at = kept.start.elapsed().as_micros() as f64 / 1000.0;
        let record = Record { number: kept.last, at, sent: direction == Direction::Sent, head, text, cut };
        kept.records.push_back(record);
        while kept.records.len() > MOST || kept.bytes > ROOM {
            let Some(dropped) = kept.records.pop_front() else { break };
            kept.bytes -= dropped.text.len();
        }
        drop(kept);
        self.grown.notify_one();
    }

    /// The first messages after this one, up to so many bytes, but one at least if there is one.
    pub(super) fn after(&self, number: u64, room: usize) -> Vec<Record> {
        let kept = self.kept();
        let begin = kept.records.partition_point(|record| record.number <= number);
        let mut bytes = 0;
        let fits = |record: &&Record| {
            bytes += record.text.len();
            bytes <= room || bytes == record.text.len()
        };
        kept.records.range(begin..).take_while(fits).cloned().collect()
    }

    /// All messages that are kept, and when the connection began.
    pub(super) fn all(&self) -> (Vec<Record>, SystemTime) {
        let kept = self.kept();
        (kept.records.iter().cloned().collect(), kept.began)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(records: &[Record]) -> Vec<u64> {
        records.iter().map(|record| record.number).collect()
    }

    #[test]
    fn old_messages_make_room_and_numbers_go_on() {
        let log = Log::default();
        for _ in 0..MOST + 2 {
            log.add(Direction::Sent, Wire::Message(b"{}\n"));
        }
        let (all, _) = log.all();
        assert_eq!((all.len(), all[0].number, &*all[0].text), (MOST, 3, "{}"));
        log.clear();
        log.add(Direction::Received, Wire::Carrier("HTTP/1.1 200 OK"));
        let (all, _) = log.all();
        assert_eq!((numbers(&all), all[0].sent, all[0].head), (vec![MOST as u64 + 3], false, true));
    }

    #[test]
    fn long_messages_are_cut_and_all_together_have_a_limit() {
        let log = Log::default();
        let long = vec![b'x'; LONGEST + 1];
        for _ in 0..20 {
            log.add(Direction::Sent, Wire::Message(&long));
        }
        let (all, _) = log.all();
        assert_eq!((all.len(), all[0].cut, all[0].text.len()), (ROOM / LONGEST, true, LONGEST));
    }

    #[test]
    fn messages_are_read_in_pieces() {
        let log = Log::default();
        for text in ["1234", "12345678", "1", "2"] {
            log.add(Direction::Sent, Wire::Message(text.as_bytes()));
        }
        assert_eq!(numbers(&log.after(0, 5)), [1]);
        // One that is too long comes alone.
        assert_eq!(numbers(&log.after(1, 5)), [2]);
        assert_eq!(numbers(&log.after(2, 5)), [3, 4]);
        assert!(log.after(4, 5).is_empty());
    }
}
