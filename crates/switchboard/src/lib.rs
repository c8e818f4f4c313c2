#![doc = include_str!("../docs/front-page.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub use futures_core::Stream;
pub use schemars::{self, JsonSchema};
pub use serde;
pub use switchboard_core::*;
#[cfg(feature = "macros")]
pub use switchboard_macros::{RpcError, service};

#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private;

#[cfg(feature = "a2a")]
pub use switchboard_a2a as a2a;
#[cfg(feature = "gateway")]
pub use switchboard_gateway as gateway;
#[cfg(feature = "access")]
pub use switchboard_layers::access;
#[cfg(feature = "audit")]
pub use switchboard_layers::audit;
#[cfg(feature = "cache")]
pub use switchboard_layers::cache;
#[cfg(feature = "coalesce")]
pub use switchboard_layers::coalesce;
#[cfg(feature = "identity")]
pub use switchboard_layers::identity;
#[cfg(feature = "jobs")]
pub use switchboard_layers::jobs;
#[cfg(feature = "audit")]
pub use switchboard_layers::lines;
#[cfg(feature = "log")]
pub use switchboard_layers::log;
#[cfg(feature = "merge")]
pub use switchboard_layers::merge;
#[cfg(feature = "metrics")]
pub use switchboard_layers::metrics;
#[cfg(feature = "rate")]
pub use switchboard_layers::rate;
#[cfg(feature = "shed")]
pub use switchboard_layers::shed;
#[cfg(feature = "trace")]
pub use switchboard_layers::trace;
#[cfg(any(feature = "a2a", feature = "rate", feature = "signing"))]
pub use switchboard_layers::{Clock, store};
#[cfg(any(feature = "access", feature = "cache", feature = "coalesce", feature = "merge"))]
pub use switchboard_layers::{Pattern, PatternError};
#[cfg(feature = "signing")]
pub use switchboard_layers::{idempotency, signing};
#[cfg(feature = "mcp")]
pub use switchboard_mcp as mcp;
#[cfg(feature = "openrpc")]
pub use switchboard_openrpc as openrpc;
#[cfg(feature = "playground")]
pub use switchboard_playground as playground;
#[cfg(all(feature = "child", unix))]
pub use switchboard_transport::child;
#[cfg(feature = "http")]
pub use switchboard_transport::http;
#[cfg(feature = "__internals")]
#[doc(hidden)]
pub use switchboard_transport::internals;
pub use switchboard_transport::memory;
#[cfg(feature = "nats")]
pub use switchboard_transport::nats;
#[cfg(all(feature = "stdio", unix))]
pub use switchboard_transport::stdio;
#[cfg(feature = "tcp")]
pub use switchboard_transport::tcp;
#[cfg(feature = "tls")]
pub use switchboard_transport::tls;
#[cfg(all(feature = "unix", unix))]
pub use switchboard_transport::unix;
#[cfg(feature = "ws")]
pub use switchboard_transport::ws;
pub use switchboard_transport::{Dial, DialError, ProgramEnd, Raw, carrier, connect, reconnect, server};
#[cfg(feature = "stream")]
pub use switchboard_transport::{framing, stream};

/// The examples of the pages in `docs/`, tested like those of the documentation.
#[cfg(all(doctest, feature = "macros", feature = "http"))]
mod pages {
    #[cfg(feature = "a2a")]
    #[doc = include_str!("../../../docs/a2a.md")]
    struct A2a;
    #[cfg(all(feature = "jwt", feature = "tls"))]
    #[doc = include_str!("../../../docs/authentication.md")]
    struct Authentication;
    #[doc = include_str!("../../../docs/batches.md")]
    struct Batches;
    #[doc = include_str!("../../../docs/calling.md")]
    struct Calling;
    #[doc = include_str!("../../../docs/cancelling.md")]
    struct Cancelling;
    #[doc = include_str!("../../../docs/coming-from-jsonrpsee.md")]
    struct ComingFromJsonrpsee;
    #[doc = include_str!("../../../docs/deadlines.md")]
    struct Deadlines;
    #[cfg(feature = "validate")]
    #[doc = include_str!("../../../docs/discovery.md")]
    struct Discovery;
    #[doc = include_str!("../../../docs/errors.md")]
    struct Errors;
    #[doc = include_str!("../../../docs/getting-started.md")]
    struct GettingStarted;
    #[cfg(feature = "jobs")]
    #[doc = include_str!("../../../docs/jobs.md")]
    struct Jobs;
    #[cfg(all(feature = "rate", feature = "shed"))]
    #[doc = include_str!("../../../docs/limiting.md")]
    struct Limiting;
    #[cfg(feature = "log")]
    #[doc = include_str!("../../../docs/logging.md")]
    struct Logging;
    #[cfg(feature = "mcp")]
    #[doc = include_str!("../../../docs/mcp.md")]
    struct Mcp;
    #[cfg(feature = "mcp")]
    #[doc = include_str!("../../../docs/mcp-client.md")]
    struct McpClient;
    #[cfg(all(feature = "jwt", feature = "mcp", feature = "tls"))]
    #[doc = include_str!("../../../docs/mcp-authorization.md")]
    struct McpAuthorization;
    #[cfg(feature = "nats")]
    #[doc = include_str!("../../../docs/nats.md")]
    struct Nats;
    #[cfg(all(feature = "metrics", feature = "trace"))]
    #[doc = include_str!("../../../docs/observing.md")]
    struct Observing;
    #[cfg(all(feature = "openrpc", feature = "playground"))]
    #[doc = include_str!("../../../docs/playground.md")]
    struct Playground;
    #[doc = include_str!("../../../docs/pushing.md")]
    struct Pushing;
    #[doc = include_str!("../../../docs/reconnecting.md")]
    struct Reconnecting;
    #[cfg(feature = "access")]
    #[doc = include_str!("../../../docs/serving.md")]
    struct Serving;
    #[doc = include_str!("../../../docs/sessions.md")]
    struct Sessions;
    #[doc = include_str!("../../../docs/streaming.md")]
    struct Streaming;
    #[doc = include_str!("../../../docs/testing.md")]
    struct Testing;
    #[cfg(feature = "nats")]
    #[doc = include_str!("../../../docs/topics.md")]
    struct Topics;
    #[doc = include_str!("../../../docs/transports.md")]
    struct Transports;
}
