//! Builds a server from its configuration: HTTP options, limits, TLS, and the stack of middleware.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use http::HeaderName;
use switchboard::access::Access;
use switchboard::http::{Cors, DocumentRoute, EndpointOptions, Get, Hosts, Origins};
use switchboard::idempotency::Idempotency;
use switchboard::identity::{Authentication, Revocations};
use switchboard::jobs::Jobs;
use switchboard::log::BodyLog;
use switchboard::metrics::Metrics;
use switchboard::observer::SharedObserver;
use switchboard::openrpc::{Discovery, Generator, SpecVersion, Validation};
use switchboard::server::{Server, ServerOptions};
use switchboard::shed::Shedding;
use switchboard::signing::Verify;
use switchboard::store::Store;
use switchboard::tls::{CallerProof, ServerFiles, ServerTls};
use switchboard::trace::Tracing;
use switchboard::{
    Context, Describe, Description, Layer, Layered, Limits, Profile, Router, Service, Settings,
    SharedAdmission, mcp, playground,
};

use crate::admin::Admin;
use crate::config::{Config, Live, Stack, keeping};
use crate::described::{Current, Described};
use crate::explain::Explainer;
use crate::failure::Failure;
use crate::gateway::{Gate, Gated};
use crate::job_listener::JobListener;
use crate::served::{Served, gateway_methods};
use crate::tools::{self, Tools};
use crate::{agents, demo, proxy};

/// What answers may say about where they come from: a cache, or a server that was tried again.
const NOTES: [&str; 3] = ["age", "cache", "switchboard-attempts"];

/// The parts of a server that outlive its configuration.
pub(crate) struct Assembly {
    served: Served,
    generator: Generator,
    methods: Current,
    /// Whether the description names the tools.
    has_tools: bool,
    /// The rules in use, for what `rpc.discover` shows; none if they cannot change.
    visible: Option<Arc<ArcSwapOption<Access>>>,
    live: Option<Live>,
    verify: Option<Verify>,
    idempotency: Option<Idempotency>,
    jobs: Option<Jobs>,
    /// Where the sessions of MCP clients are, if servers share them.
    sessions: Option<Arc<dyn Store>>,
    /// Until the tools have them.
    state_keys: Mutex<Option<mcp::StateKeys>>,
    revocations: Revocations,
    tracing: Option<Tracing>,
    bodies: Option<BodyLog>,
    admin: Option<Admin>,
    metrics: Option<Metrics>,
    queue: Queue,
    explaining: Explaining,
    /// Where the agent keeps its tasks, if not in memory.
    tasks: Option<Arc<dyn Store>>,
}

/// The calls that wait because too many run. A reload may replace the limit.
#[derive(Clone, Default)]
pub(crate) struct Queue(Arc<ArcSwapOption<Shedding>>);

impl Queue {
    pub(crate) fn waiting(&self) -> u64 {
        self.0.load().as_ref().map_or(0, |shedding| shedding.waiting() as u64)
    }
}

/// What explains calls by the configuration in use. A reload replaces it.
#[derive(Clone, Default)]
pub(crate) struct Explaining(Arc<ArcSwapOption<Explainer>>);

impl Explaining {
    pub(crate) fn current(&self) -> Option<Arc<Explainer>> {
        self.0.load_full()
    }
}

impl Assembly {
    /// The parts for this configuration.
    pub(crate) fn new(config: &Config, served: Served) -> Result<Assembly, Failure> {
        let version =
            config.openrpc.parse::<SpecVersion>().map_err(|error| Failure::usage(error.to_string()))?;
        // Without files nothing can change, and calls go straight to the methods.
        let can_change = config.has_files;
        let visible = can_change.then(|| Arc::new(ArcSwapOption::new(config.access.clone().map(Arc::new))));
        let generator = served.generator().version(version);
        let has_tools = config.mcp.http || config.mcp.stdio;
        let documented = documented(&generator, served.router()?, has_tools);
        let (router, discovery) = served.discovered(discovery(documented, visible.as_ref()))?;
        let methods = Current::new(Described { router: Arc::new(router), discovery });
        let mut assembly = Assembly {
            served,
            generator,
            methods,
            has_tools,
            visible,
            live: None,
            verify: None,
            idempotency: None,
            jobs: None,
            sessions: None,
            state_keys: Mutex::default(),
            revocations: Revocations::default(),
            tracing: None,
            bodies: None,
            tasks: None,
            admin: None,
            metrics: None,
            queue: Queue::default(),
            explaining: Explaining::default(),
        };
        if can_change {
            assembly.live = Some(Live::new(assembly.stack(config, &assembly.methods.router())?));
        }
        Ok(assembly)
    }

