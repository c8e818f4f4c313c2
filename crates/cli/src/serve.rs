//! `switchboard serve`: serves the demo methods.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args};
use listenfd::ListenFd;
use switchboard::Description;
use switchboard::audit::Audit;
use switchboard::carrier::Url;
use switchboard::log::CallLog;
use switchboard::metrics::Metrics;
use switchboard::observer::SharedObserver;
use switchboard::openrpc::SpecVersion;
use switchboard::server::{Cidr, ListenError, Server, raise_file_limit};

use tokio::task::JoinHandle;

use crate::admin::Admin;
use crate::assembly::Assembly;
use crate::banner::{self, Banner};
use crate::config::{self, Config, Origin};
use crate::credentials::Credentials;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::served::Served;
use crate::shell::quoted;
use crate::signals::Signals;
use crate::signing::VerifyOptions;
use crate::telemetry::Telemetry;
use crate::written::Written;
use crate::{address, demo, log, memory, output, proxy, spec, tools, units};

const EXAMPLES: &str = "\
Examples:
  switchboard serve                                  # http://127.0.0.1:8000
  switchboard serve 8077                             # http://127.0.0.1:8077
  switchboard serve 0                                # any free port, which is printed
  switchboard serve http://0.0.0.0:8000 --public
  switchboard serve 8000 'tcp://127.0.0.1:4000?framing=lsp' unix:/run/rpc.sock
  switchboard serve https://127.0.0.1:8443 --tls-cert server.pem --tls-key server.key
  switchboard serve -v                               # a line for each call
  switchboard serve --log-file calls.jsonl
  switchboard serve --admin 9000                     # http://127.0.0.1:9000 in a browser, /metrics
  switchboard serve --otlp http://127.0.0.1:4318     # traces and metrics for a collector
  switchboard serve --tokens tokens.txt --audit audit.log
  switchboard serve --config switchboard.toml
  switchboard serve 8077 --tokens tokens.txt --print-config > switchboard.toml
  switchboard serve --keys keys.txt                  # made with `switchboard key new`
  switchboard serve --stdio
  switchboard serve --stdio --mcp                    # the methods as tools, for an agent
  switchboard serve --from-mcp 'exec:npx -y some-server'   # its tools as methods
  switchboard serve --allow-origin https://app.example.com --cors
  switchboard serve --proxy-for http://127.0.0.1:9000/rpc";

const LONG: &str = "\
Ctrl-C or SIGTERM shuts the server down: it finishes the calls in progress, for up to --drain-time. A second signal stops it \
immediately.";

/// How long the end of the program waits for the last lines of a log to be written.
const LINGER: Duration = Duration::from_secs(2);

