//! The methods that `switchboard serve` serves: those of the demo, or those of an MCP server.

use std::sync::Arc;

use switchboard::carrier::redacted;
use switchboard::mcp::Connector;
use switchboard::mcp::adapt::Methods;
use switchboard::mcp::model::Capability;
use switchboard::openrpc::{Discovery, DiscoveryHandle, Generator, Info};
use switchboard::{CallError, Dial, Router, Service};

use crate::demo;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gateway::{self, Gate, Gated};
use crate::target::{Secret, is_http};
use crate::visible::visible;

const DEMO: &str =
    "Demo methods of a JSON-RPC server, for trying out tools. They change nothing outside the server.";

/// Where the token for the MCP server may be besides the command line.
pub(crate) const UPSTREAM_TOKEN: &str = "SWITCHBOARD_UPSTREAM_TOKEN";

/// Where the methods come from.
#[derive(Clone)]
pub(crate) enum Served {
    /// The demo.
    Demo,
    /// The tools, resources and prompts of an MCP server.
    Mcp(Methods),
    /// What servers behind a gateway have.
    Gateway(Gated),
}

impl Served {
    /// The methods of the MCP server at this URL, which gets this token, or those of the demo.
    pub(crate) async fn from(url: Option<&str>, token: Option<&Secret>) -> Result<Served, Failure> {
        let Some(url) = url else {
            // One in the environment may be meant for another command.
            return match token {
                Some(_) if std::env::var_os(UPSTREAM_TOKEN).is_none() => {
                    Err(Failure::usage("`--upstream-token` is for an MCP server")
                        .advise("add `--from-mcp URL`"))
                }
                _ => Ok(Served::Demo),
            };
        };
        let dial = Dial::new(url).map_err(|error| unreachable(url, &error.into()))?;
        let dial = match token {
            Some(token) if is_http(dial.url().scheme()) => {
                dial.with_headers(token.header()?.into_iter().collect())
            }
            Some(_) => {
                let text = "a token can only be sent to an MCP server over http or https";
                return Err(Failure::usage(text).advise("pass credentials to a program in its environment"));
            }
            None => dial,
        };
        let client = Connector::default().dial(dial).await.map_err(|error| unreachable(url, &error))?;
        Ok(Served::Mcp(Methods::of(&client).await.map_err(|error| unreachable(url, &error))?))
    }

    /// The router of all methods, with their description.
    pub(crate) fn router(&self) -> Result<Router, Failure> {
        self.discovered(Discovery::new(self.generator())).map(|(router, _)| router)
    }

    /// The same router, described like this, and what replaces its description.
    pub(crate) fn discovered(&self, discovery: Discovery) -> Result<(Router, DiscoveryHandle), Failure> {
        let methods = match self {
            Served::Demo => demo::methods(),
            Served::Mcp(methods) => Router::builder().mount_described("", methods.clone()),
            Served::Gateway(gated) => return gateway_methods(&gated.current(), discovery),
        };
        discovery.build_with_handle(methods).map_err(|error| Failure::usage(error.to_string()))
    }

    /// Calls this function when the methods have changed.
    pub(crate) fn on_change(&self, change: impl Fn() + Send + Sync + 'static) {
        match self {
            Served::Demo => {}
            Served::Mcp(methods) => methods.on_change(change),
            Served::Gateway(gated) => gated.on_change(change),
        }
    }

    /// Calls this function with the URI of a resource that has changed.
    pub(crate) fn on_update(&self, update: impl Fn(&str) + Send + Sync + 'static) {
        match self {
            Served::Demo => {}
            Served::Mcp(methods) => methods.on_update(update),
            Served::Gateway(gated) => gated.on_update(update),
        }
    }

    /// The generator of their document.
    pub(crate) fn generator(&self) -> Generator {
        let methods = match self {
            Served::Demo => return demo::generator(),
            Served::Gateway(_) => {
                let info = Info::new("Switchboard gateway", env!("CARGO_PKG_VERSION"));
                return Generator::new(info.described("The methods of the servers behind this gateway."));
            }
            Served::Mcp(methods) => methods,
        };
        let client = methods.client();
        let (name, version) = match client.server() {
            Some(server) => (server.display_name().to_owned(), server.version.clone()),
            None => ("MCP server".to_owned(), String::new()),
        };
        let version = if version.is_empty() { "0.0.0".to_owned() } else { version };
        let text = client.instructions().unwrap_or("The tools of an MCP server as methods.");
        Generator::new(Info::new(name, version).described(text))
    }

    /// What models should know about the methods as a whole.
    pub(crate) fn instructions(&self) -> Option<&str> {
        match self {
            Served::Demo => Some(DEMO),
            Served::Mcp(methods) => methods.client().instructions(),
            Served::Gateway(_) => None,
        }
    }

    /// The lists that clients of MCP may expect although they are empty now: those of the MCP server behind, or all of a gateway.
    pub(crate) fn declared(&self) -> Vec<Capability> {
        const ALL: [Capability; 4] =
            [Capability::Tools, Capability::Prompts, Capability::Resources, Capability::Completions];
        let may_have = |capability: &Capability| match self {
            Served::Demo => false,
            Served::Mcp(methods) => methods.client().has(*capability),
            Served::Gateway(_) => true,
        };
        ALL.into_iter().filter(may_have).collect()
    }

    /// Whether one of the methods is that of an agent.
    pub(crate) fn has_agent(&self) -> bool {
        matches!(self, Served::Demo)
    }

    /// The gateway, if this is one.
    pub(crate) fn gated(&self) -> Option<&Gated> {
        match self {
            Served::Gateway(gated) => Some(gated),
            Served::Demo | Served::Mcp(_) => None,
        }
    }

    /// The servers behind a gateway, for a person; empty if it is none.
    pub(crate) fn upstreams(&self) -> String {
        self.gated().map(|gated| gateway::shown(&gated.current())).unwrap_or_default()
    }

    /// The methods with the checks that some of them need.
    pub(crate) fn verified(&self, service: Arc<dyn Service>) -> Arc<dyn Service> {
        match self {
            Served::Demo => {
                let verified = demo::verified(service);
                // One method with a valid name makes a router.
                demo::agent::beside(Arc::clone(&verified)).unwrap_or(verified)
            }
            Served::Mcp(_) | Served::Gateway(_) => service,
        }
    }
}

/// The router of a gateway with these upstreams, described like this.
pub(crate) fn gateway_methods(
    gate: &Gate,
    discovery: Discovery,
) -> Result<(Router, DiscoveryHandle), Failure> {
    let methods = Router::builder().mount_described("", gate.gateway.clone());
    discovery.build_with_handle(methods).map_err(|error| Failure::usage(error.to_string()))
}

fn unreachable(url: &str, error: &CallError) -> Failure {
    let is_url = url.contains(':');
    let why = match error {
        CallError::Unsupported(why) => why.to_string(),
        other => other.to_string(),
    };
    let shown = redacted(url);
    let what = format!("cannot use {} as an MCP server: {}", visible(&shown), visible(&why));
    let failure = Failure::new(if is_url { Exit::Unreachable } else { Exit::Usage }, what);
    match error {
        _ if !is_url => failure.advise("use a URL such as http://127.0.0.1:9000/mcp, or `exec:COMMAND`"),
        CallError::CannotConnect(why) if why.contains("credentials") => {
            failure.advise("pass a token that it accepts: `--upstream-token TOKEN`")
        }
        CallError::CannotConnect(_) => failure,
        _ if !url.starts_with("exec:") => failure.advise("check the URL with its path, often `/mcp`"),
        _ => failure,
    }
}
