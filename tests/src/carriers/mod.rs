//! Every carrier there is.

mod direct;
mod exchange;
mod http;
mod memory;
mod sse;
mod stream;

pub use direct::Direct;
pub use exchange::Exchange;
pub use http::Http;
pub use memory::Memory;
pub use sse::Sse;
pub use stream::{Over, Stream};
