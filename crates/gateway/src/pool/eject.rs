//! Taking out nodes whose calls fail or take long, for a while.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::node::{Ended, Node};
use crate::verdict::Verdict;

/// The fewest calls that say anything about a node.
const LEAST: u64 = 10;

/// Faster nodes are never too slow: a busy moment of the machine would decide.
const NOTICEABLE: Duration = Duration::from_millis(10);

/// How many times longer than its first ejection a node stays ejected at most.
const LONGEST: u32 = 10;

/// When a node gets no calls for a while, by how its calls end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Eject {
    /// The share of its calls that get no answer: half. Ten calls are needed for a verdict. Errors that it sends are answers.
    pub errors: f64,
    /// How many times slower than the median of the nodes it is: three times. Nodes that answer within 10 ms are never too slow.
    pub latency: f64,
    /// For how long: 30 s, and longer if it happens again.
    pub time: Duration,
    /// The share of the nodes that may be ejected at once: half.
    pub most: f64,
}

impl Default for Eject {
    fn default() -> Eject {
        Eject { errors: 0.5, latency: 3.0, time: Duration::from_secs(30), most: 0.5 }
    }
}

impl Eject {
    /// Counts how a call of a node ended, and ejects the node if that was one too many.
    pub(super) fn note(&self, node: &Node, nodes: &[Arc<Node>], ended: &Ended) {
        if ended.verdict == Verdict::Unknown {
            return;
        }
        let has_failed = ended.verdict == Verdict::Fails;
        let count = node.failures.count(has_failed, ended.at);
        let is_bad = match has_failed {
            true => count.is_above(self.errors, LEAST),
            false => count.calls >= LEAST && count.calls.is_multiple_of(LEAST) && self.is_slow(node, nodes),
        };
        if is_bad && self.has_room(nodes, ended.at) {
            let reason = match has_failed {
                true => format!("{} of {} calls failed", count.failures, count.calls),
                false => format!("answers take {:?}, much longer than from other servers", node.latency()),
            };
            self.eject(node, ended.at, reason);
        }
    }

    /// Whether a node is much slower than the others.
    fn is_slow(&self, node: &Node, nodes: &[Arc<Node>]) -> bool {
        let mut latencies: Vec<Duration> = nodes.iter().map(|node| node.latency()).collect();
        if latencies.len() < 3 || latencies.iter().any(Duration::is_zero) {
            return false;
        }
        latencies.sort_unstable();
        let median = latencies[(latencies.len() - 1) / 2];
        node.latency() > median.mul_f64(self.latency.max(1.0)).max(NOTICEABLE)
    }

    /// Whether one more node may be ejected.
    fn has_room(&self, nodes: &[Arc<Node>], now: Instant) -> bool {
        let ejected = nodes.iter().filter(|node| node.skipped(now).is_some()).count();
        #[expect(clippy::cast_precision_loss, reason = "pools are small")]
        let has_room = (ejected + 1) as f64 <= self.most * nodes.len() as f64;
        has_room
    }

    fn eject(&self, node: &Node, now: Instant, reason: String) {
        tracing::warn!(node = &*node.name, reason, "ejected");
        node.with_state(|state| {
            let is_soon = state.back.is_some();
            state.ejections = if is_soon { (state.ejections + 1).min(LONGEST) } else { 1 };
            state.ejected = Some(now + self.time * state.ejections);
            state.ejected_because = Some(reason.into());
        });
        node.failures.reset();
    }
}
