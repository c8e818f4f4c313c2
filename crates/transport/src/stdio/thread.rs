//! A thread reads what the system cannot wait for; it ends with the process at the latest.

use std::fs::File;
use std::io::{self, Read as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

/// A file that a thread reads, a few chunks ahead.
#[derive(Debug)]
pub(super) struct Blocking {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    chunk: Bytes,
}

const AHEAD: usize = 4;
const CHUNK: usize = 16 << 10;

impl Blocking {
    pub(super) fn read(mut file: File) -> io::Result<Blocking> {
        let (sender, chunks) = mpsc::channel(AHEAD);
        let read = move || {
            let mut buffer = vec![0; CHUNK];
            loop {
                let chunk = match file.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(length) => Ok(Bytes::copy_from_slice(&buffer[..length])),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let is_last = chunk.is_err();
                if sender.blocking_send(chunk).is_err() || is_last {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("stdin".to_owned()).spawn(read)?;
        Ok(Blocking { chunks, chunk: Bytes::new() })
    }
}

impl AsyncRead for Blocking {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.chunk.is_empty() {
            match ready!(self.chunks.poll_recv(cx)) {
                Some(chunk) => self.chunk = chunk?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let length = self.chunk.len().min(buf.remaining());
        buf.put_slice(&self.chunk[..length]);
        self.chunk.advance(length);
        Poll::Ready(Ok(()))
    }
}
