//! The connections that belong to one session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

use crate::forward::Forward;
use crate::session::Session;

/// Tells upstreams apart, also from those that no longer exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UpstreamId(u64);

impl UpstreamId {
    pub(super) fn new() -> UpstreamId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        UpstreamId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A connection that is made when it is first needed.
pub(super) type Cell = Arc<OnceCell<Forward>>;

/// The connections of a session, one for each upstream that it has called. They end with the session.
#[derive(Default)]
pub(super) struct OwnConnections(Mutex<Vec<(UpstreamId, Cell)>>);

impl OwnConnections {
    /// The connection of this session to this upstream.
    pub(super) fn cell(session: &Session, id: UpstreamId) -> Cell {
        let own = session.get_or_insert_with(OwnConnections::default);
        let mut cells = own.cells();
        if let Some((_, cell)) = cells.iter().find(|(other, _)| *other == id) {
            return Arc::clone(cell);
        }
        let cell = Cell::default();
        cells.push((id, Arc::clone(&cell)));
        cell
    }

    /// Forgets a connection that has ended, so that the next call makes a new one; returns what to use instead.
    pub(super) fn replace(session: &Session, id: UpstreamId, ended: &Cell) -> Cell {
        let own = session.get_or_insert_with(OwnConnections::default);
        // Another call may have replaced it already.
        own.cells().retain(|(other, cell)| *other != id || !Arc::ptr_eq(cell, ended));
        OwnConnections::cell(session, id)
    }

    fn cells(&self) -> MutexGuard<'_, Vec<(UpstreamId, Cell)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
