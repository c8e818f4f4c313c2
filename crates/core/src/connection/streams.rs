//! Outgoing streams: pulled when there is room, ended exactly once.

use std::collections::HashMap;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::stream::{AbortHandle, Abortable, SelectAll};

use crate::call::Call;
use crate::codec;
use crate::connection::{BYTES_AT_ONCE, FrameSink};
use crate::engine::{ObservedCall, ReplyLimit, within};
use crate::error::ErrorObject;
use crate::gap::Gap;
use crate::id::Id;
use crate::json::Json;
use crate::name::Name;
use crate::observer::End;
use crate::profile::Streams;
use crate::remote::subscription;
use crate::reply::{ItemSeal, Items};
use crate::session::Session;
use crate::subscription::{Subscription, SubscriptionStyle};

/// How many items are taken from one stream before the next has its turn.
const TURN: usize = 32;

/// The streams of one connection: open, or announced by a batch that is not answered yet.
#[derive(Default)]
pub(super) struct Outgoing {
    streams: SelectAll<Sending>,
    open: HashMap<Json, Handle>,
    /// Each with the batch whose answer it waits for.
    announced: Vec<(u64, OpeningStream)>,
    scratch: Vec<u8>,
}

/// A stream whose items may be sent once the response that names it is written (ETH-07).
pub(super) struct OpeningStream {
    pub(super) subscription: Json,
    pub(super) call: Id,
    pub(super) items: Items,
    pub(super) watch: Option<Box<ObservedCall>>,
}

struct Handle {
    /// The call that opened it.
    call: Id,
    stop: AbortHandle,
    items: SharedItems,
    /// The names it goes by, if not our own.
    names: Option<Arc<Subscription>>,
    seal: Option<ItemSeal>,
    /// How many items were sent, and how many bytes they had.
    sent: u64,
    bytes: usize,
    watch: Option<Box<ObservedCall>>,
}

impl Handle {
    /// Tells the observer that the stream has ended, with this error if it failed.
    fn note_end(&mut self, error: Option<&ErrorObject>) {
        if let Some(watch) = self.watch.take() {
            let code = error.map(|error| error.code);
            watch.end(End::Stream { items: self.sent, code }, error, self.bytes);
        }
    }

    /// Drops the items at once, and has what is left of the stream cleared away.
    fn stop(mut self) {
        self.note_end(None);
        drop(self.items.take());
        self.stop.abort();
    }
}

/// Items that can be dropped from outside of the stream that they are polled by.
#[derive(Clone)]
struct SharedItems(Arc<Mutex<Option<Items>>>);

impl SharedItems {
    fn take(&self) -> Option<Items> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Stream for SharedItems {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(items) => Pin::new(items).poll_next(cx),
            None => Poll::Ready(None),
        }
    }
}

impl Outgoing {
    pub(super) fn len(&self) -> usize {
        self.open.len() + self.announced.len()
    }

    /// A new identifier for these items, not to be guessed and unique on this connection (ETH-09), and the flag that
    /// marks the response as one which opens a stream.
    pub(super) fn name(&self, items: &Items) -> (Json, Json) {
        let ours =
            || Json::encode_ref(&format!("{:016x}", fastrand::u64(..))).expect("a string can be written");
        let names = items.subscription();
        loop {
            let id = names.map_or_else(ours, |names| names.new_id());
            let is_announced = self.announced.iter().any(|(_, opening)| opening.subscription == id);
            if !is_announced && !self.open.contains_key(&id) {
                return (id, names.map_or(Json::TRUE, |names| names.to_json()));
            }
        }
    }

