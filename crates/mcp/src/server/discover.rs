//! What the server can do (MCP-D-01, MCP-M-09).

use switchboard_core::{Json, Reply};

use super::request::Request;
use crate::catalog::{Catalog, TaskMode};
use crate::model::methods::{self, Direction};
use crate::model::{
    Capability, ListCapability, ResourcesCapability, Revision, ServerCapabilities, Settings, TASKS_EXTENSION,
    TasksCapability, Wire as _,
};

/// Declares a capability, unless it was declared before.
pub(super) fn declare(capabilities: &mut ServerCapabilities, capability: Capability) {
    let list = || ListCapability { list_changed: true };
    match capability {
        Capability::Tools => _ = capabilities.tools.get_or_insert_with(list),
        Capability::Prompts => _ = capabilities.prompts.get_or_insert_with(list),
        Capability::Resources | Capability::Subscribe => {
            capabilities.resources = Some(ResourcesCapability { list_changed: true, subscribe: true });
        }
        Capability::Completions => capabilities.completions = Some(Settings::default()),
        Capability::Logging => capabilities.logging = Some(Settings::default()),
        Capability::Tasks | Capability::CancelTasks | Capability::TasksExtension => {
            let requests = Json::parse(r#"{"tools":{"call":{}}}"#).ok();
            let cancel = Some(Settings::default());
            capabilities.tasks = Some(TasksCapability { requests, cancel, ..TasksCapability::default() });
            let settings = Json::parse("{}").unwrap_or(Json::NULL);
            capabilities.extensions.insert(TASKS_EXTENSION.to_owned(), settings);
        }
        // Tasks are not listed, and the others are those of clients.
        Capability::ListTasks | Capability::Roots | Capability::Sampling | Capability::Elicitation => {}
    }
}

/// Declares what these tables have. A capability stays declared when its table becomes empty: clients that know of it may ask for the
/// list, and hear of its changes.
pub(super) fn declare_all(capabilities: &mut ServerCapabilities, catalog: &Catalog) {
    let has_resources = !catalog.resources.is_empty() || !catalog.templates.is_empty();
    let completes = !catalog.completions.is_empty() || !catalog.completers.is_empty();
    let has_tasks = catalog.tools.iter().any(|tool| tool.value.task != TaskMode::Never);
    let found = [
        (Capability::Logging, true),
        (Capability::Tools, !catalog.tools.is_empty()),
        (Capability::Prompts, !catalog.prompts.is_empty()),
        (Capability::Resources, has_resources),
        (Capability::Completions, completes),
        (Capability::Tasks, has_tasks),
    ];
    for (capability, _) in found.into_iter().filter(|(_, is_there)| *is_there) {
        declare(capabilities, capability);
    }
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
