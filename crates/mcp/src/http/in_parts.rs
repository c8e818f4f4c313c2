//! The answer to a POST as an event stream: sent while the client is there, and kept for it while it is not.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as Task, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use switchboard_core::{Answer, First, Json, Output, Outputs};

use super::alive::Alive;
use super::body::write_event;
use super::events::EventId;
use super::sessions::InUse;

/// What ends the stream of an answer before the answer.
#[derive(Default)]
pub(super) struct Control(Mutex<ControlState>);

#[derive(Default)]
struct ControlState {
    retry: Option<Duration>,
    waker: Option<Waker>,
}

impl Control {
    pub(super) fn close(&self, retry: Duration) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.retry = Some(retry);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// When the client is to come back, if the stream is to end.
    fn poll(&self, cx: &mut Task<'_>) -> Option<Duration> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.waker = Some(cx.waker().clone());
        state.retry.take()
    }
}

/// The place of an answer in its session.
pub(super) struct Place {
    pub(super) in_use: Option<InUse>,
    /// The stream of its events, once there is one.
    pub(super) stream: Option<u64>,
    /// The identifier of the request that is answered, unless it is a batch.
    pub(super) request: Option<Json>,
    /// Whether the client has an identifier to come back with (MCP-HTTP-11).
    pub(super) is_primed: bool,
}

/// An answer as events. Dropped before its end, it cancels the call of a stateless client; the call of a session goes on, and
/// its events are kept.
pub(super) struct Events {
    pub(super) outputs: Option<Outputs>,
    pub(super) place: Option<Place>,
    pub(super) control: Arc<Control>,
    pub(super) alive: Alive,
}

impl Events {
    /// The answer as a whole, if it becomes one. None if the stream has to begin.
    pub(super) async fn first(&mut self) -> Option<Answer> {
        std::future::poll_fn(|cx| {
            let retry = self.control.poll(cx);
            if retry.is_some() {
                // The stream says so.
                self.control.close(retry.unwrap_or_default());
                return Poll::Ready(None);
            }
            let Some(outputs) = &mut self.outputs else { return Poll::Ready(None) };
            let first = std::pin::pin!(outputs.first()).poll(cx);
            match first {
                Poll::Ready(First::Whole(whole)) => {
                    self.outputs = None;
                    Poll::Ready(Some(whole))
                }
                Poll::Ready(_) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    fn write(&mut self, out: &mut Vec<u8>, text: &Bytes) {
        match &mut self.place {
            None => write_event(out, None, text),
            Some(place) => {
                let id = place.keep(text);
                write_event(out, id, text);
            }
        }
    }
}

impl Place {
    fn stream(&mut self) -> Option<u64> {
        let live = self.in_use.as_ref()?.live();
        Some(*self.stream.get_or_insert_with(|| live.open_stream(false, self.request.take())))
    }

    fn keep(&mut self, text: &Bytes) -> Option<EventId> {
        let stream = self.stream()?;
        Some(self.in_use.as_ref()?.live().keep(stream, text))
    }

    fn end(&mut self) {
        if let (Some(in_use), Some(stream)) = (&self.in_use, self.stream) {
            in_use.live().end_stream(stream);
        }
    }

    /// The event that a client can come back with before there is another.
    fn prime(&mut self, out: &mut Vec<u8>, retry: Option<Duration>) {
        let Some(stream) = self.stream() else { return };
        let is_primed = std::mem::replace(&mut self.is_primed, true);
        if !is_primed {
            out.extend_from_slice(format!("id: {stream}-0\n").as_bytes());
        }
        if let Some(retry) = retry {
            out.extend_from_slice(format!("retry: {}\n", retry.as_millis()).as_bytes());
        }
        if !is_primed || retry.is_some() {
            out.extend_from_slice(b"data: \n\n");
        }
    }
}

impl Stream for Events {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Option<Bytes>> {
        let this = self.get_mut();
        let mut out = Vec::new();
        if this.outputs.is_none() {
            return Poll::Ready(None);
        }
        let retry = this.control.poll(cx);
        if let Some(place) = &mut this.place
            && (!place.is_primed || retry.is_some())
        {
            place.prime(&mut out, retry);
        }
        if retry.is_some() {
            // The rest is kept for the client.
            this.detach();
            return Poll::Ready(Some(out.into()));
        }
        while out.len() < AT_ONCE {
            let Some(outputs) = &mut this.outputs else { break };
            match Pin::new(outputs).poll_next(cx) {
                Poll::Ready(Some(Output::Message(text, _))) => this.write(&mut out, &text),
                Poll::Ready(Some(_)) => {}
                Poll::Ready(None) => {
                    this.outputs = None;
                    if let Some(place) = &mut this.place {
                        place.end();
                    }
                    break;
                }
                Poll::Pending => break,
            }
        }
        if out.is_empty() && this.outputs.is_none() {
            return Poll::Ready(None);
        }
        this.alive.poll(cx, &mut out);
        if out.is_empty() { Poll::Pending } else { Poll::Ready(Some(out.into())) }
    }
}

/// How many bytes of events that are there at once go out as one piece.
const AT_ONCE: usize = 16 << 10;

impl Events {
    /// Goes on without the client, if there is a session that keeps what it would have got.
    fn detach(&mut self) {
        let (Some(mut outputs), Some(mut place)) = (self.outputs.take(), self.place.take()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            while let Some(output) = futures_util::StreamExt::next(&mut outputs).await {
                if let Output::Message(text, _) = output {
                    place.keep(&text);
                }
            }
            place.end();
        });
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.detach();
    }
}
