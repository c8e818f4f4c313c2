//! The servers behind a gateway: how they are, and taking them out and bringing them back.

use std::time::Duration;

use futures_util::stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard::{Context, ErrorObject, Stream, service};

use super::Admin;
use super::methods::{changes, interval, patterns, period, span};
use super::upstream_record::UpstreamRecord;
use crate::gateway::{Gated, Upstream};

/// How long a server is ejected unless the operator says otherwise.
const EJECTED: &str = "30s";

/// How often to look whether the calls of servers that are taken out have ended.
const LOOK: Duration = Duration::from_millis(20);

/// What can be asked about upstreams, and done to them.
pub(super) struct UpstreamMethods(pub(super) Admin);

/// What was drained.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum Drained {
    /// The server: whether it ran.
    Server(bool),
    /// An upstream, as it is now.
    Upstream(Box<UpstreamRecord>),
}

/// One pattern of methods, or several.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum Methods {
    One(String),
    Several(Vec<String>),
}

#[service]
impl UpstreamMethods {
    /// Streams the list of upstreams whenever it has changed: their state, their traffic and their servers. It is empty if this is not a gateway.
    #[method(safe, name = "admin/upstreams")]
    fn upstreams(
        &self,
        /// Only the one with this name.
        name: Option<String>,
        /// How often to look, such as 5s; at least 100ms.
        #[arg(default = "1s".to_owned())]
        every: String,
    ) -> Result<impl Stream<Item = Vec<UpstreamRecord>> + Send + 'static, ErrorObject> {
        let admin = self.0.clone();
        if let Some(name) = &name {
            admin.upstream(name)?;
        }
        let mut clock = interval(period(&every)?);
        clock.reset_immediately();
        let lists = stream::unfold((admin, clock), move |(admin, mut clock)| {
            let name = name.clone();
            async move {
                clock.tick().await;
                let is_meant = |upstream: &&Upstream| name.as_ref().is_none_or(|name| *name == upstream.name);
                let list = admin.upstreams().iter().filter(is_meant).map(UpstreamRecord::of).collect();
                Some((list, (admin, clock)))
            }
        });
        Ok(changes(lists))
    }

    /// Takes a server out for a while. It gets no calls unless no other server is available; to stop calls to it in any case, use `admin/drain`.
    #[method(name = "admin/eject")]
    fn eject(
        &self,
        /// Name of the upstream.
        upstream: String,
        /// URL of the server, as in `admin/upstreams`, or a part of it that no other one has.
        node: String,
        /// For how long, such as 5m.
        #[arg(name = "for", default = EJECTED.to_owned())]
        duration: String,
    ) -> Result<UpstreamRecord, ErrorObject> {
        let upstream = self.0.upstream(&upstream)?;
        let duration = span("for", &duration)?;
        for node in nodes(&upstream, Some(&node))? {
            upstream.pool.eject(&node, duration);
        }
        Ok(UpstreamRecord::of(&upstream))
    }

    /// Brings servers back that were ejected or drained. Without `node`, all of them, and the breaker is closed. Health checks still apply.
    #[method(name = "admin/restore")]
    fn restore(
        &self,
        /// Name of the upstream.
        upstream: String,
        /// URL of the server, or a part of it that no other one has.
        node: Option<String>,
    ) -> Result<UpstreamRecord, ErrorObject> {
        let upstream = self.0.upstream(&upstream)?;
        for node in nodes(&upstream, node.as_deref())? {
            upstream.pool.drain(&node, false);
        }
        if let (None, Some(breaker)) = (&node, &upstream.breaker) {
            breaker.close();
        }
        Ok(UpstreamRecord::of(&upstream))
    }

    /// Stops the server: calls in progress finish, and no more are accepted. With `upstream`, takes its servers out instead, or one of them,
    /// until `admin/restore`; its calls in progress finish.
    #[method(name = "admin/drain")]
    async fn drain(
        &self,
        _cx: &Context,
        /// Name of an upstream; without it, this server is drained.
        upstream: Option<String>,
        /// URL of one server of the upstream, or a part of it that no other one has.
        node: Option<String>,
        /// How long calls may take to finish, such as 10s. For this server, if that is less than its own limit; for an upstream, how long to wait
        /// for them before the answer.
        within: Option<String>,
    ) -> Result<Drained, ErrorObject> {
        let within = within.map(|text| span("within", &text)).transpose()?;
        let Some(upstream) = upstream else {
            return match node {
                Some(_) => Err(ErrorObject::invalid_params("`node` needs `upstream`")),
                None => Ok(Drained::Server(self.0.stop(within))),
            };
        };
        let upstream = self.0.upstream(&upstream)?;
        let drained = nodes(&upstream, node.as_deref())?;
        for node in &drained {
            upstream.pool.drain(node, true);
        }
        if let Some(within) = within {
            // If they take longer, the state says how many there are.
            let _ = tokio::time::timeout(within, idle(&upstream, &drained)).await;
        }
        Ok(Drained::Upstream(Box::new(UpstreamRecord::of(&upstream))))
    }

    /// Removes answers from the caches, and returns how many there were.
    #[method(name = "admin/clear_cache")]
    fn clear_cache(
        &self,
        /// Only answers of methods like these, such as `math/*`.
        #[arg(default = Methods::One("**".to_owned()))]
        methods: Methods,
        /// Only those of this upstream.
        upstream: Option<String>,
    ) -> Result<usize, ErrorObject> {
        let methods = patterns(&match methods {
            Methods::One(pattern) => vec![pattern],
            Methods::Several(patterns) => patterns,
        })?;
        let upstreams = match upstream {
            Some(name) => vec![self.0.upstream(&name)?],
            None => self.0.upstreams(),
        };
        Ok(upstreams.iter().map(|upstream| upstream.clear_cache(&methods)).sum())
    }
}

