//! Middleware for Switchboard services: authentication, access control, limits and an audit log.
//!
//! Each layer works alone in a few lines. Combined, they go in this order, outermost first: [`identity`], then [`access`], then the
//! router. A layer sees every call, including batch entries, notifications, `rpc.discover` and unknown methods.
//!
//! - [`identity`] (feature `identity`) authenticates callers by bearer tokens, certificates or Unix credentials.
//! - [`audit`] (feature `audit`) records security events.
//! - [`access`] (feature `access`) decides what a caller may call, by rules about callers, methods and params.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "access")]
#[cfg_attr(docsrs, doc(cfg(feature = "access")))]
pub mod access;
#[cfg(feature = "audit")]
#[cfg_attr(docsrs, doc(cfg(feature = "audit")))]
pub mod audit;
#[cfg(feature = "identity")]
#[cfg_attr(docsrs, doc(cfg(feature = "identity")))]
pub mod identity;
#[cfg(feature = "audit")]
mod network;