    /// The calls that wait, whichever configuration is in use.
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// What explains calls, whichever configuration is in use.
    pub(crate) fn explaining(&self) -> &Explaining {
        &self.explaining
    }

    /// Logs params and results.
    pub(crate) fn log(&mut self, bodies: Option<BodyLog>) {
        self.bodies = bodies;
    }

    /// Makes calls back to callers part of their traces.
    pub(crate) fn trace(&mut self, tracing: Option<Tracing>) {
        self.tracing = tracing;
    }

    /// Shows calls back to callers on the admin listener.
    pub(crate) fn watch(&mut self, admin: Option<&Admin>) {
        self.admin = admin.cloned();
    }

    /// Counts calls of methods that become known later on their own, too.
    pub(crate) fn count(&mut self, metrics: Option<Metrics>) {
        self.metrics = metrics;
    }

    /// Names these URLs in the description. Calls are signed for one of them.
    pub(crate) async fn describe(&mut self, urls: &[String], config: &Config) -> Result<(), Failure> {
        let stores = config.stores(self.served.has_agent()).await?;
        self.tasks = stores.tasks;
        let signing = config.signing.as_ref().zip(stores.nonces);
        self.verify = signing.map(|(signing, store)| signing.verify(urls, store));
        let retention = config.idempotency.zip(stores.answers);
        (self.sessions, self.state_keys) = (stores.sessions, Mutex::new(stores.state_keys));
        self.idempotency = retention.map(|(time, store)| keeping(store, time, config.timeout));
        if let Some(jobs) = &config.jobs {
            self.jobs = Some(jobs.open().await?);
        }
        self.generator = demo::servers(urls).into_iter().fold(self.generator.clone(), Generator::server);
        let documented = documented(&self.generator, self.methods.router(), self.has_tools);
        let (router, discovery) = self.served.discovered(discovery(documented, self.visible.as_ref()))?;
        self.methods.replace(Described { router: Arc::new(router), discovery });
        Ok(())
    }

    /// The gateway, if calls are forwarded.
    pub(crate) fn gateway(&self) -> Option<&Gated> {
        self.served.gated()
    }

    /// The methods of a gateway with these upstreams, which are not in use yet.
    pub(crate) fn methods_of(&self, gate: &Gate) -> Result<Described, Failure> {
        let documented = documented(&self.generator, gate.gateway.clone(), self.has_tools);
        let (router, discovery) = gateway_methods(gate, discovery(documented, self.visible.as_ref()))?;
        Ok(Described { router: Arc::new(router), discovery })
    }

    /// The methods in use.
    pub(crate) fn methods(&self) -> &Current {
        &self.methods
    }

    /// The stack in use, if it can be replaced.
    pub(crate) fn live(&self) -> Option<Live> {
        self.live.clone()
    }

    /// What answers calls.
    pub(crate) fn service(&self, config: &Config) -> Result<Arc<dyn Service>, Failure> {
        let stack = self.stack(config, &self.methods.router())?;
        self.put_in_use(config);
        match &self.live {
            None => Ok(stack.service),
            Some(live) => {
                live.replace(stack);
                Ok(Arc::new(live.clone()))
            }
        }
    }

    /// These methods with the middleware of this configuration in front of them; outermost last.
    pub(crate) fn stack(&self, config: &Config, router: &Arc<Router>) -> Result<Stack, Failure> {
        let wrong = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
        let mut service = self.served.verified(Arc::clone(router) as Arc<dyn Service>);
        // What is refused by any other layer is not stored.
        if let Some(jobs) = &self.jobs {
            service = jobs.layer(service);
        }
        // These copy the call, so they come after those that say who makes it: observers see only the first copy.
        if let Some(tracing) = &self.tracing {
            service = tracing.layer(service);
        }
        if let Some(admin) = &self.admin {
            service = admin.callbacks().layer(service);
        }
        if config.validate {
            let validation = Validation::new(&self.generator.document(router));
            service = validation.map_err(|error| wrong(&error))?.layer(service);
        }
        if let Some(idempotency) = &self.idempotency {
            service = idempotency.layer(service);
        }
        let audit = &config.audit;
        if let Some(shedding) = &config.shedding {
            service = shedding.clone().with_audit(audit.clone()).layer(service);
        }
        if let Some(access) = &config.access {
            service = access.clone().with_audit(audit.clone()).layer(service);
        }
        if let Some(rate) = &config.rate {
            let rate = rate.clone().with_audit(audit.clone());
            let rate = match &config.shared {
                Some(shared) => shared.sharing(rate),
                None => rate,
            };
            service = rate.layer(service);
        }
        if let Some(jobs) = &self.jobs {
            service = jobs.submissions().layer(service);
        }
        let with_roles =
            |checks: Authentication, user: String| checks.with_roles(&user, config.roles.of(&user));
        let authentication = config.authentication.clone().map(|checks| {
            let checks = checks.with_revocations(self.revocations.clone());
            config.roles.users().into_iter().fold(checks.with_audit(audit.clone()), with_roles)
        });
        if let Some(authentication) = &authentication {
            service = authentication.layer(service);
        }
        if let Some(verify) = &self.verify {
            service = verify.clone().with_audit(audit.clone()).layer(service);
        }
        if let Some(bodies) = &self.bodies {
            service = bodies.layer(service);
        }
        Ok(Stack { service, authentication })
    }

