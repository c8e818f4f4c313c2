//! Switchboard in process.
//!
//! To plug it in: hold the router in [`Switchboard`], and answer a body with the exchange driver in [`Case::call`].

use bytes::Bytes;

use super::Case;

/// Switchboard's router behind its exchange driver, batch limit raised.
#[derive(Debug)]
pub struct Switchboard;

impl Switchboard {
    /// With the methods `add`, `ignore`, `text` and `document` registered.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self
    }
}

impl Case for Switchboard {
    fn name(&self) -> &'static str {
        "switchboard"
    }

    fn call(&self, _body: Bytes) -> Bytes {
        panic!("switchboard is not plugged in yet: fill in benches/src/cases/switchboard.rs")
    }
}
