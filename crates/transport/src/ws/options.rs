//! What a WebSocket connection can be told.

use std::time::Duration;

/// How long things may take on a WebSocket connection.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use switchboard_transport::ws::Options;
///
/// let options = Options { ping_time: Some(Duration::from_secs(10)), ..Options::default() };
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// How long the far side may be silent before it is sent a ping: 30 s (SUB-07). None means no pings.
    pub ping_time: Option<Duration>,
    /// How long the far side may then stay silent, or take nothing of what waits to be sent, before it counts as gone:
    /// 20 s.
    pub pong_time: Duration,
    /// How long a message may take to come, from its first byte to its last: 30 s (SEC-H-05).
    pub message_time: Duration,
    /// How long the end of a connection may take, once it is decided: 2 s.
    pub close_time: Duration,
    /// The subprotocols that are agreed to when they are asked for, the best first: `jsonrpc`.
    pub protocols: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            ping_time: Some(Duration::from_secs(30)),
            pong_time: Duration::from_secs(20),
            message_time: Duration::from_secs(30),
            close_time: Duration::from_secs(2),
            protocols: vec!["jsonrpc".to_owned()],
        }
    }
}
