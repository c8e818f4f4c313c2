//! Internals for our own tools, tests and fuzz targets. They are not part of the public API: any release may change them.

/// The PROXY protocol, and the headers of proxies.
#[cfg(any(feature = "http", feature = "tcp"))]
pub mod proxy {
    #[cfg(feature = "http")]
    pub use crate::http::forwarded::ForwardedHeaders;
    pub use crate::proxy_protocol::{InvalidProxyHeader, Parsed, parse};
}

/// Event streams over HTTP.
#[cfg(feature = "http")]
pub mod sse {
    pub use crate::http::sse::parser::{Event, Parser, Piece, TooLong};
}

/// Certificates.
#[cfg(feature = "tls")]
pub mod tls {
    pub use crate::tls::identity::read_certificate;
}

/// WebSocket frames.
#[cfg(feature = "ws")]
pub mod ws {
    pub use crate::ws::decoder::{Decoded, MessageDecoder};
    pub use crate::ws::frame::{MessageKind, Role};
}
