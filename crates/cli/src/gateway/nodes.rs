//! The servers of an upstream from their configuration.

use std::num::NonZeroUsize;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use switchboard::a2a::ClientOptions;
use switchboard::gateway::{
    Balance, CallProbe, ConnectProbe, Eject, Health, Link, Mock, Node, Pool, PoolBuilder, Probe, Sticky,
};
use switchboard::http::HttpClientOptions;
use switchboard::openrpc::{Discovery, Generator};
use switchboard::tls::{ClientFiles, ClientTls, Trust};
use switchboard::{AllowedNames, Connections, Dial, Json, Limits, Router, Settings, Version, Versions};

use super::a2a::{self, A2aServer};
use super::mcp::{McpServer, Reach};
use super::pins::Pinned;
use crate::config::{self, Config, NodeConfig, Profile, Sessions, UpstreamConfig};
use crate::failure::Failure;
use crate::target::Secret;
use crate::{demo, source};

/// Headers that belong to a trace.
const TRACE: [&str; 2] = ["traceparent", "tracestate"];

/// How long a program runs without being used, unless the configuration says otherwise.
const IDLE: Duration = Duration::from_secs(600);

/// The servers of an upstream as a pool. Those of the one before are kept.
pub(super) fn pool(
    upstream: &UpstreamConfig,
    config: &Config,
    before: Option<(&UpstreamConfig, &Pool)>,
) -> Result<Pool, Failure> {
    let builder = builder(upstream);
    let builder = before.iter().fold(builder, |builder, (_, pool)| builder.after(pool));
    let is_pinned = connections(upstream) == Connections::PerClient;
    let builder = if is_pinned { builder.pinned() } else { builder };
    let builder = match &upstream.health {
        Some(health) => builder.health(rules(health)),
        None => builder,
    };
    let mut left: Vec<Option<&NodeConfig>> =
        before.iter().flat_map(|(before, _)| &before.nodes).map(Some).collect();
    let add = |builder: PoolBuilder, node: &NodeConfig| {
        let same = left.iter().position(|other| *other == Some(node));
        match (same, before) {
            (Some(index), Some((_, pool))) => {
                left[index] = None;
                Ok(builder.kept(pool, index))
            }
            _ => self::node(node, upstream, config).map(|node| builder.node(node)),
        }
    };
    Ok(upstream.nodes.iter().try_fold(builder, add)?.build())
}

/// Whether servers of one can be servers of the other, with their connections.
pub(super) fn have_same_connections(one: &UpstreamConfig, other: &UpstreamConfig) -> bool {
    connections(one) == connections(other)
}

/// The same of MCP servers, in the order of the nodes. Those of the pool before are kept.
pub(super) fn mcp_pool(
    upstream: &UpstreamConfig,
    config: &Config,
    pinned: Option<&Arc<Pinned>>,
    before: Option<(&UpstreamConfig, &Pool, &[McpServer])>,
) -> Result<(Pool, Vec<McpServer>), Failure> {
    let connections = connections(upstream);
    let is_per_client = connections == Connections::PerClient;
    let builder = builder(upstream);
    let builder = before.iter().fold(builder, |builder, (_, pool, _)| builder.after(pool));
    let builder = if is_per_client { builder.pinned() } else { builder };
    let mut builder = match &upstream.health {
        Some(health) => builder.health(rules(health)),
        None => builder,
    };
    let copies = match connections {
        Connections::Shared(count) => count.get(),
        _ => 1,
    };
    let of_copies = |upstream: &UpstreamConfig| -> Vec<NodeConfig> {
        upstream.nodes.iter().flat_map(|node| std::iter::repeat_n(node, copies)).cloned().collect()
    };
    let mut left: Vec<Option<NodeConfig>> =
        before.iter().flat_map(|(before, ..)| of_copies(before)).map(Some).collect();
    let mut servers = Vec::new();
    for node in of_copies(upstream) {
        let same = left.iter().position(|other| other.as_ref() == Some(&node));
        if let (Some(index), Some((_, pool, known))) = (same, before) {
            left[index] = None;
            builder = builder.kept(pool, index);
            servers.push(known[index].clone());
            continue;
        }
        let (dial, link) = (dial(&node, upstream, config)?, link(&node, upstream));
        let (name, open) = (upstream.name.as_str().into(), link.open().clone());
        let reach = Reach { dial: dial.clone(), link, name, pinned: pinned.cloned() };
        let server = McpServer::start(reach, is_per_client);
        let built = Node::new(node.shown.as_str(), server.clone()).counting(open);
        let built = built.with_weight(node.weight).with_priority(node.priority);
        builder = builder.node(match upstream.health.as_ref().map(|health| health.method.as_deref()) {
            Some(Some("ping")) => built.with_probe(Ping(server.clone())),
            Some(Some(method)) => built.with_probe(CallProbe::new(server.clone(), method)),
            Some(None) if node.scheme() != "exec" => built.with_probe(ConnectProbe::new(dial)),
            _ => built,
        });
        servers.push(server);
    }
    match servers.is_empty() {
        true => Err(Failure::usage(format!("the upstream {} has no URL", upstream.name))),
        false => Ok((builder.build(), servers)),
    }
}

