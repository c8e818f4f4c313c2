//! The servers that a gateway forwards calls to.

use std::path::{Path, PathBuf};
use std::time::Duration;

use switchboard::access::{Pattern, Pointer};

use super::faults::Fault;
use super::health::{self, BreakerConfig, EjectConfig, HealthConfig};
use super::nodes::{self, NodeConfig};
use super::policies::{self, PolicyConfig, UpstreamNames, optional_time};
use super::reader::{Reader, text};
use super::tree::{Node, Place, Value};
use crate::target::Secret;

/// An upstream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UpstreamConfig {
    pub(crate) name: String,
    /// What its methods start with; by default `NAME/`.
    pub(crate) prefix: String,
    pub(crate) profile: Profile,
    /// Whether it speaks JSON-RPC 1.0.
    pub(crate) is_v1: bool,
    /// At least one.
    pub(crate) nodes: Vec<NodeConfig>,
    /// None leaves it to the transport and the profile.
    pub(crate) sessions: Option<Sessions>,
    pub(crate) env: Vec<(String, String)>,
    /// The folder of a process; by default that of the file that its URL is in.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) idle: Option<Duration>,
    pub(crate) lifetime: Option<Duration>,
    /// Whether batches of callers are sent as batches.
    pub(crate) batches: bool,
    pub(crate) token: Option<Secret>,
    pub(crate) headers: Vec<(String, String)>,
    /// Headers of callers to pass on.
    pub(crate) forward: Vec<String>,
    pub(crate) tls: UpstreamTls,
    pub(crate) balance: Balance,
    pub(crate) sticky: Option<Sticky>,
    pub(crate) health: Option<HealthConfig>,
    pub(crate) eject: Option<EjectConfig>,
    pub(crate) breaker: Option<BreakerConfig>,
    /// The members that JSON-RPC does not define which pass in both directions; none is all.
    pub(crate) members: Option<Vec<String>>,
    /// Whether the gateway fails to start without it.
    pub(crate) required: bool,
    /// A description to use in place of the answer to `rpc.discover`.
    pub(crate) openrpc: Option<PathBuf>,
    /// Methods that may be called twice.
    pub(crate) safe: Vec<Pattern>,
    pub(crate) pin: Pin,
    pub(crate) policy: PolicyConfig,
}

impl UpstreamConfig {
    /// Whether the servers are the same, with the same connections: only what happens to calls on their way may differ.
    pub(crate) fn has_same_servers(&self, other: &UpstreamConfig) -> bool {
        let same = UpstreamConfig {
            prefix: other.prefix.clone(),
            breaker: other.breaker,
            required: other.required,
            policy: other.policy.clone(),
            ..self.clone()
        };
        same == *other
    }

    /// The files that it names. They may change when the configuration does not.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let UpstreamTls { ca, cert, key, .. } = &self.tls;
        let documents = self.nodes.iter().filter_map(|node| node.url.strip_prefix("mock:")).map(Path::new);
        [&self.openrpc, ca, cert, key].into_iter().flatten().map(PathBuf::as_path).chain(documents)
    }
}

/// What an upstream speaks on top of JSON-RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Plain,
    Mcp,
    A2a,
    Ethereum,
    Lsp,
}

/// What happens to tools that are new or say something else about themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pin {
    Off,
    /// They are logged.
    Report,
    /// They are not offered until they are approved, too.
    Hold,
}

/// How many connections or processes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sessions {
    /// One for all clients.
    Shared,
    /// One for each client.
    PerClient,
    /// This many for all clients.
    Pool(usize),
}

/// How to verify the upstream, and what to show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UpstreamTls {
    pub(crate) ca: Option<PathBuf>,
    pub(crate) cert: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    /// Accepts any certificate.
    pub(crate) insecure: bool,
}

/// How a node is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Balance {
    /// The better of two at random.
    P2c,
    RoundRobin,
}

/// Which calls go to the same node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sticky {
    Session,
    /// Those with the same value here.
    Param(Pointer),
}

