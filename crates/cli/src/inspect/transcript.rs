//! The messages of a connection as a recording, which `switchboard replay` sends again.

use std::collections::HashMap;
use std::time::SystemTime;

use switchboard::{Json, Kind};

use super::wire::Record;
use crate::recording::{self, Entry, Header, RecordedError, Side};

/// The id in it was given to another call when the recording is replayed, which cancels by itself what was not answered.
const CANCELLED: &str = "notifications/cancelled";

/// The recording of these messages. What was cut, or is not JSON, is left out.
pub(super) fn transcript(records: &[Record], began: SystemTime) -> String {
    let mut pairing = Pairing::default();
    for record in records.iter().filter(|record| !record.head && !record.cut) {
        let Ok(message) = Json::parse(record.text.clone()) else { continue };
        match message.kind() {
            Kind::Array => message.elements().for_each(|entry| pairing.add(record, &entry)),
            _ => pairing.add(record, &message),
        }
    }
    let end = records.last().map_or(0.0, |record| record.at);
    let entries = pairing.finish(end);
    let lines = entries.iter().map(recording::line);
    std::iter::once(recording::line(&Header::new(began))).chain(lines).collect()
}

/// Calls, and those of them that wait for an answer.
#[derive(Default)]
struct Pairing {
    count: u64,
    /// By the side that they went to, and the text of their id.
    open: HashMap<(bool, String), Entry>,
    ended: Vec<Entry>,
}

impl Pairing {
    fn add(&mut self, record: &Record, message: &Json) {
        let [id, method, params, result, error] = message.pick(["id", "method", "params", "result", "error"]);
        let method: Option<String> = method.and_then(|method| method.decode().ok());
        let Some(method) = method else {
            // An answer goes to the side that the call did not go to.
            let open = id.and_then(|id| self.open.remove(&(!record.sent, id.to_string())));
            if let Some(entry) = open {
                self.ended.push(answered(entry, record.at, result, error));
            }
            return;
        };
        if method == CANCELLED {
            return;
        }
        self.count += 1;
        let entry = Entry {
            id: self.count,
            at: record.at,
            session: 1,
            to: if record.sent { Side::Server } else { Side::Client },
            method,
            params,
            notification: id.is_none(),
            batch: None,
            entry: None,
            result: None,
            items: None,
            error: None,
            cancelled: false,
            omitted: Vec::new(),
            ms: 0.0,
        };
        match id {
            Some(id) => drop(self.open.insert((record.sent, id.to_string()), entry)),
            None => self.ended.push(entry),
        }
    }

    /// All calls, in the order in which they ended.
    fn finish(mut self, end: f64) -> Vec<Entry> {
        let mut left: Vec<Entry> = self.open.into_values().collect();
        left.sort_by_key(|entry| entry.id);
        let cancelled = |entry: Entry| Entry { cancelled: true, ms: end - entry.at, ..entry };
        self.ended.extend(left.into_iter().map(cancelled));
        self.ended
    }
}

fn answered(entry: Entry, at: f64, result: Option<Json>, error: Option<Json>) -> Entry {
    let error: Option<RecordedError> = error.and_then(|error| error.decode().ok());
    let result = if error.is_none() { Some(result.unwrap_or(Json::NULL)) } else { None };
    Entry { ms: ((at - entry.at) * 1000.0).round() / 1000.0, result, error, ..entry }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64, sent: bool, text: &str) -> Record {
        Record { number, at: number as f64, sent, head: false, text: text.to_owned(), cut: false }
    }

    #[test]
    fn answers_belong_to_calls_of_the_other_side() {
        let records = [
            record(1, true, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}"#),
            record(
                2,
                false,
                r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?"}}"#,
            ),
            record(3, true, r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#),
            record(4, false, r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#),
            record(5, false, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}"#),
            record(6, true, r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#),
            record(
                7,
                true,
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
            ),
        ];
        let text = transcript(&records, SystemTime::UNIX_EPOCH);
        let lines: Vec<Json> = text.lines().map(|line| Json::parse(line.to_owned()).unwrap()).collect();
        let brief = |line: &Json| {
            let member = |name: &str| line.get(name).map(|json| json.to_string()).unwrap_or_default();
            ["to", "method", "result", "error", "cancelled", "ms"].map(member).join(" ")
        };
        let entries: Vec<String> = lines[1..].iter().map(brief).collect();
        assert_eq!(
            entries,
            [
                r#""client" "elicitation/create" {"action":"decline"}   1.0"#,
                r#""client" "notifications/message"    0.0"#,
                r#""server" "tools/call"  {"code":-32603,"message":"no"}  4.0"#,
                r#""server" "ping"   true 1.0"#,
            ]
        );
    }
}
