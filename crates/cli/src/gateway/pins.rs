//! Pinned tools: what tools of MCP servers said about themselves when they were first seen, or approved.
//!
//! A server can change the description of a tool at any time, and models follow what it says. So a tool that is new or says something else is
//! reported, and held back until an operator has approved it, if the configuration says so.

mod file;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use switchboard::audit::{Audit, AuditEvent, AuditKind};
use switchboard::mcp::adapt::{Approval, ToolDefinition};
use tokio::sync::watch;

use crate::config::{Config, Pin, UpstreamConfig};
use crate::failure::Failure;

const CHANGED: AuditKind = AuditKind("tool-changed");
const APPROVED: AuditKind = AuditKind("tool-approved");

/// The tools of all MCP servers as they were approved. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Pins(Arc<Inner>);

struct Inner {
    /// Remembers them; without a file they are forgotten at the end.
    file: Option<PathBuf>,
    audit: Audit,
    state: Mutex<State>,
    /// The digests of approved tools, by upstream and name.
    digests: ArcSwap<HashMap<String, HashMap<String, String>>>,
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    upstreams: BTreeMap<String, Upstream>,
    approved: Approved,
}

struct Upstream {
    prefix: String,
    holds: bool,
    /// The tools as they were listed last.
    current: BTreeMap<String, ToolDefinition>,
    /// What was reported last of each tool: sessions that began earlier may still list older ones.
    reported: HashMap<String, String>,
}

/// What tools said when they were approved, by upstream and name.
type Approved = BTreeMap<String, BTreeMap<String, Map<String, Value>>>;

/// A tool of an MCP server.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ToolRecord {
    /// Name of its method.
    tool: String,
    upstream: String,
    /// approved, new, changed or gone.
    state: &'static str,
    /// Whether it is held back until it is approved.
    held: bool,
    /// What it said when it was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned: Option<Map<String, Value>>,
    /// What it says now.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<Map<String, Value>>,
    /// Identifies what it says now, for `admin/approve`.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl Pins {
    /// Reads the file for this configuration.
    pub(super) fn open(config: &Config) -> Result<Pins, Failure> {
        let file = config.pins();
        let approved = match &file {
            Some(path) => file::read(path)?,
            None => Approved::default(),
        };
        let digests = ArcSwap::from_pointee(digests(&approved));
        let state = Mutex::new(State { upstreams: BTreeMap::new(), approved });
        let (audit, changes) = (config.audit.clone(), watch::Sender::default());
        Ok(Pins(Arc::new(Inner { file, audit, state, digests, changes })))
    }

    /// What decides about the tools of this upstream, if they are pinned.
    pub(super) fn of(&self, upstream: &UpstreamConfig) -> Option<Pinned> {
        let holds = match upstream.pin {
            Pin::Off => {
                self.state().upstreams.remove(&upstream.name);
                return None;
            }
            Pin::Report => false,
            Pin::Hold => true,
        };
        let (name, prefix) = (upstream.name.clone(), upstream.prefix.clone());
        let known =
            Upstream { prefix: prefix.clone(), holds, current: BTreeMap::new(), reported: HashMap::new() };
        self.state().upstreams.insert(name.clone(), known);
        Some(Pinned { pins: self.clone(), upstream: name, prefix, holds })
    }

    /// Forgets the tools of removed upstreams. Approvals are kept.
    pub(super) fn keep_only(&self, is_there: impl Fn(&str) -> bool) {
        self.state().upstreams.retain(|name, _| is_there(name));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tools, all or only those in this state.
    pub(crate) fn tools(&self, wanted: Option<&str>) -> Vec<ToolRecord> {
        let state = self.state();
        let mut records = Vec::new();
        for (name, upstream) in &state.upstreams {
            let nothing = BTreeMap::new();
            let approved = state.approved.get(name).unwrap_or(&nothing);
            let gone = approved.keys().filter(|tool| !upstream.current.contains_key(*tool));
            for tool in upstream.current.keys().chain(gone) {
                let (pinned, current) = (approved.get(tool), upstream.current.get(tool));
                let state = match (pinned, current.map(|current| &current.members)) {
                    (Some(pinned), Some(current)) if pinned == current => "approved",
                    (Some(_), Some(_)) => "changed",
                    (None, _) => "new",
                    (_, None) => "gone",
                };
                records.push(ToolRecord {
                    tool: format!("{}{tool}", upstream.prefix),
                    upstream: name.clone(),
                    state,
                    held: upstream.holds && matches!(state, "new" | "changed"),
                    pinned: pinned.cloned(),
                    current: current.map(|current| current.members.clone()),
                    digest: current.map(|current| current.digest.clone()),
                });
            }
        }
        records.retain(|record| wanted.is_none_or(|wanted| wanted == record.state));
        records.sort_by(|one, other| one.tool.cmp(&other.tool));
        records
    }

    /// Approves tools with these digests, by the names of their methods; gives those that were not approved before. If one of them says
    /// something else now, none is approved.
    pub(crate) fn approve(&self, wanted: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
        let mut state = self.state();
        let State { upstreams, approved } = &mut *state;
        let mut matched = Vec::new();
        for (method, digest) in wanted {
            let listed = upstreams.iter().find_map(|(name, upstream)| {
                let tool = method.strip_prefix(&upstream.prefix)?;
                Some((name, upstream.current.get(tool)?))
            });
            match listed {
                None => return Err(unlisted(method)),
                Some((_, tool)) if tool.digest != *digest => return Err(other_digest(method)),
                Some((name, tool)) => matched.push((method, name, tool)),
            }
        }
        let mut names = Vec::new();
        for (method, name, tool) in matched {
            let approved = approved.entry(name.clone()).or_default();
            if approved.get(&tool.name) != Some(&tool.members) {
                approved.insert(tool.name.clone(), tool.members.clone());
                names.push(method.clone());
            }
        }
        self.keep(&state);
        drop(state);
        for method in &names {
            self.0.audit.record(&AuditEvent::new(APPROVED).method(method));
        }
        self.0.changes.send_replace(());
        Ok(names)
    }

    /// The method behind a tool that is held back, and why it is, by the name that clients of MCP would know it by.
    pub(crate) fn held(&self, tool: &str) -> Option<(String, String)> {
        let held = self.tools(None).into_iter().filter(|record| record.held);
        let mut named = held.filter(|record| public(&record.tool) == public(tool));
        named.next().map(|record| (record.tool.clone(), refusal(&record.tool)))
    }

    /// Writes the file.
    fn keep(&self, state: &State) {
        self.0.digests.store(Arc::new(digests(&state.approved)));
        let Some(path) = &self.0.file else { return };
        if let Err(error) = file::write(path, &state.approved) {
            let path = path.display();
            tracing::warn!(%error, %path, "cannot save the pinned tools; they will be lost when the gateway exits");
        }
    }
}

