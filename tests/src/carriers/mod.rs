//! Every carrier there is.

mod direct;
mod exchange;
mod http;
mod markers;
mod memory;
mod nats;
mod proxy;
mod sse;
mod stream;
mod ws;

use std::net::SocketAddr;
use std::sync::Arc;

pub use direct::Direct;
pub use exchange::Exchange;
pub use http::{Http, Https};
pub use memory::Memory;
pub use nats::Nats;
pub use proxy::{By, Proxied, Running};
pub use sse::Sse;
pub use stream::{Over, Stream};
use switchboard_core::{Service, Settings};
use switchboard_transport::http::{Endpoint, HttpServer};
pub use switchboard_transport::internals::ws::MessageKind as Message;
use tokio::task::JoinSet;
pub use ws::Ws;

/// Serves HTTP, and what it is upgraded to, on a free port. The server ends when the tasks are dropped.
async fn serve(service: Arc<dyn Service>, settings: Settings) -> (SocketAddr, JoinSet<()>) {
    let server = HttpServer::bind("127.0.0.1:0").await.expect("there is a free port");
    let address = server.local_addr();
    let mut serving = JoinSet::new();
    serving.spawn(server.serve_endpoint(Endpoint::new(service).with_settings(settings)));
    (address, serving)
}
