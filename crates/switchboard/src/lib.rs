//! JSON-RPC for Rust: write a function once, serve and call it over every transport.

pub use switchboard_core::*;

#[cfg(feature = "http")]
pub use switchboard_transport::http;