impl Admin {
    /// The upstreams, if this is a gateway.
    fn upstreams(&self) -> Vec<Upstream> {
        self.0.gated.as_ref().map(Gated::upstreams).unwrap_or_default()
    }

    fn upstream(&self, name: &str) -> Result<Upstream, ErrorObject> {
        let upstreams = self.upstreams();
        let found = upstreams.iter().find(|upstream| upstream.name == name).cloned();
        found.ok_or_else(|| {
            let names: Vec<&str> = upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
            ErrorObject::validation_failed(match names.is_empty() {
                true => "this server has no upstreams; it is not a gateway".to_owned(),
                false => format!("there is no upstream {name:?}; use one of {}", names.join(", ")),
            })
        })
    }
}

/// The names of the servers of an upstream that are meant: all, or the one with this URL or with this in its URL.
fn nodes(upstream: &Upstream, node: Option<&str>) -> Result<Vec<String>, ErrorObject> {
    let all: Vec<String> = upstream.pool.nodes().map(|(name, ..)| name.to_owned()).collect();
    let Some(node) = node else { return Ok(all) };
    if all.iter().any(|name| name == node) {
        return Ok(vec![node.to_owned()]);
    }
    let meant: Vec<String> = all.iter().filter(|name| name.contains(node)).cloned().collect();
    let wrong = match meant.len() {
        1 => return Ok(meant),
        0 => format!("{} has no server {node:?}; use one of {}", upstream.name, all.join(", ")),
        _ => format!(
            "several servers of {} match {node:?}: {}; use the whole URL",
            upstream.name,
            meant.join(", ")
        ),
    };
    Err(ErrorObject::validation_failed(wrong))
}

/// Waits until these servers have no calls in progress.
async fn idle(upstream: &Upstream, nodes: &[String]) {
    let mut clock = tokio::time::interval(LOOK);
    let is_busy = || {
        let mut all = upstream.pool.nodes();
        all.any(|(name, node, _)| node.in_flight() > 0 && nodes.iter().any(|drained| drained == name))
    };
    while is_busy() {
        clock.tick().await;
    }
}
