//! The options of a server, whatever it serves.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use switchboard::openrpc::SpecVersion;
use switchboard::server::Cidr;

use crate::credentials::Credentials;
use crate::signing::VerifyOptions;
use crate::{address, spec, units};

/// The options that `serve` and `gateway` have in common. All of them are keys of the configuration, too.
#[derive(Debug, Args)]
pub(crate) struct ServingOptions {
    /// Read this configuration file. Flags override the file. `switchboard config example` prints one to start from.
    #[arg(long, value_name = "FILE", env = "SWITCHBOARD_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Set any key of the configuration, such as limits.batch=50. Can be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Also read these configuration files; `*` in the file name matches any text. Can be repeated.
    #[arg(long, value_name = "FILE|PATTERN")]
    include: Vec<String>,
    /// Print the configuration that the flags and files set, as a configuration file, and exit.
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Do not reload the configuration, tokens and rules when their files change. SIGHUP still reloads them.
    #[arg(long)]
    no_watch: bool,
    /// Also listen here; the same as an argument. Can be repeated.
    #[arg(long, value_name = "PORT|URL", value_parser = address::listening)]
    listen: Vec<String>,
    /// Serve over standard input and output, one message per line. The server stops when its input ends.
    #[arg(long)]
    stdio: bool,
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
    /// Where to keep used nonces and the answers for idempotency keys: `memory:`, `file:PATH` to survive restarts, or
    /// `nats://HOST:PORT` to share them with other servers.
    #[arg(long, value_name = "URL", default_value = "memory:")]
    store: String,
    /// Credentials for a store in a NATS server: a .creds file, or a file with the seed of an NKey. By default those that
    /// NATS_CREDS, NATS_NKEY, NATS_TOKEN, or NATS_USER and NATS_PASSWORD in the environment name.
    #[arg(long, value_name = "FILE")]
    store_credentials: Option<PathBuf>,
    /// Store calls of durable methods in this queue before they run, and run the jobs in it: nats://HOST:PORT/SERVICE, a NATS server
    /// with JetStream. Callers submit jobs and ask for results with `switchboard job`.
    #[arg(long, value_name = "URL")]
    jobs: Option<String>,
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
    pub(crate) verbose: u8,
}
