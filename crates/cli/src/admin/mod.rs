//! The admin listener: metrics, health, a live page, and methods that show and change what the server does.
//!
//! It is a server beside the one that it tells about, and never answers its calls. Over loopback HTTP, everyone may look; to change something
//! takes the Unix socket, or a caller that `admin.who` names.

mod callbacks;
mod calls;
mod configuration;
mod explain;
mod health;
mod methods;
mod sessions;
mod stats;
mod tools;
mod upstream_record;
mod upstreams;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use switchboard::access::{Access, Pattern, Rule, Who};
use switchboard::audit::Audit;
use switchboard::http::EndpointOptions;
use switchboard::identity::Authentication;
use switchboard::log::CallLog;
use switchboard::metrics::Metrics;
use switchboard::observer::SharedObserver;
use switchboard::openrpc::{Discovery, Generator, Info};
use switchboard::server::{Handle, ListenError, Server};
use switchboard::{Description, Layer, Router, Service, Settings, playground};
use tokio::task::AbortHandle;

use self::calls::Calls;
use self::sessions::Sessions;
use crate::assembly::{Explaining, Queue};
use crate::config::{Config, InUse};
use crate::explain::Explainer;
use crate::failure::Failure;
use crate::gateway::{self, Gated};
use crate::serving::Sockets;
use crate::tools::counted;
use crate::{proxy, serving};

/// What the admin listener knows about the server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Admin(Arc<State>);

struct State {
    metrics: Metrics,
    calls: Calls,
    sessions: Sessions,
    queue: Queue,
    log: Option<CallLog>,
    started: SystemTime,
    config: InUse,
    is_draining: AtomicBool,
    /// The servers behind this one, if it is a gateway.
    gated: Option<Gated>,
    listeners: OnceLock<Vec<String>>,
    serving: OnceLock<(Handle, AbortHandle)>,
    explaining: OnceLock<Explaining>,
}

/// Where the live page is. Calls go there too.
const PAGE: &str = "/";

/// Methods that change nothing.
const READING: [&str; 10] = [
    "rpc.discover",
    "admin/info",
    "admin/config",
    "admin/stats",
    "admin/calls",
    "admin/call",
    "admin/sessions",
    "admin/tools",
    "admin/explain",
    "admin/upstreams",
];

impl Admin {
    /// For a server with this configuration and these [numbers](counting), which may be a gateway.
    pub(crate) fn new(
        config: &InUse,
        queue: &Queue,
        log: Option<CallLog>,
        gated: Option<Gated>,
        metrics: Metrics,
    ) -> Admin {
        Admin(Arc::new(State {
            metrics,
            queue: queue.clone(),
            calls: Calls::default(),
            sessions: Sessions::default(),
            log,
            started: SystemTime::now(),
            config: config.clone(),
            is_draining: AtomicBool::new(false),
            gated,
            listeners: OnceLock::new(),
            serving: OnceLock::new(),
            explaining: OnceLock::new(),
        }))
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// What watches the server besides the metrics.
    pub(crate) fn observers(&self) -> Vec<SharedObserver> {
        let State { calls, sessions, .. } = &*self.0;
        vec![calls.clone().into(), sessions.clone().into()]
    }

    /// A layer that notes what methods call at their callers, for the timelines of calls.
    pub(crate) fn callbacks(&self) -> impl Layer + use<> {
        self.0.calls.clone()
    }

    /// The server listens at these URLs, can be stopped with this handle, and is this task.
    pub(crate) fn serves(&self, urls: &[String], handle: Handle, task: AbortHandle) {
        let _ = self.0.listeners.set(urls.to_vec());
        let _ = self.0.serving.set((handle, task));
    }

    /// Calls are explained by this.
    pub(crate) fn explains(&self, explaining: &Explaining) {
        let _ = self.0.explaining.set(explaining.clone());
    }

    fn explainer(&self) -> Option<Arc<Explainer>> {
        self.0.explaining.get()?.current()
    }

    /// The server stops: it is not ready for more.
    pub(crate) fn drain(&self) {
        self.0.is_draining.store(true, Ordering::Relaxed);
    }

    /// Stops the server after its calls in progress, which get this much time at most. False if it does not run.
    fn stop(&self, within: Option<Duration>) -> bool {
        self.drain();
        let Some((handle, serving)) = self.0.serving.get().cloned() else { return false };
        handle.shutdown();
        if let Some(within) = within {
            tokio::spawn(async move {
                tokio::time::sleep(within).await;
                serving.abort();
            });
        }
        true
    }

    fn is_draining(&self) -> bool {
        self.0.is_draining.load(Ordering::Relaxed)
    }

    /// Listens for those who want to know.
    pub(crate) async fn listen(
        &self,
        url: &str,
        config: &Config,
        sockets: &mut Sockets,
    ) -> Result<Server, Failure> {
        let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("--admin: {error}"));
        let builder = Router::builder().add(methods::Methods(self.clone()));
        let builder =
            builder.add(upstreams::UpstreamMethods(self.clone())).add(explain::Explaining(self.clone()));
        let builder = builder.add(configuration::Configuration(self.0.config.clone()));
        let builder = match &self.0.gated {
            Some(gated) => builder.add(tools::ToolMethods(gated.clone())),
            None => builder,
        };
        let router = Discovery::new(generator()).build(builder);
        let router = router.map_err(|error| wrong(&error))?;
        let checks = config.authentication.clone().map(|checks| match proxy::is_local(url) {
            true => checks.optional(),
            false => checks,
        });
        let service = guarded(router, url, config, checks.as_ref());
        let admission = checks.map(|checks| health::Open(checks).into());
        let options = health::routes(self, EndpointOptions::default()).route(PAGE, playground::live());
        let server = Server::new(service)
            .with_http(options)
            .with_settings(Settings::default().with_admission(admission));
        let mut server = if config.authentication.is_some() { server.public() } else { server };
        sockets.listen_admin(&mut server, url).await.map_err(|error| match error {
            ListenError::Public(address) => {
                let text = format!("other machines could reach the admin listener at {address}");
                Failure::usage(text).advise("add `--tokens FILE`, or listen on 127.0.0.1")
            }
            error => serving::explain(error, url),
        })?;
        Ok(server)
    }
}