fn digests(approved: &Approved) -> HashMap<String, HashMap<String, String>> {
    let digest = |(tool, members): (&String, &Map<String, Value>)| {
        (tool.clone(), ToolDefinition::new(tool.as_str(), members.clone()).digest)
    };
    approved.iter().map(|(name, tools)| (name.clone(), tools.iter().map(digest).collect())).collect()
}

fn public(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

fn refusal(method: &str) -> String {
    format!(
        "the tool {method} is new or has changed, and waits for approval: an operator can review it with `admin/tools`, and approve it with \
         `admin/approve`, on the admin listener"
    )
}

fn unlisted(method: &str) -> String {
    format!("there is no tool {method}; `admin/tools` lists all tools. Nothing was approved")
}

fn other_digest(method: &str) -> String {
    format!(
        "the definition of {method} does not have this digest: it has changed since it was listed, or the digest is incomplete. Nothing was \
         approved. Review the tool again with `admin/tools`, and approve the digest that is shown there"
    )
}

/// The pinned tools of one upstream.
pub(super) struct Pinned {
    pins: Pins,
    upstream: String,
    prefix: String,
    holds: bool,
}

impl Pinned {
    /// Tells when tools were approved.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.pins.0.changes.subscribe()
    }

    fn report(&self, tool: &ToolDefinition, is_new: bool) {
        let method = format!("{}{}", self.prefix, tool.name);
        let what = if is_new { "a new tool" } else { "the definition of a tool has changed" };
        let (upstream, is_held) = (&self.upstream, self.holds);
        tracing::warn!(tool = method, upstream, is_held, "{what}");
        let reason = if is_new { "it is new" } else { "its description, schema or annotations have changed" };
        self.pins.0.audit.record(&AuditEvent::new(CHANGED).method(&method).reason(reason));
    }
}

impl Approval for Pinned {
    fn note(&self, tools: &[&ToolDefinition]) {
        let mut state = self.pins.state();
        let State { upstreams, approved } = &mut *state;
        let Some(upstream) = upstreams.get_mut(&self.upstream) else { return };
        let members = |tool: &ToolDefinition| (tool.name.clone(), tool.members.clone());
        let is_first = !approved.contains_key(&self.upstream);
        let approved = approved.entry(self.upstream.clone());
        let approved = approved.or_insert_with(|| tools.iter().map(|tool| members(tool)).collect());
        let mut reported = Vec::new();
        for tool in tools {
            let pinned = approved.get(&tool.name);
            if pinned == Some(&tool.members) || upstream.reported.get(&tool.name) == Some(&tool.digest) {
                continue;
            }
            upstream.reported.insert(tool.name.clone(), tool.digest.clone());
            reported.push((*tool, pinned.is_none()));
        }
        upstream.reported.retain(|name, _| tools.iter().any(|tool| tool.name == *name));
        upstream.current = tools.iter().map(|tool| (tool.name.clone(), (*tool).clone())).collect();
        if is_first {
            self.pins.keep(&state);
        }
        drop(state);
        reported.into_iter().for_each(|(tool, is_new)| self.report(tool, is_new));
    }

    fn refusal(&self, tool: &ToolDefinition) -> Option<String> {
        if !self.holds {
            return None;
        }
        let digests = self.pins.0.digests.load();
        let approved = digests.get(&self.upstream).and_then(|tools| tools.get(&tool.name));
        (approved != Some(&tool.digest)).then(|| refusal(&format!("{}{}", self.prefix, tool.name)))
    }
}
