//! The options of a WebSocket connection.

use std::time::Duration;

/// The timeouts and subprotocols of a WebSocket connection.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use switchboard_transport::ws::WebSocketOptions;
///
/// let options = WebSocketOptions::default().with_ping_time(Some(Duration::from_secs(10)));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WebSocketOptions {
    /// How long the peer may be silent before it is sent a ping: 30 s (SUB-07). None means no pings.
    pub ping_time: Option<Duration>,
    /// How long the peer may then stay silent, or read none of the data waiting to be sent, before it counts as gone:
    /// 20 s.
    pub pong_time: Duration,
    /// How long a message may take to arrive, from its first byte to its last: 30 s (SEC-H-05).
    pub message_time: Duration,
    /// How long closing a connection may take: 2 s.
    pub close_time: Duration,
    /// The supported subprotocols, in order of preference: `jsonrpc`.
    pub protocols: Vec<String>,
}

impl Default for WebSocketOptions {
    fn default() -> WebSocketOptions {
        WebSocketOptions {
            ping_time: Some(Duration::from_secs(30)),
            pong_time: Duration::from_secs(20),
            message_time: Duration::from_secs(30),
            close_time: Duration::from_secs(2),
            protocols: vec!["jsonrpc".to_owned()],
        }
    }
}

impl WebSocketOptions {
    /// Sets [`ping_time`](WebSocketOptions::ping_time).
    #[must_use]
    pub fn with_ping_time(mut self, ping_time: Option<Duration>) -> WebSocketOptions {
        self.ping_time = ping_time;
        self
    }

    /// Sets [`pong_time`](WebSocketOptions::pong_time).
    #[must_use]
    pub fn with_pong_time(mut self, pong_time: Duration) -> WebSocketOptions {
        self.pong_time = pong_time;
        self
    }

    /// Sets [`message_time`](WebSocketOptions::message_time).
    #[must_use]
    pub fn with_message_time(mut self, message_time: Duration) -> WebSocketOptions {
        self.message_time = message_time;
        self
    }

    /// Sets [`close_time`](WebSocketOptions::close_time).
    #[must_use]
    pub fn with_close_time(mut self, close_time: Duration) -> WebSocketOptions {
        self.close_time = close_time;
        self
    }

    /// Sets [`protocols`](WebSocketOptions::protocols).
    #[must_use]
    pub fn with_protocols(mut self, protocols: Vec<String>) -> WebSocketOptions {
        self.protocols = protocols;
        self
    }
}
