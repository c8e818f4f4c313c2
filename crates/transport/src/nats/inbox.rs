//! Where messages arrive that belong to calls: the parts of answers at a caller, and control messages at a worker.
//!
//! One subscription takes the messages of all calls of a connection. The last token of a subject names the call.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use async_nats::{Message, StatusCode, Subject};
use futures_util::task::AtomicWaker;
use switchboard_core::CallError;
use tokio::time::{Duration, Instant};

use super::part::{Kind, read_part};
use super::token::{LENGTH, Token, Tokens};

/// How many messages of one call wait to be read. A sender that keeps to its credit sends fewer.
const WAITING: usize = 512;

/// How long it is remembered that a call was cancelled before its worker was known.
const REMEMBERED: Duration = Duration::from_secs(10);

/// How many of these are remembered before old ones are looked for.
const MANY: usize = 256;

/// Messages by the call that they belong to.
pub(super) struct Inbox {
    /// What all its subjects begin with, including the last dot.
    prefix: String,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: HashMap<Token, Entry>,
    tokens: Tokens,
    cancelled: usize,
    /// How many of them there are when old ones are looked for.
    prune_at: usize,
}

enum Entry {
    Open(Arc<Mailbox>),
    /// The call was cancelled before its worker was known. The cancellation is sent with the first part that arrives.
    Cancelled(Instant),
}

/// The messages of one call.
pub(super) struct Mailbox {
    state: Mutex<MailboxState>,
    waker: AtomicWaker,
    /// The subject that the call was sent to.
    pub(super) sent_to: Subject,
}

#[derive(Default)]
struct MailboxState {
    /// Apart from the others, because most calls have one.
    first: Option<Message>,
    rest: VecDeque<Message>,
    failure: Option<CallError>,
    /// Whether it goes on after the connection was lost.
    is_stream: bool,
}

impl Inbox {
    pub(super) fn new(prefix: String) -> Arc<Inbox> {
        Arc::new(Inbox { prefix, table: Mutex::default() })
    }

