//! What clients and servers say they can do.

use std::collections::BTreeMap;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serializer};
use switchboard_core::Json;

use super::wire::wire;
use super::{Revision, Wire};

/// The identifier of the tasks extension, which takes the place of the tasks of 2025-11-25.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A capability that a method needs on the side that answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// The server has tools.
    Tools,
    /// The server has resources.
    Resources,
    /// The server tells about changes of resources to those who subscribe.
    Subscribe,
    /// The server has prompts.
    Prompts,
    /// The server completes arguments.
    Completions,
    /// The server sends log messages.
    Logging,
    /// Calls can run as tasks, as 2025-11-25 has them.
    Tasks,
    /// Tasks can be listed, as 2025-11-25 has them.
    ListTasks,
    /// Tasks can be cancelled, as 2025-11-25 has them.
    CancelTasks,
    /// Calls can run as tasks, as the extension has them.
    TasksExtension,
    /// The client has roots.
    Roots,
    /// The client asks its model for the server.
    Sampling,
    /// The client asks its user for the server.
    Elicitation,
}

wire! {
    /// What a server can do.
    #[derive(Default)]
    pub struct ServerCapabilities {
        required {}
        optional {
            /// It has tools.
            tools: Option<ListCapability> = "tools",
            /// It has resources.
            resources: Option<ResourcesCapability> = "resources",
            /// It has prompts.
            prompts: Option<ListCapability> = "prompts",
            /// It completes arguments.
            completions: Option<Settings> = "completions" since V2025_03_26,
            /// It sends log messages.
            logging: Option<Settings> = "logging",
            /// It runs calls as tasks.
            tasks: Option<TasksCapability> = "tasks" since V2025_11_25 until V2025_11_25,
            /// What no specification describes, by name.
            experimental: BTreeMap<String, Json> = "experimental",
            /// Extensions, by identifier, with their settings. 2026-07-28 defines them; peers of older revisions use them too.
            extensions: BTreeMap<String, Json> = "extensions",
        }
    }
}

impl ServerCapabilities {
    /// Whether the server has this capability.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        match capability {
            Capability::Tools => self.tools.is_some(),
            Capability::Resources => self.resources.is_some(),
            Capability::Subscribe => self.resources.as_ref().is_some_and(|resources| resources.subscribe),
            Capability::Prompts => self.prompts.is_some(),
            Capability::Completions => self.completions.is_some(),
            Capability::Logging => self.logging.is_some(),
            Capability::TasksExtension => self.extensions.contains_key(TASKS_EXTENSION),
            Capability::Roots | Capability::Sampling | Capability::Elicitation => false,
            tasks => self.tasks.as_ref().is_some_and(|capability| capability.has(tasks)),
        }
    }
}

wire! {
    /// What a client can do.
    #[derive(Default)]
    pub struct ClientCapabilities {
        required {}
        optional {
            /// It has roots.
            roots: Option<RootsCapability> = "roots",
            /// It asks its model for the server.
            sampling: Option<SamplingCapability> = "sampling",
            /// It asks its user for the server.
            elicitation: Option<ElicitationCapability> = "elicitation" since V2025_06_18,
            /// It runs calls as tasks.
            tasks: Option<TasksCapability> = "tasks" since V2025_11_25 until V2025_11_25,
            /// What no specification describes, by name.
            experimental: BTreeMap<String, Json> = "experimental",
            /// Extensions, by identifier, with their settings. 2026-07-28 defines them; peers of older revisions use them too.
            extensions: BTreeMap<String, Json> = "extensions",
        }
    }
}

impl ClientCapabilities {
    /// Whether the client has this capability.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        match capability {
            Capability::Roots => self.roots.is_some(),
            Capability::Sampling => self.sampling.is_some(),
            Capability::Elicitation => self.elicitation.is_some(),
            Capability::TasksExtension => self.extensions.contains_key(TASKS_EXTENSION),
            Capability::Tasks | Capability::ListTasks | Capability::CancelTasks => {
                self.tasks.as_ref().is_some_and(|tasks| tasks.has(capability))
            }
            _ => false,
        }
    }
}

/// A capability without settings: an empty object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Settings {}

impl Wire for Settings {
    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_map(Some(0))?.end()
    }
}

wire! {
    /// A server has tools or prompts.
    #[derive(Default)]
    pub struct ListCapability {
        required {}
        optional {
            /// It says when the list changes.
            list_changed: bool = "listChanged",
        }
    }
}

wire! {
    /// A server has resources.
    #[derive(Default)]
    pub struct ResourcesCapability {
        required {}
        optional {
            /// It tells those who subscribe to a resource when the resource changes.
            subscribe: bool = "subscribe",
            /// It says when the list changes.
            list_changed: bool = "listChanged",
        }
    }
}

wire! {
    /// A client has roots.
    #[derive(Default)]
    pub struct RootsCapability {
        required {}
        optional {
            /// It says when the list changes.
            list_changed: bool = "listChanged" until V2025_11_25,
        }
    }
}

wire! {
    /// A client asks its model for the server.
    #[derive(Default)]
    pub struct SamplingCapability {
        required {}
        optional {
            /// The model may use tools.
            tools: Option<Settings> = "tools" since V2025_11_25,
            /// The client includes context of servers.
            context: Option<Settings> = "context" since V2025_11_25,
        }
    }
}

wire! {
    /// A client asks its user for the server. Without any mode it shows forms.
    #[derive(Default)]
    pub struct ElicitationCapability {
        required {}
        optional {
            /// It shows forms.
            form: Option<Settings> = "form" since V2025_11_25,
            /// It opens URLs.
            url: Option<Settings> = "url" since V2025_11_25,
        }
    }
}

impl ElicitationCapability {
    /// Whether the client shows forms: it says so, or names no mode at all.
    #[must_use]
    pub fn has_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// Whether the client opens URLs.
    #[must_use]
    pub fn has_url(&self) -> bool {
        self.url.is_some()
    }
}

wire! {
    /// Requests can run as tasks, as 2025-11-25 has them (MCP-TK-01).
    #[derive(Default)]
    pub struct TasksCapability {
        required {}
        optional {
            /// Tasks can be listed.
            list: Option<Settings> = "list",
            /// Tasks can be cancelled.
            cancel: Option<Settings> = "cancel",
            /// The requests that can run as tasks: an object such as `{"tools":{"call":{}}}`.
            requests: Option<Json> = "requests",
        }
    }
}

impl TasksCapability {
    fn has(&self, capability: Capability) -> bool {
        match capability {
            Capability::Tasks => true,
            Capability::ListTasks => self.list.is_some(),
            Capability::CancelTasks => self.cancel.is_some(),
            _ => false,
        }
    }

    /// Whether this request can run as a task.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_mcp::model::ServerCapabilities;
    ///
    /// let server: ServerCapabilities = serde_json::from_str(r#"{"tasks":{"requests":{"tools":{"call":{}}}}}"#)?;
    /// assert!(server.tasks.is_some_and(|tasks| tasks.allows("tools/call")));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn allows(&self, method: &str) -> bool {
        let allowed = |requests: &Json| {
            let (family, name) = method.split_once('/')?;
            requests.get(family)?.get(name)
        };
        self.requests.as_ref().and_then(allowed).is_some()
    }
}
