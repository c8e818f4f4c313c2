//! `switchboard serve`: serves the demo methods.

use clap::{ArgMatches, Args};

use crate::config::Origin;
use crate::failure::Failure;
use crate::served::{Served, UPSTREAM_TOKEN};
use crate::serving::{self, ServingOptions};
use crate::target::Secret;
use crate::{address, exit};

const EXAMPLES: &str = "\
Examples:
  switchboard serve                                  # http://127.0.0.1:8000
  switchboard serve 8077                             # http://127.0.0.1:8077
  switchboard serve 0                                # any free port, which is printed
  switchboard serve http://0.0.0.0:8000 --public
  switchboard serve 8000 'tcp://127.0.0.1:4000?framing=lsp' unix:/run/rpc.sock
  switchboard serve nats://127.0.0.1:4222/demo       # one of the workers behind a NATS server
  switchboard serve --jobs nats://127.0.0.1:4222/demo  # calls that survive crashes
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
immediately. SIGUSR2 starts a new process, for example after an upgrade, which takes over without refusing connections.";

/// Serves demo methods, including those of popular JSON-RPC tutorials, until you stop it.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Serve {
    /// Where to listen: a port, or a URL with the scheme http, https, ws, wss, tcp, tls, unix or nats. Port 0 picks a free one. The
    /// default is http://127.0.0.1:8000, unless --stdio is given or a supervisor passes sockets (LISTEN_FDS).
    #[arg(value_name = "PORT|URL", value_parser = address::listening)]
    addresses: Vec<String>,
    /// Serve the tools, resources and prompts of this MCP server as methods, instead of the demo methods: a URL such as
    /// http://127.0.0.1:9000/mcp, or `exec:COMMAND`.
    #[arg(long, value_name = "URL")]
    from_mcp: Option<String>,
    /// Send this token to the MCP server of --from-mcp, as `Authorization: Bearer TOKEN`. Tokens of callers are never passed on.
    #[arg(long, value_name = "TOKEN", env = UPSTREAM_TOKEN, hide_env_values = true)]
    upstream_token: Option<Secret>,
    #[command(flatten)]
    options: ServingOptions,
}

impl Serve {
    /// Runs the command with these arguments.
    pub(crate) fn run(self, arguments: &ArgMatches) -> Result<(), Failure> {
        let Serve { from_mcp, upstream_token, options, .. } = self;
        let origin = Origin::new(options.config.clone(), arguments)?;
        serving::run(&options, origin, async move |_| {
            Served::from(from_mcp.as_deref(), upstream_token.as_ref()).await
        })
    }
}
