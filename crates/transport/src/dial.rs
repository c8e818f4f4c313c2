//! Connecting to whatever a URL names.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderMap;
use switchboard_core::reconnect::{self, ReconnectingPeer};
use switchboard_core::{
    Call, CallError, ErrorObject, Peer, Reply, ReplyFuture, Service, Settings, Version, service_fn,
};

#[cfg(any(feature = "tcp", feature = "ws"))]
use crate::address::Place;
use crate::address::{Address, AddressError, Scheme};
use crate::http::{Client, ClientOptions, UrlError};
#[cfg(feature = "tls")]
use crate::tls::ClientTls;

/// The far side at this URL, with the usual options; see [`Dial`] for others.
///
/// # Errors
///
/// When the URL is none, names a carrier that this build does not have, or nobody answers there.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let peer = switchboard_transport::connect("https://rpc.example.com/rpc").await?;
/// let sum: i64 = peer.call("add", [2, 3]).await?;
/// # Ok(())
/// # }
/// ```
pub fn connect(url: &str) -> impl Future<Output = Result<Peer, DialError>> + Send + use<> {
    let dial = Dial::new(url);
    async { dial?.connect().await }
}

/// A client of the server at this URL that reconnects when the connection breaks; see [`reconnect`](mod@reconnect) for what
/// becomes of calls and streams meanwhile, and [`Dial::reconnect`] for options.
///
/// # Errors
///
/// When the URL is invalid. Whether the server is there shows later.
///
/// # Panics
///
/// Outside of a Tokio runtime.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = switchboard_transport::reconnect("wss://rpc.example.com/rpc")?;
/// let sum: i64 = client.peer().call("add", [2, 3]).repeatable().await?;
/// # Ok(())
/// # }
/// ```
pub fn reconnect(url: &str) -> Result<ReconnectingPeer, DialError> {
    Ok(Dial::new(url)?.reconnect(reconnect::Options::default()))
}

/// A connection to be made.
#[derive(Clone)]
pub struct Dial {
    address: Address,
    service: Arc<dyn Service>,
    settings: Settings,
    connect_time: Duration,
    headers: HeaderMap,
    version: Version,
    #[cfg(feature = "tls")]
    tls: Option<ClientTls>,
}

/// Why a URL cannot be connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialError {
    /// It is no URL of a carrier.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// It cannot be called over HTTP.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// This build does not have its carrier, or nobody can be called there.
    #[error("{0:?} URLs cannot be called by this build")]
    Unsupported(&'static str),
    /// Nobody is there, or not now: another attempt may succeed.
    #[error("{0}")]
    Unreachable(String),
    /// No connection can be made until somebody changes something: the certificate is not trusted, the credentials are not
    /// accepted, the program does not exist.
    #[error("{0}")]
    Refused(String),
}

impl DialError {
    #[cfg(any(
        feature = "ws",
        all(feature = "tcp", feature = "tls"),
        all(any(feature = "child", feature = "unix"), unix)
    ))]
    fn new(text: String, is_permanent: bool) -> DialError {
        if is_permanent { DialError::Refused(text) } else { DialError::Unreachable(text) }
    }
}

impl From<DialError> for CallError {
    fn from(error: DialError) -> CallError {
        match error {
            DialError::Unreachable(text) => CallError::Unreachable(text.into()),
            DialError::Refused(text) => CallError::CannotConnect(text.into()),
            other => CallError::Unsupported(other.to_string().into()),
        }
    }
}

