//! What is under way: a message whose answer is awaited, or a connection that is being made.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use switchboard::{CallError, Items, Peer, Reply, ReplyFuture};
use tokio::time::Instant;

use super::schedule::Due;

/// One thing that is under way.
pub(crate) struct Flight {
    /// What it is about.
    pub(crate) ticket: Ticket,
    way: Way,
}

/// What something under way is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ticket {
    /// A message on a connection, and when it was sent.
    Message { connection: usize, generation: u32, due: Due, sent: Instant },
    /// A connection that is being made.
    Dial { connection: usize },
}

/// How something under way ended.
pub(crate) enum Landed {
    /// With an answer to a call.
    Reply(Reply),
    /// With a stream that has ended: how many items and bytes it had, and how it failed if it did.
    Stream { items: u64, bytes: u64, fault: Option<CallError> },
    /// With the answers to a batch.
    Batch(Vec<Reply>),
    /// With a connection, or without.
    Dialled(Result<Peer, CallError>),
}

enum Way {
    Call(ReplyFuture),
    Stream { items: Items, count: u64, bytes: u64 },
    Batch(Pin<Box<dyn Future<Output = Vec<Reply>> + Send>>),
    Dial(Pin<Box<dyn Future<Output = Result<Peer, CallError>> + Send>>),
}

impl Flight {
    pub(crate) fn call(ticket: Ticket, reply: ReplyFuture) -> Flight {
        Flight { ticket, way: Way::Call(reply) }
    }

    pub(crate) fn batch(ticket: Ticket, replies: Pin<Box<dyn Future<Output = Vec<Reply>> + Send>>) -> Flight {
        Flight { ticket, way: Way::Batch(replies) }
    }

    pub(crate) fn dial(
        connection: usize,
        peer: impl Future<Output = Result<Peer, CallError>> + Send + 'static,
    ) -> Flight {
        Flight { ticket: Ticket::Dial { connection }, way: Way::Dial(Box::pin(peer)) }
    }
}

impl Flight {
    /// Whether it is a connection that is being made.
    pub(crate) fn is_dial(&self) -> bool {
        matches!(self.ticket, Ticket::Dial { .. })
    }
}

impl Future for Flight {
    type Output = (Ticket, Landed);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<(Ticket, Landed)> {
        loop {
            let landed = match &mut self.way {
                Way::Call(reply) => match ready!(Pin::new(reply).poll(cx)) {
                    Reply::Stream(items) => {
                        self.way = Way::Stream { items, count: 0, bytes: 0 };
                        continue;
                    }
                    reply => Landed::Reply(reply),
                },
                Way::Stream { items, count, bytes } => match ready!(Pin::new(items).poll_next(cx)) {
                    Some(Ok(json)) => {
                        *count += 1;
                        *bytes += json.as_bytes().len() as u64;
                        continue;
                    }
                    Some(Err(error)) => match error.into() {
                        // Items are missing there, and the stream goes on.
                        CallError::Gap(_) => continue,
                        fault => Landed::Stream { items: *count, bytes: *bytes, fault: Some(fault) },
                    },
                    None => Landed::Stream { items: *count, bytes: *bytes, fault: None },
                },
                Way::Batch(replies) => Landed::Batch(ready!(replies.as_mut().poll(cx))),
                Way::Dial(peer) => Landed::Dialled(ready!(peer.as_mut().poll(cx))),
            };
            return Poll::Ready((self.ticket, landed));
        }
    }
}
