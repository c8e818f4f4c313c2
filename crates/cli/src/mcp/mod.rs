//! `switchboard mcp`: makes a JSON-RPC server an MCP server.

mod options;

use std::io;
use std::path::PathBuf;

use clap::Args;
use switchboard::http::EndpointOptions;
use switchboard::mcp::adapt::{Remote, RemoteError};
use switchboard::mcp::model::Implementation;
use switchboard::mcp::{self, HttpOptions, McpRoute};
use switchboard::reconnect::{Backoff, ReconnectOptions};
use switchboard::server::{Server, ServerOptions};
use switchboard::tls::{ServerFiles, ServerTls};
use switchboard::{CallError, Limits, Settings};

use self::options::{Adapt, AdaptOptions};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::session::{Interrupt, Session};
use crate::target::Target;
use crate::visible::visible;
use crate::written::Written;
use crate::{address, log, output, serving, source, units};

const EXAMPLES: &str = "\
Examples:
  switchboard mcp http://127.0.0.1:8000                    # over stdio, for an agent that starts it
  switchboard mcp ws://127.0.0.1:8000 --only 'math/*' --rename math/add=sum
  switchboard mcp 'exec:switchboard serve --stdio' --without 'demo/*'
  switchboard mcp http://127.0.0.1:8545 --document openrpc.json --by-position
  switchboard mcp ws://127.0.0.1:9000 --resource price=prices://{symbol} \\
      --on price/changed=resource:prices://{symbol}
  switchboard mcp http://127.0.0.1:8000 --listen http://127.0.0.1:9000/mcp";

const LONG: &str = "\
The methods that the server describes with `rpc.discover` become tools. Streams report progress, and their items are the result. \
Params go to the server by name or by position, as its description says.

Over stdio, stdout has only MCP; logs go to stderr. With `--listen`, clients of every revision are answered at the path of the URL, \
`/mcp` by default, and clients of 2024-11-05 at `/sse`.

`--file` reads the options from a TOML file: `document`, `only`, `without` and `by-position`, and the tables `rename`, `describe`, \
`resource` and `on`. Options of the command line are added to those of the file.";

/// The event stream of the first revision, and where its messages are posted.
const EVENTS: &str = "/sse";
const MESSAGES: &str = "/messages";

/// Makes the methods of a JSON-RPC server tools for agents: an MCP server in front of it.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(described),
)]
pub(crate) struct Mcp {
    #[command(flatten)]
    target: Target,
    /// Listen here instead of using standard input and output: a port, or a URL such as http://127.0.0.1:9000/mcp.
    #[arg(long, value_name = "PORT|URL", value_parser = address::listening)]
    listen: Option<String>,
    #[command(flatten)]
    options: AdaptOptions,
    /// Certificate chain in PEM format, for listening on https.
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "listen"])]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM format.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Allow listening on addresses that other machines can reach. Every client can then call every tool.
    #[arg(long, requires = "listen")]
    public: bool,
}

/// The options of a server to call, where they are about one to forward to.
fn described(argument: clap::Arg) -> clap::Arg {
    match argument.get_id().as_str() {
        "url" => argument
            .help("Server whose methods become tools: a URL with the scheme http, https, ws, wss, tcp, tls, unix or exec"),
        "timeout" => argument.help("How long connecting to the server and a call may take"),
        "json" | "raw" => argument.hide(true),
        // Agents decide whether to call again.
        "retry" | "repeatable" => argument.hide(true).conflicts_with("url"),
        _ => argument,
    }
}

