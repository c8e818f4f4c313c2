//! Sessions of an MCP server: one for each client that keeps a session with us.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use switchboard_core::{Call, CallError, Context, ErrorObject, Reply, ReplyFuture, Service, Session};
use tokio::sync::OnceCell;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::methods::Methods;
use crate::client::{Connector, HANDSHAKE};
use crate::model::{LogLevel, methods};

/// The methods of an MCP server, where each session of a client has its own session of the server: its questions, log messages and updates
/// reach only that client, and a connection that breaks affects only that client. It ends with the session of the client. Cheap to clone.
///
/// It is for calls of [exclusive](Session::is_exclusive) sessions: others may come from many clients.
#[derive(Clone)]
pub struct Sessions {
    owners: Arc<Owners>,
    connect: Arc<Connect>,
}

type Connect = dyn Fn(Connector) -> Connecting + Send + Sync;
type Connecting = Pin<Box<dyn Future<Output = Result<Methods, CallError>> + Send>>;

impl Sessions {
    /// Sessions that this function begins. It is called at the first call of a client, and has to connect with the connector that it gets.
    pub fn new<F, R>(connect: F) -> Sessions
    where
        F: Fn(Connector) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Methods, CallError>> + Send + 'static,
    {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let owners = Arc::new(Owners { id, all: Mutex::default() });
        Sessions { owners, connect: Arc::new(move |connector| Box::pin(connect(connector))) }
    }

    /// Begins the session of a call, unless it has begun. It goes on if the call does not wait for it, because the next call will need it.
    async fn begin(&self, cell: &Arc<Cell>, cx: &Context) -> Result<Methods, CallError> {
        let (cell, connector) = (Arc::clone(cell), Connector::for_session_of(cx));
        let connect = Arc::clone(&self.connect);
        let begun = tokio::spawn(async move {
            let attempt = async {
                cell.may_begin()?;
                let begun = tokio::time::timeout(HANDSHAKE, connect(connector)).await;
                begun.unwrap_or(Err(CallError::TimedOut)).inspect_err(|_| cell.failed())
            };
            cell.methods.get_or_try_init(|| attempt).await.cloned()
        });
        begun.await.unwrap_or_else(|error| Err(CallError::Unreachable(error.to_string().into())))
    }
}

impl Service for Sessions {
    fn call(&self, call: &Call) -> ReplyFuture {
        let cell = Own::cell(call.cx.session(), &self.owners);
        if let Some(methods) = cell.methods.get() {
            return methods.call(call);
        }
        let (sessions, call) = (self.clone(), call.clone());
        ReplyFuture::pending(async move {
            match sessions.begin(&cell, &call.cx).await {
                Ok(methods) => methods.call(&call).await,
                Err(error) => Reply::error(ErrorObject::from(error)),
            }
        })
    }
}

/// A session that begins with the first call.
#[derive(Default)]
struct Cell {
    methods: OnceCell<Methods>,
    /// When the next attempt may start, and how many have failed in a row.
    failed: Mutex<Option<(Instant, u32)>>,
}

/// The pause after an attempt that failed: at first, and at most.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);

impl Cell {
    fn last_failure(&self) -> MutexGuard<'_, Option<(Instant, u32)>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an attempt may be made now: a program that does not start is not started for every call.
    fn may_begin(&self) -> Result<(), CallError> {
        let left = self.last_failure().map(|(until, _)| until.saturating_duration_since(Instant::now()));
        match left.filter(|left| !left.is_zero()) {
            None => Ok(()),
            Some(left) => {
                let text = format!("the server failed recently; next attempt in {:.1} s", left.as_secs_f64());
                Err(CallError::Unreachable(text.into()))
            }
        }
    }

    fn failed(&self) {
        let mut failed = self.last_failure();
        let count = failed.map_or(0, |(_, count)| count);
        let pause = (FIRST * 2_u32.saturating_pow(count)).min(LONGEST);
        *failed = Some((Instant::now() + pause, (count + 1).min(16)));
    }
}

/// The clients that have sessions of one server. When the server is dropped, these end, even if the clients go on.
struct Owners {
    id: u64,
    all: Mutex<Vec<Weak<Own>>>,
}

