//! One server with any number of listeners.

use std::fmt;
use std::sync::Arc;

use switchboard_core::{Engine, Extensions, Service, Settings};

use super::Handle;
use super::accept::run;
use super::error::ListenError;
use super::listener::Listener;
use super::options::ServerOptions;
use super::permit::ServerState;
use super::shutdown::Shutdown;
use crate::carrier::{Carrier, Carriers, ListenSetup, Url};
#[cfg(feature = "tls")]
use crate::tls::ServerTls;

/// Serves one service on any number of URLs, with limits for all of them together.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "http")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use switchboard_core::{ErrorObject, Router};
/// use switchboard_transport::server::Server;
///
/// let router = Router::builder()
///     .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
///     .build()?;
/// let mut server = Server::new(router);
/// server.listen("http://127.0.0.1:0").await?;
/// server.listen("http://localhost:0").await?;
/// let (url, handle) = (server.urls().next().unwrap(), server.handle());
/// let serving = tokio::spawn(server.serve());
///
/// let sum: i64 = switchboard_transport::connect(&url).await?.call("add", [2, 3]).await?;
/// assert_eq!(sum, 5);
///
/// handle.shutdown();
/// serving.await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "http"))]
/// # fn main() {}
/// ```
pub struct Server {
    service: Arc<dyn Service>,
    settings: Settings,
    options: ServerOptions,
    extensions: Extensions,
    carriers: Carriers,
    setup: ListenSetup,
    listeners: Vec<Box<dyn Listener>>,
    shutdown: Arc<Shutdown>,
}

/// Serves this service on these URLs, until the future is dropped. Use [`Server`] to set options.
///
/// # Errors
///
/// When the server cannot listen on one of the URLs; none is served then.
pub async fn serve<T: AsRef<str>>(
    urls: impl IntoIterator<Item = T>,
    service: impl Service,
) -> Result<(), ListenError> {
    let mut server = Server::new(service);
    for url in urls {
        server.listen(url.as_ref()).await?;
    }
    server.serve().await;
    Ok(())
}

impl Server {
    /// A server for this service, which does not listen yet.
    #[must_use]
    pub fn new(service: impl Service) -> Server {
        Server {
            service: Arc::new(service),
            settings: Settings::default(),
            options: ServerOptions::default(),
            extensions: Extensions::default(),
            carriers: Carriers::of_this_build(),
            setup: ListenSetup::default(),
            listeners: Vec::new(),
            shutdown: Arc::default(),
        }
    }

