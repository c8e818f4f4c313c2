//! Runs a server until a signal stops it: what `serve` and `gateway` have in common.

mod options;
#[cfg(unix)]
mod sockets;
#[cfg(unix)]
mod successor;
mod takeover;

use std::io::{self, IsTerminal};
use std::time::Duration;

use switchboard::audit::Audit;
use switchboard::carrier::Url;
use switchboard::gateway::Batches;
use switchboard::log::CallLog;
use switchboard::metrics::Metrics;
use switchboard::observer::SharedObserver;
use switchboard::server::{ListenError, Server, raise_file_limit};
use tokio::task::JoinHandle;

pub(crate) use self::options::ServingOptions;
pub(crate) use self::takeover::Sockets;
use self::takeover::Takeover;
use crate::admin::Admin;
use crate::assembly::Assembly;
use crate::banner::{self, Banner};
use crate::config::{self, InUse, Origin};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::served::Served;
use crate::shell::quoted;
use crate::signals::Signals;
use crate::telemetry::Telemetry;
use crate::written::Written;
use crate::{admin, demo, log, memory, output, proxy};

/// How long the end of the program waits for the last lines of a log to be written.
const LINGER: Duration = Duration::from_secs(2);

/// Serves what `make` makes, with these options, until a signal.
pub(crate) fn run(
    options: &ServingOptions,
    origin: Origin,
    make: impl AsyncFnOnce(&Origin) -> Result<Served, Failure>,
) -> Result<(), Failure> {
    log::never_wait().map_err(|error| cannot_start(&error))?;
    log::start_serving(options.verbose);
    if options.print_config {
        return print(&origin);
    }
    // Before there are threads, which may read the environment.
    let sockets = Sockets::from_env()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let serving = async {
        origin.connect().await?;
        serve(make(&origin).await?, origin, sockets, options.verbose).await
    };
    runtime.map_err(|error| cannot_start(&error))?.block_on(serving)
}

async fn serve(served: Served, origin: Origin, mut sockets: Sockets, verbose: u8) -> Result<(), Failure> {
    let methods = served.router()?.describe();
    let config = origin.load(&methods)?;
    output::note(&config.shown_warnings());
    raise_file_limit(config.connections);
    let (upstreams, gated, has_agent) = (served.upstreams(), served.gated().cloned(), served.has_agent());
    let in_use = InUse::new(&config);
    let mut assembly = Assembly::new(&config, served)?;
    let logs = Logs { calls: config.calls.start(verbose)?, audit: config.audit.clone() };
    let written = Written::default();
    let calls = || logs.calls.clone();
    let counted = || admin::counting(&config, &methods, &in_use, assembly.queue(), calls(), gated.as_ref());
    let new = |_| Admin::new(&in_use, assembly.queue(), calls(), gated.clone(), counted());
    let admin = config.admin.as_ref().map(new);
    let telemetry = Telemetry::start(&config, &methods)?;
    let metrics = admin.as_ref().map(|admin| admin.metrics().clone());
    let metrics = metrics.or_else(|| telemetry.is_some().then(counted));
    let batches = gated.is_some().then_some(Batches);
    assembly.count(metrics.clone());
    let observers = observers(metrics, &logs, admin.as_ref(), telemetry.as_ref(), batches);
    assembly.log(logs.calls.as_ref().and_then(|log| config.calls.bodies(log)));
    assembly.trace(telemetry.as_ref().map(|telemetry| telemetry.tracing.clone()));
    assembly.watch(admin.as_ref());
    admin.iter().for_each(|admin| admin.explains(assembly.explaining()));
    let settings = assembly.settings(&config, observers);
    let mut server = written.watch(assembly.server(&config, settings.clone())?);
    let names = sockets.listen(&mut server, &config).await?;
    let urls: Vec<String> = server.urls().collect();
    let admin_server = match (&admin, &config.admin) {
        (Some(admin), Some(url)) => Some(admin.listen(url, &config, &mut sockets).await?),
        _ => None,
    };
    proxy::check_listeners(&config.proxy_for, &urls)?;
    // The description names the URLs, which are known only now.
    assembly.describe(&urls, &config).await?;
    let (server, tools) = assembly.complete(server, &config, &methods, settings)?;
    let mut signals = Signals::listen().map_err(|error| cannot_start(&error))?;
    let mut takeover = Takeover::new(names, &server, admin_server.as_ref(), &sockets)?;
    let (handle, admin_handle) = (server.handle(), admin_server.as_ref().map(Server::handle));
    let shown = announcement(&Banner {
        urls: &urls,
        admin: &admin_server.iter().flat_map(Server::urls).collect::<Vec<_>>(),
        methods: &methods.methods,
        mcp: config.mcp,
        tools: &tools.methods(),
        has_agent,
        has_page: config.playground,
        upstreams: &upstreams,
        config: &in_use.shown(),
    });
    let live = assembly.live();
    let following = origin.published.clone().follow(in_use.clone());
    let reload = |live| AbortOnDrop::spawn(config::reload(origin, config, methods, live, assembly, in_use));
    let reloading = live.map(|live| (reload(live), AbortOnDrop::spawn(following)));
    // All signals are listened for: who has read this may send them.
    output::note(&shown);
    tokio::spawn(memory::give_back());
    let mut serving = tokio::spawn(server.serve());
    if let Some(admin) = &admin {
        admin.serves(&urls, handle.clone(), serving.abort_handle());
    }
    // It answers until the server has stopped: that is when a supervisor asks.
    let _admin = admin_server.map(|server| AbortOnDrop::spawn(server.serve()));
    sockets.ready();
    tokio::select! {
        // With --stdio it may end by itself.
        _ = &mut serving => {}
        end = takeover.until_end(&mut signals, &handle) => {
            // A successor follows the file from now on.
            drop(reloading);
            tokio::spawn(signals.end_at_next());
            admin.iter().for_each(Admin::drain);
            // New connections reach the successor, if there is one.
            drop(takeover);
            end.begin(&handle, admin_handle.as_ref());
            let _ = serving.await;
        }
    }
    finish(telemetry, &logs, written).await
}