/// Keys that only some URLs have: which ones, and how people say it.
const TRANSPORT_KEYS: &[(&[&str], &[&str], &str)] = &[
    (&["env", "cwd", "idle", "lifetime"], &["exec"], "an `exec:` URL"),
    (&["token", "headers", "forward"], &["http", "https", "ws", "wss"], "an http, https, ws or wss URL"),
    (
        &["tls.ca", "tls.cert", "tls.key", "tls.insecure"],
        &["https", "wss", "tls"],
        "an https, wss or tls URL",
    ),
];

/// Reads all upstreams, in the order of their names.
pub(super) fn upstreams(reader: &mut Reader<'_>, names: &UpstreamNames) -> Vec<UpstreamConfig> {
    let mut read = reader.tables("upstream", |reader, name| {
        let place = reader.at.clone();
        upstream(reader, name, names).map(|upstream| (upstream, place))
    });
    read.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    check_prefixes(reader, &read);
    read.into_iter().map(|(upstream, _)| upstream).collect()
}

fn upstream(reader: &mut Reader<'_>, name: &str, names: &UpstreamNames) -> Option<UpstreamConfig> {
    if !is_name(name) {
        let title = format!("invalid name `{name}` of an upstream");
        reader.faults.push(Fault::new(reader.at.clone(), title, "use letters, digits, `_` and `-`"));
    }
    if reader.is_empty("url") {
        reader.missing("url", "\"http://127.0.0.1:8000\"");
    }
    let nodes = reader.forms("url", nodes::node);
    check_transport(reader, &nodes);
    let profile = profile(reader);
    if profile == Profile::A2a {
        check_agent(reader, &nodes);
    }
    Some(UpstreamConfig {
        name: name.to_owned(),
        prefix: reader.text("prefix").unwrap_or_else(|| format!("{name}/")),
        profile,
        is_v1: reader.choice("version") == "1.0",
        sessions: reader.one("sessions", sessions),
        env: reader.pairs("env", variable, text),
        cwd: cwd(reader, &nodes),
        idle: optional_time(reader, "idle"),
        lifetime: optional_time(reader, "lifetime"),
        batches: reader.flag("batches"),
        token: reader.text("token").map(Secret::from),
        headers: reader.pairs("headers", nodes::header_name, text),
        forward: reader.parsed::<http::HeaderName>("forward").iter().map(ToString::to_string).collect(),
        tls: tls(reader),
        balance: match &*reader.choice("balance") {
            "round-robin" => Balance::RoundRobin,
            _ => Balance::P2c,
        },
        sticky: reader.one("sticky", sticky),
        health: reader.form("health", health::health).flatten(),
        eject: reader.form("eject", health::eject).flatten(),
        breaker: reader.form("breaker", health::breaker).flatten(),
        members: members(reader),
        required: reader.flag("required"),
        openrpc: reader.path("openrpc"),
        safe: reader.parsed("safe"),
        pin: pin(reader, profile),
        policy: policies::policy(reader, names),
        nodes: Some(nodes).filter(|nodes| !nodes.is_empty())?,
    })
}

fn profile(reader: &mut Reader<'_>) -> Profile {
    match &*reader.choice("profile") {
        "mcp" => Profile::Mcp,
        "a2a" => Profile::A2a,
        "ethereum" => Profile::Ethereum,
        "lsp" => Profile::Lsp,
        _ => Profile::Plain,
    }
}

fn members(reader: &mut Reader<'_>) -> Option<Vec<String>> {
    match reader.node("members")?.value {
        Value::Flag(true) => None,
        Value::Flag(false) => Some(Vec::new()),
        _ => Some(reader.texts("members")),
    }
}

fn pin(reader: &mut Reader<'_>, profile: Profile) -> Pin {
    let pin = match &*reader.choice("pin") {
        "off" => Pin::Off,
        "hold" => Pin::Hold,
        _ => Pin::Report,
    };
    if profile != Profile::Mcp && pin != Pin::Report {
        reader.needs("pin", "`profile = \"mcp\"`", "only tools of MCP servers are pinned; remove this key");
    }
    pin
}

fn sessions(node: &Node) -> Result<Sessions, String> {
    let advice = || "write \"shared\", \"per-client\" or the size of a pool, 1 or more".to_owned();
    match &*text(node).map_err(|_| advice())? {
        "shared" => Ok(Sessions::Shared),
        "per-client" => Ok(Sessions::PerClient),
        number => crate::units::count(number).map(Sessions::Pool).map_err(|_| advice()),
    }
}

