//! Every carrier there is.

mod direct;
mod exchange;
mod http;
mod memory;
mod sse;
mod stream;
mod ws;

pub use direct::Direct;
pub use exchange::Exchange;
pub use http::{Http, Https};
pub use memory::Memory;
pub use sse::Sse;
pub use stream::{Over, Stream};
pub use switchboard_transport::ws::Kind as Message;
pub use ws::Ws;
