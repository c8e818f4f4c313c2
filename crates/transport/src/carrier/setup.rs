//! What a transport needs to listen and to connect.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "http")]
use switchboard_core::SharedSeal;
use switchboard_core::{Call, ErrorObject, ReplyFuture, Service, Settings, Version, service_fn};

#[cfg(feature = "tls")]
use crate::tls::{ClientTls, ServerTls};

/// What a transport needs to listen. Everything else comes with the [permit](crate::server::ConnectionPermit) of each
/// connection.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ListenSetup {
    /// Whether other machines may reach the listener: no.
    pub is_public: bool,
    /// Whether connections over TCP begin with a header of the PROXY protocol: no. See
    /// [`Server::with_proxy_protocol`](crate::server::Server::with_proxy_protocol).
    pub has_proxy_protocol: bool,
    /// A socket to use in place of a new one.
    #[cfg(all(unix, any(feature = "tcp", feature = "http", feature = "unix")))]
    pub socket: Option<crate::server::ListeningSocket>,
    /// The certificate for URLs whose scheme uses TLS.
    #[cfg(feature = "tls")]
    pub tls: Option<ServerTls>,
}

/// What a transport needs to connect.
#[derive(Clone)]
#[non_exhaustive]
pub struct ConnectSetup {
    /// The service for calls from the server, if the transport allows them. By default, it has no methods.
    pub service: Arc<dyn Service>,
    /// Whether a service was given, so that the server may call back where that has to be said in advance.
    pub is_called_back: bool,
    /// Limits, dialect and tap.
    pub settings: Arc<Settings>,
    /// How long connecting may take: 10 s.
    pub connect_time: Duration,
    /// The version of JSON-RPC, for HTTP.
    pub version: Version,
    /// Environment variables for a program that is started, besides those that it gets anyway.
    pub env: Vec<(String, String)>,
    /// The working directory of a program that is started; by default, that of this process.
    pub folder: Option<PathBuf>,
    /// The name under which the standard error of a program is logged; by default, the program.
    pub label: Option<String>,
    /// The headers of every request or handshake, if the transport has headers.
    #[cfg(feature = "http")]
    pub headers: http::HeaderMap,
    /// Adds headers that depend on a whole request, and checks the responses, for HTTP.
    #[cfg(feature = "http")]
    pub seal: Option<SharedSeal>,
    /// The TLS configuration, for URLs whose scheme uses TLS; by default, this machine's trusted certificates are used.
    #[cfg(feature = "tls")]
    pub tls: Option<ClientTls>,
}

impl Default for ConnectSetup {
    fn default() -> ConnectSetup {
        let nothing = |call: &Call| ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()));
        ConnectSetup {
            service: Arc::new(service_fn(nothing)),
            is_called_back: false,
            settings: Arc::default(),
            connect_time: Duration::from_secs(10),
            version: Version::V2,
            env: Vec::new(),
            folder: None,
            label: None,
            #[cfg(feature = "http")]
            headers: http::HeaderMap::new(),
            #[cfg(feature = "http")]
            seal: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

#[cfg(feature = "stream")]
impl ConnectSetup {
    /// The options of a connection over a byte stream with this framing.
    #[must_use]
    pub fn stream_options(&self, framing: crate::framing::Framing) -> crate::stream::StreamOptions {
        crate::stream::StreamOptions::new(framing)
            .with_settings(Arc::clone(&self.settings))
            .with_connect_time(self.connect_time)
    }
}

impl fmt::Debug for ConnectSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectSetup").field("connect_time", &self.connect_time).finish_non_exhaustive()
    }
}
