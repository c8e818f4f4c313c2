//! A server behind the faulty proxy, and what is done with it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use switchboard_core::{Context, ErrorObject, Json, Peer, Router, Settings};
use switchboard_tests::proxy::{Faults, Proxy};
use switchboard_tests::secure;
use switchboard_transport::http::{self, Hosts};
use switchboard_transport::server::ServerOptions;
use switchboard_transport::tls::{ClientFiles, ClientTls, Trust};
use switchboard_transport::{Dial, DialError};
use tokio::task::JoinSet;

/// What faults are tried on, besides TLS: bytes that nothing but JSON-RPC's own carriers look after.
pub(crate) const PLAIN: [&str; 6] = [
    "tcp://127.0.0.1:0",
    "tcp://127.0.0.1:0?framing=lines",
    "tcp://127.0.0.1:0?framing=lsp",
    "tcp://127.0.0.1:0?framing=length",
    "ws://127.0.0.1:0",
    "http://127.0.0.1:0",
];

/// Those with TLS: whatever happens to the bytes shows.
pub(crate) const SECURE: [&str; 3] = ["tls://127.0.0.1:0", "wss://127.0.0.1:0", "https://127.0.0.1:0"];

/// Nothing here takes that long; it only tells a hang from a slow machine.
const PATIENCE: Duration = Duration::from_secs(25);

type Calls = Arc<Mutex<HashMap<String, usize>>>;

/// A server that runs.
pub(crate) struct Running {
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    /// How often `echo` was called with which params.
    pub(crate) calls: Calls,
    _serving: JoinSet<()>,
}

impl Running {
    pub(crate) async fn start(url: &str, settings: Settings) -> Running {
        Running::start_with(url, settings, ServerOptions::default()).await
    }

    pub(crate) async fn start_with(url: &str, settings: Settings, options: ServerOptions) -> Running {
        let calls = Calls::default();
        let count = Arc::clone(&calls);
        let router = Router::builder()
            .method("echo", move |params: Json, _| {
                *count.lock().unwrap().entry(params.to_string()).or_default() += 1;
                Ok::<_, ErrorObject>(params)
            })
            .async_method("later", |params: Json, _: Context| async {
                tokio::task::yield_now().await;
                Ok::<_, ErrorObject>(params)
            });
        Running::run(url, router.build().unwrap(), settings, calls, options).await
    }

    pub(crate) async fn serve(url: &str, router: Router, settings: Settings, calls: Calls) -> Running {
        Running::run(url, router, settings, calls, ServerOptions::default()).await
    }

    async fn run(
        url: &str,
        router: Router,
        settings: Settings,
        calls: Calls,
        options: ServerOptions,
    ) -> Running {
        let (server, _) = secure::server_at(url, Arc::new(router), settings).await;
        let server = server.with_options(options);
        // A proxy has a port of its own, and so another name.
        let server = server.with_http(http::EndpointOptions::default().with_hosts(Hosts::any()));
        let url = server.urls().next().unwrap();
        let address = url.split(['/', '?']).nth(2).unwrap().parse().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(server.serve());
        Running { url, address, calls, _serving: serving }
    }

    pub(crate) async fn behind(&self, plan: impl Fn(u64) -> Faults + Send + 'static) -> Proxy {
        Proxy::start(self.address, plan).await
    }

    /// The URL by which the server is reached through a proxy.
    pub(crate) fn through(&self, proxy: &Proxy) -> String {
        self.url.replace(&self.address.to_string(), &proxy.address.to_string())
    }

    /// Whether it still answers, without a proxy.
    pub(crate) async fn answers(&self) -> bool {
        let peer = connect(&self.url).await.unwrap();
        within(peer.call::<[u8; 1]>("echo", [1]).into_future()).await == Ok([1])
    }
}

pub(crate) async fn connect(url: &str) -> Result<Peer, DialError> {
    let tls = ClientTls::load(&ClientFiles::default().with_trust(Trust::Anybody)).unwrap();
    within(Dial::new(url).unwrap().with_tls(tls).connect()).await
}

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it does not hang")
}