    /// What is shown of the configuration is that of this one from now on: the queue, explanations and visible methods.
    pub(crate) fn put_in_use(&self, config: &Config) {
        self.revocations.replace(config.revoked.iter().cloned());
        self.queue.0.store(config.shedding.clone().map(Arc::new));
        self.explaining.0.store(Some(Arc::new(Explainer::new(config, self.served.clone()))));
        if let Some(visible) = &self.visible {
            visible.store(config.access.clone().map(Arc::new));
        }
    }

    /// What applies to all listeners.
    pub(crate) fn settings(&self, config: &Config, observers: Vec<SharedObserver>) -> Settings {
        let admission: Option<SharedAdmission> = match &self.live {
            Some(live) => Some(live.clone().into()),
            None => {
                let checks = config.authentication.clone();
                let checks = checks.map(|checks| checks.with_revocations(self.revocations.clone()));
                checks.map(|checks| checks.with_audit(config.audit.clone()).into())
            }
        };
        let admission = match &config.protected {
            Some(resource) => admission.map(|admission| resource.guard(admission).into()),
            None => admission,
        };
        let observer = if observers.is_empty() { None } else { Some(observers.into()) };
        let profile = if config.mcp.stdio { mcp::Server::profile() } else { Profile::default() };
        Settings::default()
            .with_limits(limits(config))
            .with_profile(profile)
            .with_admission(admission)
            .with_observer(observer)
    }

    /// The server, which listens nowhere yet and answers no calls.
    pub(crate) fn server(&self, config: &Config, settings: Settings) -> Result<Server, Failure> {
        let server = Server::new(self.methods.clone())
            .with_settings(settings)
            .with_options(
                ServerOptions::default()
                    .with_connections(config.connections)
                    .with_connections_per_address(config.connections_per_address)
                    .with_duplex_idle_time(config.idle)
                    .with_buffers(config.buffers)
                    .with_trust_proxies(config.trust_proxies.iter().copied()),
            )
            .with_proxy_protocol(config.proxy_protocol);
        let server = match tls(config)? {
            Some(tls) => server.with_tls(tls),
            None => server,
        };
        Ok(if config.public || config.authentication.is_some() { server.public() } else { server })
    }

    /// The server with what answers its calls, and the tools that it offers.
    pub(crate) fn complete(
        &self,
        server: Server,
        config: &Config,
        methods: &Description,
        settings: Settings,
    ) -> Result<(Server, Tools), Failure> {
        let service = self.service(config)?;
        let server = self.working(server, config, &service);
        let tools = self.tools(config, &service);
        let get = Get::safe(methods);
        self.follow(&tools, &get);
        let http = endpoint(config)?.with_get(get);
        let http = match self.served.has_agent() {
            true => agents::route(http, Arc::clone(&service), settings.clone(), self.tasks.clone()),
            false => http,
        };
        let http = match config.mcp.http {
            true => tools.route(http, settings, self.sessions.clone())?,
            false => http,
        };
        let http = config.protected.iter().fold(http, |http, resource| resource.routes(http));
        let service = if config.mcp.stdio { tools.service()? } else { service };
        Ok((server.with_http(http).with_service(service), tools))
    }

    /// The server, which runs jobs as well if it is to.
    fn working(&self, mut server: Server, config: &Config, service: &Arc<dyn Service>) -> Server {
        if let (Some(jobs), Some(described)) = (&self.jobs, &config.jobs) {
            jobs.follow(&self.methods.router().describe());
            if described.workers > 0 {
                let (jobs, service) = (jobs.clone(), Arc::clone(service));
                server.add_listener(JobListener::new(jobs, described, service));
            }
        }
        server
    }

