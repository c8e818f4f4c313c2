//! Choosing a node for a call.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use switchboard_core::{Call, Json};
use tokio::time::Instant;

use super::node::Node;

/// How calls are spread over nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Balance {
    /// The less busy one of two that are picked at random, by the calls in progress and the time that answers take.
    #[default]
    PowerOfTwo,
    /// One after the other, by their weights.
    RoundRobin,
}

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Balance::PowerOfTwo => "the less busy of two random servers",
            Balance::RoundRobin => "one after the other",
        })
    }
}

/// Which calls go to the same node as long as it is available.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sticky {
    /// Those of a session.
    Session,
    /// Those with the same value at this JSON pointer of their params.
    Param(Box<str>),
}

impl Sticky {
    /// A number that is the same for calls that belong together.
    fn key(&self, call: &Call, hasher: &impl BuildHasher) -> Option<u64> {
        match self {
            Sticky::Session => Some(hasher.hash_one(call.cx.session().id())),
            Sticky::Param(pointer) => {
                let value = at(call.params.as_ref()?, pointer)?;
                Some(hasher.hash_one(value.as_bytes()))
            }
        }
    }
}

/// The value at a JSON pointer, as it is written.
pub(crate) fn at(json: &Json, pointer: &str) -> Option<Json> {
    let mut tokens = pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"));
    tokens.try_fold(json.clone(), |value, token| value.get(&token))
}

/// Picks nodes.
#[derive(Debug, Default)]
pub(super) struct Picker {
    balance: Balance,
    sticky: Option<Sticky>,
    turn: AtomicU64,
    hasher: foldhash::fast::FixedState,
}

impl Picker {
    pub(super) fn new(balance: Balance, sticky: Option<Sticky>) -> Picker {
        Picker { balance, sticky, ..Picker::default() }
    }

    /// Picks one of the candidates, of which there is at least one.
    pub(super) fn pick(&self, nodes: &[Arc<Node>], candidates: &[usize], call: &Call, now: Instant) -> usize {
        if let [only] = candidates {
            return *only;
        }
        let key = self.sticky.as_ref().and_then(|sticky| sticky.key(call, &self.hasher));
        match (key, self.balance) {
            (Some(key), _) => self.highest(nodes, candidates, key),
            (None, Balance::PowerOfTwo) => less_busy(nodes, candidates, now),
            (None, Balance::RoundRobin) => self.next(nodes, candidates, now),
        }
    }

    /// The node with the highest score for a key (rendezvous hashing): when a node comes or goes, only its own keys move.
    fn highest(&self, nodes: &[Arc<Node>], candidates: &[usize], key: u64) -> usize {
        let score = |index: usize| {
            let hash = self.hasher.hash_one((key, &*nodes[index].name));
            // From 0 exclusive to 1; the logarithm makes shares proportional to weights.
            #[expect(clippy::cast_precision_loss, reason = "53 bits are enough")]
            let unit = ((hash >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            f64::from(nodes[index].weight) / -unit.ln()
        };
        let scores = candidates.iter().map(|index| (*index, score(*index)));
        scores.max_by(|one, two| one.1.total_cmp(&two.1)).map_or(0, |(index, _)| index)
    }

    /// The node that would be picked, as far as that is known, and why.
    pub(super) fn preview(
        &self,
        nodes: &[Arc<Node>],
        candidates: &[usize],
        call: &Call,
        now: Instant,
    ) -> (Option<usize>, String) {
        if let [only] = candidates {
            return (Some(*only), "the best available server".to_owned());
        }
        match (&self.sticky, self.balance) {
            (Some(Sticky::Session), _) => (None, "each session stays with one".to_owned()),
            (Some(sticky @ Sticky::Param(pointer)), balance) => match sticky.key(call, &self.hasher) {
                Some(key) => (Some(self.highest(nodes, candidates, key)), format!("by the param {pointer}")),
                None => (None, format!("without the param {pointer}, {balance}")),
            },
            (None, Balance::RoundRobin) => {
                let turn = self.turn.load(Ordering::Relaxed);
                (Some(at_turn(turn, nodes, candidates, now)), "it is its turn".to_owned())
            }
            (None, Balance::PowerOfTwo) => (None, Balance::PowerOfTwo.to_string()),
        }
    }

    fn next(&self, nodes: &[Arc<Node>], candidates: &[usize], now: Instant) -> usize {
        at_turn(self.turn.fetch_add(1, Ordering::Relaxed), nodes, candidates, now)
    }
}

/// The node whose turn it is.
fn at_turn(turn: u64, nodes: &[Arc<Node>], candidates: &[usize], now: Instant) -> usize {
    let share = |index: &usize| nodes[*index].share(now);
    // Steps of the golden ratio spread the turns of a node evenly, whatever the weights are.
    #[expect(clippy::cast_precision_loss, reason = "after 2^52 calls the turns are still spread")]
    let mut at = (turn as f64 * 0.618_033_988_749_895).fract() * candidates.iter().map(share).sum::<f64>();
    let picked = candidates.iter().find(|index| {
        at -= share(index);
        at < 0.0
    });
    picked.or(candidates.last()).copied().unwrap_or(0)
}

/// The less busy one of two nodes.
fn less_busy(nodes: &[Arc<Node>], candidates: &[usize], now: Instant) -> usize {
    let first = fastrand::usize(..candidates.len());
    let second = (first + 1 + fastrand::usize(..candidates.len() - 1)) % candidates.len();
    let (one, two) = (candidates[first], candidates[second]);
    if nodes[one].load(now) <= nodes[two].load(now) { one } else { two }
}
