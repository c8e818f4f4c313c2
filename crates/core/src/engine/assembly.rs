//! Assembling the responses to a batch, in the order of its entries.

use std::collections::VecDeque;

use crate::code::Code;
use crate::codec;
use crate::context::Version;
use crate::engine::observed::ObservedCall;
use crate::engine::outcome::{ReplyLimit, no_memory, respond, respond_with};
use crate::error::{EngineFault, ErrorObject};
use crate::id::Id;
use crate::json::Json;
use crate::limits::Limits;
use crate::memory::{SHORT, Share};
use crate::observer::End;

/// The answer to a batch while its entries run.
///
/// An outcome is written at once if every entry before it has one, and is held back otherwise.
pub(crate) struct Assembly {
    out: Vec<u8>,
    /// The first entry without an outcome.
    next: usize,
    /// The entries from `next` on. Empty as long as every entry was done at once.
    held: VecDeque<HeldEntry>,
    /// How many bytes of results are held.
    held_bytes: usize,
    /// How many bytes may be written and held, as far as memory was asked for.
    covered: usize,
    share: Share,
}

#[derive(Default)]
enum HeldEntry {
    /// There is no outcome yet.
    #[default]
    Missing,
    /// It is not answered.
    Skipped,
    /// Its outcome waits for those before it.
    Done(Version, Id, HeldOutcome, Option<Box<ObservedCall>>),
}

/// The memory that an entry takes while it is held, beside its result: its place, its identifier, and an error.
const HELD_ENTRY: usize = size_of::<HeldEntry>() + 160;

/// How an entry ended.
#[derive(Clone, Copy)]
pub(crate) enum EntryOutcome<'a> {
    Value(&'a Json),
    Error(&'a ErrorObject),
    /// With a stream that has this identifier and this flag, and with members beside them.
    Stream(&'a Json, &'a Json, Option<&'a Json>),
    /// With members beside a result or a failure.
    Extended(Result<&'a Json, &'a ErrorObject>, &'a Json),
}

impl<'a> EntryOutcome<'a> {
    /// A result or a failure, with these members beside it if there are any.
    pub(crate) fn with(
        outcome: Result<&'a Json, &'a ErrorObject>,
        members: Option<&'a Json>,
    ) -> EntryOutcome<'a> {
        match members {
            Some(members) => EntryOutcome::Extended(outcome, members),
            None => outcome.into(),
        }
    }

    pub(crate) fn error(self) -> Option<&'a ErrorObject> {
        match self {
            EntryOutcome::Error(error) | EntryOutcome::Extended(Err(error), _) => Some(error),
            _ => None,
        }
    }
}

impl<'a> From<Result<&'a Json, &'a ErrorObject>> for EntryOutcome<'a> {
    fn from(result: Result<&'a Json, &'a ErrorObject>) -> EntryOutcome<'a> {
        result.map_or_else(EntryOutcome::Error, EntryOutcome::Value)
    }
}

/// An outcome that is kept.
enum HeldOutcome {
    Value(Json),
    Error(ErrorObject),
    Stream(Box<(Json, Json, Option<Json>)>),
    Extended(Box<(Result<Json, ErrorObject>, Json)>),
}

impl HeldOutcome {
    fn as_outcome(&self) -> EntryOutcome<'_> {
        match self {
            HeldOutcome::Value(json) => EntryOutcome::Value(json),
            HeldOutcome::Error(error) => EntryOutcome::Error(error),
            HeldOutcome::Stream(stream) => EntryOutcome::Stream(&stream.0, &stream.1, stream.2.as_ref()),
            HeldOutcome::Extended(both) => EntryOutcome::Extended(both.0.as_ref(), &both.1),
        }
    }
}

impl Assembly {
    /// The answer to a batch of this many entries, which takes memory from `share` as it grows.
    pub(crate) fn new(entries: usize, share: Share, limits: &Limits) -> Assembly {
        Assembly {
            out: Vec::with_capacity(entries * 48),
            next: 0,
            held: VecDeque::new(),
            held_bytes: 0,
            covered: SHORT.min(limits.batch_reply),
            share,
        }
    }

    /// Takes the outcome of the entry at `index`. Says how the entry ended and with how many bytes, if that is decided now;
    /// if not, the observed call that `watch` gives is ended later.
    #[inline(always)]
    pub(crate) fn answer(
        &mut self,
        index: usize,
        version: Version,
        id: &Id,
        outcome: Result<&Json, &ErrorObject>,
        limits: &Limits,
        watch: impl FnOnce() -> Option<Box<ObservedCall>>,
    ) -> Option<(End, usize)> {
        if index == self.next && self.held.is_empty() {
            let ended = self.write(version, id, outcome, limits);
            self.next += 1;
            Some(ended)
        } else {
            self.answer_later(index, version, id, outcome.into(), limits, watch());
            None
        }
    }

