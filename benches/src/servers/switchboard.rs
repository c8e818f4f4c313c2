//! Switchboard's HTTP server, as a user starts it but for the batch limit.

use std::io;
use std::net::TcpListener;

use switchboard::http::{Endpoint, Server};

use crate::cases::switchboard::{router, settings};

/// Serves on `listener`, which does not block already.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let server = Server::from_std(listener)?;
    server.serve_endpoint(Endpoint::new(router()).with_settings(settings())).await;
    Ok(())
}
