//! Frames from a child, until it ends.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::process::ExitStatus;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use switchboard_core::{ConnectionError, FrameSource};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};

use super::stderr::{LastWords, Words};
use crate::stream;

/// How long the end of the output waits for the end of the child, and the other way round.
const LINGER: Duration = Duration::from_millis(500);

type Exit = Pin<Box<dyn Future<Output = Option<ExitStatus>> + Send>>;

/// The child's output. Its end is an error that says how the child ended: a server does not just stop.
pub(super) struct Source {
    frames: stream::StreamSource<Receiver>,
    has_ended: bool,
    exit: Exit,
    status: Option<Option<ExitStatus>>,
    linger: Option<Pin<Box<Sleep>>>,
    program: String,
    words: LastWords,
    /// Its output that cannot be messages: often why it ended.
    printed: Words,
}

impl Source {
    pub(super) fn new(
        frames: stream::StreamSource<Receiver>,
        mut exited: watch::Receiver<Option<ExitStatus>>,
        program: String,
        words: LastWords,
    ) -> Source {
        let exit: Exit = Box::pin(async move {
            let found = exited.wait_for(Option::is_some).await;
            found.ok().and_then(|status| *status)
        });
        Source {
            frames,
            has_ended: false,
            exit,
            status: None,
            linger: None,
            program,
            words,
            printed: Words::default(),
        }
    }

    fn end(&self) -> ConnectionError {
        let how = match self.status.flatten() {
            Some(status) => format!("`{}` ended ({status})", self.program),
            None => format!("`{}` closed its output", self.program),
        };
        let how = match self.printed.text() {
            printed if printed.is_empty() => how,
            printed => format!("{how}; it printed: {printed}"),
        };
        let words = self.words.text();
        let text = if words.is_empty() { how } else { format!("{how}; its last output: {words}") };
        ConnectionError::Io(io::Error::other(text))
    }
}

impl FrameSource for Source {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ConnectionError>>> {
        if !self.has_ended {
            match self.frames.poll_frame(cx) {
                // Half a line is what a child leaves that dies; how it ended says more.
                Poll::Ready(None | Some(Err(ConnectionError::CutOff(_)))) => self.has_ended = true,
                Poll::Pending => {}
                Poll::Ready(Some(Ok(frame))) => {
                    if !may_be_message(&frame) {
                        self.printed.add(&frame);
                        self.printed.add(b"\n");
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                frame => return frame,
            }
        }
        if self.status.is_none()
            && let Poll::Ready(status) = self.exit.as_mut().poll(cx)
        {
            self.status = Some(status);
        }
        if !self.has_ended && self.status.is_none() {
            return Poll::Pending;
        }
        let is_all = self.has_ended && self.status.is_some() && self.words.are_all();
        let linger = self.linger.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        if !is_all && linger.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(self.end())))
    }
}

/// Whether a frame begins as a message or a batch does.
fn may_be_message(frame: &[u8]) -> bool {
    matches!(frame.trim_ascii_start().first(), Some(b'{' | b'['))
}
