//! `switchboard gateway`: one door in front of many servers.

mod a2a;
mod banner;
mod clearing;
mod gated;
mod mcp;
mod metrics;
mod nodes;
mod options;
mod pins;
mod policies;
mod routes;
mod safe;
mod stacks;
mod upstreams;

use clap::{ArgMatches, Args};
use switchboard::Description;

pub(crate) use self::banner::shown;
pub(crate) use self::gated::{Gate, Gated};
pub(crate) use self::metrics::metered;
use self::options::UpstreamOptions;
pub(crate) use self::pins::ToolRecord;
pub(crate) use self::upstreams::{Upstream, fingerprint};
use crate::config::{Config, Origin};
use crate::exit;
use crate::failure::Failure;
use crate::served::Served;
use crate::serving::{self, ServingOptions};

const EXAMPLES: &str = "\
Examples:
  switchboard gateway http://127.0.0.1:8000 --listen 9000          # its methods keep their names
  switchboard gateway ws://127.0.0.1:9944 --listen http://127.0.0.1:8000
  switchboard gateway 'exec:python server.py' --listen ws://127.0.0.1:9000
  switchboard gateway math=http://127.0.0.1:8001 chat='exec:python chat.py' --listen 8000
                                                                   # methods math/… and chat/…
  switchboard gateway math=http://127.0.0.1:8001 --separator . --rename math.add=sum
  switchboard gateway tcp://127.0.0.1:4000 --tokens tokens.txt --admin 9001
  switchboard gateway --config gateway.toml
  switchboard gateway math=http://127.0.0.1:8001 --print-config > gateway.toml";

const LONG: &str = "\
Calls cross from any transport to any other, with their params and results unchanged. A program (`exec:`) is started once for each client \
that keeps a connection, and once for all others. MCP servers have a session for each client, other servers one connection for all clients. `--sessions per-client` \
and `--sessions shared` change that.

The configuration file has more: several servers for one upstream, health checks, retries, caches, routes. `switchboard config schema` \
describes every key. On SIGHUP, or when the file changes, new calls use the new upstreams and routes. SIGUSR2 starts a new process, \
for example after an upgrade, which takes over without refusing connections.";

/// Forwards calls to one or many JSON-RPC servers, over any transport, and guards and observes them like `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct GatewayCommand {
    /// Server to forward calls to: a URL with the scheme http, https, ws, wss, tcp, tls, unix, nats or exec, `mock:OPENRPC` to make up
    /// answers from an OpenRPC document, or `demo:`. With a name, as in `math=URL`, its methods get the prefix `math/`.
    #[arg(value_name = "[NAME=]URL")]
    upstreams: Vec<String>,
    /// Separator between the name of a server and its methods, instead of `/`: with `.`, the methods of math=URL begin with `math.`.
    #[arg(long, value_name = "TEXT")]
    separator: Option<String>,
    /// Offer a method under another name only, as in `--rename math/add=sum`. Can be repeated.
    #[arg(long, value_name = "METHOD=NAME")]
    rename: Vec<String>,
    /// Check the configuration and exit.
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    upstream: UpstreamOptions,
    #[command(flatten)]
    options: ServingOptions,
}

impl GatewayCommand {
    /// Runs the command with these arguments.
    pub(crate) fn run(self, arguments: &ArgMatches) -> Result<(), Failure> {
        let GatewayCommand { upstreams, check, options, .. } = self;
        let origin = Origin::for_gateway(options.config.clone(), arguments, &upstreams)?;
        if check {
            let config = origin.load(&Description::default())?;
            crate::output::note(&config.shown_warnings());
            return has_upstreams(&config);
        }
        serving::run(&options, origin, async move |origin| {
            let config = origin.load(&Description::default())?;
            has_upstreams(&config)?;
            Ok(Served::Gateway(Gated::start(&config).await?))
        })
    }
}

pub(crate) fn has_upstreams(config: &Config) -> Result<(), Failure> {
    match config.upstreams.is_empty() {
        false => Ok(()),
        true => Err(Failure::usage("a gateway needs a server to forward calls to")
            .advise("add one, as in `switchboard gateway http://127.0.0.1:8000 --listen 9000`")),
    }
}
