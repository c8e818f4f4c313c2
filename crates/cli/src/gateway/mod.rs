//! `switchboard gateway`: one door in front of many servers.

mod banner;
mod clearing;
mod mcp;
mod nodes;
mod pins;
mod policies;
mod routes;
mod safe;
mod upstreams;

use std::sync::Arc;
use std::time::Duration;

use clap::{ArgMatches, Args};
use futures_util::future::join_all;
use switchboard::Description;
use switchboard::gateway::{Gateway, GatewayBuilder};

pub(crate) use self::banner::shown;
pub(crate) use self::pins::{Pins, ToolRecord};
use self::upstreams::Upstream;
use crate::config::{Config, Origin};
use crate::exit::{self, Exit};
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
  switchboard gateway tcp://127.0.0.1:4000 --tokens tokens.txt --admin 9001
  switchboard gateway --config gateway.toml
  switchboard gateway math=http://127.0.0.1:8001 --print-config > gateway.toml";

const LONG: &str = "\
Calls cross from any transport to any other, with their params and results unchanged. A program (`exec:`) is started once for each client \
that keeps a connection, and once for all others; other servers have one connection for all clients. `--set upstream.NAME.sessions=per-client` \
and `=shared` change that.

The configuration file has more: several servers for one upstream, health checks, retries, caches, routes. `switchboard config schema` \
describes every key.";

/// How long the start waits for the upstreams to describe their methods.
const DESCRIBING: Duration = Duration::from_secs(3);

/// Forwards calls to one or many JSON-RPC servers, over any transport, and guards and observes them like `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct GatewayCommand {
    /// Server to forward calls to: a URL with the scheme http, https, ws, wss, tcp, tls, unix or exec. With a name, as in `math=URL`, its
    /// methods get the prefix `math/`.
    #[arg(value_name = "[NAME=]URL")]
    upstreams: Vec<String>,
    /// Check the configuration and exit.
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    options: ServingOptions,
}

impl GatewayCommand {
    /// Runs the command with these arguments.
    pub(crate) fn run(self, arguments: &ArgMatches) -> Result<(), Failure> {
        let GatewayCommand { upstreams, check, options } = self;
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

fn has_upstreams(config: &Config) -> Result<(), Failure> {
    match config.upstreams.is_empty() {
        false => Ok(()),
        true => Err(Failure::usage("a gateway needs a server to forward calls to")
            .advise("add one, as in `switchboard gateway http://127.0.0.1:8000 --listen 9000`")),
    }
}

/// A gateway with its upstreams.
#[derive(Clone)]
pub(crate) struct Gated {
    pub(crate) gateway: Gateway,
    pub(crate) upstreams: Vec<Upstream>,
    pub(crate) pins: Pins,
}

impl Gated {
    /// Calls this function when the methods of an upstream have changed.
    pub(crate) fn on_change(&self, change: impl Fn() + Send + Sync + 'static) {
        let change = Arc::new(change);
        for upstream in &self.upstreams {
            let (mut changes, change) = (upstream.changes(), Arc::clone(&change));
            tokio::spawn(async move {
                while changes.changed().await.is_ok() {
                    change();
                }
            });
        }
    }

    /// Calls this function with the URI of a resource that has changed.
    pub(crate) fn on_update(&self, update: impl Fn(&str) + Send + Sync + 'static) {
        let update = Arc::new(update);
        for upstream in &self.upstreams {
            let update = Arc::clone(&update);
            upstream.on_update(move |uri| update(uri));
        }
    }

    /// The gateway of a configuration. Connections are made by tasks, and by calls.
    pub(crate) fn build(config: &Config) -> Result<Gated, Failure> {
        let pins = Pins::open(config)?;
        let upstreams: Vec<Upstream> = config
            .upstreams
            .iter()
            .map(|upstream| Upstream::new(upstream, config, &pins))
            .collect::<Result<_, _>>()?;
        let builder = upstreams.iter().fold(Gateway::builder(), |builder, upstream| {
            let stack = policies::stack(upstream, &upstream.policy, &upstreams);
            builder.backend(upstream.backend(stack))
        });
        let builder = routes::routes(config, &upstreams)?.into_iter().fold(builder, GatewayBuilder::route);
        let gateway = builder.build().map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Gated { gateway, upstreams, pins })
    }

    /// Connects to the upstreams, and waits a moment until they have described their methods.
    async fn start(config: &Config) -> Result<Gated, Failure> {
        let gated = Gated::build(config)?;
        let described = gated.upstreams.iter().map(Upstream::describe);
        let described =
            join_all(described.map(|describing| tokio::time::timeout(DESCRIBING, describing))).await;
        for (upstream, described) in config.upstreams.iter().zip(described) {
            let failed = match described {
                Ok(Ok(())) => continue,
                Ok(Err(reason)) => reason,
                Err(_) => format!("no answer within {} s", DESCRIBING.as_secs()),
            };
            if upstream.required {
                let what = format!("the upstream {} is required, but {failed}", upstream.name);
                return Err(Failure::new(Exit::Unreachable, what));
            }
        }
        Ok(gated)
    }
}
