//! The events of a session, kept for a while, so that a client whose connection broke gets what it missed (MCP-HTTP-10).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use switchboard_core::Json;
use tokio::time::Instant;

use super::shared::{Chunk, ChunkId};

/// How many events and bytes a session keeps. Older ones are dropped, those of streams that have ended first.
const EVENTS: usize = 256;
const BYTES: usize = 256 << 10;

/// How long the events of a stream are kept after its end.
const KEPT: Duration = Duration::from_secs(60);

/// The numbers of the events in a chunk of a stream that is stored: the number of an event says where it is.
const PER_CHUNK: u64 = 1 << 20;

/// The place of an event: `<stream>-<number>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) number: u64,
}

impl EventId {
    /// The chunk that it is in, if it is stored.
    pub(super) fn chunk(self) -> ChunkId {
        ChunkId { stream: self.stream, number: self.number / PER_CHUNK }
    }

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
    streams: BTreeMap<u64, Stream>,
    /// The last stream.
    last: u64,
    events: usize,
    bytes: usize,
    /// What the store of several servers does not know yet, if there is one.
    unsaved: Option<Unsaved>,
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
    /// The identifier of the request that it answers.
    request: Option<Json>,
    /// The chunks of it that are stored.
    chunks: VecDeque<u64>,
}

/// What the store does not know yet.
#[derive(Debug, Default)]
pub(super) struct Unsaved {
    /// The streams with events, or with an end, that it does not know.
    streams: BTreeSet<u64>,
    /// Chunks that are not kept any more.
    removed: Vec<ChunkId>,
    /// Whether a task stores it.
    is_saving: bool,
}

/// What follows an event.
pub(super) struct Rest {
    pub(super) events: Vec<(EventId, Bytes)>,
    pub(super) has_ended: bool,
}

impl EventLog {
    /// One whose events are stored for other servers. The numbers of its streams begin after this one, which has to be random: each server numbers its own.
    pub(super) fn stored(last: u64) -> EventLog {
        EventLog { last, unsaved: Some(Unsaved::default()), ..EventLog::default() }
    }

    /// A new stream: the answer to this request, or one for messages that belong to no request.
    pub(super) fn open(&mut self, is_general: bool, request: Option<Json>) -> u64 {
        self.forget();
        self.last += 1;
        self.streams.insert(self.last, Stream { is_general, request, open: 1, ..Stream::default() });
        if !is_general {
            self.is_unsaved(self.last);
        }
        self.last
    }

    fn is_unsaved(&mut self, stream: u64) {
        if let Some(unsaved) = &mut self.unsaved {
            unsaved.streams.insert(stream);
        }
    }

    /// Goes on with a stream.
    pub(super) fn reopen(&mut self, stream: u64) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.open += 1;
            stream.ended = None;
        }
    }

    /// Whether a stream is for messages that belong to no request.
    pub(super) fn is_general(&self, stream: u64) -> Option<bool> {
        self.streams.get(&stream).map(|stream| stream.is_general)
    }

    /// Adds an event.
    pub(super) fn add(&mut self, stream: u64, text: &Bytes) -> EventId {
        let log = self.streams.entry(stream).or_default();
        log.last += 1;
        let number = log.last;
        // A part of a longer text would keep all of it.
        log.events.push_back((number, Bytes::copy_from_slice(text)));
        self.events += 1;
        self.bytes += text.len();
        self.is_unsaved(stream);
        while (self.events > EVENTS || self.bytes > BYTES) && self.events > 1 {
            self.drop_oldest(stream);
        }
        EventId { stream, number }
    }

    /// Drops the oldest event, of a stream that has ended if there is one, and otherwise of this one.
    fn drop_oldest(&mut self, own: u64) {
        let has_events = |(_, stream): &(&u64, &Stream)| !stream.events.is_empty();
        let ended = self.streams.iter().filter(has_events).find(|(_, stream)| stream.ended.is_some());
        let ended = ended.map(|(key, _)| *key);
        let other = || self.streams.iter().find(has_events).map(|(key, _)| *key);
        let own_has_more = self.streams.get(&own).is_some_and(|stream| stream.events.len() > 1);
        let Some(key) = ended.or(own_has_more.then_some(own)).or_else(other) else { return };
        let Some(stream) = self.streams.get_mut(&key) else { return };
        let Some((_, text)) = stream.events.pop_front() else { return };
        self.events -= 1;
        self.bytes -= text.len();
        let first = stream.events.front().map(|(number, _)| number / PER_CHUNK);
        while stream.chunks.front().is_some_and(|chunk| first.is_none_or(|first| *chunk < first)) {
            let removed = stream.chunks.pop_front().map(|number| ChunkId { stream: key, number });
            self.unsaved.iter_mut().for_each(|unsaved| unsaved.removed.extend(removed));
        }
    }

    /// A stream has sent everything, or has no reader any more.
    pub(super) fn end(&mut self, stream: u64) {
        if let Some(log) = self.streams.get_mut(&stream) {
            log.open = log.open.saturating_sub(1);
            if log.open == 0 {
                log.ended = Some(Instant::now());
                self.is_unsaved(stream);
            }
        }
        self.forget();
    }

    /// Forgets streams that ended a while ago, and those without an event, which no client can name.
    fn forget(&mut self) {
        let now = Instant::now();
        let (events, bytes, unsaved) = (&mut self.events, &mut self.bytes, &mut self.unsaved);
        self.streams.retain(|key, stream| {
            let can_be_named = !stream.is_general || stream.last > 0;
            let is_kept = stream.ended.is_none_or(|ended| can_be_named && now < ended + KEPT);
            if !is_kept {
                *events -= stream.events.len();
                *bytes -= stream.events.iter().map(|(_, text)| text.len()).sum::<usize>();
                let mut chunks = stream.chunks.drain(..).map(|number| ChunkId { stream: *key, number });
                unsaved.iter_mut().for_each(|unsaved| unsaved.removed.extend(chunks.by_ref()));
            }
            is_kept
        });
    }

    /// Forgets all of it, and has the store do so.
    pub(super) fn clear(&mut self) {
        let Some(unsaved) = &mut self.unsaved else { return };
        unsaved.streams.clear();
        for (key, stream) in std::mem::take(&mut self.streams) {
            unsaved
                .removed
                .extend(stream.chunks.iter().map(|number| ChunkId { stream: key, number: *number }));
        }
        (self.events, self.bytes) = (0, 0);
    }

    /// Whether a task has to begin to store what the store does not know.
    pub(super) fn begin_saving(&mut self) -> bool {
        let waiting = self.unsaved.as_mut().filter(|unsaved| unsaved.has_any() && !unsaved.is_saving);
        waiting.is_some_and(|unsaved| !std::mem::replace(&mut unsaved.is_saving, true))
    }

    /// What to store next. With nothing, the task that stores it ends.
    pub(super) fn next_changes(&mut self) -> Option<Changes> {
        let unsaved = self.unsaved.as_mut()?;
        unsaved.is_saving = unsaved.has_any();
        if !unsaved.is_saving {
            return None;
        }
        let (streams, removed) = (std::mem::take(&mut unsaved.streams), std::mem::take(&mut unsaved.removed));
        let chunk = |key| self.streams.get_mut(&key).map(|stream| stream.next_chunk(key));
        Some(Changes { chunks: streams.into_iter().filter_map(chunk).collect(), removed })
    }

    /// The events after this one, of the same stream only.
    pub(super) fn after(&self, id: EventId) -> Option<Rest> {
        let stream = self.streams.get(&id.stream)?;
        let events = stream.events.iter().filter(|(number, _)| *number > id.number);
        let events = events.map(|(number, text)| (EventId { number: *number, ..id }, text.clone())).collect();
        Some(Rest { events, has_ended: stream.ended.is_some() })
    }
}

