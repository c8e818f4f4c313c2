//! The `#[service]` macro of Switchboard.