/// The methods, for those who may call them.
fn guarded(router: Router, url: &str, config: &Config, checks: Option<&Authentication>) -> Arc<dyn Service> {
    let service: Arc<dyn Service> = Arc::new(router);
    // The socket has mode 0600, so it is opened by the user of the server.
    if url.starts_with("unix:") {
        return service;
    }
    let patterns =
        |names: &[&str]| names.iter().filter_map(|name| name.parse::<Pattern>().ok()).collect::<Vec<_>>();
    let rules = [
        Rule::allow(patterns(&READING), [Who::Anyone]),
        Rule::allow(patterns(&["**"]), config.admin_who.iter().cloned()),
    ];
    let users = config.roles.users().into_iter();
    let access =
        users.fold(Access::new(rules), |access, user| access.with_roles(&user, config.roles.of(&user)));
    let service = access.with_audit(config.audit.clone()).layer(service);
    match checks {
        Some(checks) => checks.layer(service),
        None => service,
    }
}

/// The numbers of a server with these methods, and those that its parts keep.
pub(crate) fn counting(
    config: &Config,
    methods: &Description,
    in_use: &InUse,
    queue: &Queue,
    log: Option<CallLog>,
    gated: Option<&Gated>,
) -> Metrics {
    let metrics = Metrics::new(counted(methods).chain(["rpc.discover"]));
    let metrics = metrics.with_audit(config.audit.clone());
    let built = "What runs, as labels of a number that is always 1.";
    let metrics = metrics.with_info(
        "switchboard_build_info",
        built,
        &[
            ("version", env!("CARGO_PKG_VERSION")),
            ("os", std::env::consts::OS),
            ("arch", std::env::consts::ARCH),
        ],
    );
    let (queue, help) = (queue.clone(), "Calls that wait because too many run.");
    let metrics = metrics.with_gauge("switchboard_calls_waiting", help, move || queue.waiting() as f64);
    let (in_use, help) =
        (in_use.clone(), "Whether the configuration in use is that of the files; 0 if they have errors.");
    let metrics =
        metrics.with_gauge("switchboard_config_ok", help, move || f64::from(u8::from(in_use.is_ok())));
    let audit: Audit = config.audit.clone();
    let help = "Lines of logs that were dropped because they could not be written in time.";
    let metrics = metrics.with_counter("switchboard_log_lines_lost_total", help, move || {
        (audit.lost() + log.as_ref().map_or(0, CallLog::lost)) as f64
    });
    match gated {
        Some(gated) => gateway::metered(metrics, gated),
        None => metrics,
    }
}

fn generator() -> Generator {
    let info = Info::new("Switchboard admin", env!("CARGO_PKG_VERSION"));
    Generator::new(info.described("What a running server does, and what can be changed about it."))
}
