//! What the expansion of `#[service]` needs beyond the public API. It is internal, and changes without notice.
//!
//! Every function here only forwards to the public API. They exist for their bounds: a type that does not fit is then
//! reported in plain words, where the user wrote it. And they distinguish types by what they are instead of by
//! their names, which a program may use for other things.

mod argument;
mod bounds;
mod client;
mod returned;

use std::future::Future;
use std::sync::Arc;

pub use argument::{
    Argument, CallWith, OwnsContext, PlainArgument, borrow, borrow_some, defaulted, rest, with_default,
};
pub use bounds::{Described, Failure, Readable, Shareable, Writable};
pub use client::{Named, Positional, request, stream_request};
pub use returned::{Alias, Fallible, PlainReturned, Returned, Seen, error, errors};
pub use serde_json::json;
use switchboard_core::{Reply, ReplyFuture};

pub fn shareable<T: Shareable>(this: Arc<T>) -> Arc<T> {
    this
}

pub fn pending(reply: impl Future<Output = Reply> + Send + 'static) -> ReplyFuture {
    ReplyFuture::pending(reply)
}
