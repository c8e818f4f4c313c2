//! JSON-RPC for Rust: write a function once, serve and call it over every transport.

pub use futures_core::Stream;
pub use schemars::{self, JsonSchema};
pub use serde;
pub use switchboard_core::*;
#[cfg(feature = "macros")]
pub use switchboard_macros::service;

#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private;

#[cfg(feature = "ws")]
pub use switchboard_transport::ws;
#[cfg(feature = "http")]
pub use switchboard_transport::{http, server};
