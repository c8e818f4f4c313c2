//! A second Switchboard between the client and the service: one carrier in front of it, another behind it.

use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::{Connections, Service, Settings, Version, Versions};
use switchboard_gateway::{Attempts, Backend, Gateway, Link, Pool, Retry};
use switchboard_transport::Dial;
use switchboard_transport::server::Server;
use switchboard_transport::tls::{ClientFiles, ClientTls, Trust};
use tokio::task::JoinSet;

use crate::broker::Broker;
use crate::carrier::{Carrier, Heard, Kind, Line, Time};
use crate::duplex::socket_path;
use crate::secure;

/// A carrier whose server forwards every call to the server that has the service.
#[derive(Debug)]
pub struct Proxied<C> {
    /// What clients connect with.
    pub front: C,
    /// What the proxy connects with: the URL of a server with port 0, or `unix:`; or `nats:`, for a worker behind a broker; or a program
    /// (`exec:`) that has the same service.
    pub upstream: &'static str,
    /// What forwards the calls.
    pub by: By,
}

/// What forwards calls.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// A proxy: nothing but an upstream.
    Proxy,
    /// A gateway with one connection for all clients.
    SharedGateway,
    /// A gateway with a connection for each client.
    OwnGateway,
}

impl By {
    /// What forwards calls to the server at this URL. Nothing is sent before the first call.
    ///
    /// # Panics
    ///
    /// When it is not a URL, or outside of a runtime.
    #[must_use]
    pub fn forwarding(self, url: &str, settings: Settings) -> Arc<dyn Service> {
        match self {
            By::Proxy => Arc::new(dial(url, settings).upstream()),
            By::SharedGateway => Arc::new(gateway(url, settings, Connections::Shared(NonZeroUsize::MIN))),
            By::OwnGateway => Arc::new(gateway(url, settings, Connections::PerClient)),
        }
    }
}

impl<C: Carrier> Carrier for Proxied<C> {
    fn name(&self) -> &'static str {
        let scheme = self.upstream.split(':').next().unwrap_or_default();
        format!("{} to {scheme} by {:?}", self.front.name(), self.by).leak()
    }

    /// What answers look like is up to the front.
    fn kind(&self) -> Kind {
        self.front.kind()
    }

    fn inner_kind(&self) -> Kind {
        if self.upstream.starts_with("http") { Kind::OneAnswer } else { Kind::Duplex }
    }

    fn time(&self) -> Time {
        Time::Real
    }

    fn keeps_version(&self) -> bool {
        false
    }

    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>> {
        Box::pin(async {
            // The limits are those of the side that clients see: a request may have a member more on its way from there.
            let behind = Settings::default().with_profile(settings.profile.clone());
            let broker = (self.upstream == "nats:").then(|| Broker::start(&[]));
            let url = broker.as_ref().map(|broker| format!("{}/tests", broker.url()));
            let url = url.as_deref().unwrap_or(self.upstream);
            let upstream = Running::start(url, service, behind.clone()).await;
            let forwarding = self.by.forwarding(&upstream.url, behind);
            let front = self.front.open(forwarding, settings).await;
            Box::new(Open { front, _upstream: upstream, _broker: broker }) as Box<dyn Line>
        })
    }
}

struct Open {
    front: Box<dyn Line>,
    /// Ends the upstream when the line is dropped.
    _upstream: Running,
    _broker: Option<Broker>,
}

impl Line for Open {
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard> {
        self.front.send(message)
    }
}

/// A server, which runs for as long as this is there.
pub struct Running {
    /// Where it listens.
    pub url: String,
    _serving: JoinSet<()>,
}

impl Running {
    /// Serves at a URL; at a Unix socket somewhere if it is `unix:`. A program serves by itself when it is started.
    ///
    /// # Panics
    ///
    /// When it cannot listen there.
    pub async fn start(url: &str, service: Arc<dyn Service>, settings: Settings) -> Running {
        let mut serving = JoinSet::new();
        if url.starts_with("exec:") {
            let is_lsp = settings.profile.streams.partial.is_some();
            let url = if is_lsp { format!("{url} lsp") } else { url.to_owned() };
            return Running { url, _serving: serving };
        }
        let socket = || format!("unix:{}", socket_path().display());
        let url = if url == "unix:" { socket() } else { url.to_owned() };
        let server = if url.starts_with("tls:") {
            secure::server_at(&url, service, settings).await.0
        } else {
            let mut server = Server::new(service).with_settings(settings);
            server.listen(&url).await.expect("nothing else listens there");
            server
        };
        let url = server.urls().next().expect("it listens");
        serving.spawn(server.serve());
        Running { url, _serving: serving }
    }
}

/// The server at this URL behind a gateway that has no other.
fn gateway(url: &str, settings: Settings, connections: Connections) -> Gateway {
    let node = Link::default().with_connections(connections).node("node", dial(url, settings));
    let pool = Pool::builder("pool").node(node).build();
    let service = Attempts::new(pool, Retry::default(), None, |_| false);
    Gateway::builder().backend(Backend::new("backend", "", service)).build().expect("it has one upstream")
}

fn dial(url: &str, settings: Settings) -> Dial {
    let is_v1 = settings.profile.versions == Versions::V1;
    let version = if is_v1 { Version::V1 } else { Version::V2 };
    let tls = ClientTls::load(&ClientFiles::default().with_trust(Trust::Anybody)).expect("it needs no files");
    Dial::new(url).expect("it is a URL").with_settings(settings).with_version(version).with_tls(tls)
}
