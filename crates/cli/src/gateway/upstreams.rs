//! An upstream from its configuration.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, OnceLock};

use switchboard::access::Pattern;
use switchboard::cache::CacheNumbers;
use switchboard::gateway::{
    AllowedMembers, Attempts, Backend, Breaker, Discovered, MirrorCounts, Pool, Retry, Safety, Stack,
};
use switchboard::mcp::adapt::PlainResults;
use switchboard::openrpc::remote::RemoteError;
use switchboard::{AllowedNames, Call, CallError, Describe as _, Dialect};
use tokio::sync::watch;

use super::a2a::A2aServer;
use super::clearing::Clearing;
use super::mcp::McpServer;
use super::pins::{Pinned, Pins};
use super::{nodes, safe};
use crate::config::{Config, PolicyConfig, Profile, SharedStore, UpstreamConfig};
use crate::failure::Failure;
use crate::source;

/// An upstream that is ready to be called.
#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) prefix: String,
    pub(crate) pool: Pool,
    pub(crate) breaker: Option<Breaker>,
    pub(super) policy: PolicyConfig,
    pub(super) is_ethereum: bool,
    pub(super) clearing: Clearing,
    /// What became of the copies of its calls.
    pub(super) mirrored: Arc<MirrorCounts>,
    /// Others if anything is that calls pass through, so that nothing outside is kept for it.
    pub(super) version: Version,
    config: UpstreamConfig,
    /// The contents of the files that the configuration names.
    files: u64,
    /// What its tools said when they were approved, and say now, for an MCP server.
    pub(super) pinned: Option<Arc<Pinned>>,
    known: Known,
    /// Why it did not describe its methods when it was first asked.
    silence: Arc<OnceLock<String>>,
    /// What is shared with other servers.
    pub(super) shared: Option<SharedStore>,
}

/// Tells upstreams with the same name apart.
#[derive(Clone)]
pub(super) struct Version(Arc<()>);

impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Where its methods are described.
#[derive(Clone)]
enum Known {
    /// In its answer to `rpc.discover`, or in a document.
    Discovered(Discovered),
    /// In the lists of the first of these MCP servers; these methods are safe besides those that it says are.
    Mcp(Vec<McpServer>, Vec<Pattern>),
    /// In the card of an agent; these methods are safe.
    A2a(A2aServer, Vec<Pattern>),
}

impl Known {
    /// Why a method may be called twice, if it may.
    fn safety(&self, method: &str) -> Option<Safety<'_>> {
        match self {
            Known::Discovered(discovered) => discovered.safety(method),
            Known::Mcp(servers, safe) => match safe.iter().find(|pattern| pattern.matches(method)) {
                Some(pattern) => Some(Safety::Listed(pattern)),
                None => servers[0].is_safe(method).then_some(Safety::Described),
            },
            Known::A2a(_, safe) => safe.iter().find(|pattern| pattern.matches(method)).map(Safety::Listed),
        }
    }
}

impl Upstream {
    pub(super) fn new(config: &UpstreamConfig, all: &Config, pins: &Pins) -> Result<Upstream, Failure> {
        let (pool, known, pinned) = match config.profile {
            Profile::Mcp => {
                let pinned = pins.of(config).map(Arc::new);
                let (pool, servers) = nodes::mcp_pool(config, all, pinned.as_ref(), None)?;
                (pool, Known::Mcp(servers, config.safe.clone()), pinned)
            }
            Profile::A2a => {
                let (pool, first) = nodes::a2a_pool(config, all)?;
                (pool, Known::A2a(first, config.safe.clone()), None)
            }
            Profile::Plain | Profile::Ethereum | Profile::Lsp => {
                let pool = nodes::pool(config, all, None)?;
                let discovered = discovered(config, &pool)?;
                (pool, Known::Discovered(discovered), None)
            }
        };
        Ok(Upstream {
            name: config.name.clone(),
            prefix: config.prefix.clone(),
            breaker: breaker(config),
            policy: config.policy.clone(),
            clearing: Clearing::new(&config.prefix),
            mirrored: Arc::default(),
            is_ethereum: config.profile == Profile::Ethereum,
            version: Version(Arc::default()),
            config: config.clone(),
            files: fingerprint(config),
            pinned,
            pool,
            known,
            silence: Arc::default(),
            shared: all.shared.clone(),
        })
    }

