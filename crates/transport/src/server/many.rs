//! One server with any number of listeners.

use std::fmt;
use std::net::SocketAddr;
#[cfg(all(feature = "stdio", unix))]
use std::pin::pin;
use std::sync::Arc;
#[cfg(all(feature = "stdio", unix))]
use std::task::Poll;

use switchboard_core::{Service, Settings};
use tokio::net::TcpListener;

use super::Handle;
use super::accept::run;
use super::door::{Door, Listener, Purpose};
use super::error::ListenError;
use super::options::ServerOptions;
use super::stop::Stop;
#[cfg(feature = "stream")]
use super::streams::Streams;
use crate::address::{Address, Place, Scheme};
use crate::budget::Budget;
use crate::http::{self, Endpoint};
#[cfg(feature = "stream")]
use crate::stream;
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
pub struct Server {
    #[cfg(feature = "stream")]
    service: Arc<dyn Service>,
    endpoint: Endpoint,
    settings: Settings,
    options: ServerOptions,
    is_public: bool,
    #[cfg(feature = "tls")]
    tls: Option<ServerTls>,
    listeners: Vec<Listening>,
    /// Whether standard input and output are served, and how.
    #[cfg(all(feature = "stdio", unix))]
    stdio: Option<stream::Options>,
    stop: Arc<Stop>,
}