    /// The same for outcomes of every kind, which need not be as fast.
    pub(crate) fn answer_any(
        &mut self,
        index: usize,
        version: Version,
        id: &Id,
        outcome: EntryOutcome<'_>,
        limits: &Limits,
        watch: impl FnOnce() -> Option<Box<ObservedCall>>,
    ) -> Option<(End, usize)> {
        if index == self.next && self.held.is_empty() {
            let ended = self.write_any(version, id, outcome, limits);
            self.next += 1;
            Some(ended)
        } else {
            self.answer_later(index, version, id, outcome, limits, watch());
            None
        }
    }

    #[inline(never)]
    fn answer_later(
        &mut self,
        index: usize,
        version: Version,
        id: &Id,
        outcome: EntryOutcome<'_>,
        limits: &Limits,
        watch: Option<Box<ObservedCall>>,
    ) {
        let kept = self.keep(outcome, limits);
        self.hold(index, HeldEntry::Done(version, id.clone(), kept, watch), limits);
    }

    /// Leaves the entry at `index` without an answer.
    pub(crate) fn skip(&mut self, index: usize, limits: &Limits) {
        if index == self.next && self.held.is_empty() {
            self.next += 1;
        } else {
            self.hold(index, HeldEntry::Skipped, limits);
        }
    }

    /// The error that replaces an entry of this many bytes, if the answer has no room for them.
    pub(crate) fn excess(&mut self, bytes: usize, limits: &Limits) -> Option<ErrorObject> {
        let bytes = self.out.len() + self.held_bytes + bytes;
        if bytes > limits.batch_reply {
            return Some(too_large(limits.batch_reply));
        }
        let places = self.held.len() * HELD_ENTRY;
        if bytes + places > self.covered {
            match self.share.cover_growing(bytes + places, limits.batch_reply + places) {
                Some(covered) => self.covered = covered,
                None => {
                    // Entries that are held take memory whatever becomes of them.
                    self.share.set(self.out.len() + self.held_bytes + places);
                    return Some(no_memory());
                }
            }
        }
        None
    }

    /// An outcome that is held counts against the limit from then on, and not only when it is written.
    fn keep(&mut self, outcome: EntryOutcome<'_>, limits: &Limits) -> HeldOutcome {
        let of_error = |error: &ErrorObject| error.data.as_ref().map_or(0, |data| data.as_bytes().len());
        let size = match outcome {
            EntryOutcome::Value(json) => json.as_bytes().len(),
            EntryOutcome::Error(error) => of_error(error),
            EntryOutcome::Stream(.., members) => members.map_or(0, |members| members.as_bytes().len()),
            EntryOutcome::Extended(outcome, members) => {
                outcome.map_or_else(of_error, |json| json.as_bytes().len()) + members.as_bytes().len()
            }
        };
        let is_stream = matches!(outcome, EntryOutcome::Stream(..));
        if let Some(error) = self.excess(size, limits).filter(|_| !is_stream) {
            return HeldOutcome::Error(error);
        }
        self.held_bytes += size;
        match outcome {
            EntryOutcome::Value(json) => HeldOutcome::Value(json.clone()),
            EntryOutcome::Error(error) => HeldOutcome::Error(error.clone()),
            EntryOutcome::Stream(id, flag, members) => {
                HeldOutcome::Stream(Box::new((id.clone(), flag.clone(), members.cloned())))
            }
            EntryOutcome::Extended(outcome, members) => {
                let outcome = outcome.cloned().map_err(ErrorObject::clone);
                HeldOutcome::Extended(Box::new((outcome, members.clone())))
            }
        }
    }

    fn hold(&mut self, index: usize, held: HeldEntry, limits: &Limits) {
        let place = index - self.next;
        if place >= self.held.len() {
            self.held.resize_with(place + 1, HeldEntry::default);
        }
        self.held[place] = held;
        while let Some(HeldEntry::Skipped | HeldEntry::Done(..)) = self.held.front() {
            self.next += 1;
            if let Some(HeldEntry::Done(version, id, kept, watch)) = self.held.pop_front() {
                let outcome = kept.as_outcome();
                let (end, bytes) = self.write_any(version, &id, outcome, limits);
                if let Some(watch) = watch {
                    watch.end(end, outcome.error(), bytes);
                }
            }
        }
        if self.held.is_empty() {
            self.held_bytes = 0;
        }
    }

    #[inline(always)]
    fn write(
        &mut self,
        version: Version,
        id: &Id,
        outcome: Result<&Json, &ErrorObject>,
        limits: &Limits,
    ) -> (End, usize) {
        let start = self.begin_entry();
        let end = respond(&mut self.out, version, id, outcome, ReplyLimit::of_part(limits.reply));
        // An error without data is as short as what would replace it.
        let has_content = outcome.map_or_else(|error| error.data.is_some(), |_| true);
        if has_content && self.is_beyond_cover() {
            return self.cover_or_replace(start, version, id, end, limits);
        }
        (end, self.out.len() - start)
    }

