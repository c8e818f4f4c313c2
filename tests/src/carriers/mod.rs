//! Every carrier there is.

mod direct;
mod exchange;

pub use direct::Direct;
pub use exchange::Exchange;
