//! What a server can be told about connections.

use std::time::Duration;

/// How a server treats connections, those of all its listeners together.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Connections at once: 1024. One more is told so, where there is a way, and closed (SEC-L-11).
    pub connections: usize,
    /// Connections at once from one address: as many as there may be at all. Behind a proxy all come from one.
    pub connections_per_address: Option<usize>,
    /// How long the head of an HTTP request may take to come, and the first head of a connection from its opening: 10 s.
    pub header_time: Duration,
    /// How long a connection may be idle, or its reader not read: 60 s. It is closed up to a quarter of that later.
    pub idle_time: Duration,
    /// How long nothing may come or go on a connection of messages (TCP, TLS, Unix sockets): without end.
    pub stream_idle_time: Option<Duration>,
    /// Bytes in the head of an HTTP request: 16 KiB (SEC-L-16).
    pub header_size: usize,
    /// Bytes of all requests and messages together that are longer than 64 KiB, while they come in and as long as they
    /// are used: 256 MiB. What would exceed it is answered with 503, or over connections of messages with -32005 before
    /// the connection ends. Shorter ones are not counted.
    pub buffers: usize,
    /// Requests under way at once on one HTTP/2 connection: 100.
    pub streams: u32,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            connections: 1024,
            connections_per_address: None,
            header_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(60),
            stream_idle_time: None,
            header_size: 16 << 10,
            buffers: 256 << 20,
            streams: 100,
        }
    }
}
