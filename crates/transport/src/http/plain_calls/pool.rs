//! Connections that wait for their next call.
//!
//! No task belongs to a connection: a call takes one out, writes, reads, and puts it back. While connections wait, one task looks
//! after all of them now and then, and closes those that waited too long or that the server has closed.

use std::collections::VecDeque;
use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::Uri;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tower_service::Service as _;

use crate::http::connector::{Connector, Wire};

/// How often connections are looked after while they wait. So their age is known without a look at the clock at each call.
const ROUNDS: u32 = 4;

/// The connections to one server.
pub(super) struct Pool {
    connector: Connector,
    uri: Uri,
    shared: Arc<Shared>,
}

struct Shared {
    /// The time between two rounds; none if connections are not kept.
    pause: Option<Duration>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// The connections, with the rounds that each has waited. The last one was used last.
    idle: Vec<(Wire, u32)>,
    /// Calls that connect, and take a connection that becomes free before.
    calls: VecDeque<oneshot::Sender<Wire>>,
    keeper: Option<AbortHandle>,
}

/// A connection for a call.
pub(super) struct Taken {
    pub(super) wire: Wire,
    /// Whether other calls were made over it.
    pub(super) is_reused: bool,
}

impl Pool {
    pub(super) fn new(connector: Connector, uri: Uri, idle_time: Duration) -> Pool {
        let pause = (!idle_time.is_zero()).then(|| idle_time / ROUNDS);
        Pool { connector, uri, shared: Arc::new(Shared { pause, waiting: Mutex::default() }) }
    }

    /// A connection that waits, or a new one.
    pub(super) async fn take(&self) -> Result<Taken, Box<dyn Error + Send + Sync>> {
        match self.shared.take() {
            Some(wire) => Ok(Taken { wire, is_reused: true }),
            None => self.connect().await,
        }
    }

    /// Connects, unless a connection becomes free before.
    async fn connect(&self) -> Result<Taken, Box<dyn Error + Send + Sync>> {
        let mut connector = self.connector.clone();
        let mut freed = self.shared.freed();
        let mut connecting = pin!(async {
            poll_fn(|task| connector.poll_ready(task)).await?;
            connector.call(self.uri.clone()).await
        });
        let taken = poll_fn(|task| {
            if let Poll::Ready(Ok(wire)) = Pin::new(&mut freed).poll(task) {
                return Poll::Ready(Ok(Taken { wire, is_reused: true }));
            }
            let connected = connecting.as_mut().poll(task);
            connected.map_ok(|wire| Taken { wire: wire.into_inner(), is_reused: false })
        })
        .await;
        freed.close();
        if let Ok(wire) = freed.try_recv() {
            self.put(wire);
        }
        taken
    }

    /// Takes a connection back whose last response was read to its end.
    pub(super) fn put(&self, wire: Wire) {
        self.shared.put(wire);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(keeper) = self.shared.waiting().keeper.take() {
            keeper.abort();
        }
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Wire> {
        loop {
            let (mut wire, _) = self.waiting().idle.pop()?;
            if is_quiet(&mut wire) {
                return Some(wire);
            }
        }
    }

    /// What receives the next connection that becomes free.
    fn freed(&self) -> oneshot::Receiver<Wire> {
        let (sender, freed) = oneshot::channel();
        let mut waiting = self.waiting();
        waiting.calls.retain(|call| !call.is_closed());
        waiting.calls.push_back(sender);
        freed
    }

    fn put(self: &Arc<Self>, mut wire: Wire) {
        let Some(pause) = self.pause else { return };
        let mut waiting = self.waiting();
        while let Some(call) = waiting.calls.pop_front() {
            match call.send(wire) {
                Ok(()) => return,
                Err(unsent) => wire = unsent,
            }
        }
        waiting.idle.push((wire, 0));
        // A keeper ends with its runtime, too.
        if waiting.keeper.as_ref().is_none_or(AbortHandle::is_finished) {
            let keeper = tokio::spawn(keep(Arc::downgrade(self), pause));
            waiting.keeper = Some(keeper.abort_handle());
        }
    }

    /// Closes what waited too long, and what the server closed. False if no connection is left.
    fn look_after(&self) -> bool {
        let mut waiting = self.waiting();
        waiting.idle.retain_mut(|(wire, rounds)| {
            *rounds += 1;
            *rounds < ROUNDS && is_quiet(wire)
        });
        if waiting.idle.is_empty() {
            waiting.keeper = None;
        }
        !waiting.idle.is_empty()
    }
}

/// Looks after the connections until none is left.
async fn keep(shared: Weak<Shared>, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        if !shared.upgrade().is_some_and(|shared| shared.look_after()) {
            return;
        }
    }
}

/// Whether a connection is open and the server has sent nothing that was not asked for. Without a system call, as long as nothing
/// has happened.
fn is_quiet(wire: &mut Wire) -> bool {
    let mut byte = [0];
    let mut byte = ReadBuf::new(&mut byte);
    let read = Pin::new(wire).poll_read(&mut Context::from_waker(Waker::noop()), &mut byte);
    read.is_pending()
}
