//! Transports by URL scheme: how [`connect`](crate::connect) and [`Server::listen`](crate::server::Server::listen) find the transport of a
//! URL.
//!
//! ```text
//! http://host:port/path   https://…      HTTP; a bare host:port means this
//! ws://host:port/path     wss://…        WebSocket
//! tcp://host:port         tls://…        messages over a socket
//! unix:PATH                              messages over a Unix socket
//! stdio                                  messages over standard input and output (servers)
//! exec:COMMAND                           messages with a child process (clients)
//! nats://host:port/service               calls over a NATS server; nats+tls:// with TLS
//! ```
//!
//! `tcp`, `unix`, `stdio` and `exec` take `?framing=` with `lines`, `json`, `lsp` or `length`; `unix`, `stdio` and `exec` exist on Unix only.
//!
//! A transport is a folder that implements [`Carrier`] and a line in [`Carriers::of_this_build`]. Pass a transport from another crate
//! to [`Server::with_carrier`](crate::server::Server::with_carrier) and [`Dial::with_carriers`](crate::Dial::with_carriers).

mod redacted;
mod setup;
mod suggest;
mod url;

use std::fmt;
use std::sync::Arc;

use switchboard_core::Peer;

pub use self::redacted::redacted;
pub use self::setup::{ConnectSetup, ListenSetup};
pub use self::suggest::Suggestion;
pub use self::url::{HostPort, Url, UrlError};
use crate::dial::DialError;
use crate::raw::Raw;
use crate::server::{BoxFuture, ListenError, Listener};

/// A transport: where to listen and how to connect, by URL.
pub trait Carrier: Send + Sync + 'static {
    /// The schemes of its URLs, in lower case.
    fn schemes(&self) -> &'static [&'static str];

    /// Checks a URL before anything is opened.
    ///
    /// # Errors
    ///
    /// When something is missing, or not supported by this transport.
    fn check(&self, url: &Url) -> Result<(), UrlError> {
        let _ = url;
        Ok(())
    }

    /// Listens on this URL. By default, a transport is for clients only.
    fn listen(
        &self,
        url: Url,
        setup: ListenSetup,
    ) -> BoxFuture<'static, Result<Box<dyn Listener>, ListenError>> {
        let _ = setup;
        Box::pin(async move { Err(ListenError::Unsupported(url.scheme().to_owned())) })
    }

    /// Connects to this URL. By default, a transport is for servers only.
    fn connect(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Peer, DialError>> {
        let _ = setup;
        Box::pin(async move { Err(DialError::Unsupported(url.scheme().to_owned())) })
    }

    /// Opens the connection and sends nothing over it, see [`Dial::raw`](crate::Dial::raw).
    fn open(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Raw, DialError>> {
        let _ = setup;
        Box::pin(async move { Err(DialError::Unsupported(url.scheme().to_owned())) })
    }
}

/// The transports available to URLs. Cheap to clone.
#[derive(Clone)]
pub struct Carriers(Arc<[Arc<dyn Carrier>]>);

impl Carriers {
    /// The transports of this crate whose features are enabled.
    #[must_use]
    pub fn of_this_build() -> Carriers {
        let carriers: Vec<Arc<dyn Carrier>> = vec![
            #[cfg(feature = "http")]
            Arc::new(crate::http::HttpCarrier),
            #[cfg(feature = "ws")]
            Arc::new(crate::ws::WsCarrier),
            #[cfg(feature = "tcp")]
            Arc::new(crate::tcp::TcpCarrier),
            #[cfg(all(feature = "unix", unix))]
            Arc::new(crate::unix::UnixCarrier),
            #[cfg(all(feature = "stdio", unix))]
            Arc::new(crate::stdio::StdioCarrier),
            #[cfg(all(feature = "child", unix))]
            Arc::new(crate::child::ChildCarrier),
            #[cfg(feature = "nats")]
            Arc::new(crate::nats::NatsCarrier),
        ];
        Carriers(carriers.into())
    }

    /// Adds a transport, which takes precedence over the others.
    #[must_use]
    pub fn with(&self, carrier: impl Carrier) -> Carriers {
        let first: Arc<dyn Carrier> = Arc::new(carrier);
        Carriers(std::iter::once(first).chain(self.0.iter().cloned()).collect())
    }

    /// The transport of this URL.
    ///
    /// # Errors
    ///
    /// When there is none, or it does not accept the URL.
    pub fn find(&self, url: &Url) -> Result<Arc<dyn Carrier>, UrlError> {
        let has_scheme = |carrier: &&Arc<dyn Carrier>| carrier.schemes().contains(&url.scheme());
        match self.0.iter().find(has_scheme) {
            Some(carrier) => carrier.check(url).map(|()| Arc::clone(carrier)),
            None => Err(UrlError::unknown(url, self.schemes())),
        }
    }

    fn schemes(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|carrier| carrier.schemes()).copied()
    }
}

impl fmt::Debug for Carriers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.schemes()).finish()
    }
}