    /// The same servers with another configuration: connections, health and the description are kept. None if they are others.
    pub(super) fn renewed(&self, config: &UpstreamConfig) -> Option<Upstream> {
        let before = &self.config;
        if !before.has_same_servers(config) || self.files != fingerprint(config) {
            return None;
        }
        let (mut next, is_same_prefix) = (self.clone(), before.prefix == config.prefix);
        if before.breaker != config.breaker {
            next.breaker = breaker(config);
        }
        if !is_same_prefix {
            next.prefix.clone_from(&config.prefix);
            next.clearing = Clearing::new(&config.prefix);
        }
        if before.breaker != config.breaker || !is_same_prefix {
            next.version = Version(Arc::default());
        }
        next.policy = config.policy.clone();
        next.config = config.clone();
        Some(next)
    }

    /// The same with other servers: those that stay keep their connections, health and statistics. None if none stays, or if more is different.
    pub(super) fn with_servers(
        &self,
        config: &UpstreamConfig,
        all: &Config,
    ) -> Result<Option<Upstream>, Failure> {
        let before = &self.config;
        let is_kept = config.profile != Profile::A2a
            && config.nodes.iter().any(|node| before.nodes.contains(node))
            && nodes::have_same_connections(before, config);
        let same_servers = UpstreamConfig { nodes: before.nodes.clone(), ..config.clone() };
        let Some(mut next) = self.renewed(&same_servers).filter(|_| is_kept) else { return Ok(None) };
        (next.pool, next.known) = match &self.known {
            Known::Discovered(_) => {
                let pool = nodes::pool(config, all, Some((before, &self.pool)))?;
                let discovered = discovered(config, &pool)?;
                (pool, Known::Discovered(discovered))
            }
            Known::Mcp(servers, _) => {
                let (pinned, before) = (self.pinned.as_ref(), (before, &self.pool, &servers[..]));
                let (pool, servers) = nodes::mcp_pool(config, all, pinned, Some(before))?;
                (pool, Known::Mcp(servers, config.safe.clone()))
            }
            Known::A2a(..) => return Ok(None),
        };
        (next.clearing, next.version) = (Clearing::new(&config.prefix), Version(Arc::default()));
        (next.config, next.files) = (config.clone(), fingerprint(config));
        Ok(Some(next))
    }

    /// What distinguishes its answers from those of other upstreams, on all servers: where calls are sent, and on whose behalf.
    pub(super) fn scope(&self) -> String {
        let UpstreamConfig { name, nodes, headers, token, .. } = &self.config;
        let urls: Vec<&str> = nodes.iter().map(|node| node.url.as_str()).collect();
        format!("{name}\n{urls:?}\n{headers:?}\n{:?}", token.as_ref().map(|token| token.0.as_str()))
    }

    /// Whether the servers are those of the other one, with the same connections.
    pub(super) fn shares_with(&self, other: &Upstream) -> bool {
        self.pool.is_same(&other.pool)
    }

    pub(super) fn config(&self) -> &UpstreamConfig {
        &self.config
    }

    /// The metadata of callers that its servers get, besides that of traces, which says nothing about an answer.
    pub(super) fn forwarded(&self) -> Option<AllowedNames> {
        let is_trace = |name: &String| AllowedNames::default().contains(name);
        let names: Vec<&String> = self.config.forward.iter().filter(|name| !is_trace(name)).collect();
        (!names.is_empty()).then(|| names.into_iter().map(String::as_str).collect())
    }

    /// Whether both learn their methods from the same MCP server.
    pub(super) fn is_described_like(&self, other: &Upstream) -> bool {
        match (&self.known, &other.known) {
            (Known::Mcp(ours, _), Known::Mcp(theirs, _)) => ours[0].is_same(&theirs[0]),
            _ => false,
        }
    }

    /// Asks it for its description. An upstream that has none is fine; one that cannot be reached is not.
    pub(crate) async fn describe(&self) -> Result<(), String> {
        let discovered = match &self.known {
            Known::Discovered(discovered) => discovered,
            Known::Mcp(servers, _) => return servers[0].ready().await,
            Known::A2a(server, _) => return server.ready().await,
        };
        match discovered.refresh().await {
            Ok(()) | Err(RemoteError::Undescribed | RemoteError::Call(CallError::Rejected(_))) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Remembers why it did not describe its methods at first.
    pub(super) fn is_silent(&self, why: String) {
        let _ = self.silence.set(why);
    }

    /// Why its methods are unknown, if it was asked in vain and has not described them since.
    pub(crate) fn silence(&self) -> Option<&str> {
        self.silence.get().filter(|_| self.methods() == 0).map(String::as_str)
    }

    /// How many methods it describes.
    pub(crate) fn methods(&self) -> usize {
        match &self.known {
            Known::Discovered(discovered) => discovered.methods().len(),
            Known::Mcp(servers, _) => servers[0].describe_in(Dialect::default()).methods.len(),
            Known::A2a(server, _) => server.describe_in(Dialect::default()).methods.len(),
        }
    }

    /// What its caches did and hold, if it has any.
    pub(crate) fn cache(&self) -> Option<CacheNumbers> {
        let numbers = self.clearing.caches().into_iter().map(|cache| cache.numbers());
        numbers.reduce(|mut sum, one| {
            sum.hits += one.hits;
            sum.stale_hits += one.stale_hits;
            sum.misses += one.misses;
            sum.store_hits += one.store_hits;
            sum.entries += one.entries;
            sum.bytes += one.bytes;
            sum
        })
    }

    /// Removes answers of these methods from its caches; returns how many there were.
    pub(crate) fn clear_cache(&self, methods: &[Pattern]) -> usize {
        self.clearing.clear(methods)
    }

    /// Tells when its methods have changed.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        match &self.known {
            Known::Discovered(discovered) => discovered.changes(),
            Known::Mcp(servers, _) => servers[0].changes(),
            Known::A2a(server, _) => server.changes(),
        }
    }

