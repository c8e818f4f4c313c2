//! Interim responses (1xx), of which a server may send any number before its final one. They carry no information for us, so more than a few end
//! the request: reading them forever would only keep this side busy.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::Poll;

use http::Request;
use switchboard_core::CallError;
use tokio::sync::Notify;

/// How many may come. A server that works for long may send one now and then, to say so.
pub(super) const MOST: u32 = 100;

/// The error of a request to this host and port that got more of them.
pub(super) fn too_many(target: &str) -> CallError {
    CallError::Transport(format!("{target} sent more than {MOST} interim responses and no final one").into())
}

/// Sends a request over HTTP/1.1, and waits for the answer. None if too many interim responses came before it.
pub(super) async fn bounded<B, F: Future>(
    mut request: Request<B>,
    send: impl FnOnce(Request<B>) -> F,
) -> Option<F::Output> {
    let seen = AtomicU32::new(0);
    let too_many = Arc::new(Notify::new());
    let told = Arc::clone(&too_many);
    hyper::ext::on_informational(&mut request, move |_| {
        if seen.fetch_add(1, Relaxed) >= MOST {
            told.notify_one();
        }
    });
    let mut answer = pin!(send(request));
    let mut too_many = pin!(too_many.notified());
    poll_fn(|cx| match answer.as_mut().poll(cx) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending => too_many.as_mut().poll(cx).map(|()| None),
    })
    .await
}
