//! What is known about the nodes of a pool, for operators and metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Node, Pool, Skipped};
use crate::link::OpenConnections;

/// A [`Node`] at a moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodeStatus {
    /// Its name, which no other node of its pool has.
    pub name: Arc<str>,
    /// Its share of the calls, relative to that of other nodes.
    pub weight: u32,
    /// It gets calls only while no node with a lower number is available.
    pub priority: u32,
    /// Why it gets no calls, if it gets none.
    pub skipped: Option<Skipped>,
    /// Why it is ejected, if it is.
    pub ejected_because: Option<Arc<str>>,
    /// How many calls in a row have failed.
    pub failed_in_a_row: u32,
    /// Why a call failed last, and how long ago that was. Without secrets and texts of the server.
    pub last_error: Option<(Arc<str>, Duration)>,
    /// Calls that were sent to it.
    pub calls: u64,
    /// How many of them it failed. Ordinary errors of methods do not count.
    pub failures: u64,
    /// Calls in progress.
    pub in_flight: u32,
    /// The time that answers take, as a moving average; none before the first answer.
    pub latency: Option<Duration>,
    /// How far it is behind the most current node, if its health checks tell.
    pub lag: Option<u64>,
    /// Open connections to it, if they are counted. Over HTTP, each stands for as many as are needed.
    pub connections: Option<usize>,
}

impl Pool {
    /// All nodes as they are now.
    #[must_use]
    pub fn status(&self) -> Vec<NodeStatus> {
        let best = self.0.nodes.iter().filter_map(|node| node.with_state(|state| state.height)).max();
        let nodes = self.nodes().map(|(_, node, skipped)| status(node, skipped, best));
        nodes.collect()
    }

    /// Calls that were sent again after a failure.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.0.shared.resent.retries.load(Ordering::Relaxed)
    }

    /// Calls that were sent to a second node because the first was slow.
    #[must_use]
    pub fn hedges(&self) -> u64 {
        self.0.shared.resent.hedges.load(Ordering::Relaxed)
    }

    pub(crate) fn note_retry(&self) {
        self.0.shared.resent.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_hedge(&self) {
        self.0.shared.resent.hedges.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts calls that were sent more than once.
#[derive(Debug, Default)]
pub(super) struct Resent {
    retries: AtomicU64,
    hedges: AtomicU64,
}

fn status(node: &Node, skipped: Option<Skipped>, best: Option<u64>) -> NodeStatus {
    let is_ejected = matches!(skipped, Some(Skipped::Ejected { .. }));
    let (failed_in_a_row, height, because) =
        node.with_state(|state| (state.strikes, state.height, state.ejected_because.clone()));
    let last_error = node.with_state(|state| state.last_error.clone());
    NodeStatus {
        name: Arc::clone(&node.name),
        weight: node.weight,
        priority: node.priority,
        skipped,
        ejected_because: because.filter(|_| is_ejected),
        failed_in_a_row,
        last_error: last_error.map(|(text, at)| (text, at.elapsed())),
        calls: node.counts.calls.load(Ordering::Relaxed),
        failures: node.counts.failures.load(Ordering::Relaxed),
        in_flight: node.in_flight(),
        latency: Some(node.latency()).filter(|latency| !latency.is_zero()),
        lag: height.and_then(|height| Some(best?.saturating_sub(height))),
        connections: node.connections.as_ref().map(OpenConnections::count),
    }
}
