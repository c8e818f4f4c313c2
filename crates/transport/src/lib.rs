//! The transports of Switchboard: each yields frames or bodies, and nothing else.

pub mod memory;
