//! Why a server cannot listen on a URL.

use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::carrier::UrlError;

/// Why a server cannot listen on a URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// It is not a URL, or its transport is not part of this build.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// Servers cannot listen on URLs of this scheme.
    #[error("servers cannot listen on {0:?} URLs; they are for clients")]
    Unsupported(String),
    /// It has no port.
    #[error("{0:?} has no port; add one, or 0 for any free port")]
    Port(String),
    /// It has a path; the options of HTTP set the paths.
    #[error("{0:?} has a path; remove it: calls are always served at /, /rpc and /jsonrpc")]
    Path(String),
    /// It needs TLS, and there is no certificate.
    #[error("{0:?} needs a certificate and its key")]
    Certificate(String),
    /// Its host name cannot be resolved.
    #[error("cannot resolve {0:?}; use an address, such as 127.0.0.1")]
    Unresolved(String),
    /// Other machines can reach it, which is not allowed (SEC-O-05).
    #[error(
        "{0} can be reached from other machines; call `Server::public` before `listen` if that is intended, or listen on 127.0.0.1"
    )]
    Public(IpAddr),
    /// The broker that brings the calls cannot be used.
    #[error("{0}")]
    Broker(String),
    /// The system refused to listen.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// Cannot listen on a file, such as a Unix socket.
    #[error("cannot listen on {0}")]
    Unix(io::Error),
    /// An existing listener cannot be used.
    #[error("cannot use the listener: {0}")]
    Listener(io::Error),
}