/// Serves demo methods, including those of popular JSON-RPC tutorials, until you stop it.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Serve {
    /// Where to listen: a port, or a URL with the scheme http, https, ws, wss, tcp, tls or unix. Port 0 picks a free one. The
    /// default is http://127.0.0.1:8000, unless --stdio is given or a supervisor passes sockets (LISTEN_FDS).
    #[arg(value_name = "PORT|URL", value_parser = address::listening)]
    addresses: Vec<String>,
    /// Read this configuration file. Flags override the file. `switchboard config example` prints one to start from.
    #[arg(long, value_name = "FILE", env = "SWITCHBOARD_CONFIG")]
    config: Option<PathBuf>,
    /// Set any key of the configuration, such as limits.batch=50. Can be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Also read these configuration files; `*` in the file name matches any text. Can be repeated.
    #[arg(long, value_name = "FILE|PATTERN")]
    include: Vec<String>,
    /// Print the configuration that the flags and files set, as a configuration file, and exit.
    #[arg(long)]
    print_config: bool,
    /// Do not reload the configuration, tokens and rules when their files change. SIGHUP still reloads them.
    #[arg(long)]
    no_watch: bool,
    /// Also listen here; the same as an argument. Can be repeated.
    #[arg(long, value_name = "PORT|URL", value_parser = address::listening)]
    listen: Vec<String>,
    /// Serve over standard input and output, one message per line. The server stops when its input ends.
    #[arg(long)]
    stdio: bool,
    /// Serve the tools, resources and prompts of this MCP server as methods, instead of the demo methods: a URL such as
    /// http://127.0.0.1:9000/mcp, or `exec:COMMAND`.
    #[arg(long, value_name = "URL")]
    from_mcp: Option<String>,
    /// With --stdio: speak the Model Context Protocol (MCP), so that agents can start this command as a tool server. Over HTTP, MCP is at
    /// `/mcp` without this option.
    #[arg(long, conflicts_with = "no_mcp")]
    mcp: bool,
    /// Certificate chain in PEM format, for https, wss and tls. Changes are picked up within 5 seconds.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM format.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Require client certificates issued by these authorities, in PEM format.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
    /// Also accept clients without a certificate.
    #[arg(long, requires = "client_ca")]
    client_cert_optional: bool,
    #[command(flatten)]
    credentials: Credentials,
    /// Append security events to this file, one JSON line each: wrong credentials, blocked addresses and the like. It is rotated at 16
    /// MiB; eight old files are kept. `-` writes to stderr.
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    #[command(flatten)]
    signing: VerifyOptions,
    /// Run calls with the same `Idempotency-Key` only once, and keep their answers for this long, such as 24h.
    #[arg(long, value_name = "DURATION", value_parser = units::lifetime)]
    idempotency: Option<Duration>,
    /// Where to keep used nonces and the answers for idempotency keys: `memory:`, or `file:PATH` to survive restarts.
    #[arg(long, value_name = "URL", default_value = "memory:")]
    store: String,
    /// Allow listening without authentication on addresses that other machines can reach.
    #[arg(long)]
    public: bool,
    /// Answer requests for this host name only; `*` allows any. Can be repeated.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Accept requests from web pages of this origin only; `*` allows any. Can be repeated.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Send CORS headers, so that pages of the allowed origins can read the responses.
    #[arg(long, requires = "allow_origin")]
    cors: bool,
    /// Do not serve the playground page at `/`. Calls to `/` still work.
    #[arg(long)]
    no_playground: bool,
    /// Let the playground call this URL even if its server does not allow that (CORS), by forwarding the calls. Can be
    /// repeated. All listeners must be on loopback addresses.
    #[arg(long, value_name = "URL", conflicts_with = "no_playground")]
    proxy_for: Vec<String>,
    /// Do not answer clients of the Model Context Protocol (MCP) at `/mcp`, `/sse` and `/messages`.
    #[arg(long)]
    no_mcp: bool,
    /// Maximum size of a request or message.
    #[arg(long, value_name = "BYTES", default_value = "4M", value_parser = units::bytes)]
    max_body: usize,
    /// Maximum number of calls in a batch.
    #[arg(long, value_name = "COUNT", default_value = "100", value_parser = units::count)]
    max_batch: usize,
    /// Maximum number of open connections, over all listeners together. Half of them are reserved for the listeners in equal
    /// shares. The limit on open files (`ulimit -n`) is raised if necessary and possible.
    #[arg(long, value_name = "COUNT", default_value = "1024", value_parser = units::count)]
    max_connections: usize,
    /// Maximum number of open connections from one address.
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    max_connections_per_address: Option<usize>,
    /// Trust proxies in this network, such as 10.0.0.0/8 or 127.0.0.1, to name the client of a request in `X-Forwarded-For` or
    /// `Forwarded`. Limits and logs then use the address of the client. Can be repeated.
    #[arg(long, value_name = "CIDR")]
    trust_proxy: Vec<Cidr>,
    /// Expect a header of the PROXY protocol (version 1 or 2) from a trusted proxy at the start of each TCP connection. All other
    /// connections are closed.
    #[arg(long, requires = "trust_proxy")]
    proxy_protocol: bool,
    /// Close WebSocket, TCP, TLS and Unix socket connections that are idle for this long, such as 30s or 10m; `never` keeps them
    /// open. A connection is idle when neither side sends anything and no call or stream is in progress.
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = units::duration_or_never)]
    idle_time: Duration,
    /// Validate the parameters of calls against their schemas before running the methods.
    #[arg(long)]
    validate: bool,
    /// OpenRPC version of the description that rpc.discover returns. Some older tools only understand 1.2.
    #[arg(long, value_name = "VERSION", default_value = "1.3", value_parser = spec::version())]
    openrpc: SpecVersion,
    /// Maximum memory for messages above 64 KiB, over all connections together. Messages that exceed it are refused; clients can
    /// retry them later.
    #[arg(long, value_name = "BYTES", default_value = "256M", value_parser = units::bytes)]
    max_buffers: usize,
    /// How long calls in progress may take to finish after the signal to stop.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = units::duration)]
    drain_time: Duration,
    /// Maximum time a call may take.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = units::duration)]
    timeout: Duration,
    /// Serve a live page (/), metrics (/metrics), health (/healthz, /readyz) and admin methods here, for this machine or callers with a
    /// token: a port, an http URL or unix:PATH.
    #[arg(long, value_name = "PORT|URL", value_parser = address::listening)]
    admin: Option<String>,
    /// Send traces and metrics to this OpenTelemetry collector, such as http://127.0.0.1:4318. The default is OTEL_EXPORTER_OTLP_ENDPOINT.
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// How to send them: http (protobuf) or grpc.
    #[arg(long, value_name = "PROTOCOL", value_parser = ["http", "grpc"])]
    otlp_protocol: Option<String>,
    /// Share of the traces that begin here to record, such as 1%. Traces of callers are recorded if they say so.
    #[arg(long, value_name = "SHARE")]
    trace_sample: Option<String>,
    /// Which calls to log: error (internal errors), warn (all failures), info (every call) or debug (also connections). The default is info with
    /// -v or --log-file, otherwise off.
    #[arg(long, value_name = "LEVEL", value_parser = ["off", "error", "warn", "info", "debug"])]
    log_level: Option<String>,
    /// Format of the call log: pretty, json, or auto, which is pretty on a terminal.
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = ["auto", "pretty", "json"])]
    log_format: String,
    /// Append a line for each call to this file instead of stderr. It is rotated at 16 MiB; eight old files are kept.
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Also log params and results: those of calls that failed, or all. Passwords, tokens and the like are left out.
    #[arg(long, value_name = "WHICH", default_value = "off", value_parser = ["off", "failed", "all"])]
    log_bodies: String,
    /// Log every call, and more about the server, to stderr; repeat for even more. `RUST_LOG` controls everything but calls.
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl Serve {
    /// Runs the command with these arguments.
    pub(crate) fn run(self, arguments: &ArgMatches) -> Result<(), Failure> {
        log::never_wait().map_err(|error| cannot_start(&error))?;
        log::start(self.verbose);
        let origin = Origin::new(self.config.clone(), arguments)?;
        if self.print_config {
            return print(&origin);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.map_err(|error| cannot_start(&error))?.block_on(self.serve(origin))
    }

    async fn serve(self, origin: Origin) -> Result<(), Failure> {
        let served = Served::from(self.from_mcp.as_deref()).await?;
        let methods = served.router()?.describe();
        let config = origin.load(&methods)?;
        output::note(&config.shown_warnings());
        raise_file_limit(config.connections);
        let mut assembly = Assembly::new(&config, served)?;
        let logs = Logs { calls: config.calls.start(self.verbose)?, audit: config.audit.clone() };
        let written = Written::default();
        let admin = config.admin.as_ref().map(|_| Admin::new(&config, &methods, logs.calls.clone()));
        let telemetry = Telemetry::start(&config, &methods)?;
        let observers = observers(&logs, admin.as_ref(), telemetry.as_ref(), &methods);
        assembly.log(logs.calls.as_ref().and_then(|log| config.calls.bodies(log)));
        assembly.trace(telemetry.as_ref().map(|telemetry| telemetry.tracing.clone()));
        let settings = assembly.settings(&config, observers);
        let mut server = written.watch(assembly.server(&config, settings.clone())?);
        let urls = listen(&mut server, &config).await?;
        let admin_server = match (&admin, &config.admin) {
            (Some(admin), Some(url)) => Some(admin.listen(url, &config).await?),
            _ => None,
        };
        if !config.proxy_for.is_empty() {
            proxy::check_listeners(&urls)?;
        }
        // The description names the URLs, which are known only now.
        assembly.describe(&urls, &config)?;
        let (server, tools) = assembly.complete(server, &config, &methods, settings)?;
        let mut signals = Signals::listen().map_err(|error| cannot_start(&error))?;
        let handle = server.handle();
        if let Some(admin) = &admin {
            admin.serves(&urls, handle.clone());
        }
        let admin_urls: Vec<String> = admin_server.iter().flat_map(Server::urls).collect();
        output::note(&match is_background(&urls) {
            true => banner::brief(&urls),
            false => banner::banner(&Banner {
                urls: &urls,
                admin: &admin_urls,
                methods: &methods.methods,
                mcp: config.mcp,
                tools: tools.count(),
                has_page: config.playground,
            }),
        });
        tokio::spawn(memory::give_back());
        if let Some(live) = assembly.live() {
            let build = Box::new(move |config: &Config| assembly.stack(config));
            tokio::spawn(config::reload(origin, config, methods, live, build));
        }
        let mut serving = tokio::spawn(server.serve());
        // It answers until the server has stopped: that is when a supervisor asks.
        let _admin = admin_server.map(|server| AbortOnDrop(tokio::spawn(server.serve())));
        tokio::select! {
            // With --stdio it may end by itself.
            _ = &mut serving => {}
            () = signals.next() => {
                output::note("Stopping after the calls in progress; a second Ctrl-C or SIGTERM stops immediately.\n");
                tokio::spawn(signals.end_at_next());
                admin.iter().for_each(Admin::drain);
                handle.shutdown();
                let _ = serving.await;
            }
        }
        if let Some(telemetry) = telemetry {
            telemetry.shut_down(LINGER).await;
        }
        logs.flush();
        written.judge()
    }
}

/// What watches the server. Traces come first: others tell which trace a call belongs to.
fn observers(
    logs: &Logs,
    admin: Option<&Admin>,
    telemetry: Option<&Telemetry>,
    methods: &Description,
) -> Vec<SharedObserver> {
    let metrics = match (admin, telemetry) {
        (Some(admin), _) => Some(admin.metrics().clone()),
        (None, Some(_)) => {
            let metrics = Metrics::new(tools::counted(methods));
            Some(metrics.with_audit(logs.audit.clone()))
        }
        (None, None) => None,
    };
    let mut observers: Vec<SharedObserver> = Vec::new();
    if let (Some(telemetry), Some(metrics)) = (telemetry, &metrics) {
        observers.extend(telemetry.observers(metrics));
    }
    observers.extend(metrics.map(SharedObserver::from));
    observers.extend(admin.into_iter().flat_map(Admin::observers));
    observers.extend(logs.calls.clone().map(SharedObserver::from));
    observers
}

/// Ends a task when it is dropped.
struct AbortOnDrop(JoinHandle<()>);

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

/// Listens at all addresses, or fails; returns their URLs.
async fn listen(server: &mut Server, config: &Config) -> Result<Vec<String>, Failure> {
    if config.is_listen_set || !adopt(server)? {
        for url in &config.listen {
            server.listen(url).await.map_err(|error| explain(error, url))?;
        }
    }
    Ok(server.urls().collect())
}

/// Serves the sockets that a supervisor passed; false if there are none.
fn adopt(server: &mut Server) -> Result<bool, Failure> {
    let mut passed = ListenFd::from_env();
    for index in 0..passed.len() {
        let listener = passed.take_tcp_listener(index).map_err(|error| {
            let what = format!("cannot use a socket passed by the supervisor (LISTEN_FDS): {error}");
            Failure::new(Exit::CannotListen, what).advise("pass listening TCP sockets only")
        })?;
        if let Some(listener) = listener {
            server.adopt(listener).map_err(|error| explain(error, ""))?;
        }
    }
    Ok(passed.len() > 0)
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