    /// Starts sending items of up to `limit` bytes each. The response that names the stream must have been written before (ETH-07).
    pub(super) fn open(&mut self, opening: OpeningStream, limit: usize, session: &Session) {
        let OpeningStream { subscription: id, call, items, mut watch } = opening;
        if let Some(watch) = &mut watch {
            watch.stream();
        }
        let (stop, registration) = AbortHandle::new_pair();
        let (names, seal) = (items.subscription().cloned(), items.seal().cloned());
        let items = SharedItems(Arc::new(Mutex::new(Some(items))));
        let polled = Abortable::new(items.clone(), registration);
        let tells_gaps = names.is_none();
        let (session, gap, is_done) = (session.clone(), None, false);
        let sending = Sending { id: id.clone(), limit, session, items: polled, gap, tells_gaps, is_done };
        self.streams.push(sending);
        self.open.insert(id, Handle { call, stop, items, names, seal, sent: 0, bytes: 0, watch });
    }

    /// Keeps a stream until the answer to this batch, which names it, is written (ETH-07, ETH-10).
    pub(super) fn announce(&mut self, batch: u64, opening: OpeningStream) {
        self.announced.push((batch, opening));
    }

    /// Starts sending the streams that the answer to this batch named.
    pub(super) fn open_announced(&mut self, batch: u64, limit: usize, session: &Session) {
        let announced = self.announced.extract_if(.., |(of, _)| *of == batch);
        for (_, opening) in announced.collect::<Vec<_>>() {
            self.open(opening, limit, session);
        }
    }

    /// Ends a stream because its reader asked for it; false if there is none.
    pub(super) fn unsubscribe(&mut self, id: &Json) -> bool {
        self.open.remove(id).map(Handle::stop).is_some()
    }

    /// Whether a call unsubscribes from a stream with other names than ours.
    pub(super) fn is_unsubscribe(&self, call: &Call) -> bool {
        let is_its_name =
            |handle: &Handle| handle.names.as_ref().is_some_and(|names| names.unsubscribe == call.method);
        self.open.values().any(is_its_name)
            && subscription(call).is_some_and(|id| self.open.get(&id).is_some_and(is_its_name))
    }

    /// Ends the stream that this call opened, or has it never begin if it was only announced; false if there is none.
    pub(super) fn cancel(&mut self, call: &Id) -> bool {
        if let Some(at) = self.announced.iter().position(|(_, opening)| opening.call == *call) {
            if let Some(watch) = self.announced.remove(at).1.watch {
                watch.end(End::Stream { items: 0, code: None }, None, 0);
            }
            return true;
        }
        let found = self.open.iter().find(|(_, handle)| handle.call == *call).map(|(id, _)| id.clone());
        found.is_some_and(|id| self.unsubscribe(&id))
    }

    /// Ends every stream with an error, which is sent to its reader.
    pub(super) fn end_all(&mut self, error: &ErrorObject, spelling: &Streams, sink: &mut dyn FrameSink) {
        for (id, mut handle) in std::mem::take(&mut self.open) {
            handle.note_end(Some(error));
            self.send_end(&id, Some(&handle), None, Some(error), spelling, sink);
        }
        self.streams.clear();
    }

    /// Drops every stream: its reader is gone.
    pub(super) fn drop_all(&mut self) {
        self.announced.clear();
        self.open.clear();
        self.streams.clear();
    }

    /// Sends what the streams have, one turn of one stream at a time; false when none has anything now.
    pub(super) fn poll_turn(
        &mut self,
        cx: &mut Context<'_>,
        spelling: &Streams,
        sink: &mut dyn FrameSink,
    ) -> bool {
        let Poll::Ready(Some(turn)) = Pin::new(&mut self.streams).poll_next(cx) else { return false };
        let Some(handle) = self.open.get_mut(&turn.id) else { return true };
        handle.sent += turn.items.len() as u64;
        handle.bytes += turn.items.iter().map(|(_, item)| item.as_bytes().len()).sum::<usize>();
        let method = handle.names.as_ref().map_or(&spelling.item, |names| &names.item);
        for (gap, item) in &turn.items {
            self.scratch.clear();
            let params = codec::item(&mut self.scratch, method, &turn.id, *gap, item);
            seal(handle.seal.as_ref(), &mut self.scratch, method, params);
            sink.push(&self.scratch);
        }
        if let Some(gap) = turn.gap {
            self.scratch.clear();
            let params = codec::lone_gap(&mut self.scratch, method, &turn.id, gap);
            seal(handle.seal.as_ref(), &mut self.scratch, method, params);
            sink.push(&self.scratch);
        }
        if self.scratch.capacity() > BYTES_AT_ONCE {
            self.scratch = Vec::new();
        }
        if let Some((gap, error)) = turn.end {
            let mut handle = self.open.remove(&turn.id);
            if let Some(handle) = &mut handle {
                handle.note_end(error.as_ref());
            }
            self.send_end(&turn.id, handle.as_ref(), gap, error.as_ref(), spelling, sink);
        }
        true
    }

