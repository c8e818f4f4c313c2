//! Idempotency keys: a call that is sent again with the same key runs once.
//!
//! A client that did not get an answer cannot know whether its call ran. It sends the call again, with the same `idempotency-key` in its metadata:
//! the header `Idempotency-Key` over HTTP, the member `"metadata": {"idempotency-key": "…"}` elsewhere. The server runs the call once, and gives the same answer
//! to all that have the key.
//!
//! A key belongs to its caller. The same key with another method or other params is an error.

mod answer;
mod flights;
mod layer;

pub use self::layer::{Idempotency, IdempotencyOptions};
