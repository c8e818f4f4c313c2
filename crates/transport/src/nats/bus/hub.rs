//! One subscription for all subscribers of the same topics on this machine.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use async_nats::{Message, Subject, Subscriber};
use futures_core::Stream;
use futures_util::{FutureExt as _, StreamExt as _};
use switchboard_core::{CallError, Feed, FeedItems, Gap, GapReason, Json, Overflow};
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

use super::event::{Next, Received};
use super::seen::Seen;
use crate::nats::link::{Link, subscription_to};
use crate::nats::subject;

/// A subscription, for as long as it has subscribers.
pub(super) struct Hub {
    link: Arc<Link>,
    subjects: Subject,
    /// What its subjects begin with.
    root: String,
    readers: Arc<Readers>,
    pump: OnceCell<Pump>,
}

/// The task that passes on what arrives. It ends when this is dropped.
struct Pump(JoinHandle<()>);

impl Drop for Pump {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Default)]
struct Readers(Mutex<(u64, HashMap<u64, Feed<Next>>)>);

impl Hub {
    pub(super) fn new(link: Arc<Link>, subjects: Subject, root: String) -> Arc<Hub> {
        Arc::new(Hub { link, subjects, root, readers: Arc::default(), pump: OnceCell::new() })
    }

    /// Adds a subscriber, which gets everything that is published after this. It loses the oldest events when more than this number wait.
    pub(super) async fn join(self: Arc<Hub>, waiting: usize) -> Result<Reader, CallError> {
        let pump = self.pump.get_or_try_init(|| self.subscribe()).await?;
        if pump.0.is_finished() {
            return Err(CallError::Closed("the subscription has ended; subscribe again".into()));
        }
        let (feed, items) = Feed::new(waiting, Overflow::DropOldest);
        let number = self.readers.locked(|(next, feeds)| {
            *next += 1;
            feeds.insert(*next, feed);
            *next
        });
        Ok(Reader { hub: self, number, items, is_over: false })
    }

    async fn subscribe(&self) -> Result<Pump, CallError> {
        self.link.check()?;
        let failed = |error: async_nats::SubscribeError| CallError::Unreachable(error.to_string().into());
        let messages = self.link.client().subscribe(self.subjects.clone()).await.map_err(failed)?;
        self.link.confirm(subscription_to(&self.subjects)).await?;
        let pumping = Pumping {
            link: Arc::clone(&self.link),
            subjects: self.subjects.clone(),
            root: self.root.clone(),
            readers: Arc::clone(&self.readers),
            seen: Seen::default(),
        };
        Ok(Pump(tokio::spawn(pumping.run(messages))))
    }
}

impl Readers {
    fn locked<T>(&self, act: impl FnOnce(&mut (u64, HashMap<u64, Feed<Next>>)) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn send(&self, next: &Next) {
        self.locked(|(_, feeds)| {
            for feed in feeds.values() {
                // It drops the oldest instead of waiting.
                let _ = feed.send(next.clone()).now_or_never();
            }
        });
    }
}

struct Pumping {
    link: Arc<Link>,
    subjects: Subject,
    root: String,
    readers: Arc<Readers>,
    seen: Seen,
}

impl Pumping {
    async fn run(mut self, mut messages: Subscriber) {
        let mut reconnects = self.link.reconnects();
        // The broker may refuse the subscription later, for example after a reconnect.
        let refused = self.link.inbox.open("", subscription_to(&self.subjects));
        refused.mailbox.set_stream();
        loop {
            tokio::select! {
                biased;
                Ok(()) = reconnects.changed() => {
                    // When this is back the subscription works again, so nothing is missing after the gap.
                    let confirmed = self.link.confirm(subscription_to(&self.subjects)).await;
                    self.seen = Seen::default();
                    self.readers.send(&Err(CallError::Gap(Gap::reconnected())));
                    if let Err(refused @ CallError::Rejected(_)) = confirmed {
                        return self.readers.send(&Err(refused));
                    }
                }
                Err(error) = refused.mailbox.next() => return self.readers.send(&Err(error)),
                message = messages.next() => match message {
                    Some(message) => self.pass(&message),
                    None => {
                        let why = "the connection to the NATS server ended";
                        return self.readers.send(&Err(CallError::Closed(why.into())));
                    }
                },
            }
        }
    }

    fn pass(&mut self, message: &Message) {
        if let Some(gap) = self.seen.gap(message.headers.as_ref(), GapReason::Lost) {
            self.readers.send(&Err(CallError::Gap(gap)));
        }
        self.readers.send(&received(message, &self.root, None));
    }
}

/// The event of a message. A gap if it is none.
pub(super) fn received(message: &Message, root: &str, position: Option<u64>) -> Next {
    let topic = message.subject.strip_prefix(root).and_then(subject::decode);
    let value = Json::parse(message.payload.clone());
    match (topic, value) {
        (Some(topic), Ok(value)) => Ok(Received { topic: topic.into(), position, value: value.detached() }),
        (_, value) => {
            let error = value.err().map(|error| error.to_string()).unwrap_or_default();
            tracing::warn!(subject = %message.subject, error, "skipped a message that is not an event");
            Err(CallError::Gap(Gap::new(Some(1), GapReason::Invalid)))
        }
    }
}

/// The events for one subscriber.
pub(super) struct Reader {
    hub: Arc<Hub>,
    number: u64,
    items: FeedItems<Next>,
    is_over: bool,
}

impl Stream for Reader {
    type Item = Next;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Next>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        self.items.poll_next_unpin(cx).map(|item| {
            // The feed's own errors are gaps.
            let next = item.map(|item| item.map_err(CallError::from).and_then(|next| next));
            self.is_over = matches!(&next, Some(Err(error)) if !matches!(error, CallError::Gap(_)));
            next
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let feed = self.hub.readers.locked(|(_, feeds)| feeds.remove(&self.number));
        drop(feed);
    }
}
