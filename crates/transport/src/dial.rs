//! Connecting to whatever a URL names.

use http::header::HeaderMap;
use switchboard_core::{Peer, Version};

use crate::address::{Address, AddressError, Scheme};
use crate::http::{Client, ClientOptions, UrlError};
#[cfg(feature = "tls")]
use crate::tls::ClientTls;

/// The far side at this URL, with the usual options; see [`Dial`] for others.
///
/// # Errors
///
/// When the URL is none, or names a carrier that this build does not have.
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
pub async fn connect(url: &str) -> Result<Peer, DialError> {
    Dial::new(url)?.connect().await
}

/// A connection to be made.
#[derive(Clone, Debug)]
pub struct Dial {
    address: Address,
    options: ClientOptions,
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
    /// This build does not have its carrier.
    #[error("this build cannot call {0:?} URLs")]
    Unsupported(&'static str),
}

impl Dial {
    /// A connection to what this URL names.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn new(url: &str) -> Result<Dial, DialError> {
        Ok(Dial { address: url.parse()?, options: ClientOptions::default() })
    }

    /// With these headers in every request, where the carrier has any.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Dial {
        self.options.headers = headers;
        self
    }

    /// In this version of JSON-RPC.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Dial {
        self.options.version = version;
        self
    }

    /// With this way to speak TLS, where the URL says that it is spoken.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: ClientTls) -> Dial {
        self.options.tls = Some(tls);
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
    /// When this build does not have the carrier, or TLS cannot be set up.
    pub async fn connect(self) -> Result<Peer, DialError> {
        Ok(Peer::new(self.client()?))
    }

    /// The client for the URL, which tells what came of a notification too.
    ///
    /// # Errors
    ///
    /// As with [`connect`](Dial::connect).
    pub fn client(self) -> Result<Client, DialError> {
        match self.address.scheme() {
            Scheme::Http | Scheme::Https => {
                Ok(Client::with_options(&self.address.to_string(), self.options)?)
            }
            other => Err(DialError::Unsupported(other.name())),
        }
    }
}