    #[inline(never)]
    fn write_any(
        &mut self,
        version: Version,
        id: &Id,
        outcome: EntryOutcome<'_>,
        limits: &Limits,
    ) -> (End, usize) {
        let (outcome, members) = match outcome {
            EntryOutcome::Value(json) => return self.write(version, id, Ok(json), limits),
            EntryOutcome::Error(error) => return self.write(version, id, Err(error), limits),
            EntryOutcome::Stream(subscription, flag, members) => {
                let start = self.begin_entry();
                codec::stream_start(&mut self.out, id, subscription, flag, members);
                return (End::Value, self.out.len() - start);
            }
            EntryOutcome::Extended(outcome, members) => (outcome, members),
        };
        let start = self.begin_entry();
        let limit = ReplyLimit::of_part(limits.reply);
        let end = respond_with(&mut self.out, version, id, outcome, Some(members), limit);
        if self.is_beyond_cover() {
            return self.cover_or_replace(start, version, id, end, limits);
        }
        (end, self.out.len() - start)
    }

    /// Writes the separator before an entry. Returns the place where the entry begins.
    #[inline(always)]
    fn begin_entry(&mut self) -> usize {
        self.out.push(if self.out.is_empty() { b'[' } else { b',' });
        self.out.len()
    }

    /// Whether the answer is longer than is known to be possible. The bracket that closes it counts too.
    #[inline(always)]
    fn is_beyond_cover(&self) -> bool {
        self.out.len() >= self.covered
    }

    /// Asks for more memory, or puts an error in the place of the entry that begins at `start`.
    #[cold]
    fn cover_or_replace(
        &mut self,
        start: usize,
        version: Version,
        id: &Id,
        end: End,
        limits: &Limits,
    ) -> (End, usize) {
        // What is held, this entry perhaps among it, was covered when it was put there.
        let held = std::mem::take(&mut self.held_bytes);
        let excess = self.excess(1, limits);
        self.held_bytes = held;
        let Some(error) = excess else { return (end, self.out.len() - start) };
        self.out.truncate(start);
        codec::response(&mut self.out, version, id, Err(&error));
        (End::TooLarge, self.out.len() - start)
    }

    /// The whole answer, once every entry has its outcome; nothing if none is answered (J2-44).
    pub(crate) fn finish(mut self) -> Option<(Vec<u8>, Share)> {
        debug_assert!(self.held.is_empty(), "an entry of a batch has no outcome");
        if self.out.is_empty() {
            return None;
        }
        self.out.push(b']');
        self.share.set(self.out.len());
        Some((self.out, self.share))
    }
}

fn too_large(limit: usize) -> ErrorObject {
    let detail = format!("the replies to the batch exceed {limit} bytes (limits.batch_reply)");
    ErrorObject::from_code(Code::REPLY_TOO_LARGE).with_detail(detail).with_fault(EngineFault::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_entries_whatever_ends_first() {
        // J2-43
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]] {
            let limits = Limits::default();
            let mut assembly = Assembly::new(4, Share::default(), &limits);
            for index in order {
                match index {
                    1 => assembly.skip(1, &limits),
                    _ => {
                        let id = Id::from(index as u64);
                        let outcome = Ok(&Json::NULL);
                        assembly.answer(index, Version::V2, &id, outcome, &limits, || None);
                    }
                }
            }
            let text = String::from_utf8(assembly.finish().unwrap().0).unwrap();
            let ids: Vec<_> = text.match_indices("\"id\":").map(|(at, _)| &text[at + 5..at + 6]).collect();
            assert_eq!(ids, ["0", "2", "3"], "{order:?}");
        }
    }

    #[test]
    fn nothing_is_said_when_nothing_is_answered() {
        let mut assembly = Assembly::new(2, Share::default(), &Limits::default());
        assembly.skip(1, &Limits::default());
        assembly.skip(0, &Limits::default());
        assert!(assembly.finish().is_none());
    }

    #[test]
    fn what_would_exceed_the_limit_of_a_batch_is_replaced() {
        // SEC-L-04
        let limits = Limits { batch_reply: 200, ..Limits::default() };
        let mut assembly = Assembly::new(2, Share::default(), &limits);
        for index in 0..2 {
            let long = Json::encode_ref(&"x".repeat(100)).unwrap();
            let outcome = Ok(&long);
            assembly.answer(index, Version::V2, &Id::NULL, outcome, &limits, || None);
        }
        let text = String::from_utf8(assembly.finish().unwrap().0).unwrap();
        assert_eq!(text.matches("-32007").count(), 1, "{text}");
    }
}
