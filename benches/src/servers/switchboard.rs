//! Switchboard's servers, as a user starts them but for the limits of batches and of connections.

use std::io::{self, Error};
use std::net::TcpListener;
use std::sync::Arc;

use switchboard::http::{Endpoint, HttpServer};
use switchboard::server::ServerOptions;
use switchboard::{Service, stdio, stream, tcp};

use crate::cases::switchboard::{serving_router, settings};

/// Room for all idle connections.
const CONNECTIONS: usize = 20_000;

/// Serves HTTP and WebSocket on `listener`, which does not block already.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    http_server(listener)?.serve_endpoint(Endpoint::new(serving_router()).with_settings(settings())).await;
    Ok(())
}

pub(super) fn http_server(listener: TcpListener) -> io::Result<HttpServer> {
    let options = ServerOptions::default().with_connections(CONNECTIONS);
    Ok(HttpServer::from_std(listener)?.with_options(options))
}

/// Serves messages on `listener`, told apart by their JSON.
///
/// # Errors
/// When the listener fails.
pub async fn serve_tcp(listener: TcpListener) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (router, options): (Arc<dyn Service>, _) = (serving_router(), stream::StreamOptions::default());
    loop {
        let (stream, _) = listener.accept().await?;
        let connection = tcp::connection(stream, Arc::clone(&router), &options)?;
        // A connection that fails is the caller's to notice.
        tokio::spawn(async move { connection.await.is_ok() });
    }
}

/// Serves standard input and output until the input ends.
///
/// # Errors
/// When either fails.
pub async fn serve_stdio() -> io::Result<()> {
    stdio::serve(serving_router(), &stdio::options()).await.map_err(Error::other)
}
