//! Which node of a pool a session stays with.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use switchboard_core::Session;

/// Tells pools apart, also from those that no longer exist. A pool that follows another one has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolId(u64);

impl PoolId {
    pub(crate) fn new() -> PoolId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        PoolId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Tells nodes apart in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(u64);

impl NodeId {
    pub(crate) fn new() -> NodeId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NodeId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The nodes of a session, one for each pool that it has called.
#[derive(Default)]
pub(crate) struct Pinned(Mutex<Vec<(PoolId, NodeId)>>);

impl Pinned {
    pub(crate) fn get(session: &Session, pool: PoolId) -> Option<NodeId> {
        let pinned = session.get::<Pinned>()?;
        let nodes = pinned.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.iter().find(|(other, _)| *other == pool).map(|(_, node)| *node)
    }

    pub(crate) fn set(session: &Session, pool: PoolId, node: NodeId) {
        let pinned = session.get_or_insert_with(Pinned::default);
        let mut nodes = pinned.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|(other, _)| *other != pool);
        nodes.push((pool, node));
    }
}
