//! What the server can do (MCP-D-01, MCP-M-09).

use switchboard_core::{Json, Reply};

use super::request::Request;
use crate::catalog::{Catalog, TaskMode};
use crate::model::methods::{self, Direction};
use crate::model::{
    ListCapability, ResourcesCapability, Revision, ServerCapabilities, Settings, TASKS_EXTENSION,
    TasksCapability, Wire as _,
};

/// The capabilities of a server with these tables. What is empty is not declared.
pub(crate) fn capabilities(catalog: &Catalog) -> ServerCapabilities {
    let list = || ListCapability { list_changed: true };
    let has_resources = !catalog.resources.is_empty() || !catalog.templates.is_empty();
    let mut capabilities = ServerCapabilities {
        logging: Some(Settings::default()),
        tools: (!catalog.tools.is_empty()).then(list),
        prompts: (!catalog.prompts.is_empty()).then(list),
        completions: (!catalog.completions.is_empty()).then(Settings::default),
        resources: has_resources.then_some(ResourcesCapability { list_changed: true, subscribe: true }),
        ..ServerCapabilities::default()
    };
    if catalog.tools.iter().any(|tool| tool.value.task != TaskMode::Never) {
        let requests = Json::parse(r#"{"tools":{"call":{}}}"#).ok();
        let cancel = Some(Settings::default());
        capabilities.tasks = Some(TasksCapability { requests, cancel, ..TasksCapability::default() });
        let settings = Json::parse("{}").unwrap_or(Json::NULL);
        capabilities.extensions.insert(TASKS_EXTENSION.to_owned(), settings);
    }
    capabilities
}

/// Whether the server has the capability that a method needs (MCP-M-11).
pub(super) fn offers(request: &Request<'_>, method: &str) -> bool {
    let row = methods::find(method, Direction::ToServer, request.revision());
    let needed = row.and_then(|row| row.capability).filter(|_| !request.call.is_notification());
    needed.is_none_or(|needed| request.snapshot.capabilities.has(needed))
}

/// Answers `server/discover`.
pub(super) fn discover(request: &Request<'_>) -> Reply {
    let (snapshot, revision) = (&request.snapshot, request.revision());
    let versions: Vec<&str> = Revision::ALL.iter().rev().map(|revision| revision.as_str()).collect();
    snapshot
        .cacheable(revision)
        .with("supportedVersions", versions)
        .with("capabilities", snapshot.capabilities.to_json(revision))
        .with_some("instructions", snapshot.instructions.as_deref())
        .reply()
}
