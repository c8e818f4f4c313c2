//! Waiting for a reply while receiving its progress.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use tokio::sync::mpsc;

use crate::json::Json;
use crate::reply::{Reply, ReplyFuture};

/// A call in flight whose progress is watched.
pub(crate) struct WithProgress {
    reply: ReplyFuture,
    progress: mpsc::Receiver<Json>,
    /// Set once it is there: progress that came before it is seen first.
    done: Option<Reply>,
}

/// What is seen next.
pub(crate) enum Seen {
    Progress(Json),
    Reply(Reply),
}

impl WithProgress {
    pub(crate) fn new(reply: ReplyFuture, progress: mpsc::Receiver<Json>) -> WithProgress {
        WithProgress { reply, progress, done: None }
    }

    /// The next progress, or the reply, after which nothing may be asked for.
    pub(crate) async fn next(&mut self) -> Seen {
        poll_fn(|cx| {
            if self.done.is_none()
                && let Poll::Ready(reply) = Pin::new(&mut self.reply).poll(cx)
            {
                self.done = Some(reply);
            }
            if let Poll::Ready(Some(value)) = self.progress.poll_recv(cx) {
                return Poll::Ready(Seen::Progress(value));
            }
            self.done.take().map_or(Poll::Pending, |reply| Poll::Ready(Seen::Reply(reply)))
        })
        .await
    }
}