impl Mcp {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        log::never_wait().map_err(|error| cannot_start(&error))?;
        let adapt = self.options.read()?;
        self.target.run_watching(async |session, interrupt| self.adapt(session, &adapt, interrupt).await)
    }

    async fn adapt(&self, session: &Session<'_>, adapt: &Adapt, interrupt: Interrupt) -> Result<(), Failure> {
        let updates = adapt.updates();
        let client = session.reconnect(updates.clone(), self.reconnecting(adapt));
        let remote = tokio::time::timeout(self.target.timeout, self.remote(adapt, client.peer())).await;
        let remote = remote.map_err(|_| self.target.explain(CallError::TimedOut))??;
        let tools = self.tools(&remote)?;
        updates.attach(&remote, &tools);
        let written = Written::default();
        let mut server = written.watch(self.server(&tools)?);
        // The path is that of the endpoint, not of the listener.
        let url = self.listen.as_deref().map_or("stdio", origin);
        server.listen(url).await.map_err(|error| serving::explain(error, url))?;
        let urls: Vec<String> = server.urls().collect();
        output::note(&self.banner(&urls, tools.tools().len()));
        let handle = server.handle();
        let mut serving = tokio::spawn(server.serve());
        tokio::select! {
            // Over stdio it ends with its input.
            _ = &mut serving => {}
            _ = interrupt => {
                handle.shutdown();
                let _ = serving.await;
            }
        }
        written.judge()
    }

    /// A server that sends notifications stays connected; others are connected to when a tool is called.
    fn reconnecting(&self, adapt: &Adapt) -> ReconnectOptions {
        let options = ReconnectOptions::default().with_connect_time(self.target.timeout);
        match adapt.has_updates() {
            true => options.with_backoff(Backoff::default().with_initial_attempts(Some(1))),
            false => options.with_on_demand(true).with_backoff(Backoff::default().with_attempts(Some(1))),
        }
    }

    /// The server with its description, as the options want it.
    async fn remote(&self, adapt: &Adapt, peer: switchboard::Peer) -> Result<Remote, Failure> {
        let remote = match &adapt.document {
            Some(place) => {
                let document = source::file(place)?;
                Remote::with_document(peer, document).map_err(|error| self.undescribed(error))?
            }
            None => Remote::discover(peer).await.map_err(|error| self.undescribed(error))?,
        };
        adapt.apply(remote)
    }

    fn undescribed(&self, error: RemoteError) -> Failure {
        match error {
            RemoteError::Call(error) => self.target.explain(error),
            RemoteError::Undescribed => Failure::new(Exit::Rejected, error.to_string())
                .advise("pass its OpenRPC document: `switchboard mcp URL --document FILE`"),
            other => Failure::new(Exit::Protocol, other.to_string())
                .advise("pass another OpenRPC document: `switchboard mcp URL --document FILE`"),
        }
    }

    fn tools(&self, remote: &Remote) -> Result<mcp::Server, Failure> {
        let info = remote.info();
        let mut about = Implementation::new("switchboard", env!("CARGO_PKG_VERSION"));
        if !info.title.is_empty() {
            (about.name, about.version) = (info.title.clone(), info.version.clone());
        }
        let server = mcp::Server::new(remote.clone()).described(about).call_time(self.target.timeout);
        let server = match info.description {
            Some(text) => server.instructions(text),
            None => server,
        };
        // It tells whether all methods can be offered.
        server.service().map_err(|error| wrong(&error))?;
        Ok(server)
    }

    /// The server in front, which listens nowhere yet.
    fn server(&self, tools: &mcp::Server) -> Result<Server, Failure> {
        // The limits are those of the server behind; these only bound what is held here.
        let (longest, default) = (self.target.max_answer, Limits::default());
        let limits = default.with_reply(longest).with_members(usize::MAX).with_call_time(units::LONGEST);
        let settings = Settings::default().with_limits(limits).with_profile(mcp::Server::profile());
        let service = tools.service().map_err(|error| wrong(&error))?;
        let mut server = Server::new(service)
            .with_settings(settings.clone())
            .with_options(ServerOptions::default().with_duplex_idle_time(None));
        if let Some(url) = &self.listen {
            let route =
                McpRoute::with(tools, settings, HttpOptions::default()).map_err(|error| wrong(&error))?;
            let (events, messages) = route.two_paths(MESSAGES);
            let options = EndpointOptions::default().without_routes().with_paths(Vec::new());
            let options = options.route(path(url), route).route(EVENTS, events).route(MESSAGES, messages);
            server = server.with_http(options);
        }
        let server = if self.public { server.public() } else { server };
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else { return Ok(server) };
        let tls = ServerTls::load(ServerFiles::new(certificate, key));
        Ok(server.with_tls(tls.map_err(|error| wrong(&error))?))
    }

    fn banner(&self, urls: &[String], count: usize) -> String {
        let (place, from) = (self.listen.as_deref().map_or("stdio", path), visible(&self.target.url));
        let tools = if count == 1 { "1 tool" } else { &format!("{count} tools") };
        let lines = urls.iter().map(|url| match url.as_str() {
            "stdio" => format!("MCP on stdio with {tools} of {from}\n"),
            url => format!("MCP on {}{place} with {tools} of {from}\nPress Ctrl-C to stop.\n", origin(url)),
        });
        lines.collect()
    }
}

/// The path of a URL to listen on.
fn path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    match rest.find('/') {
        Some(at) if rest.len() > at + 1 => &rest[at..],
        _ => crate::tools::PATH,
    }
}

/// A URL without its path.
fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    url[start..].find('/').map_or(url, |at| &url[..start + at])
}

fn wrong(error: &dyn std::fmt::Display) -> Failure {
    Failure::usage(error.to_string())
}

fn cannot_start(error: &io::Error) -> Failure {
    Failure::new(Exit::CannotListen, format!("cannot start: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_that_of_the_url_or_the_usual_one() {
        assert_eq!(path("http://127.0.0.1:9000/mcp"), "/mcp");
        assert_eq!(path("http://127.0.0.1:9000/a/b"), "/a/b");
        assert_eq!(path("http://127.0.0.1:9000"), "/mcp");
        assert_eq!(path("http://127.0.0.1:9000/"), "/mcp");
        assert_eq!(origin("http://[::1]:9000/mcp"), "http://[::1]:9000");
    }
}
