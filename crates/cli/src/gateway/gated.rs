//! The upstreams and routes in use, which a changed configuration replaces while the gateway runs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use switchboard::gateway::{Gateway, GatewayBuilder, OpenCalls};
use tokio::sync::watch;

use super::pins::{Pinned, Pins};
use super::stacks::Stacks;
use super::upstreams::Upstream;
use super::{policies, routes};
use crate::config::Config;
use crate::exit::Exit;
use crate::failure::Failure;

/// How long new upstreams have to describe their methods before calls go to them.
const DESCRIBING: Duration = Duration::from_secs(3);

/// A gateway whose upstreams and routes can be replaced. Clones see the same ones.
#[derive(Clone)]
pub(crate) struct Gated {
    current: Arc<ArcSwap<Gate>>,
    news: News,
    pub(super) pins: Pins,
}

/// Whom the upstreams tell.
#[derive(Clone, Default)]
struct News {
    /// Told when the methods have changed.
    changes: Arc<watch::Sender<()>>,
    /// Called with the URI of a resource that has changed.
    on_update: Arc<OnceLock<Box<OnUpdate>>>,
}

type OnUpdate = dyn Fn(&str) + Send + Sync;

/// Upstreams and routes that belong together.
pub(crate) struct Gate {
    pub(crate) gateway: Gateway,
    pub(crate) upstreams: Vec<Upstream>,
    stacks: Stacks,
}

impl Gated {
    /// Connects to the upstreams, and waits a moment until they have described their methods.
    pub(super) async fn start(config: &Config) -> Result<Gated, Failure> {
        let gated = Gated::build(config)?;
        let gate = gated.current();
        describe(&gate.upstreams).await?;
        gate.put_in_use();
        Ok(gated)
    }

    /// The gateway of a configuration. Connections are made by tasks, and by calls.
    pub(crate) fn build(config: &Config) -> Result<Gated, Failure> {
        let (news, pins) = (News::default(), Pins::open(config)?);
        let (gate, _) = Gate::new(config, None, &news, &pins)?;
        Ok(Gated { current: Arc::new(ArcSwap::from_pointee(gate)), news, pins })
    }

    /// The upstreams of a configuration, each asked for its description once. Nothing is put in use.
    pub(crate) async fn reach(config: &Config) -> Result<Arc<Gate>, Failure> {
        let gate = Gated::build(config)?.current();
        describe(&gate.upstreams).await?;
        Ok(gate)
    }

    /// The upstreams and routes in use.
    pub(crate) fn current(&self) -> Arc<Gate> {
        self.current.load_full()
    }

    /// The upstreams, in the order of their names.
    pub(crate) fn upstreams(&self) -> Vec<Upstream> {
        self.current().upstreams.clone()
    }

    /// The upstreams and routes of another configuration, which get no calls yet. What is the same is shared with those in use.
    pub(crate) async fn prepare(&self, config: &Config) -> Result<Gate, Failure> {
        let (gate, fresh) = Gate::new(config, Some(&self.current()), &self.news, &self.pins)?;
        describe(&fresh).await?;
        Ok(gate)
    }

    /// Uses these from now on. Calls and streams of servers that are gone have this long to finish.
    pub(crate) fn replace(&self, gate: Gate, drain_time: Duration) {
        let before = self.current.swap(Arc::new(gate));
        let now = self.current();
        now.put_in_use();
        let is_kept = |one: &Arc<Pinned>| {
            now.upstreams.iter().flat_map(|upstream| &upstream.pinned).any(|pinned| Arc::ptr_eq(pinned, one))
        };
        let pinned = before.upstreams.iter().flat_map(|upstream| &upstream.pinned);
        pinned.filter(|one| !is_kept(one)).for_each(|pinned| pinned.retire());
        for (_, open) in before.leaving(&now) {
            tokio::spawn(async move {
                tokio::time::sleep(drain_time).await;
                open.end();
            });
        }
        self.news.changes.send_replace(());
    }

    /// Calls this function when the methods have changed.
    pub(crate) fn on_change(&self, change: impl Fn() + Send + Sync + 'static) {
        let mut changes = self.news.changes.subscribe();
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                change();
            }
        });
    }

    /// Calls this function with the URI of a resource that has changed.
    pub(crate) fn on_update(&self, update: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.news.on_update.set(Box::new(update));
    }
}

