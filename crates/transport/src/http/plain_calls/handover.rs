//! Leaves a response that has begun to hyper.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::connector::Wire;
use crate::http::interim;
use crate::http::tapped_body::Sent;

/// Reads a response with hyper that began with these bytes. None if too many interim responses came before it.
///
/// The request was sent already: hyper gets one that goes nowhere. The connection ends with the response.
pub(super) async fn read_by_hyper(wire: Wire, begun: Vec<u8>) -> Option<hyper::Result<Response<Incoming>>> {
    let replay = Replay { wire, begun: Bytes::from(begun), has_asked: false, reader: None };
    let (mut sender, connection) = match http1::handshake(TokioIo::new(replay)).await {
        Ok(both) => both,
        Err(error) => return Some(Err(error)),
    };
    // It ends with the response, or when nobody waits for it.
    tokio::spawn(connection);
    let mut request = Request::new(Sent::new(Bytes::new()));
    *request.method_mut() = Method::POST;
    interim::bounded(request, |request| sender.send_request(request)).await
}

/// A connection whose request was sent, and whose response has begun.
struct Replay {
    wire: Wire,
    /// What was received already.
    begun: Bytes,
    /// Whether hyper has written a request. Before that, it takes a response for a mistake.
    has_asked: bool,
    /// Who waits for that.
    reader: Option<Waker>,
}

impl AsyncRead for Replay {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.has_asked {
            self.reader = Some(task.waker().clone());
            return Poll::Pending;
        }
        if self.begun.is_empty() {
            return Pin::new(&mut self.wire).poll_read(task, buf);
        }
        let length = self.begun.len().min(buf.remaining());
        buf.put_slice(&self.begun.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Replay {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.has_asked = true;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(task)
    }
}
