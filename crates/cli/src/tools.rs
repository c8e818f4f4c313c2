//! The methods as tools for clients of the Model Context Protocol (MCP).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use switchboard::http::EndpointOptions;
use switchboard::mcp::model::methods::{Direction, TABLE};
use switchboard::mcp::model::{Capability, Implementation};
use switchboard::mcp::{BuildError, HttpOptions, McpRoute, Server, StateKeys};
use switchboard::openrpc::Generator;
use switchboard::store::Store;
use switchboard::{Context, Describe, Description, Dialect, MethodDescription, Service, Settings};

use crate::config::Config;
use crate::failure::Failure;

/// Where HTTP listeners answer MCP.
pub(crate) const PATH: &str = "/mcp";
/// The event stream of the first revision, and where its messages are posted.
const EVENTS: &str = "/sse";
const MESSAGES: &str = "/messages";

/// All of them.
pub(crate) const PATHS: [&str; 3] = [PATH, EVENTS, MESSAGES];

/// The MCP server of a JSON-RPC server.
#[derive(Clone)]
pub(crate) struct Tools(Server);

impl Tools {
    /// For these methods, and those of them that a caller may see.
    pub(crate) fn new(
        methods: impl Describe,
        instructions: Option<&str>,
        config: &Config,
        is_visible: impl Fn(&Context, &str) -> bool + Send + Sync + 'static,
    ) -> Tools {
        let mut about = Implementation::new("switchboard", env!("CARGO_PKG_VERSION"));
        about.title = Some("Switchboard".to_owned());
        // Of a gateway or an adapter, whose names others chose.
        let server = Server::forwarding(methods)
            .described(about)
            .call_time(config.timeout)
            .visible_methods(move |method, cx| is_visible(cx, method));
        Tools(match instructions {
            Some(text) => server.instructions(text),
            None => server,
        })
    }

    /// Declares lists that may get their first entries later.
    pub(crate) fn declared(self, capabilities: impl IntoIterator<Item = Capability>) -> Tools {
        Tools(self.0.declares(capabilities))
    }

    /// Says why tools are held back, when they are called.
    pub(crate) fn held(
        self,
        why: impl Fn(&str, &Context) -> Option<String> + Send + Sync + 'static,
    ) -> Tools {
        Tools(self.0.missing(why))
    }

    /// Seals the state of calls with the keys of all servers.
    pub(crate) fn sealed(self, keys: StateKeys) -> Tools {
        Tools(self.0.state_keys(keys))
    }

    /// The methods that are tools.
    pub(crate) fn methods(&self) -> BTreeSet<String> {
        methods(&self.0)
    }

    /// Reads the description of the methods again.
    pub(crate) fn refresh(&self) {
        if let Err(error) = self.0.refresh() {
            tracing::warn!(%error, "the changed methods cannot be offered as tools");
        }
    }

    /// A resource with this URI has changed.
    pub(crate) fn updated(&self, uri: &str) {
        self.0.updated(uri);
    }

    /// Answers MCP over HTTP at the usual paths. Servers with this store share their sessions.
    pub(crate) fn route(
        &self,
        options: EndpointOptions,
        settings: Settings,
        sessions: Option<Arc<dyn Store>>,
    ) -> Result<EndpointOptions, Failure> {
        let http = sessions.into_iter().fold(HttpOptions::default(), HttpOptions::with_store);
        let route = McpRoute::with(&self.0, settings, http).map_err(wrong)?;
        let (events, messages) = route.two_paths(MESSAGES);
        Ok(options.route(PATH, route).route(EVENTS, events).route(MESSAGES, messages))
    }

    /// Answers MCP over a transport that speaks nothing else.
    pub(crate) fn service(&self) -> Result<Arc<dyn Service>, Failure> {
        self.0.service().map_err(wrong)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is the end of the error")]
fn wrong(error: BuildError) -> Failure {
    Failure::usage(error.to_string())
}

fn methods(server: &Server) -> BTreeSet<String> {
    server.tools().into_iter().map(|(_, method)| method).collect()
}

/// Whether clients of MCP do not get a method in any form, if these are tools.
pub(crate) fn is_kept_out(method: &MethodDescription, tools: &BTreeSet<String>) -> bool {
    let is = |kind: &str| method.others.get("x-mcp").and_then(|options| options.get(kind)).is_some();
    !tools.contains(&method.name) && !["resource", "prompt", "completes"].into_iter().any(is)
}

/// Names the tools in the document, `"x-mcp": { "tool": "math_add" }`, and says `false` for methods that are kept out.
pub(crate) fn documented(mut generator: Generator, methods: impl Describe) -> Generator {
    let described = methods.describe_in(Dialect::default());
    let named = Server::names_of_tools(methods);
    let tools = named.iter().map(|(_, method)| method.clone()).collect();
    for method in described.methods.iter().filter(|method| is_kept_out(method, &tools)) {
        generator = generator.extension(method.name.clone(), "x-mcp", json!({ "tool": false }));
    }
    named.into_iter().fold(generator, |generator, (tool, method)| {
        generator.extension(method, "x-mcp", json!({ "tool": tool }))
    })
}

/// The methods that calls are counted by: these, and those of MCP itself.
pub(crate) fn counted(methods: &Description) -> impl Iterator<Item = &str> {
    let protocol = TABLE.iter().filter(|row| row.is_sent(Direction::ToServer)).map(|row| row.name);
    methods.methods.iter().map(|method| method.name.as_str()).chain(protocol)
}