impl Owners {
    fn add(&self, own: &Arc<Own>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        // Now and then, so that each addition costs little.
        if all.len() == all.capacity() {
            all.retain(|own| own.strong_count() > 0);
        }
        all.push(Arc::downgrade(own));
    }
}

impl Drop for Owners {
    fn drop(&mut self) {
        let all = self.all.get_mut().unwrap_or_else(PoisonError::into_inner);
        for own in all.iter().filter_map(Weak::upgrade) {
            let mut cells = own.cells();
            let place = cells.iter().position(|(id, _)| *id == self.id);
            let ended = place.map(|place| cells.swap_remove(place));
            drop(cells);
            drop(ended);
        }
    }
}

/// The sessions of MCP servers that belong to the session of one client. They end with it.
#[derive(Default)]
pub(crate) struct Own {
    cells: Mutex<Vec<(u64, Arc<Cell>)>>,
    is_watched: AtomicBool,
    /// What tells the servers which log messages are wanted, and that folders have changed: one task each, the latest.
    level: Telling,
    roots: Telling,
}

/// A task that a later one replaces, so that a client cannot start any number of them.
#[derive(Default)]
struct Telling(Mutex<Option<AbortHandle>>);

impl Telling {
    fn replace(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task = tokio::spawn(task).abort_handle();
        let before = self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(task);
        before.inspect(AbortHandle::abort);
    }
}

impl Own {
    fn cell(session: &Session, owners: &Owners) -> Arc<Cell> {
        let own = session.get_or_insert_with(Own::default);
        if !own.is_watched.swap(true, Ordering::Relaxed) {
            // A call that waits for its client holds the session, so the session would never be dropped.
            let own = Arc::downgrade(&own);
            session.on_end(move |_| {
                if let Some(own) = own.upgrade() {
                    let ended = std::mem::take(&mut *own.cells());
                    drop(ended);
                }
            });
        }
        let mut cells = own.cells();
        if let Some((_, cell)) = cells.iter().find(|(other, _)| *other == owners.id) {
            return Arc::clone(cell);
        }
        let cell = Arc::<Cell>::default();
        cells.push((owners.id, Arc::clone(&cell)));
        drop(cells);
        owners.add(&own);
        cell
    }

    fn cells(&self) -> MutexGuard<'_, Vec<(u64, Arc<Cell>)>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sessions that have begun.
    fn begun(session: &Session) -> Vec<Methods> {
        let Some(own) = session.get::<Own>() else { return Vec::new() };
        let cells = own.cells();
        cells.iter().filter_map(|(_, cell)| cell.methods.get().cloned()).collect()
    }

    /// The client wants log messages of this level.
    pub(crate) fn set_level(session: &Session, level: LogLevel) {
        let begun = Own::begun(session);
        if let Some(own) = session.get::<Own>() {
            own.level.replace(async move {
                join_all(begun.iter().map(|methods| methods.client().set_level(level))).await;
            });
        }
    }

    /// The folders of the client have changed.
    pub(crate) fn roots_changed(session: &Session) {
        let begun = Own::begun(session);
        if let Some(own) = session.get::<Own>() {
            own.roots.replace(async move {
                join_all(begun.iter().map(|methods| methods.client().notify(methods::ROOTS_CHANGED))).await;
            });
        }
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("id", &self.owners.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_fails_is_not_tried_for_every_call() {
        let tried = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&tried);
        let sessions = Sessions::new(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            async { Err(CallError::Unreachable("it does not start".into())) }
        });
        let session = || Context::from(Session::new(switchboard_core::Origin::new("test")));
        let (one, two) = (session(), session());
        let ask = async |cx: &Context| {
            let reply = sessions.call(&Call::new("m", None).with_context(cx.clone())).await;
            assert!(matches!(reply.outcome, switchboard_core::Outcome::Error(_)));
            tried.load(Ordering::Relaxed)
        };
        assert_eq!((ask(&one).await, ask(&one).await), (1, 1));
        // The session of another client is not affected.
        assert_eq!(ask(&two).await, 2);
        tokio::time::advance(LONGEST).await;
        assert_eq!(ask(&one).await, 3);
    }
}
