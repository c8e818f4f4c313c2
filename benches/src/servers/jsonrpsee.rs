//! jsonrpsee's own server.

use std::io;
use std::net::TcpListener;

use jsonrpsee::server::Server;

use crate::cases::jsonrpsee::{config, module};

/// Serves on `listener`.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let server = Server::builder().set_config(config()).build_from_tcp(listener)?;
    server.start(module()).stopped().await;
    Ok(())
}
