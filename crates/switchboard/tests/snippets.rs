//! What the playground writes down as Rust compiles. Its own tests see that these are the texts it writes.
#![cfg(feature = "http")]
#![allow(clippy::print_stdout, dead_code, reason = "they are programs of their own, and none is run here")]

#[path = "snippets/batch.rs"]
mod batch;
#[path = "snippets/call.rs"]
mod call;
#[path = "snippets/headers.rs"]
mod headers;
#[path = "snippets/notification.rs"]
mod notification;
#[path = "snippets/pushes.rs"]
mod pushes;
#[path = "snippets/stream.rs"]
mod stream;
