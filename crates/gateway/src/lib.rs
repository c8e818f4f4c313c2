//! A gateway for Switchboard: one door in front of any number of JSON-RPC servers.
//!
//! Applications use it as `switchboard::gateway`, with the feature `gateway`. An upstream is a service, and every policy is a layer:
//!
//! - [`Gateway`]: which [`Backend`] gets a call, by the prefix of its method or by a [`Route`];
//! - [`Pool`]: the servers of an upstream, each a [`Node`], with [health checks](Health), [ejection](Eject) and [balancing](Balance);
//! - [`Link`]: how connections to a node are made, shared and ended;
//! - [`Attempts`]: [retries](Retry) and [hedging](Hedge) of calls that are safe to send twice;
//! - [`Breaker`]: a rest for an upstream that fails;
//! - [`CallLimits`], [`AllowedMembers`], [`Mirror`], [`Fault`]: time, size and further members of answers, copies for a second upstream,
//!   faults on purpose;
//! - [`Stack`]: a service with such policies around it;
//! - [`Explanation`]: what would happen to a call, without sending it;
//! - [`Mock`]: a server that exists only as a description.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod attempts;
mod backend;
mod breaker;
mod conditions;
mod discovered;
mod explain;
mod fault;
mod gateway;
mod limit;
mod link;
mod members;
mod mirror;
mod mock;
mod percentile;
mod pinned;
mod pool;
mod ratio;
mod rewrite;
mod route;
mod routed;
mod select;
mod stack;
mod verdict;

pub use attempts::{Attempts, Hedge, Retry};
pub use backend::Backend;
pub use breaker::{Breaker, BreakerState};
pub use conditions::Conditions;
pub use discovered::{Discovered, Safety};
pub use explain::{Conclusion, Explain, Explanation, Step};
pub use fault::Fault;
pub use gateway::{Gateway, GatewayBuilder, GatewayError};
pub use limit::CallLimits;
pub use link::{Batches, CallProbe, ConnectProbe, Link, OpenConnections};
pub use members::AllowedMembers;
pub use mirror::{Mirror, MirrorCounts};
pub use mock::Mock;
pub use pool::{
    Balance, Eject, Health, Node, NodeStatus, OpenCalls, Pool, PoolBuilder, Probe, Skipped, Sticky,
};
pub use rewrite::Rewrite;
pub use route::{ParamsForm, Route};
pub use routed::Routed;
pub use select::Selected;
pub use stack::Stack;
pub use switchboard_layers::Reopens;
