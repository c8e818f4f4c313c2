//! Our server with a log in a file and metrics.

use std::io;
use std::net::TcpListener;

use switchboard::http::Endpoint;

use super::switchboard::http_server;
use crate::cases::observed::observers;
use crate::cases::switchboard::{serving_router, settings};

/// Serves on `listener`, which does not block already.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let settings = settings().with_observer(Some(observers().into()));
    http_server(listener)?.serve_endpoint(Endpoint::new(serving_router()).with_settings(settings)).await;
    Ok(())
}
