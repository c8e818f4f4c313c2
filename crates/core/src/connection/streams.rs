//! Streams that this side sends: pulled when there is room, ended exactly once.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::stream::{AbortHandle, Abortable, SelectAll};

use crate::codec;
use crate::connection::{BYTES_AT_ONCE, FrameSink};
use crate::error::ErrorObject;
use crate::exchange::within;
use crate::id::Id;
use crate::json::Json;
use crate::profile::Streams;
use crate::reply::Items;

/// How many items are taken from one stream before the next has its turn.
const TURN: usize = 32;

/// The open streams of one connection.
#[derive(Default)]
pub(super) struct Outgoing {
    streams: SelectAll<Subscription>,
    open: HashMap<Json, Handle>,
    scratch: Vec<u8>,
}

struct Handle {
    /// The call that opened it.
    call: Id,
    stop: AbortHandle,
    items: SharedItems,
}

impl Handle {
    /// Drops the items at once, and has what is left of the stream cleared away.
    fn stop(self) {
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
            Some(items) => items.as_mut().poll_next(cx),
            None => Poll::Ready(None),
        }
    }
}

impl Outgoing {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// A new identifier: not to be guessed, and unique on this connection (ETH-09).
    pub(super) fn new_id(&self) -> Json {
        loop {
            let id =
                Json::encode_ref(&format!("{:016x}", fastrand::u64(..))).expect("a string can be written");
            if !self.open.contains_key(&id) {
                return id;
            }
        }
    }

    /// Starts sending items of up to `limit` bytes each. The response that names the stream must have been written before (ETH-07).
    pub(super) fn open(&mut self, id: Json, call: Id, items: Items, limit: usize) {
        let (stop, registration) = AbortHandle::new_pair();
        let items = SharedItems(Arc::new(Mutex::new(Some(items))));
        let polled = Abortable::new(items.clone(), registration);
        self.streams.push(Subscription { id: id.clone(), limit, items: polled, is_done: false });
        self.open.insert(id, Handle { call, stop, items });
    }

    /// Ends a stream because its reader asked for it; false if there is none.
    pub(super) fn unsubscribe(&mut self, id: &Json) -> bool {
        self.open.remove(id).map(Handle::stop).is_some()
    }

    /// Ends the stream that this call opened; false if there is none.
    pub(super) fn cancel(&mut self, call: &Id) -> bool {
        let found = self.open.iter().find(|(_, handle)| handle.call == *call).map(|(id, _)| id.clone());
        found.is_some_and(|id| self.unsubscribe(&id))
    }

    /// Ends every stream with an error that its reader is told.
    pub(super) fn end_all(&mut self, error: &ErrorObject, spelling: &Streams, sink: &mut dyn FrameSink) {
        for (id, _) in std::mem::take(&mut self.open) {
            self.send_end(&id, Some(error), spelling, sink);
        }
        self.streams.clear();
    }

    /// Drops every stream: its reader is gone.
    pub(super) fn drop_all(&mut self) {
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
        if !self.open.contains_key(&turn.id) {
            return true;
        }
        for item in &turn.items {
            self.scratch.clear();
            codec::item(&mut self.scratch, &spelling.item, &turn.id, item);
            sink.push(&self.scratch);
        }
        if let Some(error) = turn.end {
            self.open.remove(&turn.id);
            self.send_end(&turn.id, error.as_ref(), spelling, sink);
        }
        true
    }

    fn send_end(
        &mut self,
        id: &Json,
        error: Option<&ErrorObject>,
        spelling: &Streams,
        sink: &mut dyn FrameSink,
    ) {
        self.scratch.clear();
        codec::stream_end(&mut self.scratch, &spelling.end, id, error);
        sink.push(&self.scratch);
    }
}

/// One stream, which gives what it has in turns.
struct Subscription {
    id: Json,
    /// How many bytes an item may have.
    limit: usize,
    items: Abortable<SharedItems>,
    is_done: bool,
}

struct Turn {
    id: Json,
    items: Vec<Json>,
    /// Set when the stream has ended, with its error if it failed.
    end: Option<Option<ErrorObject>>,
}

impl Stream for Subscription {
    type Item = Turn;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Turn>> {
        if self.is_done {
            return Poll::Ready(None);
        }
        let mut turn = Turn { id: self.id.clone(), items: Vec::new(), end: None };
        let mut bytes = 0;
        while turn.items.len() < TURN && bytes < BYTES_AT_ONCE {
            match Pin::new(&mut self.items).poll_next(cx) {
                Poll::Ready(Some(Ok(item))) => {
                    bytes += item.as_bytes().len();
                    match within(Ok(item), self.limit) {
                        Ok(item) => turn.items.push(item),
                        Err(error) => turn.end = Some(Some(error)),
                    }
                }
                Poll::Ready(Some(Err(error))) => turn.end = Some(Some(error)),
                Poll::Ready(None) => turn.end = Some(None),
                Poll::Pending if turn.items.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
            if turn.end.is_some() {
                self.is_done = true;
                break;
            }
        }
        Poll::Ready(Some(turn))
    }
}