impl Gate {
    /// A gate, and those of its upstreams that the one before does not have.
    fn new(
        config: &Config,
        before: Option<&Gate>,
        news: &News,
        pins: &Pins,
    ) -> Result<(Gate, Vec<Upstream>), Failure> {
        let kept = |name: &str| before?.upstreams.iter().find(|upstream| upstream.name == name);
        let (mut upstreams, mut fresh) = (Vec::new(), Vec::new());
        for one in &config.upstreams {
            if let Some(same) = kept(&one.name).and_then(|before| before.renewed(one)) {
                upstreams.push(same);
                continue;
            }
            let resized = kept(&one.name).map(|before| before.with_servers(one, config)).transpose()?;
            let upstream = match resized.flatten() {
                Some(resized) => resized,
                None => Upstream::new(one, config, pins)?,
            };
            // The task that follows it goes on.
            if !kept(&one.name).is_some_and(|before| before.is_described_like(&upstream)) {
                follow(&upstream, news);
            }
            fresh.push(upstream.clone());
            upstreams.push(upstream);
        }
        let mut stacks = before.map(|before| Stacks::after(&before.stacks)).unwrap_or_default();
        let builder = upstreams.iter().fold(Gateway::builder(), |builder, upstream| {
            let make = || policies::stack(upstream, &upstream.policy, &upstreams);
            builder.backend(upstream.backend(stacks.stack(
                upstream,
                None,
                &upstream.policy,
                &upstreams,
                make,
            )))
        });
        let routes = routes::routes(config, &upstreams, &mut stacks)?;
        let gateway = routes.into_iter().fold(builder, GatewayBuilder::route).build();
        let gateway = gateway.map_err(|error| Failure::usage(error.to_string()))?;
        Ok((Gate { gateway, upstreams, stacks: stacks.done() }, fresh))
    }

    /// Calls go to these upstreams from now on.
    fn put_in_use(&self) {
        for upstream in &self.upstreams {
            upstream.pinned.iter().for_each(|pinned| pinned.put_in_use(&upstream.prefix));
        }
    }

    /// The upstreams that have servers which the next ones do not have, and the calls of these servers.
    fn leaving(&self, next: &Gate) -> Vec<(&str, OpenCalls)> {
        let leaving = self.upstreams.iter().map(|upstream| {
            let same = next.upstreams.iter().find(|other| other.name == upstream.name);
            let open = match same {
                Some(next) => upstream.pool.open_calls_without(&next.pool),
                None => upstream.pool.open_calls(),
            };
            (&*upstream.name, open)
        });
        leaving.filter(|(_, open)| !open.is_empty()).collect()
    }

    /// What is different in the next one, for the log, such as `upstream eth +1 node`; and which servers drain for this long.
    pub(crate) fn changes_to(&self, next: &Gate, drain_time: Duration) -> Vec<String> {
        let mut changes = self.changes(next);
        let draining: Vec<&str> = self.leaving(next).into_iter().map(|(name, _)| name).collect();
        if !draining.is_empty() {
            let time = drain_time.as_secs_f64();
            changes.push(format!("draining {} for up to {time} s", draining.join(" and ")));
        }
        changes
    }

    fn changes(&self, next: &Gate) -> Vec<String> {
        let find = |gate: &Gate, name: &str| gate.upstreams.iter().position(|one| one.name == name);
        let mut changes = Vec::new();
        for upstream in &self.upstreams {
            let Some(index) = find(next, &upstream.name) else {
                changes.push(format!("upstream {} removed", upstream.name));
                continue;
            };
            let (before, after) = (upstream.config(), next.upstreams[index].config());
            let how = match (before.nodes.len(), after.nodes.len()) {
                (old, new) if old < new => format!("+{} {}", new - old, nodes(new - old)),
                (old, new) if old > new => format!("-{} {}", old - new, nodes(old - new)),
                _ if before != after || !upstream.shares_with(&next.upstreams[index]) => "changed".to_owned(),
                _ => continue,
            };
            changes.push(format!("upstream {} {how}", upstream.name));
        }
        let added = next.upstreams.iter().filter(|upstream| find(self, &upstream.name).is_none());
        changes.extend(added.map(|upstream| format!("upstream {} added", upstream.name)));
        changes
    }
}

fn nodes(count: usize) -> &'static str {
    if count == 1 { "node" } else { "nodes" }
}

/// Passes on what has changed at an upstream, as long as it exists.
fn follow(upstream: &Upstream, news: &News) {
    let (mut changed, changes) = (upstream.changes(), Arc::clone(&news.changes));
    tokio::spawn(async move {
        while changed.changed().await.is_ok() {
            changes.send_replace(());
        }
    });
    let on_update = Arc::clone(&news.on_update);
    upstream.on_update(move |uri| {
        if let Some(update) = on_update.get() {
            update(uri);
        }
    });
}

/// Waits a moment until upstreams have described their methods. It is an error if one that is required does not.
async fn describe(upstreams: &[Upstream]) -> Result<(), Failure> {
    let described = upstreams.iter().map(|upstream| tokio::time::timeout(DESCRIBING, upstream.describe()));
    for (upstream, described) in upstreams.iter().zip(join_all(described).await) {
        let failed = match described {
            Ok(Ok(())) => continue,
            Ok(Err(reason)) => reason,
            Err(_) => format!("no answer within {} s", DESCRIBING.as_secs()),
        };
        if upstream.config().required {
            let what = format!("the upstream {} is required, but {failed}", upstream.name);
            return Err(Failure::new(Exit::Unreachable, what));
        }
        upstream.is_silent(failed);
    }
    Ok(())
}
