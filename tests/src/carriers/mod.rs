//! Every carrier there is.

mod direct;
mod exchange;
mod http;
mod memory;
mod ws;
mod stream;

pub use direct::Direct;
pub use exchange::Exchange;
pub use http::Http;
pub use memory::Memory;
pub use switchboard_transport::ws::Kind as Message;
pub use ws::Ws;
pub use stream::{Over, Stream};
