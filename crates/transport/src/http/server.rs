//! The simple way to serve only HTTP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use switchboard_core::{Extensions, Service};
use tokio::net::{TcpListener, ToSocketAddrs};

use super::carrier::HttpListener;
use super::endpoint::Endpoint;
use crate::net::{self, Port};
use crate::server::{self, Handle, ServerOptions, ServerState, Shutdown};

/// Listens for HTTP/1.1 and HTTP/2 on one port.
///
/// # Examples
///
/// ```no_run
/// use switchboard_core::Router;
/// use switchboard_transport::http::HttpServer;
///
/// # async fn example(router: Router) -> std::io::Result<()> {
/// let server = HttpServer::bind("127.0.0.1:8000").await?;
/// let handle = server.handle();
/// tokio::spawn(async move {
///     // … when it is time to stop:
///     handle.shutdown();
/// });
/// server.serve(router).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    options: ServerOptions,
    shutdown: Arc<Shutdown>,
}

impl HttpServer {
    /// Listens on this address of the loopback interface, such as `127.0.0.1:8000`.
    ///
    /// # Errors
    ///
    /// When other machines can reach the address: use [`bind_public`](HttpServer::bind_public) if that is intended. Or when the
    /// system refuses to listen there.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<HttpServer> {
        let addresses: Vec<SocketAddr> = tokio::net::lookup_host(address).await?.collect();
        if let Some(public) = net::public(&addresses) {
            let why = format!(
                "{public} can be reached from other machines; \
                 use `HttpServer::bind_public` if that is intended, or bind to 127.0.0.1"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        HttpServer::from_tokio(TcpListener::bind(&addresses[..]).await?)
    }

    /// Listens on any address; other machines may reach it.
    ///
    /// # Errors
    ///
    /// When the system refuses to listen there.
    pub async fn bind_public(address: impl ToSocketAddrs) -> io::Result<HttpServer> {
        HttpServer::from_tokio(TcpListener::bind(address).await?)
    }

    /// Uses an existing listener, from a supervisor for instance, wherever it listens.
    ///
    /// # Errors
    ///
    /// When the listener cannot be used.
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<HttpServer> {
        listener.set_nonblocking(true)?;
        HttpServer::from_tokio(TcpListener::from_std(listener)?)
    }

    fn from_tokio(listener: TcpListener) -> io::Result<HttpServer> {
        let address = listener.local_addr()?;
        Ok(HttpServer { listener, address, options: ServerOptions::default(), shutdown: Arc::default() })
    }

    /// Sets the options.
    #[must_use]
    pub fn with_options(mut self, options: ServerOptions) -> HttpServer {
        self.options = options;
        self
    }

    /// The address of the listener, with the actual port if 0 was given.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// A handle that stops this server.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::new(&self.shutdown)
    }

    /// Serves calls with this service, as [`Endpoint::new`] does, until it is stopped.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends every connection and cancels their calls.
    pub async fn serve(self, service: impl Service) {
        self.serve_endpoint(Endpoint::new(service)).await;
    }

    /// Serves this endpoint until it is stopped, see [`serve`](HttpServer::serve).
    pub async fn serve_endpoint(self, endpoint: Endpoint) {
        let port = match Port::new(self.listener) {
            Ok(port) => port,
            Err(error) => return tracing::error!(%error, "cannot use the listener"),
        };
        let rules = endpoint.rules(Some(self.address));
        let engine = rules.engine.clone();
        let state = ServerState::listening(1, engine, self.options, Extensions::default(), self.shutdown);
        let listener = HttpListener::new("http", port).with_rules(rules);
        server::run(vec![Box::new(listener)], state).await;
    }
}
