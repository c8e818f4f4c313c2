//! The events of a session, kept for a while, so that a client whose connection broke gets what it missed (MCP-HTTP-10).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

/// How many events and bytes a session keeps. Older ones are dropped, those of streams that have ended first.
const EVENTS: usize = 256;
const BYTES: usize = 256 << 10;

/// How long the events of a stream are kept after its end.
const KEPT: Duration = Duration::from_secs(60);

/// The place of an event: `<stream>-<number>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u32,
    pub(super) number: u64,
}

impl EventId {
    pub(super) fn parse(text: &str) -> Option<EventId> {
        let (stream, number) = text.split_once('-')?;
        Some(EventId { stream: stream.parse().ok()?, number: number.parse().ok()? })
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

/// The events of a session.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    streams: BTreeMap<u32, Stream>,
    last: u32,
    events: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Stream {
    events: VecDeque<(u64, Bytes)>,
    last: u64,
    /// How many answers it is being sent in.
    open: usize,
    ended: Option<Instant>,
    /// Whether it is one of those for messages that belong to no request.
    is_general: bool,
}

/// What follows an event.
pub(super) struct Rest {
    pub(super) events: Vec<(EventId, Bytes)>,
    pub(super) has_ended: bool,
}

impl EventLog {
    /// A new stream.
    pub(super) fn open(&mut self, is_general: bool) -> u32 {
        self.forget();
        self.last += 1;
        self.streams.insert(self.last, Stream { is_general, open: 1, ..Stream::default() });
        self.last
    }

    /// Goes on with a stream.
    pub(super) fn reopen(&mut self, stream: u32) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.open += 1;
            stream.ended = None;
        }
    }

    /// Whether a stream is for messages that belong to no request.
    pub(super) fn is_general(&self, stream: u32) -> Option<bool> {
        self.streams.get(&stream).map(|stream| stream.is_general)
    }

    /// Adds an event.
    pub(super) fn add(&mut self, stream: u32, text: &Bytes) -> EventId {
        let log = self.streams.entry(stream).or_default();
        log.last += 1;
        let number = log.last;
        // A part of a longer text would keep all of it.
        log.events.push_back((number, Bytes::copy_from_slice(text)));
        self.events += 1;
        self.bytes += text.len();
        while (self.events > EVENTS || self.bytes > BYTES) && self.events > 1 {
            self.drop_oldest(stream);
        }
        EventId { stream, number }
    }

    /// Drops the oldest event, of a stream that has ended if there is one, and otherwise of this one.
    fn drop_oldest(&mut self, own: u32) {
        let has_events = |(_, stream): &(&u32, &Stream)| !stream.events.is_empty();
        let ended = self.streams.iter().filter(has_events).find(|(_, stream)| stream.ended.is_some());
        let ended = ended.map(|(key, _)| *key);
        let other = || self.streams.iter().find(has_events).map(|(key, _)| *key);
        let own_has_more = self.streams.get(&own).is_some_and(|stream| stream.events.len() > 1);
        let Some(key) = ended.or(own_has_more.then_some(own)).or_else(other) else { return };
        if let Some((_, text)) = self.streams.get_mut(&key).and_then(|stream| stream.events.pop_front()) {
            self.events -= 1;
            self.bytes -= text.len();
        }
    }

    /// A stream has sent everything, or has no reader any more.
    pub(super) fn end(&mut self, stream: u32) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.open = stream.open.saturating_sub(1);
            if stream.open == 0 {
                stream.ended = Some(Instant::now());
            }
        }
        self.forget();
    }

    /// Forgets streams that ended a while ago, and those without an event, which no client can name.
    fn forget(&mut self) {
        let now = Instant::now();
        let (events, bytes) = (&mut self.events, &mut self.bytes);
        self.streams.retain(|_, stream| {
            let can_be_named = !stream.is_general || stream.last > 0;
            let is_kept = stream.ended.is_none_or(|ended| can_be_named && now < ended + KEPT);
            if !is_kept {
                *events -= stream.events.len();
                *bytes -= stream.events.iter().map(|(_, text)| text.len()).sum::<usize>();
            }
            is_kept
        });
    }

    /// The events after this one, of the same stream only.
    pub(super) fn after(&self, id: EventId) -> Option<Rest> {
        let stream = self.streams.get(&id.stream)?;
        let events = stream.events.iter().filter(|(number, _)| *number > id.number);
        let events = events.map(|(number, text)| (EventId { number: *number, ..id }, text.clone())).collect();
        Some(Rest { events, has_ended: stream.ended.is_some() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(rest: Option<Rest>) -> Vec<String> {
        rest.unwrap()
            .events
            .iter()
            .map(|(id, text)| format!("{id} {}", String::from_utf8_lossy(text)))
            .collect()
    }

    // MCP-HTTP-10
    #[tokio::test(start_paused = true)]
    async fn a_stream_is_replayed_after_an_event_without_others() {
        let mut log = EventLog::default();
        let (one, two) = (log.open(false), log.open(true));
        log.add(one, &Bytes::from_static(b"a"));
        log.add(two, &Bytes::from_static(b"x"));
        log.add(one, &Bytes::from_static(b"b"));
        assert_eq!(texts(log.after(EventId::parse("1-0").unwrap())), ["1-1 a", "1-2 b"]);
        assert_eq!(texts(log.after(EventId::parse("1-1").unwrap())), ["1-2 b"]);
        assert_eq!(texts(log.after(EventId::parse("2-0").unwrap())), ["2-1 x"]);
        log.end(one);
        assert!(log.after(EventId::parse("1-0").unwrap()).unwrap().has_ended);
        tokio::time::advance(KEPT).await;
        log.end(two);
        assert!(log.after(EventId::parse("1-0").unwrap()).is_none());
        assert_eq!((log.events, log.bytes), (1, 1));
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_newest_stays() {
        let mut log = EventLog::default();
        let (old, new) = (log.open(false), log.open(false));
        for _ in 0..300 {
            log.add(old, &Bytes::from(vec![b'x'; 2000]));
        }
        log.add(new, &Bytes::from(vec![b'y'; BYTES * 2]));
        assert!(log.events == 1, "{}", log.events);
        assert_eq!(log.after(EventId { stream: new, number: 0 }).unwrap().events.len(), 1);
    }

    #[test]
    fn identifiers_are_read_as_they_are_written() {
        let id = EventId { stream: 3, number: 7 };
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        for text in ["", "3", "3-", "-7", "a-7", "3-7-1", "99999999999-1"] {
            assert_eq!(EventId::parse(text), None, "{text}");
        }
    }
}
