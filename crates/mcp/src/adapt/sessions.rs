//! Sessions of an MCP server: one for each client that keeps a session with us.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_core::{Call, CallError, Context, ErrorObject, Reply, ReplyFuture, Service, Session};
use tokio::sync::OnceCell;

use super::methods::Methods;
use crate::client::Connector;
use crate::model::{LogLevel, methods};

/// The methods of an MCP server, where each session of a client has its own session of the server: its questions, log messages and updates
/// reach only that client, and a connection that breaks affects only that client. It ends with the session of the client. Cheap to clone.
///
/// It is for calls of [exclusive](Session::is_exclusive) sessions: others may come from many clients.
#[derive(Clone)]
pub struct Sessions {
    id: u64,
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
        Sessions { id, connect: Arc::new(move |connector| Box::pin(connect(connector))) }
    }

    /// Begins the session of a call, unless it has begun. It goes on if the call does not wait for it, because the next call will need it.
    async fn begin(&self, cell: &Cell, cx: &Context) -> Result<Methods, CallError> {
        let (cell, connector) = (Arc::clone(cell), Connector::for_session_of(cx));
        let connect = Arc::clone(&self.connect);
        let begun = tokio::spawn(async move { cell.get_or_try_init(|| connect(connector)).await.cloned() });
        begun.await.unwrap_or_else(|error| Err(CallError::Unreachable(error.to_string().into())))
    }
}

impl Service for Sessions {
    fn call(&self, call: &Call) -> ReplyFuture {
        let cell = Own::cell(call.cx.session(), self.id);
        if let Some(methods) = cell.get() {
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
type Cell = Arc<OnceCell<Methods>>;

/// The sessions of MCP servers that belong to the session of one client. They end with it.
#[derive(Default)]
pub(crate) struct Own {
    cells: Mutex<Vec<(u64, Cell)>>,
    is_watched: AtomicBool,
}

impl Own {
    fn cell(session: &Session, id: u64) -> Cell {
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
        if let Some((_, cell)) = cells.iter().find(|(other, _)| *other == id) {
            return Arc::clone(cell);
        }
        let cell = Cell::default();
        cells.push((id, Arc::clone(&cell)));
        cell
    }

    fn cells(&self) -> MutexGuard<'_, Vec<(u64, Cell)>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sessions that have begun.
    fn begun(session: &Session) -> Vec<Methods> {
        let Some(own) = session.get::<Own>() else { return Vec::new() };
        let cells = own.cells();
        cells.iter().filter_map(|(_, cell)| cell.get().cloned()).collect()
    }

    /// The client wants log messages of this level.
    pub(crate) fn set_level(session: &Session, level: LogLevel) {
        for methods in Own::begun(session) {
            tokio::spawn(async move { methods.client().set_level(level).await });
        }
    }

    /// The folders of the client have changed.
    pub(crate) fn roots_changed(session: &Session) {
        for methods in Own::begun(session) {
            tokio::spawn(async move {
                methods.client().notify(methods::ROOTS_CHANGED).await;
            });
        }
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("id", &self.id).finish_non_exhaustive()
    }
}