    /// Calls this function with the URI of a resource that has changed.
    pub(super) fn on_update(&self, update: impl Fn(&str) + Send + Sync + 'static) {
        if let Known::Mcp(servers, _) = &self.known {
            servers[0].on_update(update);
        }
    }

    /// What drops members of messages that JSON-RPC does not define, unless all may pass.
    pub(super) fn members(&self) -> Option<AllowedMembers> {
        Some(AllowedMembers::new(self.config.members.as_ref()?.iter().map(String::as_str)))
    }

    /// What gives plain callers the results of tools as values, for an MCP server.
    pub(super) fn plain_results(&self) -> Option<PlainResults> {
        let Known::Mcp(servers, _) = &self.known else { return None };
        let server = servers[0].clone();
        Some(PlainResults::new(move |method| server.has_output(method)))
    }

    pub(super) fn is_safe(&self) -> impl Fn(&Call) -> bool + Clone + Send + Sync + 'static {
        let known = self.known.clone();
        move |call| known.safety(call.method.as_str()).is_some()
    }

    /// Why a method may be called twice, in words, if it may.
    pub(super) fn safety(&self, method: &str) -> Option<String> {
        Some(match self.known.safety(method)? {
            Safety::Listed(pattern)
                if self.is_ethereum && safe::ETHEREUM.contains(&&*pattern.to_string()) =>
            {
                format!("{pattern} is safe by the profile ethereum")
            }
            Safety::Listed(pattern) => format!("{pattern} is listed in upstream.{}.safe", self.name),
            _ => "the description of the upstream says so".to_owned(),
        })
    }

    pub(super) fn is_stream(&self) -> impl Fn(&Call) -> bool + Clone + Send + Sync + 'static {
        let known = self.known.clone();
        move |call| match &known {
            Known::Discovered(discovered) => discovered.is_stream(&call.method),
            Known::Mcp(..) | Known::A2a(..) => false,
        }
    }

    /// What describes its methods, unless that is an MCP server.
    pub(super) fn discovered(&self) -> Option<&Discovered> {
        match &self.known {
            Known::Discovered(discovered) => Some(discovered),
            Known::Mcp(..) | Known::A2a(..) => None,
        }
    }

    pub(super) fn backend(&self, stack: Stack) -> Backend {
        let backend = Backend::new(self.name.as_str(), self.prefix.as_str(), stack);
        match &self.known {
            Known::Discovered(discovered) => backend.discovered(discovered.clone()),
            Known::Mcp(servers, _) => backend.described(servers[0].clone()),
            Known::A2a(server, _) => backend.described(server.clone()),
        }
    }
}

fn breaker(config: &UpstreamConfig) -> Option<Breaker> {
    config.breaker.map(|breaker| Breaker::new(breaker.errors, breaker.open))
}

/// Tells whether a file that the configuration names has changed.
pub(crate) fn fingerprint(config: &UpstreamConfig) -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in config.files() {
        std::fs::read(file).ok().hash(&mut hasher);
    }
    hasher.finish()
}

fn discovered(config: &UpstreamConfig, pool: &Pool) -> Result<Discovered, Failure> {
    let Some(path) = &config.openrpc else {
        // If one server is down, another one knows the methods, too.
        let asking = Attempts::new(pool.clone(), Retry::default(), None, |_| true);
        return Ok(Discovered::watch(asking, safe_methods(config)));
    };
    let document = source::file(path)?;
    Discovered::from_document(document, safe_methods(config))
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

fn safe_methods(config: &UpstreamConfig) -> Vec<Pattern> {
    let known = match config.profile {
        Profile::Ethereum => safe::ETHEREUM,
        Profile::Plain | Profile::Mcp | Profile::A2a | Profile::Lsp => &[],
    };
    let known = known.iter().filter_map(|pattern| pattern.parse().ok());
    config.safe.iter().cloned().chain(known).collect()
}