/// Checks an MCP server with its own `ping`, or what takes its place in its revision.
struct Ping(McpServer);

impl Probe for Ping {
    fn probe(&self) -> Pin<Box<dyn Future<Output = Result<Option<Json>, String>> + Send>> {
        let server = self.0.clone();
        Box::pin(async move { server.ping().await.map(|()| None) })
    }
}

/// The same of agents, and the first of them.
pub(super) fn a2a_pool(upstream: &UpstreamConfig, config: &Config) -> Result<(Pool, A2aServer), Failure> {
    let mut builder = builder(upstream);
    let mut first = None;
    for node in &upstream.nodes {
        let limits = Limits::default().with_reply(config.body).with_members(usize::MAX);
        let mut http = HttpClientOptions::default().with_headers(headers(upstream)?).with_limits(limits);
        if node.scheme() == "https" {
            let wrong =
                |error| Failure::usage(format!("upstream {}: {}: {error}", upstream.name, node.shown));
            http.tls = Some(tls(upstream).map_err(wrong)?);
        }
        let options = ClientOptions::default().with_http(http);
        let (url, name) = (node.url.clone(), upstream.name.as_str().into());
        let server = A2aServer::start(a2a::Reach { url, options, name });
        let built = Node::new(node.shown.as_str(), server.clone());
        builder = builder.node(built.with_weight(node.weight).with_priority(node.priority));
        first.get_or_insert(server);
    }
    let none = || Failure::usage(format!("the upstream {} has no URL", upstream.name));
    Ok((builder.build(), first.ok_or_else(none)?))
}

fn builder(upstream: &UpstreamConfig) -> PoolBuilder {
    let builder = Pool::builder(upstream.name.as_str())
        .balance(match upstream.balance {
            config::Balance::P2c => Balance::PowerOfTwo,
            config::Balance::RoundRobin => Balance::RoundRobin,
        })
        .eject(upstream.eject.map(|eject| {
            let mut rules = Eject::default();
            (rules.errors, rules.latency) = (eject.errors, eject.latency);
            (rules.time, rules.most) = (eject.time, eject.most);
            rules
        }));
    match &upstream.sticky {
        Some(config::Sticky::Session) => builder.sticky(Sticky::Session),
        Some(config::Sticky::Param(pointer)) => builder.sticky(Sticky::Param(pointer.to_string().into())),
        None => builder,
    }
}

fn rules(health: &config::HealthConfig) -> Health {
    let mut rules = Health::default();
    (rules.every, rules.timeout, rules.fail, rules.pass) =
        (health.every, health.timeout, health.fail, health.pass);
    rules.max_lag = health.max_lag;
    rules.value = health.value.as_ref().map(ToString::to_string).unwrap_or_default();
    rules
}

/// Which clients share a connection. Programs and protocols with a state need one for each client.
fn connections(upstream: &UpstreamConfig) -> Connections {
    let is_program = upstream.nodes.iter().any(|node| node.scheme() == "exec");
    let has_state = matches!(upstream.profile, Profile::Lsp | Profile::Mcp);
    let shared = |count: usize| Connections::Shared(NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN));
    match upstream.sessions {
        Some(Sessions::PerClient) => Connections::PerClient,
        Some(Sessions::Shared) => shared(1),
        Some(Sessions::Pool(count)) => shared(count),
        None if is_program || has_state => Connections::PerClient,
        None => shared(1),
    }
}

fn node(node: &NodeConfig, upstream: &UpstreamConfig, config: &Config) -> Result<Node, Failure> {
    if let Some(inside) = inside(node)? {
        return Ok(inside.with_weight(node.weight).with_priority(node.priority));
    }
    let dial = dial(node, upstream, config)?;
    let link = link(node, upstream);
    let server = link.upstream(dial.clone());
    let built = Node::new(node.shown.as_str(), server.clone()).counting(link.open().clone());
    let built = built.with_weight(node.weight).with_priority(node.priority);
    Ok(match upstream.health.as_ref().map(|health| &health.method) {
        Some(Some(method)) => built.with_probe(CallProbe::new(server, method.as_str())),
        // To connect to a program would start one.
        Some(None) if node.scheme() != "exec" => built.with_probe(ConnectProbe::new(dial)),
        _ => built,
    })
}

