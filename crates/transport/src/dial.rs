//! Connecting to a server by its URL.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "http")]
use switchboard_core::SharedSeal;
use switchboard_core::reconnect::{self, ReconnectingPeer};
use switchboard_core::{CallError, Peer, Service, Settings, Upstream, Version};

use crate::carrier::{Carrier, Carriers, ConnectSetup, Url, UrlError};
use crate::raw::Raw;
#[cfg(feature = "tls")]
use crate::tls::ClientTls;

/// Connects to the server at this URL with the default options; see [`Dial`] for more.
///
/// # Errors
///
/// When the text is not a URL, its transport is not part of this build, or the server cannot be reached.
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
/// happens to calls and streams meanwhile, and [`Dial::reconnect`] for options.
///
/// # Errors
///
/// When the URL is invalid. Whether the server is reachable shows later.
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
    Ok(Dial::new(url)?.reconnect(reconnect::ReconnectOptions::default()))
}

/// A connection to open.
#[derive(Clone)]
pub struct Dial {
    url: Url,
    carrier: Arc<dyn Carrier>,
    setup: ConnectSetup,
}

/// Why connecting to a URL failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialError {
    /// It is not a URL, or its transport is not part of this build.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// Clients cannot connect to URLs of this scheme.
    #[error("clients cannot connect to {0:?} URLs; they are for servers")]
    Unsupported(String),
    /// A local setup problem: TLS, for instance.
    #[error("{0}")]
    Setup(String),
    /// The server is not reachable: another attempt may succeed.
    #[error("{0}")]
    Unreachable(String),
    /// No connection is possible until the setup changes: the certificate is not trusted, the credentials are not
    /// accepted, the program does not exist.
    #[error("{0}")]
    Refused(String),
}

impl DialError {
    /// An attempt that failed, and whether every other one would.
    #[cfg(any(feature = "ws", feature = "tls", all(any(feature = "child", feature = "unix"), unix)))]
    pub(crate) fn new(text: String, is_permanent: bool) -> DialError {
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
    /// A connection to the server at this URL.
    ///
    /// # Errors
    ///
    /// When it is not a URL, or its transport is not part of this build.
    pub fn new(url: &str) -> Result<Dial, DialError> {
        Dial::with_carriers(url, &Carriers::of_this_build())
    }

    /// Like [`new`](Dial::new), with one of these transports.
    ///
    /// # Errors
    ///
    /// When it is not a URL, or not a URL of these transports.
    pub fn with_carriers(url: &str, carriers: &Carriers) -> Result<Dial, DialError> {
        let url = url.parse()?;
        let carrier = carriers.find(&url)?;
        Ok(Dial { url, carrier, setup: ConnectSetup::default() })
    }

    /// Sets the service for calls from the server, if the transport allows them. By default it has no methods. Over HTTP there
    /// are notifications only, in event streams.
    ///
    /// A connection drops the service when it has ended and closed, and a child process with it. To wait for that after
    /// dropping the peer, wait until something that the service holds is dropped.
    #[must_use]
    pub fn with_service(mut self, service: impl Service) -> Dial {
        self.setup.service = Arc::new(service);
        self.setup.is_called_back = true;
        self
    }

    /// Sets limits, dialect, and a [`Tap`](switchboard_core::Tap) on the messages.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Dial {
        self.setup.settings = Arc::new(settings);
        self
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.setup.settings
    }

    /// Sets the time that connecting may take, 10 s by default.
    #[must_use]
    pub fn with_connect_time(mut self, time: Duration) -> Dial {
        self.setup.connect_time = time;
        self
    }

    /// Sets an environment variable of the program that an `exec` URL starts.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Dial {
        self.setup.env.push((name.into(), value.into()));
        self
    }

    /// Sets the working directory of the program that an `exec` URL starts.
    #[must_use]
    pub fn with_folder(mut self, folder: impl Into<PathBuf>) -> Dial {
        self.setup.folder = Some(folder.into());
        self
    }

    /// Sets the name under which the standard error of the program is logged that an `exec` URL starts. By default it is the program.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Dial {
        self.setup.label = Some(label.into());
        self
    }

    /// Sets the headers of every request or handshake, if the transport has headers.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn with_headers(mut self, headers: http::HeaderMap) -> Dial {
        self.setup.headers = headers;
        self
    }

    /// Adds headers to each request that depend on the whole request, and checks the responses; for HTTP.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn with_seal(mut self, seal: SharedSeal) -> Dial {
        self.setup.seal = Some(seal);
        self
    }

    /// Sets the version of JSON-RPC, for HTTP.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Dial {
        self.setup.version = version;
        self
    }

    /// Sets the TLS configuration, for URLs whose scheme uses TLS.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: ClientTls) -> Dial {
        self.setup.tls = Some(tls);
        self
    }

    /// Asks for HTTP/2 in the TLS handshake, with the configuration set before. For [`raw`](Dial::raw), over which the
    /// caller speaks it; [`http::HttpClientOptions::http2`](crate::http::HttpClientOptions::http2) makes a client use it.
    #[cfg(all(feature = "http", feature = "tls"))]
    #[must_use]
    pub fn with_http2(mut self) -> Dial {
        self.setup.tls = self.setup.tls.map(|tls| tls.for_http(true));
        self
    }

    /// The same connection to another URL of the same scheme. The headers go there too, so take care that it is the same server.
    ///
    /// # Errors
    ///
    /// When it is not a URL, or its scheme differs.
    pub fn with_url(mut self, url: &str) -> Result<Dial, DialError> {
        let url: Url = url.parse()?;
        if url.scheme() != self.url.scheme() {
            return Err(DialError::Unsupported(url.scheme().to_owned()));
        }
        self.url = url;
        Ok(self)
    }

    /// The URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Connects. Over HTTP nothing is sent before the first call.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached.
    pub async fn connect(self) -> Result<Peer, DialError> {
        self.carrier.connect(self.url, self.setup).await
    }

    /// Connects, and reconnects when the connection breaks; see [`reconnect`](mod@reconnect). Over HTTP, where each call
    /// uses its own connection, calls that do not reach the server are sent again.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use = "dropping it closes the connection"]
    pub fn reconnect(self, options: reconnect::ReconnectOptions) -> ReconnectingPeer {
        ReconnectingPeer::with_options(move || self.clone().connect(), options)
    }

    /// The server as the upstream of a proxy.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use]
    pub fn upstream(self) -> Upstream {
        Upstream::new(move |service: Arc<dyn Service>| self.clone().with_service(service).connect())
    }

    /// The client for an `http` or `https` URL. Unlike a [`Peer`], it reports failures of notifications too.
    ///
    /// # Errors
    ///
    /// When the URL has another scheme, or TLS cannot be set up.
    #[cfg(feature = "http")]
    pub fn client(self) -> Result<crate::http::Client, DialError> {
        crate::http::HttpCarrier::client(&self.url, self.setup)
    }

    /// Opens the connection and sends nothing over it: no handshake except that of TLS, no framing. It is for tools that test how
    /// servers treat invalid input; use [`connect`](Dial::connect) otherwise.
    ///
    /// # Errors
    ///
    /// When the transport cannot do that, or the server cannot be reached.
    pub async fn raw(&self) -> Result<Raw, DialError> {
        self.carrier.open(self.url.clone(), self.setup.clone()).await
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dial").field("url", &self.url).finish_non_exhaustive()
    }
}
