//! A stream fed from elsewhere in the program, and what happens when its reader is slow.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use tokio::sync::Notify;

use crate::call_error::CallError;
use crate::error::ErrorObject;
use crate::gap::Gap;

/// What a full [`Feed`] does with one more value (SUB-05).
///
/// The reader learns what was lost, see [`Gap`].
#[non_exhaustive]
pub enum Overflow<T> {
    /// Makes the sender wait. No other policy does.
    Block,
    /// Drops the oldest waiting value.
    DropOldest,
    /// Drops the new value.
    DropNewest,
    /// Keeps the newest value of each key, see [`Overflow::coalesce_by`].
    Coalesce(SameKey<T>),
    /// Ends the stream with -32005 after the waiting values have been read.
    Close,
}

/// Whether two values have the same key.
pub type SameKey<T> = Box<dyn Fn(&T, &T) -> bool + Send + Sync>;

impl<T> Overflow<T> {
    /// Replaces a waiting value with the same key, whether the feed is full or not. The replaced value is superseded and
    /// does not count as lost. If no value has the key and there is no room, the oldest is dropped.
    ///
    /// Each value sent is compared with those waiting, so this is for feeds of moderate capacity.
    pub fn coalesce_by<K: PartialEq>(key: impl Fn(&T) -> K + Send + Sync + 'static) -> Overflow<T> {
        Overflow::Coalesce(Box::new(move |one, other| key(one) == key(other)))
    }
}

impl<T> fmt::Debug for Overflow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Overflow::Block => "Block",
            Overflow::DropOldest => "DropOldest",
            Overflow::DropNewest => "DropNewest",
            Overflow::Coalesce(_) => "Coalesce(..)",
            Overflow::Close => "Close",
        })
    }
}

/// The sending end of a stream. Cheap to clone; the stream ends when the last clone is dropped.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Context, Feed, Method, Overflow};
///
/// let ticks = Method::feed("ticks", |(): (), _: Context| {
///     let (feed, items) = Feed::new(16, Overflow::DropOldest);
///     tokio::spawn(async move { while feed.send(1_u64).await.is_ok() {} });
///     items
/// });
/// ```
pub struct Feed<T> {
    shared: Arc<Shared<T>>,
}

/// The reading end of a [`Feed`]: a stream of its values, with the gaps between them.
pub struct FeedItems<T> {
    shared: Arc<Shared<T>>,
}

/// The stream is no longer being read. Holds the value that could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream is no longer being read")]
pub struct FeedClosed<T>(pub T);

struct Shared<T> {
    state: Mutex<FeedState<T>>,
    /// Wakes senders when there is room or the reader is gone.
    room: Notify,
    capacity: usize,
    overflow: Overflow<T>,
}

struct FeedState<T> {
    waiting: VecDeque<Waiting<T>>,
    /// How many were lost after the last that waits.
    lost: u64,
    senders: usize,
    /// Set when no more values are accepted; with an error that the reader has still to see.
    end: Option<Option<ErrorObject>>,
    reader: Option<Waker>,
}

struct Waiting<T> {
    /// How many were lost just before it.
    lost: u64,
    value: T,
}

/// What became of a value.
enum Taken<T> {
    Done,
    Full(T),
    Closed(T),
}

impl<T> Shared<T> {
    fn locked<R>(&self, act: impl FnOnce(&mut FeedState<T>) -> R) -> R {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: Send + 'static> Feed<T> {
    /// A stream that buffers up to `capacity` values, at least one, for the reader.
    #[must_use]
    pub fn new(capacity: usize, overflow: Overflow<T>) -> (Feed<T>, FeedItems<T>) {
        let state = FeedState { waiting: VecDeque::new(), lost: 0, senders: 1, end: None, reader: None };
        let capacity = capacity.max(1);
        let shared = Arc::new(Shared { state: Mutex::new(state), room: Notify::new(), capacity, overflow });
        (Feed { shared: Arc::clone(&shared) }, FeedItems { shared })
    }

    /// Sends a value. Waits for room under [`Overflow::Block`] only.
    ///
    /// # Errors
    ///
    /// When the stream has ended: its reader is gone, or was too slow for [`Overflow::Close`].
    pub async fn send(&self, mut value: T) -> Result<(), FeedClosed<T>> {
        loop {
            let room = self.shared.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            match self.take(value) {
                Taken::Done => return Ok(()),
                Taken::Closed(value) => return Err(FeedClosed(value)),
                Taken::Full(back) => value = back,
            }
            room.await;
        }
    }

    /// Waits until the stream is no longer being read.
    pub async fn closed(&self) {
        loop {
            let room = self.shared.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            if self.shared.locked(|state| state.end.is_some()) {
                return;
            }
            room.await;
        }
    }

    fn take(&self, value: T) -> Taken<T> {
        let Shared { capacity, overflow, .. } = &*self.shared;
        let (taken, reader) =
            self.shared.locked(|state| (state.take(value, *capacity, overflow), state.reader.take()));
        if let Some(reader) = reader {
            reader.wake();
        }
        taken
    }
}

impl<T> FeedState<T> {
    fn take(&mut self, value: T, capacity: usize, overflow: &Overflow<T>) -> Taken<T> {
        if self.end.is_some() {
            return Taken::Closed(value);
        }
        if let Overflow::Coalesce(is_same) = overflow
            && let Some(older) = self.waiting.iter_mut().find(|older| is_same(&older.value, &value))
        {
            older.value = value;
            return Taken::Done;
        }
        if self.waiting.len() >= capacity {
            match overflow {
                Overflow::Block => return Taken::Full(value),
                Overflow::DropNewest => {
                    self.lost += 1;
                    return Taken::Done;
                }
                Overflow::DropOldest | Overflow::Coalesce(_) => self.drop_oldest(),
                Overflow::Close => {
                    let detail = "the stream was read too slowly and has ended";
                    self.end = Some(Some(ErrorObject::over_limit("feed", detail)));
                    return Taken::Closed(value);
                }
            }
        }
        let lost = std::mem::take(&mut self.lost);
        self.waiting.push_back(Waiting { lost, value });
        Taken::Done
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.waiting.pop_front() else { return };
        let next = self.waiting.front_mut().map_or(&mut self.lost, |next| &mut next.lost);
        *next += oldest.lost + 1;
    }

