//! Signed streams, as a client reads them.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use switchboard_core::{CallError, ErrorObject, ItemCheck, Items, Json, ReceivedItem};

use super::Sign;
use super::member::{Form, Member};
use super::replies::{SentCall, server_key};
use super::text::CoveredItem;

/// What was received of a stream. Messages are checked when they arrive, and items when they are read: an item that came another way
/// was not checked.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// How many messages were right.
    next: AtomicU64,
    /// How many of them were items.
    items: AtomicU64,
    /// Whether a message told the end.
    has_ended: AtomicBool,
    /// Whether items come as notifications, which have a message for the end.
    has_notifications: AtomicBool,
}

/// The call that opened a stream, once it was sent.
pub(super) type Pending = Arc<Mutex<Option<SentCall>>>;

/// Checks the messages of the stream that a call opens.
pub(super) fn check(sign: &Sign, pending: &Pending, progress: &Arc<Progress>) -> ItemCheck {
    let (sign, pending, progress) = (sign.clone(), Arc::clone(pending), Arc::clone(progress));
    ItemCheck::new(move |item| {
        let sent = pending.lock().unwrap_or_else(PoisonError::into_inner);
        match sent.as_ref().map(|sent| progress.check(&sign, sent, item)) {
            Some(Err(why)) => Err(CallError::Protocol(why.into()).into()),
            Some(Ok(())) | None => Ok(()),
        }
    })
}

impl Progress {
    fn check(&self, sign: &Sign, sent: &SentCall, item: &ReceivedItem<'_>) -> Result<(), String> {
        self.has_notifications.fetch_or(!item.method.is_empty(), Ordering::Relaxed);
        let Some(json) = item.members.and_then(|members| members.get("signature")) else {
            return match sign.requires_replies {
                true => Err("an item of the stream is not signed".to_owned()),
                false => Ok(()),
            };
        };
        let wrong = || "the signature of an item of the stream is wrong".to_owned();
        let member = Member::parse(&json, Form::Item).map_err(|_| wrong())?;
        let key = server_key(&member.kid, &sign.key, &sign.servers).ok_or_else(wrong)?;
        let (method, content) = (item.method, item.content.as_bytes());
        let (version, request, seq) = (sent.version, sent.request.as_bytes(), member.seq);
        let covered = CoveredItem { version, request, method, item: content, seq };
        let text = covered.text(&member.claim(), key.algorithm()).map_err(|_| wrong())?;
        let is_its = member.nonce == sent.nonce && member.aud == sign.key.kid();
        if !is_its || !key.verifies(text.as_bytes(), &member.sig) {
            return Err(wrong());
        }
        let (number, expected) = (member.seq.unwrap_or(0), self.next.load(Ordering::Relaxed));
        if number != expected {
            return Err(format!("the stream has item {number} where item {expected} was expected"));
        }
        self.next.store(expected + 1, Ordering::Relaxed);
        let is_item = item.method.is_empty() || item.content.get("result").is_some();
        self.items.fetch_add(u64::from(is_item), Ordering::Relaxed);
        self.has_ended.fetch_or(item.is_end, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the stream may end here.
    fn is_complete(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed) || !self.has_notifications.load(Ordering::Relaxed)
    }
}

/// The items of a stream of which every message has to be signed.
pub(super) fn required(items: Items, progress: Arc<Progress>) -> Items {
    items.through(|items| SignedItems { items, progress, read: 0, is_done: false })
}

struct SignedItems {
    items: Items,
    progress: Arc<Progress>,
    /// How many items were read.
    read: u64,
    is_done: bool,
}

impl Stream for SignedItems {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_done {
            return Poll::Ready(None);
        }
        let item = ready!(Pin::new(&mut self.items).poll_next(cx));
        let why = match &item {
            Some(Ok(_)) => {
                self.read += 1;
                let is_signed = self.read <= self.progress.items.load(Ordering::Relaxed);
                if is_signed { None } else { Some("an item of the stream is not signed") }
            }
            None if !self.progress.is_complete() => Some("the end of the stream is not signed"),
            Some(Err(_)) | None => None,
        };
        match why {
            None => Poll::Ready(item),
            Some(why) => {
                self.is_done = true;
                Poll::Ready(Some(Err(CallError::Protocol(why.into()).into())))
            }
        }
    }
}