impl Dial {
    /// A connection to what this URL names.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn new(url: &str) -> Result<Dial, DialError> {
        let nothing = |_: &Call| ReplyFuture::ready(Reply::Error(ErrorObject::method_not_found()));
        Ok(Dial {
            address: url.parse()?,
            service: Arc::new(service_fn(nothing)),
            settings: Settings::default(),
            connect_time: Duration::from_secs(10),
            headers: HeaderMap::new(),
            version: Version::V2,
            #[cfg(feature = "tls")]
            tls: None,
        })
    }

    /// With this service for the calls of the far side, where the carrier brings any. Without one it has no methods. Over
    /// HTTP there are notifications only, in the streams of events.
    ///
    /// A connection drops it when it has ended and closed, and a child process with it. So whoever wants to wait for
    /// that, after dropping the peer, waits for the end of something that the service holds.
    #[must_use]
    pub fn with_service(mut self, service: impl Service) -> Dial {
        self.service = Arc::new(service);
        self
    }

    /// With these limits, this dialect, and this [`Tap`](switchboard_core::Tap) on what is sent and received.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Dial {
        self.settings = settings;
        self
    }

    /// With this time to connect, which is 10 s otherwise.
    #[must_use]
    pub fn with_connect_time(mut self, time: Duration) -> Dial {
        self.connect_time = time;
        self
    }

    /// With these headers in every request or handshake, where the carrier has any.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Dial {
        self.headers = headers;
        self
    }

    /// In this version of JSON-RPC, over HTTP.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Dial {
        self.version = version;
        self
    }

    /// With this way to speak TLS, where the URL says that it is spoken.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: ClientTls) -> Dial {
        self.tls = Some(tls);
        self
    }

    /// Asking for HTTP/2 when TLS is set up, in the way that was given. It is for [`raw`](Dial::raw), over which the caller speaks it;
    /// [`ClientOptions::http2`] makes a [`Client`] speak it.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_http2(mut self) -> Dial {
        self.tls = self.tls.map(|tls| tls.for_http(true));
        self
    }

    /// Where it goes.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Connects. Over HTTP nothing is sent before the first call.
    ///
    /// # Errors
    ///
    /// When this build does not have the carrier, or nobody answers there.
    pub async fn connect(self) -> Result<Peer, DialError> {
        match (self.address.scheme(), self.address.clone()) {
            #[cfg(feature = "ws")]
            (scheme @ (Scheme::Ws | Scheme::Wss), Address::Web { place, .. }) => {
                self.web_socket(scheme, &place).await
            }
            #[cfg(feature = "tcp")]
            (scheme @ (Scheme::Tcp | Scheme::Tls), Address::Socket { place, framing, .. }) => {
                self.socket(scheme, &place, framing.as_deref()).await
            }
            #[cfg(all(feature = "unix", unix))]
            (_, Address::Unix { path, framing }) => {
                let options = self.stream_options(framing.as_deref());
                let peer = crate::unix::connect(&path, self.service, &options).await;
                peer.map_err(|error| match error.kind() {
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => {
                        DialError::Unreachable(format!("nothing listens on {}", path.display()))
                    }
                    _ => DialError::new(error.to_string(), CallError::from(error).is_permanent()),
                })
            }
            #[cfg(all(feature = "child", unix))]
            (_, Address::Exec { command, framing }) => {
                let command: crate::child::Command = command.parse().map_err(bad_command)?;
                // A program that is started speaks over its standard input and output: one message a line.
                let options = self.stream_options(Some(framing.as_deref().unwrap_or("lines")));
                Ok(crate::child::connect(&command, self.service, &options).await?)
            }
            _ => Ok(Peer::new(self.client()?)),
        }
    }

    /// Connects, and reconnects when the connection breaks; see [`reconnect`](mod@reconnect). Over HTTP, where each call
    /// finds its own connection, calls that do not reach the server are sent again.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use = "dropping it closes the connection"]
    pub fn reconnect(self, options: reconnect::Options) -> ReconnectingPeer {
        ReconnectingPeer::with_options(move || self.clone().connect(), options)
    }

    /// The client for an `http` or `https` URL, which tells what came of a notification too.
    ///
    /// # Errors
    ///
    /// When it is a URL of another kind, or TLS cannot be set up.
    pub fn client(self) -> Result<Client, DialError> {
        let (Scheme::Http | Scheme::Https) = self.address.scheme() else {
            return Err(DialError::Unsupported(self.address.scheme().name()));
        };
        let options = ClientOptions {
            headers: self.headers,
            connect_time: self.connect_time,
            version: self.version,
            limits: self.settings.limits,
            tap: self.settings.tap,
            #[cfg(feature = "tls")]
            tls: self.tls,
            ..ClientOptions::default()
        };
        Ok(Client::with_options(&self.address.to_string(), options)?.with_service(self.service))
    }
}

/// Connections of their own.
impl Dial {
    /// Opens the connection and sends nothing over it: no handshake but that of TLS, no framing. It is for tools that
    /// test how servers take what is wrong; [`connect`](Dial::connect) is for everybody else.
    ///
    /// # Errors
    ///
    /// When this build does not have the carrier, or nobody answers there.
    #[cfg(any(feature = "tcp", feature = "ws"))]
    pub async fn raw(&self) -> Result<crate::Raw, DialError> {
        match &self.address {
            Address::Web { scheme, place, .. } | Address::Socket { scheme, place, .. } => {
                Ok(crate::Raw::new(self.open(*scheme, place).await?))
            }
            #[cfg(all(feature = "unix", unix))]
            Address::Unix { path, .. } => {
                let unreachable = |text| DialError::Unreachable(format!("{}: {text}", path.display()));
                let open = tokio::net::UnixStream::connect(path);
                match tokio::time::timeout(self.connect_time, open).await {
                    Ok(Ok(socket)) => Ok(crate::Raw::new(socket)),
                    Ok(Err(error)) => Err(unreachable(error.to_string())),
                    Err(_) => Err(unreachable("nobody answered in time".to_owned())),
                }
            }
            #[cfg(all(feature = "child", unix))]
            Address::Exec { command, .. } => {
                let command: crate::child::Command = command.parse().map_err(bad_command)?;
                Ok(crate::Raw::child(crate::child::Bare::start(&command)?))
            }
            _ => Err(DialError::Unsupported(self.address.scheme().name())),
        }
    }

