//! The pinned tools of one upstream.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard::audit::AuditEvent;
use switchboard::mcp::adapt::{Approval, ToolDefinition};
use tokio::sync::watch;

use super::{CHANGED, Pins};
use crate::config::UpstreamConfig;

/// The tools of an upstream, compared with those that were approved.
///
/// Until it is in use it only remembers what is listed, so that a configuration that is rejected approves and reports nothing.
pub(in crate::gateway) struct Pinned {
    pub(super) pins: Pins,
    pub(super) upstream: String,
    pub(super) holds: bool,
    listing: Mutex<Listing>,
}

#[derive(Default)]
struct Listing {
    is_used: bool,
    /// What the methods of the tools begin with.
    prefix: String,
    /// The tools as they were listed last; none before that.
    tools: Option<BTreeMap<String, ToolDefinition>>,
    /// What was reported last of each tool: sessions that began earlier may still list older ones.
    reported: HashMap<String, String>,
}

/// How a tool compares with what was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Approved,
    New,
    Changed,
}

impl Pinned {
    pub(super) fn new(pins: Pins, upstream: &UpstreamConfig, holds: bool) -> Pinned {
        let listing = Listing { prefix: upstream.prefix.clone(), ..Listing::default() };
        Pinned { pins, upstream: upstream.name.clone(), holds, listing: Mutex::new(listing) }
    }

    /// The configuration that it belongs to is in use from now on, and its methods have this prefix.
    pub(in crate::gateway) fn put_in_use(&self, prefix: &str) {
        let mut listing = self.listing();
        prefix.clone_into(&mut listing.prefix);
        listing.is_used = true;
        self.compare(listing);
    }

    /// Its upstream is gone; sessions that are left may still list tools.
    pub(in crate::gateway) fn retire(&self) {
        self.listing().is_used = false;
    }

    /// Tells when tools were approved.
    pub(in crate::gateway) fn changes(&self) -> watch::Receiver<()> {
        self.pins.0.changes.subscribe()
    }

    /// The tools as they were listed last; none before that.
    pub(super) fn listed(&self) -> Option<BTreeMap<String, ToolDefinition>> {
        self.listing().tools.clone()
    }

    /// How a tool that says this compares with what was approved. The first tools of an upstream are approved as they are.
    pub(super) fn standing(&self, tool: &ToolDefinition) -> Standing {
        let digests = self.pins.0.digests.load();
        match digests.get(&self.upstream).map(|tools| tools.get(&tool.name)) {
            None => Standing::Approved,
            Some(Some(digest)) if *digest == tool.digest => Standing::Approved,
            Some(Some(_)) => Standing::Changed,
            Some(None) => Standing::New,
        }
    }

    /// Approves the tools if they are the first ones, and reports those that are not approved.
    fn compare(&self, mut listing: MutexGuard<'_, Listing>) {
        let Listing { is_used: true, prefix, tools: Some(tools), reported } = &mut *listing else { return };
        self.pins.approve_first(&self.upstream, tools.values());
        let mut reports = Vec::new();
        for tool in tools.values() {
            let standing = self.standing(tool);
            if standing == Standing::Approved || reported.get(&tool.name) == Some(&tool.digest) {
                continue;
            }
            reported.insert(tool.name.clone(), tool.digest.clone());
            reports.push((format!("{prefix}{}", tool.name), standing));
        }
        reported.retain(|name, _| tools.contains_key(name));
        drop(listing);
        reports.iter().for_each(|(method, standing)| self.report(method, *standing));
    }

    fn report(&self, method: &str, standing: Standing) {
        let (what, reason) = match standing {
            Standing::New => ("a new tool", "it is new"),
            Standing::Approved | Standing::Changed => (
                "the definition of a tool has changed",
                "its description, schema or annotations have changed",
            ),
        };
        let (upstream, is_held) = (&self.upstream, self.holds);
        tracing::warn!(tool = method, upstream, is_held, "{what}");
        self.pins.0.audit.record(&AuditEvent::new(CHANGED).method(method).reason(reason));
    }

    fn listing(&self) -> MutexGuard<'_, Listing> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Approval for Pinned {
    fn note(&self, tools: &[&ToolDefinition]) {
        let mut listing = self.listing();
        listing.tools = Some(tools.iter().map(|tool| (tool.name.clone(), (*tool).clone())).collect());
        self.compare(listing);
    }

    fn refusal(&self, tool: &ToolDefinition) -> Option<String> {
        let is_held = self.holds && self.standing(tool) != Standing::Approved;
        is_held.then(|| refusal(&format!("{}{}", self.listing().prefix, tool.name)))
    }
}

/// The error of calls to a tool that is held back.
pub(super) fn refusal(method: &str) -> String {
    format!(
        "the tool {method} is new or has changed, and waits for approval: an operator can review it with `admin/tools`, and approve it with \
         `admin/approve`, on the admin listener"
    )
}
