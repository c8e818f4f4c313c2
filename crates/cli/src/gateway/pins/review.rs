//! The pinned tools of the upstreams in use, for operators who review and approve them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use switchboard::mcp::adapt::Approval as _;

use super::Tools;
use super::pinned::{Pinned, Standing};
use crate::gateway::{Gated, Upstream};

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

impl Gated {
    /// The tools of MCP servers, all or only those in this state.
    pub(crate) fn tools(&self, wanted: Option<&str>) -> Vec<ToolRecord> {
        let gate = self.current();
        let mut records: Vec<ToolRecord> =
            pinned_of(&gate.upstreams).flat_map(|(prefix, pinned)| pinned.records(prefix)).collect();
        records.retain(|record| wanted.is_none_or(|wanted| wanted == record.state));
        records.sort_by(|one, other| one.tool.cmp(&other.tool));
        records
    }

    /// Approves tools with these digests, by the names of their methods; gives those that were not approved before. If one of them says
    /// something else now, none is approved.
    pub(crate) fn approve(&self, wanted: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
        let (gate, mut matched) = (self.current(), Vec::new());
        for (method, digest) in wanted {
            let listed = pinned_of(&gate.upstreams).filter_map(|(prefix, pinned)| {
                let tool = pinned.listed()?.remove(method.strip_prefix(prefix)?)?;
                Some((prefix, pinned, tool))
            });
            // Calls go by the longest prefix, too.
            match listed.max_by_key(|(prefix, ..)| prefix.len()) {
                None => return Err(unlisted(method)),
                Some((.., tool)) if tool.digest != *digest => return Err(other_digest(method)),
                Some((_, pinned, tool)) => matched.push((method.clone(), pinned.upstream.clone(), tool)),
            }
        }
        Ok(self.pins.approve(matched))
    }

    /// The method behind a tool that is held back, and why it is, by the name that clients of MCP would know it by.
    pub(crate) fn held(&self, tool: &str) -> Option<(String, String)> {
        let (gate, wanted) = (self.current(), public(tool));
        pinned_of(&gate.upstreams).find_map(|(prefix, pinned)| {
            let listed = pinned.listed()?;
            let mut named =
                listed.values().filter(|tool| public(&format!("{prefix}{}", tool.name)) == wanted);
            named.find_map(|tool| Some((format!("{prefix}{}", tool.name), pinned.refusal(tool)?)))
        })
    }
}

/// What is pinned, with the prefixes of the upstreams.
fn pinned_of(upstreams: &[Upstream]) -> impl Iterator<Item = (&str, &Pinned)> {
    upstreams.iter().filter_map(|upstream| Some((&*upstream.prefix, &**upstream.pinned.as_ref()?)))
}

impl Pinned {
    fn records(&self, prefix: &str) -> Vec<ToolRecord> {
        let listed = self.listed().unwrap_or_default();
        let mut approved: Tools = self.pins.approved().get(&self.upstream).cloned().unwrap_or_default();
        let record = |name: &str, state: &'static str, pinned: Option<Map<String, Value>>| ToolRecord {
            tool: format!("{prefix}{name}"),
            upstream: self.upstream.clone(),
            state,
            held: self.holds && matches!(state, "new" | "changed"),
            pinned,
            current: listed.get(name).map(|tool| tool.members.clone()),
            digest: listed.get(name).map(|tool| tool.digest.clone()),
        };
        let mut records = Vec::new();
        for (name, tool) in &listed {
            let state = match self.standing(tool) {
                Standing::Approved => "approved",
                Standing::New => "new",
                Standing::Changed => "changed",
            };
            records.push(record(name, state, approved.remove(name)));
        }
        records.extend(approved.into_iter().map(|(name, pinned)| record(&name, "gone", Some(pinned))));
        records
    }
}

fn public(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
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
