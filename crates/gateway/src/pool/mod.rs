//! The servers of an upstream, of which each call gets one.

mod balance;
mod eject;
mod explain;
mod health;
mod node;
mod open_calls;
mod status;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Call, CallError, Reply, ReplyFuture, Service};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use self::balance::Picker;
pub use self::balance::{Balance, Sticky};
pub use self::eject::Eject;
pub use self::health::{Health, Probe};
pub use self::node::{Node, Skipped};
pub use self::open_calls::OpenCalls;
pub use self::status::NodeStatus;
use self::status::Resent;
use crate::percentile::Percentiles;
use crate::pinned::{Pinned, PoolId};
use crate::routed::Routed;

/// The servers of an upstream as one service: each call goes to one that is available.
///
/// Nodes with the lowest priority number are used, as long as one of them is available. Among those, [`Balance`] and [`Sticky`] decide.
/// A node is not available while its [health checks](Health) fail, while it is too far behind, or while it is [ejected](Eject). If no node
/// is available, ejected ones are used; if there are none either, calls fail with -32004. After a node could not be reached or said that it is
/// shutting down, others are preferred for a moment.
///
/// Cheap to clone.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Call, Json, Peer, Reply, ReplyFuture, service_fn};
/// use switchboard_gateway::{Node, Pool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = || service_fn(|_: &Call| ReplyFuture::ready(Reply::value(Json::TRUE)));
/// let pool = Pool::builder("backend").node(Node::new("one", server())).node(Node::new("two", server())).build();
/// assert!(Peer::local(pool).call::<bool>("ping", ()).await?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    name: Arc<str>,
    nodes: Vec<Arc<Node>>,
    picker: Picker,
    eject: Option<Eject>,
    /// Whether a session stays with its node as long as that is up, because the node knows the session.
    is_pinned: bool,
    /// Shared with the pool that follows this one, as the identifier is.
    shared: Arc<Shared>,
    watching: Option<AbortHandle>,
}

/// What belongs to no node of a pool in particular.
#[derive(Debug)]
struct Shared {
    id: PoolId,
    percentiles: Percentiles,
    resent: Resent,
}

/// Builds a [`Pool`].
#[derive(Debug)]
pub struct PoolBuilder {
    name: Arc<str>,
    nodes: Vec<Arc<Node>>,
    shared: Arc<Shared>,
    balance: Balance,
    sticky: Option<Sticky>,
    eject: Option<Eject>,
    health: Option<Health>,
    is_pinned: bool,
}

impl PoolBuilder {
    /// Adds a node. If another one has the same name, it gets a number after its own.
    #[must_use]
    pub fn node(mut self, mut node: Node) -> PoolBuilder {
        let name = Arc::clone(&node.name);
        let mut names = (2..).map(|number| format!("{name} #{number}"));
        while self.nodes.iter().any(|other| other.name == node.name) {
            node.name = names.next().unwrap_or_default().into();
        }
        self.nodes.push(Arc::new(node));
        self
    }

    /// Makes a pool that follows this one: sessions stay with the nodes that they are [pinned](PoolBuilder::pinned) to, and what was counted
    /// goes on. Nodes follow with [`kept`](PoolBuilder::kept).
    #[must_use]
    pub fn after(mut self, pool: &Pool) -> PoolBuilder {
        self.shared = Arc::clone(&pool.0.shared);
        self
    }

    /// Adds the node at this index of another pool, with its connections, health and statistics.
    #[must_use]
    pub fn kept(mut self, pool: &Pool, index: usize) -> PoolBuilder {
        self.nodes.extend(pool.0.nodes.get(index).map(Arc::clone));
        self
    }

    /// Sets how calls are spread over the nodes.
    #[must_use]
    pub fn balance(mut self, balance: Balance) -> PoolBuilder {
        self.balance = balance;
        self
    }

    /// Sends calls that belong together to the same node.
    #[must_use]
    pub fn sticky(mut self, sticky: Sticky) -> PoolBuilder {
        self.sticky = Some(sticky);
        self
    }

    /// Keeps each [exclusive](switchboard_core::Session::is_exclusive) session with the node that answered its first call, until the
    /// health checks of the node fail: for nodes that know their sessions.
    #[must_use]
    pub fn pinned(mut self) -> PoolBuilder {
        self.is_pinned = true;
        self
    }

    /// Sets when nodes are ejected; `None` for never.
    #[must_use]
    pub fn eject(mut self, eject: Option<Eject>) -> PoolBuilder {
        self.eject = eject;
        self
    }