    /// Replaces the service: for one that must know the URLs it is served on.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "http")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use switchboard_core::{ErrorObject, Json, Reply, ReplyFuture, Router, service_fn};
    /// use switchboard_transport::server::Server;
    ///
    /// let mut server = Server::new(service_fn(|_| ReplyFuture::ready(Reply::value(Json::NULL))));
    /// server.listen("http://127.0.0.1:0").await?;
    /// let url = server.urls().next().unwrap();
    /// let told = url.clone();
    /// let router = Router::builder().method("where", move |(): (), _| Ok::<_, ErrorObject>(told.clone())).build()?;
    /// let serving = tokio::spawn(server.with_service(router).serve());
    ///
    /// let told: String = switchboard_transport::connect(&url).await?.call("where", ()).await?;
    /// assert_eq!(told, url);
    /// # serving.abort();
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "http"))]
    /// # fn main() {}
    /// ```
    #[must_use]
    pub fn with_service(mut self, service: impl Service) -> Server {
        self.service = Arc::new(service);
        self
    }

    /// Sets limits and dialect.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Server {
        self.settings = settings;
        self
    }

    /// Sets the options for connections.
    #[must_use]
    pub fn with_options(mut self, options: ServerOptions) -> Server {
        self.options = options;
        self
    }

    /// Sets the options for HTTP.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn with_http(self, options: crate::http::EndpointOptions) -> Server {
        self.with_extension(options)
    }

    /// Sets options of a transport, which looks them up by type, see [`ConnectionPermit::extension`](super::ConnectionPermit::extension).
    #[must_use]
    pub fn with_extension<T: Send + Sync + 'static>(mut self, options: T) -> Server {
        self.extensions.insert(options);
        self
    }

    /// Adds a transport, for the URLs of its schemes. It takes precedence over those of this build.
    #[must_use]
    pub fn with_carrier(mut self, carrier: impl Carrier) -> Server {
        self.carriers = self.carriers.with(carrier);
        self
    }

    /// Sets the certificate for URLs whose scheme uses TLS. It must be set before [`listen`](Server::listen).
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: ServerTls) -> Server {
        self.setup.tls = Some(tls);
        self
    }

    /// Allows the server to listen where other machines can reach it. It must be called before [`listen`](Server::listen) and
    /// [`adopt`](Server::adopt).
    #[must_use]
    pub fn public(mut self) -> Server {
        self.setup.is_public = true;
        self
    }

    /// Expects a header of the PROXY protocol (version 1 or 2) at the start of each TCP connection, or not: for listeners that are added
    /// after this call. The header names the client. Connections from addresses that are not in
    /// [`trust_proxies`](ServerOptions::trust_proxies), or without a valid header, are closed.
    #[must_use]
    pub fn with_proxy_protocol(mut self, is_expected: bool) -> Server {
        self.setup.has_proxy_protocol = is_expected;
        self
    }

    /// Listens on this URL too. Port 0 picks a free one. With `stdio`, the server ends when its input does.
    ///
    /// # Errors
    ///
    /// When the server cannot listen there.
    pub async fn listen(&mut self, url: &str) -> Result<(), ListenError> {
        let url: Url = url.parse()?;
        let carrier = self.carriers.find(&url)?;
        let listener = carrier.listen(url, self.setup.clone()).await?;
        self.listeners.push(listener);
        Ok(())
    }

    /// Listens on this URL too, with a socket that exists already.
    ///
    /// # Errors
    ///
    /// When the socket does not suit the URL, or the server cannot listen there.
    #[cfg(all(unix, any(feature = "tcp", feature = "http", feature = "unix")))]
    pub async fn listen_with(
        &mut self,
        url: &str,
        socket: super::ListeningSocket,
    ) -> Result<(), ListenError> {
        let url: Url = url.parse()?;
        let carrier = self.carriers.find(&url)?;
        let mut setup = self.setup.clone();
        setup.socket = Some(socket);
        self.listeners.push(carrier.listen(url, setup).await?);
        Ok(())
    }

    /// The sockets that it listens on, in the order of [`urls`](Server::urls), for a process that is to take over; `None` for listeners
    /// without a socket. They are open, and the clients that connect to them wait, until they are dropped.
    ///
    /// # Errors
    ///
    /// When the system cannot open more files.
    #[cfg(unix)]
    pub fn sockets(&self) -> std::io::Result<Vec<Option<std::os::fd::OwnedFd>>> {
        let sockets = self.listeners.iter().map(|listener| listener.socket());
        sockets.map(|socket| socket.map(|socket| socket.try_clone_to_owned()).transpose()).collect()
    }

    /// Adds a listener, whose transport need not be one of this crate.
    pub fn add_listener(&mut self, listener: impl Listener) {
        self.listeners.push(Box::new(listener));
    }

    /// Adds an existing listener, from a supervisor for instance: for `https` if there is a
    /// certificate, for `http` otherwise.
    ///
    /// # Errors
    ///
    /// When it cannot be used, or when other machines can reach it and [`public`](Server::public) was not called.
    #[cfg(feature = "http")]
    pub fn adopt(&mut self, listener: std::net::TcpListener) -> Result<(), ListenError> {
        self.listeners.push(Box::new(crate::http::HttpListener::adopt(listener, &self.setup)?));
        Ok(())
    }

    /// The URLs it listens on, with the actual ports.
    pub fn urls(&self) -> impl Iterator<Item = String> {
        self.listeners.iter().map(|listener| listener.url())
    }

    /// A handle that shuts this server down.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::new(&self.shutdown)
    }

    /// Serves until the server is shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends every connection and cancels their calls.
    pub async fn serve(self) {
        let engine = Engine::new(self.service, self.settings);
        let listeners = self.listeners.len();
        let state = ServerState::listening(listeners, engine, self.options, self.extensions, self.shutdown);
        run(self.listeners, state).await;
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urls: Vec<String> = self.urls().collect();
        f.debug_struct("Server").field("urls", &urls).field("options", &self.options).finish_non_exhaustive()
    }
}