/// One listener. Where it has no address, its URL says all.
struct Listening {
    url: Address,
    listener: Listener,
    address: Option<SocketAddr>,
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
        let service: Arc<dyn Service> = Arc::new(service);
        Server {
            endpoint: Endpoint::new(Arc::clone(&service)),
            #[cfg(feature = "stream")]
            service,
            settings: Settings::default(),
            options: ServerOptions::default(),
            is_public: false,
            #[cfg(feature = "tls")]
            tls: None,
            listeners: Vec::new(),
            #[cfg(all(feature = "stdio", unix))]
            stdio: None,
            stop: Arc::default(),
        }
    }

    /// The same server for this service in place of the one before: for a service that has to know where it is served.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_core::{ErrorObject, Json, Reply, ReplyFuture, Router, service_fn};
    /// use switchboard_transport::server::Server;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut server = Server::new(service_fn(|_| ReplyFuture::ready(Reply::Value(Json::NULL))));
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
    /// ```
    #[must_use]
    pub fn with_service(mut self, service: impl Service) -> Server {
        let service: Arc<dyn Service> = Arc::new(service);
        self.endpoint = self.endpoint.with_service(Arc::clone(&service));
        #[cfg(feature = "stream")]
        {
            self.service = service;
        }
        self
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

    /// Listens at this URL too. Port 0 finds a free one. With `stdio`, the server ends when its input does.
    ///
    /// # Errors
    ///
    /// When it cannot be listened at.
    pub async fn listen(&mut self, url: &str) -> Result<(), ListenError> {
        let address: Address = url.parse()?;
        if address.scheme().is_secure() && !self.has_certificate() {
            return Err(ListenError::Certificate(url.to_owned()));
        }
        match &address {
            Address::Web { path, .. } if path != "/" => Err(ListenError::Path(url.to_owned())),
            Address::Web { scheme, place, .. } if is_web(*scheme) => {
                let listener = self.bind(place, url).await?;
                self.add(address, listener)
            }
            #[cfg(feature = "tcp")]
            Address::Socket { place, .. } => {
                let listener = self.bind(place, url).await?;
                self.add(address, listener)
            }
            #[cfg(all(feature = "unix", unix))]
            Address::Unix { path, .. } => {
                let listener = crate::unix::Listener::bind(path.clone()).await;
                let listener = Listener::Unix(listener.map_err(ListenError::Unix)?);
                self.listeners.push(Listening { url: address, listener, address: None });
                Ok(())
            }
            #[cfg(all(feature = "stdio", unix))]
            Address::Stdio { framing } => {
                let mut options = crate::stdio::options();
                options.framing =
                    framing.as_deref().and_then(|name| name.parse().ok()).unwrap_or(options.framing);
                self.stdio = Some(options);
                Ok(())
            }
            other => Err(ListenError::Unsupported(other.scheme().name())),
        }
    }

    /// Listens with a listener that was made elsewhere, by a supervisor for instance: for `https` if there is a
    /// certificate, for `http` otherwise. Whoever made it decided who can reach it.
    ///
    /// # Errors
    ///
    /// When it cannot be used.
    pub fn adopt(&mut self, listener: std::net::TcpListener) -> Result<(), ListenError> {
        let scheme = if self.has_certificate() { "https" } else { "http" };
        let address = listener.local_addr().map_err(ListenError::Listener)?;
        listener.set_nonblocking(true).map_err(ListenError::Listener)?;
        let listener = TcpListener::from_std(listener).map_err(ListenError::Listener)?;
        self.add(format!("{scheme}://{address}").parse()?, listener)
    }

    /// Where it listens, with the ports that were found where none were given.
    pub fn urls(&self) -> impl Iterator<Item = String> {
        self.listeners.iter().map(|listening| match &listening.url {
            url @ Address::Web { .. } => url.to_string().trim_end_matches('/').to_owned(),
            url => url.to_string(),
        })
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
        let budget = Budget::new(self.options.buffers);
        #[cfg(all(feature = "stdio", unix))]
        let stdio = serve_stdio(
            self.stdio.map(|options| options.with_settings(self.settings.clone()).within(&budget)),
            Arc::clone(&self.service),
            Arc::clone(&self.stop),
        );
        let doors = self.listeners.into_iter().map(|Listening { url, listener, address }| {
            if let Some(address) = address.filter(|address| !address.ip().is_loopback()) {
                tracing::warn!(%address, "listening beyond this machine");
            }
            let purpose = match &url {
                #[cfg(feature = "stream")]
                Address::Socket { framing, .. } | Address::Unix { framing, .. } => {
                    let mut options = stream::Options::default().with_settings(self.settings.clone());
                    options.idle_time = self.options.stream_idle_time;
                    // An address holds names that are known.
                    options.framing =
                        framing.as_deref().and_then(|name| name.parse().ok()).unwrap_or_default();
                    Purpose::Messages(Arc::new(Streams { service: Arc::clone(&self.service), options }))
                }
                _ => Purpose::Http(self.endpoint.rules(address)),
            };
            let door = Door::new(listener, purpose);
            #[cfg(feature = "tls")]
            if let Some(tls) = self.tls.as_ref().filter(|_| url.scheme().is_secure()) {
                return door.with_tls(tls.clone());
            }
            door
        });
        let drain_time = self.settings.limits.drain_time;
        let serving = run(doors.collect(), self.options.clone(), self.stop, budget, drain_time);
        #[cfg(all(feature = "stdio", unix))]
        both(serving, stdio).await;
        #[cfg(not(all(feature = "stdio", unix)))]
        serving.await;
    }

    fn has_certificate(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }

    async fn bind(&self, place: &Place, url: &str) -> Result<TcpListener, ListenError> {
        let addresses = self.resolve(place, url).await?;
        let listener = TcpListener::bind(&addresses[..]).await;
        listener.map_err(|error| ListenError::Bind { address: addresses[0], error })
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

    fn add(&mut self, mut url: Address, listener: TcpListener) -> Result<(), ListenError> {
        let address = listener.local_addr().map_err(ListenError::Listener)?;
        if let Address::Web { place, .. } | Address::Socket { place, .. } = &mut url {
            *place = Place { host: address.ip().to_string(), port: Some(address.port()) };
        }
        self.listeners.push(Listening { url, listener: Listener::Tcp(listener), address: Some(address) });
        Ok(())
    }
}

/// Whether a port of this scheme is one of HTTP. WebSocket comes by upgrade.
fn is_web(scheme: Scheme) -> bool {
    let is_socket = matches!(scheme, Scheme::Ws | Scheme::Wss);
    !is_socket || cfg!(feature = "ws")
}

/// Serves standard input and output, if they are to be, and stops the server when the input ends.
#[cfg(all(feature = "stdio", unix))]
async fn serve_stdio(options: Option<stream::Options>, service: Arc<dyn Service>, stop: Arc<Stop>) {
    let Some(options) = options else { return };
    match crate::stdio::connection(std::io::stdin(), std::io::stdout(), service, &options) {
        Ok(connection) => super::streams::run(connection, &stop).await,
        Err(error) => tracing::error!(%error, "standard input and output cannot be used"),
    }
    stop.give();
}

/// Waits for both.
#[cfg(all(feature = "stdio", unix))]
async fn both(first: impl Future<Output = ()>, second: impl Future<Output = ()>) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (mut is_first_done, mut is_second_done) = (false, false);
    std::future::poll_fn(|cx| {
        is_first_done = is_first_done || first.as_mut().poll(cx).is_ready();
        is_second_done = is_second_done || second.as_mut().poll(cx).is_ready();
        if is_first_done && is_second_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urls: Vec<String> = self.urls().collect();
        f.debug_struct("Server").field("urls", &urls).field("options", &self.options).finish_non_exhaustive()
    }
}