    /// Checks the health of the nodes that have a [`Probe`].
    #[must_use]
    pub fn health(mut self, health: Health) -> PoolBuilder {
        self.health = Some(health);
        self
    }

    /// The pool.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime, if the health of nodes is to be checked.
    #[must_use]
    pub fn build(self) -> Pool {
        let PoolBuilder { name, nodes, shared, balance, sticky, eject, health, is_pinned } = self;
        let health = health.filter(|_| nodes.iter().any(|node| node.probe.is_some()));
        let inner = |watching: Option<AbortHandle>, nodes| Inner {
            name,
            nodes,
            picker: Picker::new(balance, sticky),
            eject,
            is_pinned,
            shared,
            watching,
        };
        Pool(match health {
            None => Arc::new(inner(None, nodes)),
            Some(health) => Arc::new_cyclic(|pool| {
                let watching = tokio::spawn(health::watch(pool.clone(), health)).abort_handle();
                inner(Some(watching), nodes)
            }),
        })
    }
}

/// Which nodes a call was sent to, of the first 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tried(u64);

impl Pool {
    /// Starts building a pool with this name.
    pub fn builder(name: impl Into<Arc<str>>) -> PoolBuilder {
        PoolBuilder {
            name: name.into(),
            nodes: Vec::new(),
            shared: Arc::new(Shared {
                id: PoolId::new(),
                percentiles: Percentiles::default(),
                resent: Resent::default(),
            }),
            balance: Balance::default(),
            sticky: None,
            eject: Some(Eject::default()),
            health: None,
            is_pinned: false,
        }
    }