    #[cfg(feature = "ws")]
    async fn web_socket(self, scheme: Scheme, place: &Place) -> Result<Peer, DialError> {
        let options = crate::ws::ClientOptions {
            headers: self.headers.clone(),
            connect_time: self.connect_time,
            ..crate::ws::ClientOptions::default()
        };
        let (url, settings) = (self.address.to_string(), Arc::new(self.settings.clone()));
        let service = Arc::clone(&self.service);
        let opened = match scheme {
            Scheme::Ws => crate::ws::connect(&url, service, settings, &options).await,
            _ => {
                let socket = self.open(scheme, place).await?;
                crate::ws::connect_over(socket, &url, service, settings, &options).await
            }
        };
        opened.map_err(|error| match error {
            crate::ws::ConnectError::Unreachable { target, error } if is_refused(&error) => {
                DialError::Unreachable(format!("nothing listens on {target}"))
            }
            error => DialError::new(error.to_string(), error.is_permanent()),
        })
    }

    #[cfg(feature = "tcp")]
    async fn socket(self, scheme: Scheme, place: &Place, framing: Option<&str>) -> Result<Peer, DialError> {
        use crate::{running, stream};
        let options = self.stream_options(framing);
        let socket = self.open(scheme, place).await?;
        let origin = switchboard_core::Origin::new(scheme.name());
        let connection = match socket {
            // Halves of their own, which share no lock.
            crate::socket::Socket::Tcp(tcp) => {
                stream::connection(tcp.into_split(), self.service, origin, &options)
            }
            other => stream::connection(tokio::io::split(other), self.service, origin, &options),
        };
        Ok(running::run(connection))
    }

    #[cfg(any(feature = "tcp", all(any(feature = "child", feature = "unix"), unix)))]
    fn stream_options(&self, framing: Option<&str>) -> crate::stream::Options {
        // An address holds names that are known.
        let framing = framing.and_then(|name| name.parse().ok()).unwrap_or_default();
        crate::stream::Options::new(framing)
            .with_settings(self.settings.clone())
            .with_connect_time(self.connect_time)
    }

    /// Opens a socket, with TLS where the scheme says so.
    #[cfg(any(feature = "tcp", feature = "ws"))]
    async fn open(&self, scheme: Scheme, place: &Place) -> Result<crate::socket::Socket, DialError> {
        let unreachable = |text: String| DialError::Unreachable(text);
        let port = place.port.unwrap_or(if scheme.is_secure() { 443 } else { 80 });
        let open = async {
            let tcp = tokio::net::TcpStream::connect((place.host.as_str(), port)).await;
            let tcp = tcp.map_err(|error| match is_refused(&error) {
                true => unreachable(format!("nothing listens on {place}")),
                false => unreachable(format!("cannot connect to {place}: {error}")),
            })?;
            let _ = tcp.set_nodelay(true);
            #[cfg(feature = "tls")]
            if scheme.is_secure() {
                let tls = match &self.tls {
                    Some(tls) => tls.clone(),
                    None => ClientTls::load(&crate::tls::ClientFiles::default())
                        .map_err(|error| DialError::Url(UrlError::Tls(error.to_string())))?,
                };
                let greeted = tls.connect(tcp, &place.host).await;
                return greeted.map_err(|error| DialError::new(error.text, error.is_permanent));
            }
            if scheme.is_secure() { Err(DialError::Unsupported(scheme.name())) } else { Ok(tcp.into()) }
        };
        let late = |_| Err(unreachable(format!("no connection to {place} within {:?}", self.connect_time)));
        tokio::time::timeout(self.connect_time, open).await.unwrap_or_else(late)
    }
}

#[cfg(all(feature = "child", unix))]
#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn bad_command(error: crate::child::BadCommand) -> DialError {
    DialError::Refused(error.to_string())
}

#[cfg(all(feature = "child", unix))]
impl From<crate::child::StartError> for DialError {
    fn from(error: crate::child::StartError) -> DialError {
        DialError::new(error.to_string(), CallError::from(error).is_permanent())
    }
}

/// Whether nobody listens there.
#[cfg(any(feature = "tcp", feature = "ws"))]
fn is_refused(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::ConnectionRefused
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dial").field("address", &self.address).finish_non_exhaustive()
    }
}
