//! Switchboard's HTTP server.
//!
//! To plug it in: serve the router of `cases/switchboard.rs` on `listener` in [`serve`], batch limit raised.

use std::io;
use std::net::TcpListener;

/// Serves on `listener`, which does not block already.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    drop(listener);
    Err(io::Error::other("switchboard is not plugged in yet: fill in benches/src/servers/switchboard.rs"))
}