    /// The name of the upstream.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.nodes.len()
    }

    /// Whether there are no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.nodes.is_empty()
    }

    /// Each node with its name, and why it gets no calls if it gets none.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &Node, Option<Skipped>)> {
        let now = Instant::now();
        self.0.nodes.iter().map(move |node| (&*node.name, &**node, node.skipped(now)))
    }

    /// Whether both are clones of one pool.
    #[must_use]
    pub fn is_same(&self, other: &Pool) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Ends the calls and streams of the pool, even after the pool is dropped.
    #[must_use]
    pub fn open_calls(&self) -> OpenCalls {
        self.0.nodes.iter().map(|node| node.open.clone()).collect()
    }

    /// The same of the nodes that the next pool has not [kept](PoolBuilder::kept).
    #[must_use]
    pub fn open_calls_without(&self, next: &Pool) -> OpenCalls {
        let is_gone = |node: &&Arc<Node>| !next.0.nodes.iter().any(|kept| Arc::ptr_eq(kept, node));
        self.0.nodes.iter().filter(is_gone).map(|node| node.open.clone()).collect()
    }

    /// Takes a node out, or brings it back. Merged streams of a node that is taken out [move](crate::Reopens) to others. False if there is no such node.
    pub fn drain(&self, node: &str, is_drained: bool) -> bool {
        let Some(node) = self.0.nodes.iter().find(|other| *other.name == *node) else { return false };
        node.with_state(|state| {
            if state.is_drained && !is_drained {
                state.back = Some(Instant::now());
            }
            state.is_drained = is_drained;
            if !is_drained {
                (state.ejected, state.ejections) = (None, 0);
            }
        });
        if is_drained {
            node.move_streams();
        }
        true
    }

    /// Takes a node out for this long. False if there is no such node.
    pub fn eject(&self, node: &str, time: Duration) -> bool {
        let Some(node) = self.0.nodes.iter().find(|other| *other.name == *node) else { return false };
        node.with_state(|state| {
            state.ejected = Some(Instant::now() + time);
            state.ejected_because = Some("ejected by an operator".into());
        });
        true
    }

    /// The time within which this percentage of the answers arrived lately; none before there are enough.
    pub(crate) fn percentile(&self, percent: u8) -> Option<Duration> {
        self.0.shared.percentiles.get(percent)
    }

    /// Sends a call to a node that it was not sent to before, if there is one, and remembers which.
    pub(crate) fn call_one(&self, call: &Call, tried: &mut Tried) -> ReplyFuture {
        let now = Instant::now();
        let Some(index) = self.choose(call, *tried, now) else {
            return ReplyFuture::ready(self.unavailable());
        };
        tried.0 |= 1_u64.checked_shl(u32::try_from(index).unwrap_or(u32::MAX)).unwrap_or(0);
        let inner = Arc::clone(&self.0);
        let routed = Routed::of(&call.cx).cloned();
        if let Some(routed) = &routed {
            routed.sent(&inner.nodes[index].name);
        }
        let method = tracing::enabled!(tracing::Level::INFO).then(|| call.method.clone());
        self.0.nodes[index].call(call, now, move |ended| {
            if let (Some(method), Some(reason)) = (method, &ended.reason) {
                let (upstream, node, method) = (&*inner.name, &*inner.nodes[index].name, method.as_str());
                tracing::info!(upstream, node, method = %method.escape_debug(), reason = &**reason, "a call failed");
            }
            if let Some(eject) = &inner.eject {
                eject.note(&inner.nodes[index], &inner.nodes, ended);
            }
            if ended.failure.is_none() {
                inner.shared.percentiles.note(ended.took);
                if let Some(routed) = routed {
                    routed.answered(&inner.nodes[index].name);
                }
            }
        })
    }

    /// Whether there is a node that the call was not sent to.
    pub(crate) fn has_another(&self, tried: Tried) -> bool {
        let now = Instant::now();
        let mut nodes = self.0.nodes.iter().enumerate();
        nodes.any(|(index, node)| !tried.has(index) && node.skipped(now).is_none())
    }

    fn choose(&self, call: &Call, tried: Tried, now: Instant) -> Option<usize> {
        if !self.pins(call) {
            return self.choose_any(call, tried, now);
        }
        if let Some(index) = self.pinned(call, tried, now) {
            return Some(index);
        }
        let index = self.choose_any(call, tried, now)?;
        Pinned::set(call.cx.session(), self.0.shared.id, self.0.nodes[index].id);
        Some(index)
    }

    /// Whether a call stays with the node of its session.
    fn pins(&self, call: &Call) -> bool {
        self.0.is_pinned && self.0.nodes.len() > 1 && call.cx.session().is_exclusive()
    }

    /// The node of the session of a call, if it has one that is up.
    fn pinned(&self, call: &Call, tried: Tried, now: Instant) -> Option<usize> {
        let node = Pinned::get(call.cx.session(), self.0.shared.id)?;
        let index = self.0.nodes.iter().position(|other| other.id == node)?;
        let is_gone = matches!(self.0.nodes[index].skipped(now), Some(Skipped::Down(_) | Skipped::Drained));
        (!is_gone && !tried.has(index)).then_some(index)
    }

    /// The best kind of node that there is decides, then the priority, then the balance.
    fn choose_any(&self, call: &Call, tried: Tried, now: Instant) -> Option<usize> {
        let nodes = &self.0.nodes;
        if nodes.len() == 1 {
            return self.rank(0, tried, now).map(|_| 0);
        }
        let candidates = self.candidates(tried, now)?;
        Some(self.0.picker.pick(nodes, &candidates, call, now))
    }

    /// How good a node is, the best first: its kind and its priority. None if it gets no calls in any case.
    fn rank(&self, index: usize, tried: Tried, now: Instant) -> Option<(u8, u32)> {
        let node = &self.0.nodes[index];
        let kind = match node.skipped(now) {
            // It may have recovered.
            None if tried.has(index) => 2,
            None if node.is_resting(now) => 1,
            None => 0,
            // Better than nothing: the reasons may be wrong.
            Some(Skipped::Ejected { .. } | Skipped::Lagging(_)) => 3,
            Some(Skipped::Down(_) | Skipped::Drained) => return None,
        };
        Some((kind, node.priority))
    }

    /// The nodes of the best rank that there is.
    fn candidates(&self, tried: Tried, now: Instant) -> Option<Vec<usize>> {
        let ranks: Vec<_> = (0..self.0.nodes.len()).map(|index| self.rank(index, tried, now)).collect();
        let best = ranks.iter().flatten().min().copied()?;
        Some((0..ranks.len()).filter(|index| ranks[*index] == Some(best)).collect())
    }

    fn unavailable(&self) -> Reply {
        let reasons: Vec<String> =
            self.nodes().filter_map(|(name, _, skipped)| Some(format!("{name}: {}", skipped?))).collect();
        tracing::debug!(upstream = &*self.0.name, ?reasons, "no node is available");
        Reply::error(
            CallError::Unreachable(format!("no server of {} is available", self.0.name).into()).into(),
        )
    }
}

impl Tried {
    fn has(self, index: usize) -> bool {
        u32::try_from(index).is_ok_and(|index| self.0.checked_shr(index).unwrap_or(0) & 1 == 1)
    }
}

impl Service for Pool {
    fn call(&self, call: &Call) -> ReplyFuture {
        self.call_one(call, &mut Tried::default())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(watching) = &self.watching {
            watching.abort();
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("name", &self.0.name)
            .field("nodes", &self.0.nodes)
            .finish_non_exhaustive()
    }
}
