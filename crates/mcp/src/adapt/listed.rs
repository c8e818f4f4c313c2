//! What an MCP server lists: its tools, resources, templates and prompts.

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_core::CallError;

use super::tool::ToolMethod;
use crate::client::Client;
use crate::model::{Capability, Tool, methods};

/// The lists of a server.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Listed {
    /// By name.
    pub(super) tools: BTreeMap<String, ToolMethod>,
    pub(super) resources: Vec<Value>,
    pub(super) templates: Vec<Value>,
    pub(super) prompts: Vec<Value>,
}

impl Listed {
    /// Asks the server. A server that fails to list anything but its tools has none of it.
    pub(super) async fn read(client: &Client) -> Result<Listed, CallError> {
        Ok(Listed {
            tools: tools(client).await?,
            resources: others(client, Capability::Resources, methods::LIST_RESOURCES, "resources").await,
            templates: others(client, Capability::Resources, methods::LIST_TEMPLATES, "resourceTemplates")
                .await,
            prompts: others(client, Capability::Prompts, methods::LIST_PROMPTS, "prompts").await,
        })
    }
}

async fn tools(client: &Client) -> Result<BTreeMap<String, ToolMethod>, CallError> {
    if !client.has(Capability::Tools) {
        return Ok(BTreeMap::new());
    }
    let mut tools = BTreeMap::new();
    for entry in client.list(methods::LIST_TOOLS, "tools").await? {
        match entry.decode::<Tool>() {
            // Names that start with `rpc.` are for the protocol (J2-12).
            Ok(tool) if tool.name.starts_with("rpc.") => {
                tracing::warn!(tool = tool.name, "left out a tool with a reserved name");
            }
            Ok(tool) => match ToolMethod::new(&tool, &entry) {
                Ok(method) => drop(tools.insert(tool.name, method)),
                Err(why) => tracing::warn!(tool = tool.name, why, "left out a tool"),
            },
            Err(error) => tracing::warn!(%error, "left out a tool that cannot be read"),
        }
    }
    Ok(tools)
}

async fn others(
    client: &Client,
    capability: Capability,
    method: &'static str,
    member: &'static str,
) -> Vec<Value> {
    if !client.has(capability) {
        return Vec::new();
    }
    match client.list(method, member).await {
        Ok(entries) => entries.iter().filter_map(|entry| entry.decode().ok()).collect(),
        Err(error) => {
            tracing::debug!(%error, method, "the MCP server does not list this");
            Vec::new()
        }
    }
}
