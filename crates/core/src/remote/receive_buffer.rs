//! Items of a stream that have arrived but are not read yet.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;

use crate::call_error::CallError;
use crate::error::ErrorObject;
use crate::gap::Gap;
use crate::json::Json;
use crate::limits::Limits;
use crate::remote::backpressure::Backpressure;

/// The writing end, held by the connection.
pub(crate) struct ReceiveBuffer(Arc<Mutex<ReceiveBufferState>>);

/// The reading end. Dropping it before the stream has ended calls `on_drop`.
pub(crate) struct Reader<F: FnMut() + Send> {
    state: Arc<Mutex<ReceiveBufferState>>,
    on_drop: F,
}

struct ReceiveBufferState {
    /// Each with what is missing before it.
    items: VecDeque<(Option<Gap>, Json)>,
    /// What is missing after them.
    gap: Option<Gap>,
    bytes: usize,
    limit: usize,
    limit_bytes: usize,
    /// Whether the reader is so far behind that the backpressure knows.
    is_full: bool,
    backpressure: Arc<Backpressure>,
    /// How the stream ended; set once.
    end: Option<Option<ErrorObject>>,
    waker: Option<Waker>,
}

/// A new stream that keeps items for its reader. The backpressure is notified when `limits.items` are waiting; with more than
/// `limits.outbox` bytes of them the stream ends.
pub(crate) fn receive_buffer<F: FnMut() + Send>(
    limits: &Limits,
    backpressure: &Arc<Backpressure>,
    on_drop: F,
) -> (ReceiveBuffer, Reader<F>) {
    let state = ReceiveBufferState {
        items: VecDeque::new(),
        gap: None,
        bytes: 0,
        limit: limits.items,
        limit_bytes: limits.outbox,
        is_full: false,
        backpressure: Arc::clone(backpressure),
        end: None,
        waker: None,
    };
    let state = Arc::new(Mutex::new(state));
    (ReceiveBuffer(Arc::clone(&state)), Reader { state, on_drop })
}

fn locked<T>(state: &Mutex<ReceiveBufferState>, act: impl FnOnce(&mut ReceiveBufferState) -> T) -> T {
    act(&mut state.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Two gaps with nothing in between.
fn joined(earlier: Option<Gap>, later: Option<Gap>) -> Option<Gap> {
    match (earlier, later) {
        (Some(earlier), Some(later)) => Some(earlier.and(later)),
        (earlier, later) => earlier.or(later),
    }
}

impl ReceiveBuffer {
    /// Adds an item; false if there is no room for it, which ends the stream.
    pub(crate) fn push(&self, gap: Option<Gap>, item: Json) -> bool {
        locked(&self.0, |state| {
            let bytes = state.bytes + size(&item);
            let fits = bytes <= state.limit_bytes;
            if fits {
                state.bytes = bytes;
                let gap = joined(state.gap.take(), gap);
                state.items.push_back((gap, item));
                state.note_more();
            } else {
                state.end_with(Some(
                    CallError::Unread("too many bytes are waiting to be read (limits.outbox)".into()).into(),
                ));
            }
            state.wake();
            fits
        })
    }

    /// Takes note that items are missing after those that came.
    pub(crate) fn note_gap(&self, gap: Gap) {
        locked(&self.0, |state| {
            state.gap = joined(state.gap, Some(gap));
            state.wake();
        });
    }

    /// Ends the stream, if it has not ended.
    pub(crate) fn end(&self, gap: Option<Gap>, error: Option<ErrorObject>) {
        locked(&self.0, |state| {
            if state.end.is_none() {
                state.gap = joined(state.gap, gap);
                state.end_with(error);
            }
            state.wake();
        });
    }
}

/// A stream whose connection forgets it has ended too.
impl Drop for ReceiveBuffer {
    fn drop(&mut self) {
        self.end(None, Some(CallError::Closed("the stream was dropped".into()).into()));
    }
}

/// What an item that waits takes, in bytes.
fn size(item: &Json) -> usize {
    size_of::<(Option<Gap>, Json)>() + item.as_bytes().len()
}

impl ReceiveBufferState {
    /// Ends the stream, which holds back no reading from then on.
    fn end_with(&mut self, error: Option<ErrorObject>) {
        self.end.get_or_insert(error);
        if std::mem::take(&mut self.is_full) {
            self.backpressure.note_room();
        }
    }

    /// Tells the backpressure when the reader falls behind.
    fn note_more(&mut self) {
        let is_full = self.items.len() >= self.limit || self.bytes >= self.limit_bytes / 2;
        if is_full && !self.is_full && self.end.is_none() {
            self.is_full = true;
            self.backpressure.note_full();
        }
    }

    /// Tells the backpressure when the reader has caught up by half.
    fn note_taken(&mut self) {
        if self.is_full && self.items.len() <= self.limit / 2 && self.bytes <= self.limit_bytes / 4 {
            self.is_full = false;
            self.backpressure.note_room();
        }
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl<F: FnMut() + Send> Reader<F> {
    /// Drops the reader without a word to anybody.
    pub(crate) fn forget(self) {
        locked(&self.state, |state| {
            state.end_with(None);
            state.end.as_mut().and_then(Option::take)
        });
    }
}

impl<F: FnMut() + Send + Unpin> Stream for Reader<F> {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        locked(&self.state, |state| {
            let gap = state.items.front_mut().map_or(&mut state.gap, |(gap, _)| gap);
            if let Some(gap) = gap.take() {
                return Poll::Ready(Some(Err(CallError::Gap(gap).into())));
            }
            if let Some((_, item)) = state.items.pop_front() {
                state.bytes -= size(&item);
                state.note_taken();
                return Poll::Ready(Some(Ok(item)));
            }
            match &mut state.end {
                Some(error) => Poll::Ready(error.take().map(Err)),
                None => {
                    state.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
    }
}

impl<F: FnMut() + Send> Drop for Reader<F> {
    fn drop(&mut self) {
        if locked(&self.state, |state| state.end.is_none()) {
            (self.on_drop)();
        }
    }
}
