//! The ways to a server: each transport, in each era.

use std::sync::Arc;

use switchboard_core::{CallError, Connection, Engine, Origin, Service, Settings};
use switchboard_mcp::model::Revision;
use switchboard_mcp::{Client, ClientBuilder, Server};
use switchboard_transport::{memory, running};

use crate::serving::{Serving, serve};

/// How a client reaches a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Frames in memory, as over stdio.
    Duplex(Revision),
    /// The path of the endpoint: one of them does not know the newest revision.
    Http(Revision),
    /// The event stream of the first revision.
    OldSse,
}

pub(crate) const WAYS: [Way; 5] = [
    Way::Duplex(Revision::V2025_11_25),
    Way::Duplex(Revision::V2026_07_28),
    Way::Http(Revision::V2025_11_25),
    Way::Http(Revision::V2026_07_28),
    Way::OldSse,
];

/// A server that a client is connected to.
pub(crate) struct Connected {
    pub(crate) client: Client,
    /// Keeps the server.
    _serving: Option<Serving>,
}

pub(crate) fn builder() -> ClientBuilder {
    Client::builder("test", "1.0.0")
}

/// Connects to this server.
pub(crate) async fn connect(way: Way, server: &Server, builder: ClientBuilder) -> Connected {
    let (client, serving) = match way {
        Way::Duplex(revision) => (duplex(server, builder.revision(revision)).await, None),
        Way::Http(_) | Way::OldSse => {
            let serving = serve(server).await;
            let url = format!("http://{}/{}", serving.address, path(way));
            (builder.connect(&url).await.unwrap(), Some(serving))
        }
    };
    let expected = match way {
        Way::Duplex(revision) | Way::Http(revision) => revision,
        Way::OldSse => Revision::V2025_11_25,
    };
    assert_eq!(client.revision(), expected, "{way:?}");
    Connected { client, _serving: serving }
}

pub(crate) fn path(way: Way) -> &'static str {
    match way {
        Way::Http(Revision::V2026_07_28) => "mcp",
        Way::OldSse => "sse",
        _ => "old",
    }
}

async fn duplex(server: &Server, builder: ClientBuilder) -> Client {
    let server = server.clone();
    let connect = move |service: Arc<dyn Service>| {
        let (near, far) = memory::pair(64 << 10);
        let settings = || Settings::default().with_profile(Server::profile());
        let engine = Engine::new(server.service().unwrap(), settings());
        tokio::spawn(Connection::new(far.0, far.1, engine, Origin::new("memory")).1);
        let engine = Engine::new(service, settings());
        let peer = running::run(Connection::new(near.0, near.1, engine, Origin::new("memory")).1);
        async { Ok::<_, CallError>(peer) }
    };
    builder.over(connect).await.unwrap()
}