    /// Tells the end of a stream, as far as its dialect has a word for it.
    fn send_end(
        &mut self,
        id: &Json,
        handle: Option<&Handle>,
        gap: Option<Gap>,
        error: Option<&ErrorObject>,
        spelling: &Streams,
        sink: &mut dyn FrameSink,
    ) {
        let names = handle.and_then(|handle| handle.names.as_deref());
        let method = match (names.map(|names| names.style), error) {
            (None, _) => &spelling.end,
            (Some(SubscriptionStyle::Named), Some(_)) => names.map_or(&spelling.item, |names| &names.item),
            (Some(_), _) => return,
        };
        self.scratch.clear();
        let params = codec::stream_end(&mut self.scratch, method, id, gap, error);
        seal(handle.and_then(|handle| handle.seal.as_ref()), &mut self.scratch, method, params);
        sink.push(&self.scratch);
    }
}

/// Adds the members that a message of a stream gets when it is written, if it gets any.
fn seal(seal: Option<&ItemSeal>, out: &mut Vec<u8>, method: &Name, params: Range<usize>) {
    if let Some(seal) = seal {
        seal.apply(out, method.as_str(), params);
    }
}

/// One stream, which gives what it has in turns.
struct Sending {
    id: Json,
    /// How many bytes an item may have.
    limit: usize,
    session: Session,
    items: Abortable<SharedItems>,
    /// What is missing before the next item.
    gap: Option<Gap>,
    /// Whether a gap is sent at once where no item follows. Other families have no message for that: there it waits for the
    /// next item.
    tells_gaps: bool,
    is_done: bool,
}

struct Turn {
    id: Json,
    /// Each with what is missing before it.
    items: Vec<(Option<Gap>, Json)>,
    /// What is missing after them, if nothing follows now.
    gap: Option<Gap>,
    /// Set when the stream has ended, with what is missing before, and its error if it failed.
    end: Option<(Option<Gap>, Option<ErrorObject>)>,
}

impl Stream for Sending {
    type Item = Turn;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Turn>> {
        if self.is_done {
            return Poll::Ready(None);
        }
        let mut turn = Turn { id: self.id.clone(), items: Vec::new(), gap: None, end: None };
        let mut bytes = 0;
        for _ in 0..TURN {
            if bytes >= BYTES_AT_ONCE {
                break;
            }
            match Pin::new(&mut self.items).poll_next(cx) {
                Poll::Ready(Some(Ok(item))) => {
                    bytes += item.as_bytes().len();
                    let gap = self.gap.take();
                    match within(Ok(item), ReplyLimit::new(self.limit, &self.session)) {
                        Ok(item) => turn.items.push((gap, item)),
                        Err(error) => turn.end = Some((gap, Some(error))),
                    }
                }
                Poll::Ready(Some(Err(error))) => match error.gap() {
                    Some(gap) => self.gap = Some(self.gap.map_or(gap, |earlier| earlier.and(gap))),
                    None => turn.end = Some((self.gap.take(), Some(error))),
                },
                Poll::Ready(None) => turn.end = Some((self.gap.take(), None)),
                Poll::Pending => {
                    turn.gap = if self.tells_gaps { self.gap.take() } else { None };
                    if turn.items.is_empty() && turn.gap.is_none() {
                        return Poll::Pending;
                    }
                    break;
                }
            }
            if turn.end.is_some() {
                self.is_done = true;
                break;
            }
        }
        Poll::Ready(Some(turn))
    }
}