/// How connections to a server are made, shared and ended.
fn link(node: &NodeConfig, upstream: &UpstreamConfig) -> Link {
    let is_program = node.scheme() == "exec";
    let names = TRACE.into_iter().map(str::to_owned).chain(upstream.forward.iter().cloned());
    Link::default()
        .with_name(upstream.name.as_str())
        .with_connections(connections(upstream))
        .with_forward(names.collect::<AllowedNames>())
        .with_idle(if is_program { Some(upstream.idle.unwrap_or(IDLE)) } else { upstream.idle })
        .with_lifetime(upstream.lifetime)
        .with_batches(upstream.batches && !upstream.is_v1 && matches!(node.scheme(), "http" | "https"))
}

/// A server inside this process: the demo, or answers made up from a document.
fn inside(node: &NodeConfig) -> Result<Option<Node>, Failure> {
    if node.scheme() == "demo" {
        let router = demo::router().map_err(|error| Failure::usage(error.to_string()))?;
        return Ok(Some(Node::new(node.shown.as_str(), router)));
    }
    let Some(path) = node.url.strip_prefix("mock:") else { return Ok(None) };
    let document = source::file(Path::new(path))?;
    // What it answers to `rpc.discover` is the document.
    let mock = Mock::new(document).map_err(|error| Failure::usage(format!("{path}: {error}")))?;
    let discovery = Discovery::new(Generator::new(mock.info()));
    let router = discovery.build(Router::builder().mount_described("", mock));
    let router = router.map_err(|error| Failure::usage(format!("{path}: {error}")))?;
    Ok(Some(Node::new(node.shown.as_str(), router)))
}

fn dial(node: &NodeConfig, upstream: &UpstreamConfig, config: &Config) -> Result<Dial, Failure> {
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("upstream {}: {}: {error}", upstream.name, node.shown))
    };
    let mut dial = Dial::new(&node.url).map_err(|error| wrong(&error))?;
    // A gateway passes on what its own limits let through.
    let limits = Limits::default().with_frame(config.body).with_members(usize::MAX);
    let settings = Settings::default().with_limits(limits).with_profile(dialect(upstream));
    dial = dial.with_settings(settings).with_headers(headers(upstream)?).with_label(&upstream.name);
    if upstream.is_v1 {
        dial = dial.with_version(Version::V1);
    }
    for (name, value) in &upstream.env {
        dial = dial.with_env(name, value);
    }
    if let Some(folder) = &upstream.cwd {
        dial = dial.with_folder(folder);
    }
    if matches!(node.scheme(), "https" | "wss" | "tls") {
        dial = dial.with_tls(tls(upstream).map_err(|error| wrong(&error))?);
    }
    Ok(dial)
}

/// What may be sent to the upstream, and how.
fn dialect(upstream: &UpstreamConfig) -> switchboard::Profile {
    let dialect = match upstream.profile {
        Profile::Ethereum => switchboard::Profile::ethereum(),
        Profile::Lsp => switchboard::Profile::lsp(),
        Profile::Mcp => switchboard::mcp::Server::profile(),
        Profile::Plain | Profile::A2a => switchboard::Profile::default(),
    };
    match upstream.is_v1 {
        true => dialect.with_versions(Versions::V1).with_call_options(false),
        false => dialect,
    }
}

fn headers(upstream: &UpstreamConfig) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    let wrong = |name: &str| {
        Failure::usage(format!("upstream {}: the header {name} cannot have this value", upstream.name))
    };
    for (name, value) in &upstream.headers {
        let key: HeaderName = name.parse().map_err(|_| wrong(name))?;
        headers.insert(key, HeaderValue::from_str(value).map_err(|_| wrong(name))?);
    }
    if let Some((name, value)) = upstream.token.as_ref().map(Secret::header).transpose()?.flatten() {
        headers.insert(name, value);
    }
    Ok(headers)
}

fn tls(upstream: &UpstreamConfig) -> Result<ClientTls, switchboard::tls::TlsError> {
    let tls = &upstream.tls;
    let trust = match &tls.ca {
        Some(file) => Trust::Authority(file.clone()),
        None if tls.insecure => Trust::Anybody,
        None => Trust::Platform,
    };
    let certificate = tls.cert.clone().zip(tls.key.clone());
    ClientTls::load(&ClientFiles::default().with_trust(trust).with_certificate(certificate))
}
