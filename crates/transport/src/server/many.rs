//! One server with any number of listeners.

use std::net::SocketAddr;
use std::sync::Arc;

use switchboard_core::{Service, Settings};
use tokio::net::TcpListener;

use super::Handle;
use super::accept::run;
use super::door::Door;
use super::error::ListenError;
use super::options::ServerOptions;
use super::stop::Stop;
use crate::address::{Address, Place, Scheme};
use crate::http::{self, Endpoint};
#[cfg(feature = "tls")]
use crate::tls::ServerTls;

/// Serves one service at any number of URLs, with limits for all of them together.
///
/// # Examples
///
/// ```
/// use switchboard_core::{ErrorObject, Router};
/// use switchboard_transport::server::Server;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
/// ```
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    settings: Settings,
    options: ServerOptions,
    is_public: bool,
    #[cfg(feature = "tls")]
    tls: Option<ServerTls>,
    listeners: Vec<Listening>,
    stop: Arc<Stop>,
}

#[derive(Debug)]
struct Listening {
    scheme: Scheme,
    listener: TcpListener,
    address: SocketAddr,
}

/// Serves this service at these URLs, until the future is dropped. [`Server`] does it with options.
///
/// # Errors
///
/// When one of the URLs cannot be listened at; none is served then.
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
    /// A server for this service, which listens nowhere yet.
    #[must_use]
    pub fn new(service: impl Service) -> Server {
        Server {
            endpoint: Endpoint::new(service),
            settings: Settings::default(),
            options: ServerOptions::default(),
            is_public: false,
            #[cfg(feature = "tls")]
            tls: None,
            listeners: Vec::new(),
            stop: Arc::default(),
        }
    }

    /// The same server with these limits and this dialect.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Server {
        self.endpoint = self.endpoint.with_settings(settings.clone());
        self.settings = settings;
        self
    }

    /// The same server with these options for connections.
    #[must_use]
    pub fn with_options(mut self, options: ServerOptions) -> Server {
        self.options = options;
        self
    }

    /// The same server with these options for HTTP.
    #[must_use]
    pub fn with_http(mut self, options: http::Options) -> Server {
        self.endpoint = self.endpoint.with_options(options);
        self
    }

    /// The same server with this certificate, for URLs that say so.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: ServerTls) -> Server {
        self.tls = Some(tls);
        self
    }

    /// The same server, which may listen where other machines can reach it.
    #[must_use]
    pub fn public(mut self) -> Server {
        self.is_public = true;
        self
    }

    /// Listens at this URL too. Port 0 finds a free one.
    ///
    /// # Errors
    ///
    /// When it cannot be listened at.
    pub async fn listen(&mut self, url: &str) -> Result<(), ListenError> {
        let Address::Web { scheme: scheme @ (Scheme::Http | Scheme::Https), place, path } = url.parse()?
        else {
            let scheme = url.parse::<Address>()?.scheme();
            return Err(ListenError::Unsupported(scheme.name()));
        };
        if path != "/" {
            return Err(ListenError::Path(url.to_owned()));
        }
        if scheme.is_secure() && !self.has_certificate() {
            return Err(ListenError::Certificate(url.to_owned()));
        }
        let addresses = self.resolve(&place, url).await?;
        let listener = TcpListener::bind(&addresses[..]).await;
        let listener = listener.map_err(|error| ListenError::Bind { address: addresses[0], error })?;
        self.add(scheme, listener)
    }

    /// Listens with a listener that was made elsewhere, by a supervisor for instance: for `https` if there is a
    /// certificate, for `http` otherwise. Whoever made it decided who can reach it.
    ///
    /// # Errors
    ///
    /// When it cannot be used.
    pub fn adopt(&mut self, listener: std::net::TcpListener) -> Result<(), ListenError> {
        let scheme = if self.has_certificate() { Scheme::Https } else { Scheme::Http };
        listener.set_nonblocking(true).map_err(ListenError::Listener)?;
        self.add(scheme, TcpListener::from_std(listener).map_err(ListenError::Listener)?)
    }

    /// Where it listens, with the ports that were found where none were given.
    pub fn urls(&self) -> impl Iterator<Item = String> {
        self.listeners
            .iter()
            .map(|Listening { scheme, address, .. }| format!("{}://{address}", scheme.name()))
    }

    /// What stops this server.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::new(&self.stop)
    }

    /// Serves until it is told to stop.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends every connection and cancels their calls.
    pub async fn serve(self) {
        let mut doors = Vec::new();
        for Listening { scheme, listener, address } in self.listeners {
            if !address.ip().is_loopback() {
                tracing::warn!(%address, "listening beyond this machine");
            }
            let door = Door::http(listener, self.endpoint.rules(Some(address)));
            doors.push(match scheme {
                #[cfg(feature = "tls")]
                Scheme::Https => match &self.tls {
                    Some(tls) => door.with_tls(tls.clone()),
                    // Without a certificate nothing was bound for it.
                    None => continue,
                },
                _ => door,
            });
        }
        run(doors, self.options, self.stop, self.settings.limits.drain_time).await;
    }

    fn has_certificate(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }

    async fn resolve(&self, place: &Place, url: &str) -> Result<Vec<SocketAddr>, ListenError> {
        let port = place.port.ok_or_else(|| ListenError::Port(url.to_owned()))?;
        let found = tokio::net::lookup_host((place.host.as_str(), port)).await;
        let addresses: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
        if addresses.is_empty() {
            return Err(ListenError::Unresolved(place.host.clone()));
        }
        match addresses.iter().find(|address| !address.ip().is_loopback()) {
            Some(public) if !self.is_public => Err(ListenError::Public(public.ip())),
            _ => Ok(addresses),
        }
    }

    fn add(&mut self, scheme: Scheme, listener: TcpListener) -> Result<(), ListenError> {
        let address = listener.local_addr().map_err(ListenError::Listener)?;
        self.listeners.push(Listening { scheme, listener, address });
        Ok(())
    }
}