/// What to store, and what to remove from the store.
#[derive(Debug)]
pub(super) struct Changes {
    pub(super) chunks: Vec<(ChunkId, Chunk)>,
    pub(super) removed: Vec<ChunkId>,
}

impl Unsaved {
    fn has_any(&self) -> bool {
        !self.streams.is_empty() || !self.removed.is_empty()
    }
}

impl Stream {
    /// The events since the last chunk. Later ones belong to another, so a chunk is written once.
    fn next_chunk(&mut self, key: u64) -> (ChunkId, Chunk) {
        let number = self.last / PER_CHUNK;
        let events = self.events.iter().filter(|(event, _)| event / PER_CHUNK == number);
        let events = events.filter_map(|(event, text)| Some((*event, Json::parse(text.clone()).ok()?)));
        let chunk = Chunk {
            by: String::new(),
            is_general: self.is_general,
            has_ended: self.ended.is_some(),
            request: self.request.clone(),
            events: events.collect(),
        };
        self.last = (number + 1) * PER_CHUNK;
        self.chunks.push_back(number);
        (ChunkId { stream: key, number }, chunk)
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
        let (one, two) = (log.open(false, None), log.open(true, None));
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
        let (old, new) = (log.open(false, None), log.open(false, None));
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
        for text in ["", "3", "3-", "-7", "a-7", "3-7-1", "99999999999999999999-1"] {
            assert_eq!(EventId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn each_event_is_stored_once_and_removed_with_its_chunk() {
        let mut log = EventLog::stored(7);
        let stream = log.open(false, Json::parse("5").ok());
        assert!(log.begin_saving() && !log.begin_saving());
        let told = |log: &mut EventLog| {
            let Changes { chunks, removed } = log.next_changes()?;
            let chunks =
                chunks.into_iter().map(|(id, chunk)| (id.number, chunk.events.len(), chunk.has_ended));
            let removed = removed.into_iter().map(|id| id.number);
            Some((chunks.collect::<Vec<_>>(), removed.collect::<Vec<_>>()))
        };
        assert_eq!(
            told(&mut log),
            Some((vec![(0, 0, false)], vec![])),
            "a client can come back for what follows"
        );
        let first = log.add(stream, &Bytes::from_static(b"{}"));
        let second = log.add(stream, &Bytes::from_static(b"{}"));
        assert_eq!((first.chunk().number, second.chunk().number), (1, 1));
        assert_eq!(told(&mut log), Some((vec![(1, 2, false)], vec![])));
        assert_eq!(told(&mut log), None);
        assert!(!log.begin_saving());
        for _ in 0..EVENTS {
            assert_eq!(log.add(stream, &Bytes::from_static(b"{}")).chunk().number, 2);
        }
        log.end(stream);
        assert_eq!(told(&mut log), Some((vec![(2, EVENTS, true)], vec![0, 1])), "the oldest are dropped");
        log.clear();
        assert_eq!(told(&mut log), Some((vec![], vec![2])));
    }
}