/// Sends and writes what is left.
async fn finish(telemetry: Option<Telemetry>, logs: &Logs, written: Written) -> Result<(), Failure> {
    if let Some(telemetry) = telemetry {
        telemetry.shut_down(LINGER).await;
    }
    logs.flush();
    written.judge()
}

/// Where it listens, and more for a person who looks on.
fn announcement(banner: &Banner<'_>) -> String {
    match is_background(banner.urls) {
        true => banner::brief(banner.urls) + banner.config,
        false => banner::banner(banner),
    }
}

/// What watches the server. Traces come first: others tell which trace a call belongs to.
fn observers(
    metrics: Option<Metrics>,
    logs: &Logs,
    admin: Option<&Admin>,
    telemetry: Option<&Telemetry>,
    batches: Option<Batches>,
) -> Vec<SharedObserver> {
    let mut observers: Vec<SharedObserver> = Vec::new();
    if let (Some(telemetry), Some(metrics)) = (telemetry, &metrics) {
        observers.extend(telemetry.observers(metrics));
    }
    observers.extend(metrics.map(SharedObserver::from));
    observers.extend(admin.into_iter().flat_map(Admin::observers));
    observers.extend(logs.calls.clone().map(SharedObserver::from));
    observers.extend(batches.map(SharedObserver::from));
    observers
}

/// Ends a task when it is dropped.
struct AbortOnDrop(JoinHandle<()>);

impl AbortOnDrop {
    fn spawn(task: impl Future<Output = ()> + Send + 'static) -> AbortOnDrop {
        AbortOnDrop(tokio::spawn(task))
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What is written while the server runs.
struct Logs {
    calls: Option<CallLog>,
    audit: Audit,
}

impl Logs {
    /// Writes the last lines.
    fn flush(&self) {
        if let Some(calls) = &self.calls {
            calls.flush(LINGER);
        }
        self.audit.flush(LINGER);
    }
}

/// Prints the configuration, so that a command line can become a file.
fn print(origin: &Origin) -> Result<(), Failure> {
    let config =
        origin.load(&demo::router().map_err(|error| Failure::usage(error.to_string()))?.describe())?;
    output::note(&config.shown_warnings());
    output::page(&config.printed()).map(drop)
}

/// Whether another program started this one to talk to it, without a person who reads stderr.
fn is_background(urls: &[String]) -> bool {
    urls.iter().all(|url| url.starts_with("stdio")) && !io::stderr().is_terminal()
}

/// Why a server cannot listen at a URL, and what to do about it.
pub(crate) fn explain(error: ListenError, url: &str) -> Failure {
    let text = error.to_string();
    let cannot = |text: String| Failure::new(Exit::CannotListen, text);
    match error {
        ListenError::Bind { error, .. } => match error.kind() {
            io::ErrorKind::AddrInUse => cannot(text).advise("choose another port, or 0 for any free one"),
            io::ErrorKind::PermissionDenied => cannot(text).advise("choose a port above 1023"),
            _ => cannot(text).advise("choose an address of this machine, such as 127.0.0.1"),
        },
        ListenError::Unix(error) if error.kind() == io::ErrorKind::NotFound => match folder(url) {
            Some(folder) => cannot(text).advise(format!("create it with `mkdir -p {}`", quoted(&folder))),
            None => cannot(text),
        },
        ListenError::Unix(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            cannot(text).advise("choose a folder that you can write to")
        }
        ListenError::Unresolved(_) | ListenError::Unix(_) | ListenError::Listener(_) => cannot(text),
        ListenError::Public(address) => {
            let text = format!("other machines could reach {address}");
            Failure::usage(text).advise("add `--public` to allow that, or listen on 127.0.0.1")
        }
        ListenError::Certificate(_) => Failure::usage(text).advise("add `--tls-cert FILE --tls-key FILE`"),
        _ => Failure::usage(text),
    }
}

/// The folder of the socket that a URL names.
fn folder(url: &str) -> Option<String> {
    let path = url.parse::<Url>().ok()?.text_without("framing")?;
    let (folder, _) = path.rsplit_once('/')?;
    Some(folder.to_owned()).filter(|folder| !folder.is_empty())
}

fn cannot_start(error: &io::Error) -> Failure {
    Failure::new(Exit::CannotListen, format!("cannot start: {error}"))
}
