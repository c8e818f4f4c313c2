//! The servers of Switchboard and of jsonrpsee that check who calls.

use std::io;
use std::net::TcpListener;

use jsonrpsee::server::Server;
use switchboard::http::Endpoint;

use super::switchboard::http_server;
use crate::cases::jsonrpsee::{config, module};
use crate::cases::jsonrpsee_bearer::middleware;
use crate::cases::secured::secured;
use crate::cases::switchboard::{serving_router, settings};

/// Serves with all layers on `listener`, which does not block already. Tokens are checked before the calls of a request are read.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let (authentication, service) = secured(serving_router());
    let settings = settings().with_admission(Some(authentication.into()));
    http_server(listener)?.serve_endpoint(Endpoint::new(service).with_settings(settings)).await;
    Ok(())
}

/// Serves jsonrpsee behind its tower layer.
///
/// # Errors
/// When the listener fails.
pub async fn serve_jsonrpsee(listener: TcpListener) -> io::Result<()> {
    let builder = Server::builder().set_config(config()).set_http_middleware(middleware());
    builder.build_from_tcp(listener)?.start(module()).stopped().await;
    Ok(())
}
