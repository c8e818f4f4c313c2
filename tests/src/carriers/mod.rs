//! Every carrier there is.

mod direct;
mod exchange;
mod memory;

pub use direct::Direct;
pub use exchange::Exchange;
pub use memory::Memory;