    fn next(&mut self) -> Option<Result<T, ErrorObject>> {
        let is_told = self.end.is_some() || self.senders == 0 || !self.waiting.is_empty();
        let lost = self.waiting.front_mut().map_or(&mut self.lost, |front| &mut front.lost);
        // Losses after the last value are reported with the next, or at the end.
        if *lost > 0 && is_told {
            return Some(Err(CallError::Gap(Gap::overflow(std::mem::take(lost))).into()));
        }
        self.waiting.pop_front().map(|waiting| Ok(waiting.value))
    }
}

impl<T: Send + 'static> Stream for FeedItems<T> {
    type Item = Result<T, ErrorObject>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.shared.locked(|state| {
            if let Some(next) = state.next() {
                return Poll::Ready(Some(next));
            }
            match &mut state.end {
                Some(error) => Poll::Ready(error.take().map(Err)),
                None if state.senders == 0 => Poll::Ready(None),
                None => {
                    state.reader = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        });
        if matches!(next, Poll::Ready(Some(Ok(_)))) {
            self.shared.room.notify_waiters();
        }
        next
    }
}

impl<T> Clone for Feed<T> {
    fn clone(&self) -> Feed<T> {
        self.shared.locked(|state| state.senders += 1);
        Feed { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        let reader = self.shared.locked(|state| {
            state.senders -= 1;
            state.reader.take_if(|_| state.senders == 0)
        });
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

impl<T> Drop for FeedItems<T> {
    fn drop(&mut self) {
        let waiting = self.shared.locked(|state| {
            state.end.get_or_insert(None);
            std::mem::take(&mut state.waiting)
        });
        drop(waiting);
        self.shared.room.notify_waiters();
    }
}

impl<T> fmt::Debug for Feed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("overflow", &self.shared.overflow).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for FeedItems<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FeedItems(..)")
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};

    use super::*;

    /// Sends 0 to 5 into a feed of two, then drops it; gives what the reader finds, with gaps as negative counts.
    async fn read(overflow: Overflow<i64>) -> Vec<i64> {
        let (feed, items) = Feed::new(2, overflow);
        for n in 0..6 {
            let _ = feed.send(n).now_or_never().expect("it does not wait");
        }
        drop(feed);
        let shown = |item: Result<i64, ErrorObject>| {
            item.unwrap_or_else(|error| error.gap().map_or(error.code.0, |gap| -(gap.lost.unwrap() as i64)))
        };
        items.map(shown).collect().await
    }

    #[tokio::test]
    async fn each_policy_loses_what_it_says_and_tells() {
        // SUB-05
        assert_eq!(read(Overflow::DropOldest).await, [-4, 4, 5]);
        assert_eq!(read(Overflow::DropNewest).await, [0, 1, -4]);
        assert_eq!(read(Overflow::Close).await, [0, 1, -32005]);
        assert_eq!(read(Overflow::coalesce_by(|n| n % 2)).await, [4, 5]);
        assert_eq!(read(Overflow::coalesce_by(|n| n % 3)).await, [-4, 4, 5]);
    }

    #[tokio::test]
    async fn a_loss_is_told_where_it_happened() {
        let (feed, mut items) = Feed::new(1, Overflow::DropNewest);
        for n in 0..3 {
            feed.send(n).await.unwrap();
        }
        assert_eq!(items.next().await.unwrap().unwrap(), 0);
        assert!(items.next().now_or_never().is_none());
        feed.send(3).await.unwrap();
        assert_eq!(items.next().await.unwrap().unwrap_err().gap(), Some(Gap::overflow(2)));
        assert_eq!(items.next().await.unwrap().unwrap(), 3);
    }

    #[tokio::test]
    async fn a_sender_that_blocks_goes_on_when_there_is_room_or_nobody() {
        let (feed, mut items) = Feed::new(1, Overflow::Block);
        feed.send(1).await.unwrap();
        let sender = feed.clone();
        let second = tokio::spawn(async move { sender.send(2).await });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        assert_eq!(items.next().await.unwrap().unwrap(), 1);
        second.await.unwrap().unwrap();
        let third = tokio::spawn(async move { feed.send(3).await });
        tokio::task::yield_now().await;
        drop(items);
        assert_eq!(third.await.unwrap(), Err(FeedClosed(3)));
    }

    #[tokio::test]
    async fn whoever_feeds_hears_that_the_reader_is_gone() {
        let (feed, items) = Feed::<u8>::new(1, Overflow::DropOldest);
        let closed = tokio::spawn(async move { feed.closed().await });
        drop(items);
        closed.await.unwrap();
    }
}