    /// Keeps the description, the tools, the metrics and what GET may call up to date with methods that change.
    fn follow(&self, tools: &Tools, get: &Get) {
        let metrics = self.metrics.clone();
        // What was described while the server started is not a change any more.
        metrics.iter().for_each(|metrics| metrics.follow(tools::counted(&self.methods.router().describe())));
        let updated = tools.clone();
        self.served.on_update(move |uri| updated.updated(uri));
        let (methods, tools, get) = (self.methods.clone(), tools.clone(), get.clone());
        let (generator, has_tools, jobs) = (self.generator.clone(), self.has_tools, self.jobs.clone());
        self.served.on_change(move || {
            methods.refresh(|router| documented(&generator, Arc::clone(router), has_tools).document(router));
            let described = methods.router().describe();
            get.replace(&described);
            jobs.iter().for_each(|jobs| jobs.follow(&described));
            metrics.iter().for_each(|metrics| metrics.follow(tools::counted(&described)));
            tools.refresh();
        });
    }

    /// The methods as tools. Their calls pass through the same middleware as others.
    fn tools(&self, config: &Config, service: &Arc<dyn Service>) -> Tools {
        let service = Arc::clone(service);
        let methods = Layered::new(self.methods.clone(), move |_: Arc<dyn Service>| Arc::clone(&service));
        let visible = self.visible.clone();
        let is_visible = move |cx: &Context, method: &str| is_visible(visible.as_ref(), cx, method);
        let tools = Tools::new(methods, self.served.instructions(), config, is_visible.clone());
        let tools = tools.declared(self.served.declared());
        let keys = self.state_keys.lock().unwrap_or_else(PoisonError::into_inner).take();
        let tools = keys.into_iter().fold(tools, Tools::sealed);
        match self.served.gated().cloned() {
            Some(gated) => tools.held(move |tool, cx| {
                let (method, why) = gated.held(tool)?;
                is_visible(cx, &method).then_some(why)
            }),
            None => tools,
        }
    }
}

/// Whether the rules in use let the caller see the method.
fn is_visible(rules: Option<&Arc<ArcSwapOption<Access>>>, cx: &Context, method: &str) -> bool {
    let rules = rules.map(|rules| rules.load());
    rules.as_deref().and_then(Option::as_ref).is_none_or(|access| access.is_visible(cx, method))
}

/// A description that shows each caller what it may call.
fn discovery(generator: Generator, visible: Option<&Arc<ArcSwapOption<Access>>>) -> Discovery {
    let discovery = Discovery::new(generator);
    match visible {
        None => discovery,
        Some(visible) => {
            let visible = Arc::clone(visible);
            discovery.visible(move |cx, method| is_visible(Some(&visible), cx, method))
        }
    }
}

/// The generator of a document about these methods, which names their tools if there are any.
fn documented(generator: &Generator, methods: impl Describe, has_tools: bool) -> Generator {
    match has_tools {
        true => tools::documented(generator.clone(), methods),
        false => generator.clone(),
    }
}

fn tls(config: &Config) -> Result<Option<ServerTls>, Failure> {
    let (Some(certificate), Some(key)) = (&config.tls_cert, &config.tls_key) else { return Ok(None) };
    let proof = if config.is_client_cert_optional { CallerProof::Optional } else { CallerProof::Required };
    let files = ServerFiles::new(certificate, key).with_client_ca(config.client_ca.clone()).with_proof(proof);
    ServerTls::load(files).map(Some).map_err(|error| Failure::usage(error.to_string()))
}

fn endpoint(config: &Config) -> Result<EndpointOptions, Failure> {
    let wrong = |error: switchboard::http::GuardError| Failure::usage(error.to_string());
    let has_any = |values: &[String]| values.iter().any(|value| value == "*");
    let hosts = match &config.allow_host[..] {
        [] => Hosts::default(),
        hosts if has_any(hosts) => Hosts::any(),
        hosts => Hosts::only(hosts).map_err(wrong)?,
    };
    let origins = match &config.allow_origin[..] {
        [] => Origins::default(),
        origins if has_any(origins) => Origins::any(),
        origins => Origins::only(origins).map_err(wrong)?,
    };
    let cors = config.cors.then(Cors::default);
    let mut options = EndpointOptions::default().with_hosts(hosts).with_origins(origins).with_cors(cors);
    options.reply_headers.extend(NOTES.map(HeaderName::from_static));
    let options = options.route("/openrpc.json", DocumentRoute);
    let options = match config.proxy_for.is_empty() {
        true => options,
        false => options.route(proxy::PATH, proxy::route(&config.proxy_for, &config.allow_host)?),
    };
    Ok(if config.playground { options.route("/", playground::page()) } else { options })
}

fn limits(config: &Config) -> Limits {
    Limits::default()
        .with_frame(config.body)
        .with_batch(config.batch)
        .with_call_time(config.timeout)
        .with_drain_time(config.drain_time)
}
