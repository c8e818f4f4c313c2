//! The body of a request, which is shown to the tap when it is sent, and not before.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use switchboard_core::{Direction, Tap, Wire};

/// A body that is there at once.
#[derive(Debug)]
pub(super) struct Sent {
    text: Bytes,
    /// The tap to show it to, with the head before it. None once it was shown.
    shown: Option<Box<(Tap, String)>>,
}

impl Sent {
    pub(super) fn new(text: Bytes) -> Sent {
        Sent { text, shown: None }
    }

    /// All of it, before it is sent.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// The same body, shown behind this head when it is sent.
    pub(super) fn show(&mut self, tap: &Tap, head: String) {
        self.shown = Some(Box::new((tap.clone(), head)));
    }
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = Infallible;

    /// It is asked for when the head has been written to an open connection.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(shown) = self.shown.take() {
            let (tap, head) = *shown;
            tap.show(Direction::Sent, Wire::Carrier(&head));
            tap.show(Direction::Sent, Wire::Message(&self.text));
        }
        let text = std::mem::take(&mut self.text);
        Poll::Ready((!text.is_empty()).then(|| Ok(Frame::data(text))))
    }

    fn is_end_stream(&self) -> bool {
        self.text.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.text.len() as u64)
    }
}
