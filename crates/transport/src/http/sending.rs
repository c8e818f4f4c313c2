//! Responses over HTTP/2 while they are sent.
//!
//! hyper takes a whole response as soon as the peer opens a window for one byte of it, and the bytes that the socket takes
//! may be replies to pings. So the bytes of responses are counted when they leave: the amount waiting is known to the timeout,
//! which drops a peer that takes too little, and to the admission of further requests.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::body::Body;
use super::pipe::Shared;

/// The body of a response over HTTP/2.
pub(super) struct SendingBody {
    body: Body,
    socket: Arc<Shared>,
}

/// A piece of it. What was not sent when it is dropped is not waited for any more.
pub(super) struct SendingBytes {
    bytes: Bytes,
    socket: Arc<Shared>,
}

impl SendingBody {
    pub(super) fn new(body: Body, socket: Arc<Shared>) -> SendingBody {
        if let Some(bytes) = body.whole() {
            socket.activity.add_backlog(bytes.len());
        }
        SendingBody { body, socket }
    }
}

impl HttpBody for SendingBody {
    type Data = SendingBytes;
    type Error = <Body as HttpBody>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<SendingBytes>, Self::Error>>> {
        // What is there as a whole was counted from the start: it waits until the peer opens a window.
        let is_counted = self.body.whole().is_some();
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        frame.map(|frame| {
            frame.map(|frame| {
                frame.map(|frame| {
                    frame.map_data(|bytes| {
                        if !is_counted {
                            self.socket.activity.add_backlog(bytes.len());
                        }
                        SendingBytes { bytes, socket: Arc::clone(&self.socket) }
                    })
                })
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for SendingBody {
    fn drop(&mut self) {
        // Nothing of it was asked for, or it was asked for and is empty now.
        if let Some(bytes) = self.body.whole() {
            self.socket.activity.remove_backlog(bytes.len());
        }
    }
}

impl Buf for SendingBytes {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.socket.activity.remove_backlog(count);
    }
}

impl Drop for SendingBytes {
    fn drop(&mut self) {
        self.socket.activity.remove_backlog(self.bytes.len());
    }
}
