//! The short way of a request over HTTP/1.1.
//!
//! Nearly every request is a POST to a path of ours with a handful of headers, and comes whole in one read. Such a plain
//! request needs nothing of what hyper is for, and answering it here costs about half the instructions. Whatever is not
//! plain, be it unusual, unfinished or wrong, is left untouched: the connection is hyper's from there on. So nothing is
//! decided here but what all rules agree on, and a response is the same, byte for byte, whichever way it took.

mod head;
mod request;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context as Task, Poll};

use bytes::{Buf, Bytes, BytesMut};
use switchboard_core::{Answer, Context};
use tokio::time::Instant;

pub(super) use self::request::paths;
use self::request::{Plain, read};
use super::answer::outcome;
use super::pipe::Shared;
use super::rules::{RequestOptions, Rules};
use super::timeouts::Activity;

/// As much as is read at a time. What does not fit is not plain.
pub(super) const SIZE: usize = 8 << 10;

/// The plain requests of one connection, as a future that ends with the connection or with the first other request.
pub(super) struct Short<'a, F> {
    work: Pin<&'a mut F>,
    activity: &'a Activity,
}

impl<'a, F: Future> Short<'a, F> {
    pub(super) fn new(work: Pin<&'a mut F>, activity: &'a Activity) -> Short<'a, F> {
        Short { work, activity }
    }

    /// Takes no more requests.
    pub(super) fn leave(&self) {
        self.activity.set_leaving();
    }
}

impl<F: Future> Future for Short<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<F::Output> {
        self.work.as_mut().poll(cx)
    }
}

/// Answers plain requests, of which `read` may hold the first. The first other one goes back into the socket; if there
/// is none, the connection is at its end.
pub(super) async fn answer(
    socket: &Shared,
    rules: &Rules,
    header_size: usize,
    cx: &Context,
    mut bytes: BytesMut,
) -> io::Result<()> {
    let activity = &socket.activity;
    loop {
        while let Some(plain) = read(&bytes, rules, header_size) {
            activity.begin();
            let text = bytes.split_to(plain.size).freeze().slice(plain.body..);
            let Some(answer) = call(socket, rules, cx, &plain, text, &mut bytes).await? else {
                return Ok(());
            };
            let (status, text, beside) = outcome(rules, answer);
            let closes = activity.is_leaving();
            // From here on it is the reader who may take too long.
            activity.end();
            socket
                .send(|out| head::write(status, plain.format, text.len(), closes, &beside, out), &text)
                .await?;
            if closes {
                return socket.close().await;
            }
            skip_empty_lines(&mut bytes);
        }
        if !bytes.is_empty() {
            socket.put_back(bytes.freeze());
            return Ok(());
        }
        // Takes the room of what is answered back, as a rule.
        bytes.reserve(SIZE);
        let count = poll_fn(|task| {
            // Nothing of a request is there yet, so nobody misses an answer.
            if activity.is_leaving() { Poll::Ready(Ok(0)) } else { socket.poll_fill(task, &mut bytes) }
        });
        if count.await? == 0 {
            return socket.close().await;
        }
    }
}

/// Some clients send a line break after a body. It begins no request (RFC 9112, 2.2).
fn skip_empty_lines(bytes: &mut BytesMut) {
    while let [b'\n', ..] | [b'\r', b'\n', ..] = &bytes[..] {
        let length = if bytes[0] == b'\n' { 1 } else { 2 };
        bytes.advance(length);
    }
}

/// Runs the calls of one request. Nothing if the far side goes away meanwhile.
async fn call(
    socket: &Shared,
    rules: &Rules,
    cx: &Context,
    plain: &Plain,
    text: Bytes,
    bytes: &mut BytesMut,
) -> io::Result<Option<Answer>> {
    let timed = plain.timeout.map(|timeout| {
        let requested = RequestOptions { headers: None, timeout: Some((Instant::now(), timeout)) };
        requested.put_into(cx)
    });
    let mut calls = pin!(rules.engine.exchange(text, timed.as_ref().unwrap_or(cx)));
    poll_fn(|task| {
        if let Poll::Ready(answer) = calls.as_mut().poll(task) {
            return Poll::Ready(Ok(Some(answer)));
        }
        // Once the next request is there, its sender is too, as far as we can tell.
        if !bytes.is_empty() {
            return Poll::Pending;
        }
        match socket.poll_fill(task, bytes) {
            Poll::Ready(Ok(0)) => Poll::Ready(Ok(None)),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(_)) | Poll::Pending => Poll::Pending,
        }
    })
    .await
}
