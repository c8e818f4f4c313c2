//! A second Switchboard between the client and the service: one carrier in front of it, another behind it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::reconnect::{ReconnectOptions, ReconnectingPeer};
use switchboard_core::{
    Call, CallError, Forward, Reply, ReplyFuture, Service, Session, Settings, Version, Versions,
};
use switchboard_transport::Dial;
use switchboard_transport::server::Server;
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use crate::carrier::{Carrier, Heard, Kind, Line, Time};

/// A carrier whose server forwards every call to the server that has the service.
#[derive(Debug)]
pub struct Proxied<C> {
    /// What clients connect with.
    pub front: C,
    /// What the proxy connects with: the URL of a server, with port 0.
    pub upstream: &'static str,
}

impl<C: Carrier> Carrier for Proxied<C> {
    fn name(&self) -> &'static str {
        let scheme = self.upstream.split(':').next().unwrap_or_default();
        format!("{} to {scheme}", self.front.name()).leak()
    }

    /// What answers look like is up to the front. None of the transcripts for its kind needs more than every upstream can do.
    fn kind(&self) -> Kind {
        self.front.kind()
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
            let upstream = Running::start(self.upstream, service, behind.clone()).await;
            let gateway = Gateway::new(&upstream.url, behind);
            let front = self.front.open(Arc::new(gateway), settings).await;
            Box::new(Open { front, _upstream: upstream }) as Box<dyn Line>
        })
    }
}

struct Open {
    front: Box<dyn Line>,
    /// Ends the upstream when the line is dropped.
    _upstream: Running,
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
    /// Serves at a URL.
    ///
    /// # Panics
    ///
    /// When it cannot listen there.
    pub async fn start(url: &str, service: Arc<dyn Service>, settings: Settings) -> Running {
        let mut server = Server::new(service).with_settings(settings);
        server.listen(url).await.expect("nothing else listens there");
        let url = server.urls().next().expect("it listens");
        let mut serving = JoinSet::new();
        serving.spawn(server.serve());
        Running { url, _serving: serving }
    }
}

/// Forwards calls to the server at a URL.
///
/// A session of one client has a connection of its own, which lasts as long as the session. So calls back reach the client that
/// caused them. All other sessions share one connection, over which nothing can be called back.
pub struct Gateway {
    dial: Dial,
    shared: ReconnectingPeer,
}

/// The connection to the upstream that a session has.
#[derive(Default)]
struct OwnUpstream(OnceCell<Forward>);

impl Gateway {
    /// Forwards to the server at this URL. Nothing is sent before the first call.
    ///
    /// # Panics
    ///
    /// When it is not a URL, or outside of a runtime.
    #[must_use]
    pub fn new(url: &str, settings: Settings) -> Gateway {
        let is_v1 = settings.profile.versions == Versions::V1;
        let version = if is_v1 { Version::V1 } else { Version::V2 };
        let dial = Dial::new(url).expect("it is a URL").with_settings(settings).with_version(version);
        let shared = dial.clone().reconnect(ReconnectOptions::default().with_on_demand(true));
        Gateway { dial, shared }
    }

    async fn connect(dial: Dial, session: Session) -> Result<Forward, CallError> {
        let calls_back = Forward::new(session.peer().clone());
        Ok(Forward::new(dial.with_service(calls_back).connect().await?))
    }
}

impl Service for Gateway {
    fn call(&self, call: &Call) -> ReplyFuture {
        let session = call.cx.session();
        if !session.is_exclusive() {
            return Forward::new(self.shared.peer()).call(call);
        }
        let own = session.get_or_insert_with(OwnUpstream::default);
        if let Some(upstream) = own.0.get() {
            return upstream.call(call);
        }
        let (call, connecting) = (call.clone(), Gateway::connect(self.dial.clone(), session.clone()));
        ReplyFuture::pending(async move {
            match own.0.get_or_try_init(|| connecting).await {
                Ok(upstream) => upstream.call(&call).await,
                Err(error) => Reply::error(error.into()),
            }
        })
    }
}
