//! The options of a server for its connections.

use std::net::IpAddr;
use std::time::Duration;

use super::cidr::Cidr;

/// The options for connections, for all listeners of a server together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Concurrent connections: 1024. Further ones get an error, if the transport can send one, and are closed (SEC-L-11).
    ///
    /// Half of them are divided evenly among the listeners and reserved for them, so that a full listener leaves room for the others.
    /// No more are accepted than fit under the process's limit on open files, see [`raise_file_limit`](super::raise_file_limit).
    pub connections: usize,
    /// Concurrent connections from one address: no separate limit. Connections of [trusted proxies](ServerOptions::trust_proxies) count for
    /// their clients if the proxy speaks the PROXY protocol, and for no address otherwise.
    pub connections_per_address: Option<usize>,
    /// How long the head of an HTTP request may take to arrive, and the first head of a connection from its opening: 10 s.
    pub header_time: Duration,
    /// How long an HTTP connection may be idle, or its reader not read: 60 s. It is closed up to a quarter of that later.
    pub idle_time: Duration,
    /// How long a connection over TCP, TLS or a Unix socket may take to send its first byte: 60 s. The timeout no longer applies once
    /// the server has sent something, such as a call to its client.
    pub first_byte_time: Option<Duration>,
    /// How long a duplex connection (TCP, TLS, Unix sockets, WebSocket) may be idle: 1 h. It is idle while neither side sends
    /// a message and no call or stream is in flight; WebSocket pings do not count. It is closed up to a quarter of that
    /// later.
    pub duplex_idle_time: Option<Duration>,
    /// Bytes in the head of an HTTP request: 16 KiB (SEC-L-16).
    pub header_size: usize,
    /// Bytes that the messages of all connections may use together, beyond the 64 KiB that each connection may hold: 256 MiB. Requests
    /// count while they arrive and as long as they are used, responses until they are sent. A request that does not fit gets 503,
    /// or over a duplex connection -32005 before the connection ends; a response that does not fit becomes -32007.
    pub buffers: usize,
    /// Concurrent requests on one HTTP/2 connection: 100.
    pub streams: u32,
    /// The proxies that are believed when they name the client of a request or a connection: none. Their `Forwarded` and `X-Forwarded-For`
    /// headers set the [address](switchboard_core::Origin::address) that layers and logs see; from all others the headers are ignored
    /// (SEC-O-09).
    pub trust_proxies: Vec<Cidr>,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            connections: 1024,
            connections_per_address: None,
            header_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(60),
            first_byte_time: Some(Duration::from_secs(60)),
            duplex_idle_time: Some(Duration::from_secs(60 * 60)),
            header_size: 16 << 10,
            buffers: 256 << 20,
            streams: 100,
            trust_proxies: Vec::new(),
        }
    }
}

impl ServerOptions {
    /// Sets [`connections`](ServerOptions::connections).
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> ServerOptions {
        self.connections = connections;
        self
    }

    /// Sets [`connections_per_address`](ServerOptions::connections_per_address).
    #[must_use]
    pub fn with_connections_per_address(mut self, connections_per_address: Option<usize>) -> ServerOptions {
        self.connections_per_address = connections_per_address;
        self
    }

    /// Sets [`header_time`](ServerOptions::header_time).
    #[must_use]
    pub fn with_header_time(mut self, header_time: Duration) -> ServerOptions {
        self.header_time = header_time;
        self
    }

    /// Sets [`idle_time`](ServerOptions::idle_time).
    #[must_use]
    pub fn with_idle_time(mut self, idle_time: Duration) -> ServerOptions {
        self.idle_time = idle_time;
        self
    }

    /// Sets [`first_byte_time`](ServerOptions::first_byte_time).
    #[must_use]
    pub fn with_first_byte_time(mut self, first_byte_time: Option<Duration>) -> ServerOptions {
        self.first_byte_time = first_byte_time;
        self
    }

    /// Sets [`duplex_idle_time`](ServerOptions::duplex_idle_time).
    #[must_use]
    pub fn with_duplex_idle_time(mut self, duplex_idle_time: Option<Duration>) -> ServerOptions {
        self.duplex_idle_time = duplex_idle_time;
        self
    }

    /// Sets [`header_size`](ServerOptions::header_size).
    #[must_use]
    pub fn with_header_size(mut self, header_size: usize) -> ServerOptions {
        self.header_size = header_size;
        self
    }

    /// Sets [`buffers`](ServerOptions::buffers).
    #[must_use]
    pub fn with_buffers(mut self, buffers: usize) -> ServerOptions {
        self.buffers = buffers;
        self
    }

    /// Sets [`streams`](ServerOptions::streams).
    #[must_use]
    pub fn with_streams(mut self, streams: u32) -> ServerOptions {
        self.streams = streams;
        self
    }

    /// Sets [`trust_proxies`](ServerOptions::trust_proxies).
    #[must_use]
    pub fn with_trust_proxies(mut self, trust_proxies: impl IntoIterator<Item = Cidr>) -> ServerOptions {
        self.trust_proxies = trust_proxies.into_iter().collect();
        self
    }

    /// Whether this address is a trusted proxy.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.trust_proxies.iter().any(|network| network.contains(address))
    }
}
