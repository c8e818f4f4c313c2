//! Pinned tools: what tools of MCP servers said about themselves when they were first seen, or approved.
//!
//! A server can change the description of a tool at any time, and models follow what it says. So a tool that is new or says something else is
//! reported, and held back until an operator has approved it, if the configuration says so.
//!
//! Approvals outlast configurations, so they are kept here. What tools say now belongs to their upstream ([`Pinned`]), and is replaced with it.

mod explain;
mod file;
mod pinned;
mod review;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use serde_json::{Map, Value};
use switchboard::audit::{Audit, AuditEvent, AuditKind};
use switchboard::mcp::adapt::ToolDefinition;
use tokio::sync::watch;

pub(super) use self::pinned::Pinned;
pub(crate) use self::review::ToolRecord;
use crate::config::{Config, Pin, UpstreamConfig};
use crate::failure::Failure;

const CHANGED: AuditKind = AuditKind("tool-changed");
const APPROVED: AuditKind = AuditKind("tool-approved");

/// The tools of all MCP servers as they were approved. Cheap to clone.
#[derive(Clone)]
pub(super) struct Pins(Arc<Inner>);

struct Inner {
    /// Remembers them; without a file they are forgotten at the end.
    file: Option<PathBuf>,
    audit: Audit,
    approved: Mutex<Approved>,
    /// The digests of approved tools, by upstream and name.
    digests: ArcSwap<HashMap<String, Digests>>,
    changes: watch::Sender<()>,
}

/// The digests of tools by name.
type Digests = HashMap<String, String>;

/// What tools of an upstream said when they were approved, by name.
type Tools = BTreeMap<String, Map<String, Value>>;

/// The same by upstream.
type Approved = BTreeMap<String, Tools>;

impl Pins {
    /// Reads the file for this configuration.
    pub(super) fn open(config: &Config) -> Result<Pins, Failure> {
        let file = config.pins();
        let approved = match &file {
            Some(path) => file::read(path)?,
            None => Approved::default(),
        };
        let (digests, approved) = (ArcSwap::from_pointee(digests(&approved)), Mutex::new(approved));
        let (audit, changes) = (config.audit.clone(), watch::Sender::default());
        Ok(Pins(Arc::new(Inner { file, audit, approved, digests, changes })))
    }

    /// What decides about the tools of this upstream, if they are pinned.
    pub(super) fn of(&self, upstream: &UpstreamConfig) -> Option<Pinned> {
        match upstream.pin {
            Pin::Off => None,
            Pin::Report => Some(Pinned::new(self.clone(), upstream, false)),
            Pin::Hold => Some(Pinned::new(self.clone(), upstream, true)),
        }
    }

    /// Approves the tools that an upstream lists first.
    fn approve_first<'a>(&self, upstream: &str, tools: impl Iterator<Item = &'a ToolDefinition>) {
        if self.0.digests.load().contains_key(upstream) {
            return;
        }
        let mut approved = self.approved();
        let said = |tool: &ToolDefinition| (tool.name.clone(), tool.members.clone());
        approved.entry(upstream.to_owned()).or_insert_with(|| tools.map(said).collect());
        self.keep(&approved);
    }

    /// Approves tools of upstreams, by the names of their methods; gives those that were not approved before.
    fn approve(&self, tools: Vec<(String, String, ToolDefinition)>) -> Vec<String> {
        let (mut approved, mut names) = (self.approved(), Vec::new());
        for (method, upstream, tool) in tools {
            let approved = approved.entry(upstream).or_default();
            if approved.get(&tool.name) != Some(&tool.members) {
                approved.insert(tool.name, tool.members);
                names.push(method);
            }
        }
        self.keep(&approved);
        drop(approved);
        for method in &names {
            self.0.audit.record(&AuditEvent::new(APPROVED).method(method));
        }
        self.0.changes.send_replace(());
        names
    }

    fn approved(&self) -> MutexGuard<'_, Approved> {
        self.0.approved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the file.
    fn keep(&self, approved: &Approved) {
        self.0.digests.store(Arc::new(digests(approved)));
        let Some(path) = &self.0.file else { return };
        if let Err(error) = file::write(path, approved) {
            let path = path.display();
            tracing::warn!(%error, %path, "cannot save the pinned tools; they will be lost when the gateway exits");
        }
    }
}

fn digests(approved: &Approved) -> HashMap<String, Digests> {
    let digest = |(tool, members): (&String, &Map<String, Value>)| {
        (tool.clone(), ToolDefinition::new(tool.as_str(), members.clone()).digest)
    };
    approved.iter().map(|(name, tools)| (name.clone(), tools.iter().map(digest).collect())).collect()
}
