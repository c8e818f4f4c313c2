//! Middleware for Switchboard services: authentication, access control, signatures, limits and an audit log.
//!
//! Each layer works alone in a few lines. Combined, they go in this order, outermost first: [`signing`], [`identity`], [`rate`],
//! [`access`], [`shed`], [`idempotency`], [`cache`], [`coalesce`], [`merge`], [`jobs`], then the router. A layer sees every call, including batch entries, notifications, `rpc.discover` and unknown methods.
//!
//! - [`identity`] (feature `identity`) authenticates callers by bearer tokens, API keys, certificates or Unix credentials; with the feature
//!   `jwt` also by signed tokens.
//! - [`audit`] (feature `audit`) records security events.
//! - [`lines`] (feature `audit`) writes logs without waiting for their readers.
//! - [`log`] (feature `log`) writes a line for each call.
//! - [`metrics`] (feature `metrics`) counts calls, sessions and messages, for Prometheus.
//! - [`trace`] (feature `trace`) gives each call a span in a distributed trace, for OpenTelemetry.
//! - [`access`] (feature `access`) decides what a caller may call, by rules about callers, methods and params.
//! - [`rate`] (feature `rate`) limits how often callers may call.
//! - [`shed`] (feature `shed`) limits how many calls run and wait at once.
//! - [`signing`] (feature `signing`) verifies signed messages, refuses replays, and signs the calls of a client.
//! - [`idempotency`] (feature `idempotency`) runs calls with the same key once.
//! - [`cache`] (feature `cache`) answers calls with earlier answers.
//! - [`coalesce`] (feature `coalesce`) makes identical calls in flight one call.
//! - [`merge`] (feature `merge`) makes identical subscriptions one upstream subscription.
//! - [`jobs`] (feature `jobs`) stores calls before they run, and runs them until they are done.
//! - [`explain`] says what layers would do with a call, without making it.
//! - [`store`] (feature `store`) keeps what layers have to remember, in memory or in a file.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "access")]
#[cfg_attr(docsrs, doc(cfg(feature = "access")))]
pub mod access;
#[cfg(any(feature = "cache", feature = "coalesce", feature = "merge"))]
mod answer;
#[cfg(feature = "audit")]
#[cfg_attr(docsrs, doc(cfg(feature = "audit")))]
pub mod audit;
#[cfg(any(feature = "cache", feature = "coalesce", feature = "idempotency", feature = "merge"))]
mod by_key;
#[cfg(feature = "cache")]
#[cfg_attr(docsrs, doc(cfg(feature = "cache")))]
pub mod cache;
#[cfg(feature = "store")]
mod clock;
#[cfg(feature = "coalesce")]
#[cfg_attr(docsrs, doc(cfg(feature = "coalesce")))]
pub mod coalesce;
pub mod explain;
#[cfg(any(feature = "cache", feature = "coalesce"))]
mod flights;
#[cfg(any(
    feature = "cache",
    feature = "coalesce",
    feature = "identity",
    feature = "merge",
    feature = "metrics",
    feature = "store",
    feature = "trace"
))]
mod hashing;
#[cfg(feature = "idempotency")]
#[cfg_attr(docsrs, doc(cfg(feature = "idempotency")))]
pub mod idempotency;
#[cfg(feature = "identity")]
#[cfg_attr(docsrs, doc(cfg(feature = "identity")))]
pub mod identity;
#[cfg(feature = "jobs")]
#[cfg_attr(docsrs, doc(cfg(feature = "jobs")))]
pub mod jobs;
#[cfg(any(feature = "cache", feature = "coalesce", feature = "merge"))]
mod key;
#[cfg(feature = "audit")]
#[cfg_attr(docsrs, doc(cfg(feature = "audit")))]
pub mod lines;
#[cfg(feature = "log")]
#[cfg_attr(docsrs, doc(cfg(feature = "log")))]
pub mod log;
#[cfg(feature = "merge")]
#[cfg_attr(docsrs, doc(cfg(feature = "merge")))]
pub mod merge;
#[cfg(feature = "metrics")]
#[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
pub mod metrics;
#[cfg(feature = "audit")]
mod network;
#[cfg(any(feature = "rate", feature = "shed"))]
mod over_limit;
#[cfg(any(feature = "access", feature = "cache", feature = "coalesce", feature = "merge"))]
mod pattern;
#[cfg(feature = "rate")]
#[cfg_attr(docsrs, doc(cfg(feature = "rate")))]
pub mod rate;
mod reopens;
#[cfg(feature = "shed")]
#[cfg_attr(docsrs, doc(cfg(feature = "shed")))]
pub mod shed;
#[cfg(feature = "signing")]
#[cfg_attr(docsrs, doc(cfg(feature = "signing")))]
pub mod signing;
#[cfg(feature = "store")]
#[cfg_attr(docsrs, doc(cfg(feature = "store")))]
pub mod store;
#[cfg(feature = "trace")]
#[cfg_attr(docsrs, doc(cfg(feature = "trace")))]
pub mod trace;

#[cfg(feature = "store")]
#[cfg_attr(docsrs, doc(cfg(feature = "store")))]
pub use self::clock::Clock;
#[cfg(any(feature = "access", feature = "cache", feature = "coalesce", feature = "merge"))]
pub use self::pattern::{Pattern, PatternError};
pub use self::reopens::Reopens;
