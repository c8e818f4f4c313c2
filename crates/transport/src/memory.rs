//! The in-memory transport: connections inside the process, for tests and for services in one program. Part of hops ① and ⑥.
//!
//! Messages are encoded and decoded as over any other duplex transport. To call a service without that, use
//! [`Peer::local`](switchboard_core::Peer::local).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use switchboard_core::{
    Connection, ConnectionError, Engine, FrameSink, FrameSource, Origin, Peer, Service, Settings,
};

use crate::running;

/// How many bytes each end of [`connect`] holds that the other has not read.
const CAPACITY: usize = 64 << 10;

/// Connects a client to a server in this process, and returns the peer that calls the server. `client` answers the calls
/// that the server makes with [`Context::peer`](switchboard_core::Context::peer).
///
/// The connection lasts as long as the peer does, see [`running::run`].
///
/// # Examples
///
/// ```
/// use switchboard_core::{ErrorObject, Router};
/// use switchboard_transport::memory;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b)).build()?;
/// let client = Router::builder().build()?;
/// let peer = memory::connect(server, client);
/// assert_eq!(peer.call::<i64>("add", [2, 3]).await?, 5);
/// # Ok(())
/// # }
/// ```
///
/// # Panics
///
/// Outside of a tokio runtime.
#[must_use = "the connection ends when its peer is dropped"]
pub fn connect(server: impl Service, client: impl Service) -> Peer {
    let (near, far) = pair(CAPACITY);
    let connection = |(source, sink): (MemorySource, MemorySink), service: Arc<dyn Service>| {
        Connection::new(source, sink, Engine::new(service, Settings::default()), Origin::new("memory")).1
    };
    tokio::spawn(running::log_end(connection(far, Arc::new(server))));
    running::run(connection(near, Arc::new(client)))
}

/// Two connected ends, for a [`Connection`] with your own settings. Each holds up to `capacity` bytes that the other has
/// not read.
#[must_use]
pub fn pair(capacity: usize) -> ((MemorySource, MemorySink), (MemorySource, MemorySink)) {
    let (there, back) = (Pipe::new(capacity), Pipe::new(capacity));
    let end = |reads: &Arc<Pipe>, writes: &Arc<Pipe>| {
        (
            MemorySource(Arc::clone(reads)),
            MemorySink { pipe: Arc::clone(writes), queued: VecDeque::new(), bytes: 0 },
        )
    };
    (end(&back, &there), end(&there, &back))
}

/// The reading half of an end.
#[derive(Debug)]
pub struct MemorySource(Arc<Pipe>);

/// The writing half of an end.
#[derive(Debug)]
pub struct MemorySink {
    pipe: Arc<Pipe>,
    queued: VecDeque<Bytes>,
    bytes: usize,
}

/// One direction.
#[derive(Debug)]
struct Pipe {
    capacity: usize,
    state: Mutex<PipeState>,
}

#[derive(Debug, Default)]
struct PipeState {
    frames: VecDeque<Bytes>,
    bytes: usize,
    /// Nothing more is written.
    is_finished: bool,
    /// Nothing more is read.
    is_abandoned: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    fn new(capacity: usize) -> Arc<Pipe> {
        Arc::new(Pipe { capacity, state: Mutex::default() })
    }

    fn locked<T>(&self, act: impl FnOnce(&mut PipeState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

impl FrameSource for MemorySource {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ConnectionError>>> {
        self.0.locked(|state| match state.frames.pop_front() {
            Some(frame) => {
                state.bytes -= frame.len();
                wake(&mut state.writer);
                Poll::Ready(Some(Ok(frame)))
            }
            None if state.is_finished => Poll::Ready(None),
            None => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        })
    }
}

impl Drop for MemorySource {
    fn drop(&mut self) {
        self.0.locked(|state| {
            state.is_abandoned = true;
            wake(&mut state.writer);
        });
    }
}

impl FrameSink for MemorySink {
    fn push(&mut self, frame: &[u8]) {
        self.bytes += frame.len();
        self.queued.push_back(Bytes::copy_from_slice(frame));
    }

    fn queued(&self) -> usize {
        self.bytes
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        let MemorySink { pipe, queued, bytes } = self;
        pipe.locked(|state| {
            if state.is_abandoned && !queued.is_empty() {
                let gone = std::io::Error::new(std::io::ErrorKind::BrokenPipe, "the other end was dropped");
                return Poll::Ready(Err(gone.into()));
            }
            while state.bytes < pipe.capacity {
                let Some(frame) = queued.pop_front() else { return Poll::Ready(Ok(())) };
                *bytes -= frame.len();
                state.bytes += frame.len();
                state.frames.push_back(frame);
                wake(&mut state.reader);
            }
            if queued.is_empty() {
                return Poll::Ready(Ok(()));
            }
            state.writer = Some(cx.waker().clone());
            Poll::Pending
        })
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        let flushed = self.poll_flush(cx);
        if flushed.is_ready() {
            self.finish();
        }
        flushed
    }
}

impl MemorySink {
    fn finish(&self) {
        self.pipe.locked(|state| {
            state.is_finished = true;
            wake(&mut state.reader);
        });
    }
}

impl Drop for MemorySink {
    fn drop(&mut self) {
        self.finish();
    }
}
