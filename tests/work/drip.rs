//! A stream whose bytes come in small reads.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Gives so many bytes at once first, then so many a read. What is written to it is dropped.
pub(crate) struct Drip {
    bytes: Vec<u8>,
    at: usize,
    first: usize,
    each: usize,
}

impl Drip {
    pub(crate) fn new(bytes: Vec<u8>, first: usize, each: usize) -> Drip {
        Drip { bytes, at: 0, first, each }
    }
}

impl AsyncRead for Drip {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = if self.at < self.first { self.first - self.at } else { self.each };
        let count = most.min(buffer.remaining()).min(self.bytes.len() - self.at);
        buffer.put_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Drip {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
