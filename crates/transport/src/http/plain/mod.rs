//! The fast path for plain requests over HTTP/1.1.
//!
//! Nearly every request is a short POST to an RPC path, with a `Content-Length`. Such a plain request does not need
//! hyper, and answering it here takes about half the instructions. A request that is not plain (unusual, long or
//! invalid) is left untouched: hyper answers it, and the requests after it are examined here again. This path decides
//! only what every rule accepts, and its responses are identical to hyper's, byte for byte.

#[cfg(test)]
mod clients;
mod head;
mod request;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context as Task, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use switchboard_core::{Answer, Arrival, Context};

pub(super) use self::head::has_date;
use self::request::{Plain, read};
pub(super) use self::request::{header_size, paths};
use super::answer::{outcome, refusal_answer};
use super::forwarding::Forwarding;
use super::pipe::Shared;
use super::rules::Rules;
use super::timeouts::Activity;
use crate::server::Shutdown;

/// How many bytes are read at once. A longer request is not plain.
pub(super) const SIZE: usize = 8 << 10;

/// How long to wait for the rest of a body before hyper takes over. Many clients write head and body separately, one
/// directly after the other.
pub(super) const BODY_TIME: Duration = Duration::from_millis(100);

/// The future that answers the plain requests of one connection. It ends with the connection or at the first request that
/// is not plain.
pub(super) struct PlainRequests<'a, F> {
    work: Pin<&'a mut F>,
    activity: &'a Activity,
}

impl<'a, F: Future> PlainRequests<'a, F> {
    pub(super) fn new(work: Pin<&'a mut F>, activity: &'a Activity) -> PlainRequests<'a, F> {
        PlainRequests { work, activity }
    }

    /// Takes no more requests.
    pub(super) fn leave(&self) {
        self.activity.set_leaving();
    }
}

impl<F: Future> Future for PlainRequests<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<F::Output> {
        self.work.as_mut().poll(cx)
    }
}

/// Answers plain requests; `bytes` is what was read before. The first request that is not plain is put back into the
/// socket. If nothing was put back, the connection has ended.
pub(super) async fn answer(
    socket: &Shared,
    rules: &Rules,
    header_size: usize,
    cx: &Context,
    forwarding: Option<&Forwarding>,
    stop: &Shutdown,
    mut bytes: BytesMut,
) -> io::Result<()> {
    let activity = &socket.activity;
    let mut cx = cx.clone();
    loop {
        skip_empty_lines(&mut bytes);
        while let Some(plain) = read(&bytes, rules, header_size) {
            activity.begin();
            if plain.size > bytes.len() && !has_rest(socket, plain.size, &mut bytes).await {
                activity.end();
                break;
            }
            // Head and body in one buffer; the head is `request[..plain.body]`.
            let request = bytes.split_to(plain.size).freeze();
            let text = request.slice(plain.body..);
            cx.metadata_mut().set_head(request.slice(plain.headers..plain.body));
            if let Some(forwarding) = forwarding {
                cx = forwarding.of_metadata(cx);
            }
            let Some(answer) = call(socket, rules, &cx, &plain, text, &mut bytes).await? else {
                return Ok(());
            };
            // Or the buffer could not be used again.
            cx.metadata_mut().set_head(Bytes::new());
            let (status, text, beside) = outcome(rules, answer);
            let is_closing = socket.is_closing() || stop.is_handed_over();
            let closes = plain.closes || activity.is_leaving() || is_closing;
            if is_closing {
                // More requests may be on their way. Closing at once could lose the answer to this one.
                activity.note_unread();
            }
            let origin = plain.origin.map(|(from, to)| &request[from..to]);
            let head = head::Head {
                status,
                format: plain.format,
                length: text.len(),
                origin,
                beside: &beside,
                closes,
            };
            // From here on the peer's reading is timed, not the call.
            activity.end();
            activity.note_plain();
            socket.send(|out| head.write(rules.cors(), out), &text).await?;
            if closes {
                return socket.close().await;
            }
            skip_empty_lines(&mut bytes);
        }
        if !bytes.is_empty() {
            socket.put_back(bytes.freeze());
            return Ok(());
        }
        // Reuses the buffer of the answered requests if nothing refers to it any more.
        bytes.reserve(SIZE);
        let count = poll_fn(|task| {
            // No part of a request has arrived, so closing loses nothing.
            if activity.is_leaving() { Poll::Ready(Ok(0)) } else { socket.poll_fill(task, &mut bytes) }
        });
        if count.await? == 0 {
            return socket.close().await;
        }
    }
}

/// Skips the line breaks that some clients send after a body (RFC 9112, 2.2).
fn skip_empty_lines(bytes: &mut BytesMut) {
    while let [b'\n', ..] | [b'\r', b'\n', ..] = &bytes[..] {
        let length = if bytes[0] == b'\n' { 1 } else { 2 };
        bytes.advance(length);
    }
}

/// Waits for the rest of a request of this size. False if it does not arrive in time, or the connection fails; hyper, which
/// then reads the request, handles either.
async fn has_rest(socket: &Shared, size: usize, bytes: &mut BytesMut) -> bool {
    bytes.reserve(size - bytes.len());
    let rest = async {
        while bytes.len() < size {
            if !matches!(poll_fn(|task| socket.poll_fill(task, bytes)).await, Ok(1..)) {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(BODY_TIME, rest).await.unwrap_or(false)
}

/// Runs the calls of one request. `None` if the peer disconnects meanwhile.
async fn call(
    socket: &Shared,
    rules: &Rules,
    cx: &Context,
    plain: &Plain,
    text: Bytes,
    bytes: &mut BytesMut,
) -> io::Result<Option<Answer>> {
    let timed = plain.timeout.map(|timeout| {
        let mut cx = cx.clone();
        cx.expect_within(timeout);
        cx
    });
    let cx = timed.as_ref().unwrap_or(cx);
    if rules.settings().admission.is_some() {
        return unless_gone(socket, bytes, Box::pin(admit_and_call(rules, cx, plain, text)).as_mut()).await;
    }
    unless_gone(socket, bytes, pin!(rules.engine.exchange(text, cx))).await
}

/// Asks the admission, and runs the calls if it lets them in.
async fn admit_and_call(rules: &Rules, cx: &Context, plain: &Plain, text: Bytes) -> Answer {
    let path = &rules.plain_paths[plain.path];
    let Some(admission) = rules.engine.admit(&Arrival::request(cx, "POST", path, false)) else {
        return rules.engine.exchange(text, cx).await;
    };
    match admission.await {
        Ok(cx) => rules.engine.exchange(text, &cx).await,
        Err(refusal) => refusal_answer(refusal),
    }
}

/// Waits for an answer. `None` if the peer disconnects meanwhile.
async fn unless_gone(
    socket: &Shared,
    bytes: &mut BytesMut,
    mut calls: Pin<&mut impl Future<Output = Answer>>,
) -> io::Result<Option<Answer>> {
    poll_fn(|task| {
        if let Poll::Ready(answer) = calls.as_mut().poll(task) {
            return Poll::Ready(Ok(Some(answer)));
        }
        // Bytes of the next request prove that the peer is still there; reading can wait.
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