    fn locked<T>(&self, act: impl FnOnce(&mut Table) -> T) -> T {
        act(&mut self.table.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The subject to subscribe to.
    pub(super) fn pattern(&self) -> String {
        format!("{}*", self.prefix)
    }

    /// A subject for a separate subscription, which the permissions for this inbox include.
    pub(super) fn subject_beside(&self) -> Subject {
        let mut subject = format!("{}own.", self.prefix);
        self.locked(|table| table.tokens.next()).write(&mut subject);
        Subject::from(subject)
    }

    /// Opens a mailbox. `mark` precedes the token in the subject.
    pub(super) fn open(self: &Arc<Inbox>, mark: &str, sent_to: Subject) -> Opened {
        let mailbox = Arc::new(Mailbox { state: Mutex::default(), waker: AtomicWaker::new(), sent_to });
        let token = self.locked(|table| {
            let token = table.tokens.next();
            table.entries.insert(token, Entry::Open(Arc::clone(&mailbox)));
            token
        });
        let mut subject = String::with_capacity(self.prefix.len() + mark.len() + LENGTH);
        subject.push_str(&self.prefix);
        subject.push_str(mark);
        token.write(&mut subject);
        Opened { inbox: Arc::clone(self), token, mailbox, subject: Subject::from(subject) }
    }

    /// Takes a message in. Gives one back that belongs to a call which was cancelled before.
    pub(super) fn deliver(&self, message: Message) -> Option<Message> {
        let last = message.subject.strip_prefix(&*self.prefix)?;
        let token = Token::read(last.trim_start_matches(['~', '!']))?;
        let found = self.locked(|table| match table.entries.get(&token) {
            Some(Entry::Open(mailbox)) => Some(Ok(Arc::clone(mailbox))),
            Some(Entry::Cancelled(_)) => {
                table.entries.remove(&token);
                table.cancelled -= 1;
                Some(Err(()))
            }
            None => None,
        });
        match found {
            Some(Ok(mailbox)) => mailbox.push(message),
            Some(Err(())) => return Some(message),
            None => tracing::debug!("dropped a message for a call that has ended"),
        }
        None
    }

    /// Ends everything that waits for messages. Streams go on if `with_streams` is false: they find out what they missed.
    pub(super) fn fail(&self, error: &CallError, with_streams: bool) {
        for mailbox in self.mailboxes() {
            mailbox.fail(error, with_streams);
        }
    }

    /// Ends what was sent to this subject.
    pub(super) fn fail_sent_to(&self, subject: &str, error: &CallError) {
        for mailbox in self.mailboxes().iter().filter(|mailbox| *mailbox.sent_to == *subject) {
            mailbox.fail(error, true);
        }
    }

    fn mailboxes(&self) -> Vec<Arc<Mailbox>> {
        self.locked(|table| {
            let open = table.entries.values().filter_map(|entry| match entry {
                Entry::Open(mailbox) => Some(Arc::clone(mailbox)),
                Entry::Cancelled(_) => None,
            });
            open.collect()
        })
    }

    fn close(&self, token: Token, is_cancelled: bool) {
        self.locked(|table| {
            if !is_cancelled {
                table.entries.remove(&token);
                return;
            }
            let now = Instant::now();
            if table.cancelled >= table.prune_at.max(MANY) {
                let is_kept =
                    |entry: &Entry| !matches!(entry, Entry::Cancelled(at) if now.duration_since(*at) > REMEMBERED);
                table.entries.retain(|_, entry| is_kept(entry));
                let is_cancelled = |entry: &&Entry| matches!(entry, Entry::Cancelled(_));
                table.cancelled = table.entries.values().filter(is_cancelled).count();
                // So that looking costs little for each.
                table.prune_at = table.cancelled * 2;
            }
            table.entries.insert(token, Entry::Cancelled(now));
            table.cancelled += 1;
        });
    }

    /// How many calls it has messages for, or remembers.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.locked(|table| table.entries.len())
    }
}

impl Mailbox {
    fn locked<T>(&self, act: impl FnOnce(&mut MailboxState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, message: Message) {
        self.locked(|state| match &state.first {
            // It says that the worker is there, as what waits does.
            Some(_) if is_beat(&message) => {}
            _ if state.rest.len() >= WAITING => {
                let why = "the worker sent more parts than it was allowed to";
                state.failure = Some(CallError::Protocol(why.into()));
            }
            None if state.rest.is_empty() => state.first = Some(message),
            _ => state.rest.push_back(message),
        });
        self.waker.wake();
    }

    fn fail(&self, error: &CallError, with_streams: bool) {
        self.locked(|state| {
            if with_streams || !state.is_stream {
                state.failure.get_or_insert_with(|| error.clone());
            }
        });
        self.waker.wake();
    }

    /// What follows is a stream, which goes on when the connection is lost.
    pub(super) fn set_stream(&self) {
        self.locked(|state| state.is_stream = true);
    }

    /// The next message.
    pub(super) fn poll_next(&self, cx: &Context<'_>) -> Poll<Result<Message, CallError>> {
        if let Some(next) = self.locked(MailboxState::take) {
            return Poll::Ready(next);
        }
        self.waker.register(cx.waker());
        self.locked(MailboxState::take).map_or(Poll::Pending, Poll::Ready)
    }

    pub(super) async fn next(&self) -> Result<Message, CallError> {
        poll_fn(|cx| self.poll_next(cx)).await
    }
}

impl MailboxState {
    fn take(&mut self) -> Option<Result<Message, CallError>> {
        if let Some(message) = self.first.take().or_else(|| self.rest.pop_front()) {
            return Some(Ok(message));
        }
        self.failure.clone().map(Err)
    }
}

/// A mailbox that is closed when this is dropped.
pub(super) struct Opened {
    inbox: Arc<Inbox>,
    token: Token,
    pub(super) mailbox: Arc<Mailbox>,
    /// Where messages for it are sent to.
    pub(super) subject: Subject,
}

impl Opened {
    /// Closes it, but remembers that its call was cancelled: the first message for it is given back by [`Inbox::deliver`].
    pub(super) fn cancel(&self) {
        self.inbox.close(self.token, true);
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let is_cancelled = self
            .inbox
            .locked(|table| matches!(table.entries.get(&self.token), Some(Entry::Cancelled(_)) | None));
        if !is_cancelled {
            self.inbox.close(self.token, false);
        }
    }
}

fn is_beat(message: &Message) -> bool {
    matches!(read_part(message.headers.as_ref()), Some(Ok((_, Kind::Beat))))
}

/// Whether the server reports that a message had no receiver.
pub(super) fn is_unheard(message: &Message) -> bool {
    message.status == Some(StatusCode::NO_RESPONDERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(subject: &Subject) -> Message {
        Message {
            subject: subject.clone(),
            reply: None,
            payload: bytes::Bytes::new(),
            headers: None,
            status: None,
            description: None,
            length: 0,
        }
    }

    #[tokio::test]
    async fn messages_reach_the_call_that_they_belong_to() {
        let inbox = Inbox::new("_INBOX.x.".to_owned());
        let (one, other) = (inbox.open("~", "a".into()), inbox.open("", "b".into()));
        assert!(inbox.deliver(message(&other.subject)).is_none());
        assert_eq!(other.mailbox.next().await.unwrap().subject, other.subject);
        assert!(inbox.deliver(message(&one.subject)).is_none());
        assert!(inbox.deliver(message(&one.subject)).is_none());
        assert_eq!(one.mailbox.next().await.unwrap().subject, one.subject);
        assert_eq!(one.mailbox.next().await.unwrap().subject, one.subject);
        drop((one, other));
        assert_eq!(inbox.len(), 0);
    }

    #[tokio::test]
    async fn a_failure_follows_what_has_arrived() {
        let inbox = Inbox::new("_INBOX.x.".to_owned());
        let (call, stream) = (inbox.open("~", "a".into()), inbox.open("~", "b".into()));
        stream.mailbox.set_stream();
        inbox.deliver(message(&call.subject));
        inbox.fail(&CallError::TimedOut, false);
        assert!(call.mailbox.next().await.is_ok());
        assert_eq!(call.mailbox.next().await.unwrap_err(), CallError::TimedOut);
        inbox.deliver(message(&stream.subject));
        assert!(stream.mailbox.next().await.is_ok());
        inbox.fail_sent_to("b", &CallError::Cancelled);
        assert_eq!(stream.mailbox.next().await.unwrap_err(), CallError::Cancelled);
    }

    #[tokio::test(start_paused = true)]
    async fn cancelled_calls_are_remembered_for_a_while_and_not_without_end() {
        let inbox = Inbox::new("_INBOX.x.".to_owned());
        let call = inbox.open("~", "a".into());
        call.cancel();
        let subject = call.subject.clone();
        drop(call);
        assert!(inbox.deliver(message(&subject)).is_some());
        assert!(inbox.deliver(message(&subject)).is_none());
        for _ in 0..MANY {
            inbox.open("~", "a".into()).cancel();
        }
        assert_eq!(inbox.len(), MANY);
        tokio::time::advance(REMEMBERED * 2).await;
        inbox.open("~", "a".into()).cancel();
        assert_eq!(inbox.len(), 1);
    }

    #[tokio::test]
    async fn a_sender_that_exceeds_its_credit_is_cut_off() {
        let inbox = Inbox::new("_INBOX.x.".to_owned());
        let call = inbox.open("~", "a".into());
        for _ in 0..WAITING + 2 {
            inbox.deliver(message(&call.subject));
        }
        for _ in 0..=WAITING {
            assert!(call.mailbox.next().await.is_ok());
        }
        assert!(matches!(call.mailbox.next().await, Err(CallError::Protocol(_))));
    }
}
