//! Which node a call would go to.

use std::ops::ControlFlow;

use switchboard_core::Call;
use switchboard_layers::explain::{Conclusion, Explain, Step};
use tokio::time::Instant;

use super::{Node, Pool, Tried};

/// A call that is not made has not been sent to any node.
const NONE: Tried = Tried(0);

impl Explain for Pool {
    fn name(&self) -> &'static str {
        "node"
    }

    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let (nodes, now) = (&self.0.nodes, Instant::now());
        let pinned = if self.pins(call) { self.pinned(call, NONE, now) } else { None };
        let candidates = match pinned {
            Some(index) => vec![index],
            None => self.candidates(NONE, now).unwrap_or_default(),
        };
        let (chosen, why) = match (pinned, &*candidates) {
            (Some(index), _) => (Some(index), "its session stays with it".to_owned()),
            (None, []) => (None, String::new()),
            (None, candidates) => self.0.picker.preview(nodes, candidates, call, now),
        };
        for (index, node) in nodes.iter().enumerate() {
            let (outcome, reason) = match candidates.contains(&index) {
                true if chosen == Some(index) => ("chosen", why.clone()),
                true if chosen.is_none() => ("possible", why.clone()),
                true => ("not chosen", "another one is".to_owned()),
                false => ("skipped", self.reason(index, &candidates, now)),
            };
            let detail = format!("{}: {reason}{}", node.name, numbers(node));
            steps.push(Step::new("node", outcome, detail));
        }
        ControlFlow::Break(match candidates.is_empty() {
            true => Conclusion::of(self.unavailable()),
            false => Conclusion::Sent { server: chosen.map(|index| nodes[index].name.to_string()) },
        })
    }
}

impl Pool {
    /// Why a node gets no call.
    fn reason(&self, index: usize, candidates: &[usize], now: Instant) -> String {
        let node = &self.0.nodes[index];
        if let Some(skipped) = node.skipped(now) {
            return skipped.to_string();
        }
        if node.is_resting(now) {
            return "its last call could not be sent".to_owned();
        }
        let best = candidates.iter().map(|index| self.0.nodes[*index].priority).min();
        match best.is_some_and(|best| best < node.priority) {
            true => format!(
                "priority {}, and a server of priority {} is available",
                node.priority,
                best.unwrap_or(1)
            ),
            false => "another one is better".to_owned(),
        }
    }
}

/// What is known about a node: nothing before its first call.
fn numbers(node: &Node) -> String {
    let (in_flight, latency) = (node.in_flight(), node.latency());
    let height = node.with_state(|state| state.height);
    let height = height.map(|height| format!(", at {height}")).unwrap_or_default();
    match latency.is_zero() && in_flight == 0 {
        true => height,
        false => format!("{height}, {in_flight} in progress, {latency:.1?} on average"),
    }
}
