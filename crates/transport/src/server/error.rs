//! Why a server cannot listen at a URL.

use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::carrier::UrlError;

/// Why a server cannot listen at a URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// It is not a URL, or not one of a transport in this build.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// Servers cannot listen at URLs of this scheme.
    #[error("servers cannot listen at {0:?} URLs; they are for clients")]
    Unsupported(String),
    /// It has no port.
    #[error("{0:?} has no port; add one, or 0 for any free one")]
    Port(String),
    /// It has a path, which the options of HTTP decide.
    #[error("a URL to listen at has no path: {0:?}; calls are answered at /, /rpc and /jsonrpc")]
    Path(String),
    /// It asks for TLS, and there is no certificate.
    #[error("{0:?} needs a certificate and its key")]
    Certificate(String),
    /// No address has its name.
    #[error("no address has the name {0:?}; give an address, such as 127.0.0.1")]
    Unresolved(String),
    /// Other machines can reach it, which was not allowed (SEC-O-05).
    #[error(
        "{0} can be reached from other machines; call `Server::public` before `listen` if that is intended, or listen on 127.0.0.1"
    )]
    Public(IpAddr),
    /// The system does not let us.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// A file, such as a Unix socket's, cannot be listened at.
    #[error("cannot listen on {0}")]
    Unix(io::Error),
    /// A listener that was made elsewhere cannot be used.
    #[error("the listener cannot be used: {0}")]
    Listener(io::Error),
}