/// The folder of a process: relative ones start from the folder of the file.
fn cwd(reader: &mut Reader<'_>, nodes: &[NodeConfig]) -> Option<PathBuf> {
    if reader.is_set("cwd") {
        return reader.path("cwd");
    }
    let is_program = nodes.iter().any(|node| node.scheme() == "exec");
    let Place::File(span) = reader.place("url") else { return None };
    let folder = reader.source.file(&span).folder();
    (is_program && !folder.as_os_str().is_empty()).then(|| folder.to_owned())
}

/// The name of an environment variable.
fn variable(name: &str) -> Result<String, String> {
    match name.is_empty() || name.contains(['=', '\0']) {
        true => Err(
            "this is not the name of an environment variable; write a name and a value, such as API_KEY=x"
                .to_owned(),
        ),
        false => Ok(name.to_owned()),
    }
}

fn tls(reader: &mut Reader<'_>) -> UpstreamTls {
    let tls = UpstreamTls {
        ca: reader.path("tls.ca"),
        cert: reader.path("tls.cert"),
        key: reader.path("tls.key"),
        insecure: reader.flag("tls.insecure"),
    };
    if tls.cert.is_some() != tls.key.is_some() {
        let (given, other) = if tls.cert.is_some() { ("cert", "key") } else { ("key", "cert") };
        let advice = format!("add {other} = \"{other}.pem\"");
        reader.needs(&format!("tls.{given}"), &format!("`tls.{other}`"), &advice);
    }
    tls
}

fn sticky(node: &Node) -> Result<Sticky, String> {
    match &*text(node)? {
        "session" => Ok(Sticky::Session),
        pointer => match pointer.parse() {
            Ok(pointer) => Ok(Sticky::Param(pointer)),
            Err(_) => Err("write \"session\", or a JSON pointer to a param such as \"/account\"".to_owned()),
        },
    }
}

/// Reports keys that have no effect on any of the nodes.
fn check_transport(reader: &mut Reader<'_>, nodes: &[NodeConfig]) {
    if nodes.is_empty() {
        return;
    }
    for (keys, schemes, what) in TRANSPORT_KEYS {
        if nodes.iter().any(|node| schemes.contains(&node.scheme())) {
            continue;
        }
        for key in *keys {
            reader.needs(key, what, "no node of this upstream has one; remove this key");
        }
    }
}

/// Reports what agents do not have: other transports, and keys that have no effect on them.
fn check_agent(reader: &mut Reader<'_>, nodes: &[NodeConfig]) {
    if nodes.iter().any(|node| !matches!(node.scheme(), "http" | "https")) {
        let advice = "give the http or https URL of the agent's card, or of its server";
        reader.faults.push(Fault::new(reader.place("url"), "an agent's card is read over HTTP", advice));
    }
    for key in ["forward", "health", "sessions"] {
        reader.needs(key, "another profile", "it has no effect on agents; remove this key");
    }
}

/// Reports upstreams whose methods, or the tools that they become, would have the same names.
fn check_prefixes(reader: &mut Reader<'_>, upstreams: &[(UpstreamConfig, Place)]) {
    let has_tools = reader.flag("mcp.http");
    let public = |upstream: &UpstreamConfig| match has_tools {
        true => tool_prefix(&upstream.prefix),
        false => upstream.prefix.clone(),
    };
    for (index, (upstream, place)) in upstreams.iter().enumerate() {
        let Some((other, first)) =
            upstreams[..index].iter().find(|(other, _)| public(other) == public(upstream))
        else {
            continue;
        };
        let same = match other.prefix == upstream.prefix {
            true => "the same prefix",
            false => "prefixes that look the same in the names of tools",
        };
        let title = format!("`{}` and `{}` have {same}", other.name, upstream.name);
        let advice = format!("change one: prefix = \"{}/\"", upstream.name);
        let fault = Fault::new(place.clone(), title, advice);
        reader.faults.push(fault.with_other(first.clone(), "the prefix is the same here"));
    }
}

/// What the names of tools begin with: letters, digits, `_` and `-` stay, as over MCP.
fn tool_prefix(prefix: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    prefix.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// Whether this can be the name of an upstream.
pub(super) fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !text.is_empty() && text.bytes().all(is_part)
}
