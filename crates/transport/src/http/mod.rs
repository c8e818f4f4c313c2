//! JSON-RPC over HTTP, server and client: hops ① and ⑥ for a server, the whole way for a client.
//!
//! - [`HttpServer`] listens: HTTP/1.1 with keep-alive and pipelining, and HTTP/2, on one port.
//! - [`Endpoint`] handles each request of the server. It is also a `tower_service::Service`, so it can be mounted
//!   into an application that has its own server.
//! - [`Client`] makes calls; [`connect`] turns it into a [`Peer`](switchboard_core::Peer).
//!
//! One POST carries one message or one batch, and its response carries the answer. A failed *call* gets
//! status 200 and an error object; other statuses mean that the *request* was not accepted, and carry an error object with
//! a `null` identifier too.
//!
//! Clients that ask for an event stream get the answer in parts, see [`sse`].
//!
//! The headers of a request are the [metadata](switchboard_core::Context::metadata) of its calls, and of all calls over a WebSocket
//! it is upgraded to.
//!
//! It does not do TLS, compression or authentication.
//!
//! # Examples
//!
//! ```
//! use switchboard_core::{ErrorObject, Router};
//! use switchboard_transport::http;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let router = Router::builder()
//!     .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
//!     .build()?;
//! let server = http::HttpServer::bind("127.0.0.1:0").await?;
//! let (address, handle) = (server.local_addr(), server.handle());
//! let serving = tokio::spawn(server.serve(router));
//!
//! let peer = http::connect(&format!("http://{address}/"))?;
//! let sum: i64 = peer.call("add", [2, 3]).await?;
//! assert_eq!(sum, 5);
//!
//! handle.shutdown();
//! serving.await?;
//! # Ok(())
//! # }
//! ```

mod addresses;
mod answer;
mod body;
mod calls;
pub(crate) mod carrier;
mod client;
mod client_options;
mod connection;
mod connector;
mod cors;
mod endpoint;
mod explained;
mod fault;
#[cfg_attr(
    not(feature = "__internals"),
    allow(dead_code, unreachable_pub, reason = "public for our own tools")
)]
pub(crate) mod forwarded;
mod forwarding;
mod guard;
mod head;
mod http2_streams;
mod in_flight;
mod interim;
mod media;
mod metadata;
mod options;
mod outcome;
mod pipe;
mod plain;
mod plain_calls;
mod post;
pub(crate) mod redact;
mod refusal;
mod resource;
mod routes;
mod rules;
mod sending;
mod server;
mod server_tap;
mod signed;
pub mod sse;
mod tapped_body;
mod timeouts;
mod trailers;
#[cfg(feature = "ws")]
mod upgrade;
mod url;

pub use addresses::{AllowedAddresses, is_loopback};
pub use body::Body;
pub(crate) use carrier::{HttpCarrier, HttpListener};
pub use client::{Client, connect};
pub use client_options::HttpClientOptions;
pub use cors::Cors;
pub use endpoint::{Answering, Endpoint, EndpointHandle};
pub use guard::{GuardError, Hosts, Origins};
pub use head::TIMEOUT;
#[cfg(feature = "ws")]
pub(crate) use head::write_line;
pub use options::{EndpointOptions, StatusMapping};
pub use post::ResponseBody;
pub use resource::{Resource, ResourceError, ResourceOptions};
pub use routes::{
    DocumentRoute, EventStreams, Get, Guarded, Page, ProxyRoute, RequestBody, Route, RouteFuture, Routes,
    StreamRoute, TextRoute, Tower, Unread, tower,
};
pub use server::HttpServer;
pub use sse::parser::Event;
pub use url::HttpUrlError;
