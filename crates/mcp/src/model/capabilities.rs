//! The capabilities of clients and servers.

use std::collections::BTreeMap;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serializer};
use switchboard_core::Json;

use super::wire::wire;
use super::{Revision, Wire};

/// The identifier of the tasks extension, which replaces the tasks of 2025-11-25.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A capability that a method requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// The server has tools.
    Tools,
    /// The server has resources.
    Resources,
    /// The server supports subscriptions to resources.
    Subscribe,
    /// The server has prompts.
    Prompts,
    /// The server offers completion of arguments.
    Completions,
    /// The server sends log messages.
    Logging,
    /// Requests can run as tasks (2025-11-25).
    Tasks,
    /// Tasks can be listed (2025-11-25).
    ListTasks,
    /// Tasks can be cancelled (2025-11-25).
    CancelTasks,
    /// Calls can run as tasks (the tasks extension).
    TasksExtension,
    /// The client provides roots.
    Roots,
    /// The client supports sampling.
    Sampling,
    /// The client supports elicitation.
    Elicitation,
}

wire! {
    /// The capabilities of a server.
    #[derive(Default)]
    pub struct ServerCapabilities {
        required {}
        optional {
            /// Tools.
            tools: Option<ListCapability> = "tools",
            /// Resources.
            resources: Option<ResourcesCapability> = "resources",
            /// Prompts.
            prompts: Option<ListCapability> = "prompts",
            /// Completion of arguments.
            completions: Option<Settings> = "completions" since V2025_03_26,
            /// Log messages.
            logging: Option<Settings> = "logging",
            /// Requests that run as tasks.
            tasks: Option<TasksCapability> = "tasks" since V2025_11_25 until V2025_11_25,
            /// Experimental capabilities, by name.
            experimental: BTreeMap<String, Json> = "experimental",
            /// Extensions and their settings, by identifier. Formal since 2026-07-28, but in use with older revisions too.
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
    /// The capabilities of a client.
    #[derive(Default)]
    pub struct ClientCapabilities {
        required {}
        optional {
            /// Roots.
            roots: Option<RootsCapability> = "roots",
            /// Sampling.
            sampling: Option<SamplingCapability> = "sampling",
            /// Elicitation.
            elicitation: Option<ElicitationCapability> = "elicitation" since V2025_06_18,
            /// Requests that run as tasks.
            tasks: Option<TasksCapability> = "tasks" since V2025_11_25 until V2025_11_25,
            /// Experimental capabilities, by name.
            experimental: BTreeMap<String, Json> = "experimental",
            /// Extensions and their settings, by identifier. Formal since 2026-07-28, but in use with older revisions too.
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

/// A capability without settings, written as an empty object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Settings {}

impl Wire for Settings {
    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_map(Some(0))?.end()
    }
}

wire! {
    /// The settings of the capabilities `tools` and `prompts`.
    #[derive(Default)]
    pub struct ListCapability {
        required {}
        optional {
            /// Whether changes of the list are notified.
            list_changed: bool = "listChanged",
        }
    }
}

wire! {
    /// The settings of the capability `resources`.
    #[derive(Default)]
    pub struct ResourcesCapability {
        required {}
        optional {
            /// Whether clients can subscribe to a resource.
            subscribe: bool = "subscribe",
            /// Whether changes of the list are notified.
            list_changed: bool = "listChanged",
        }
    }
}

wire! {
    /// The settings of the capability `roots`.
    #[derive(Default)]
    pub struct RootsCapability {
        required {}
        optional {
            /// Whether changes of the list are notified.
            list_changed: bool = "listChanged" until V2025_11_25,
        }
    }
}

wire! {
    /// The settings of the capability `sampling`.
    #[derive(Default)]
    pub struct SamplingCapability {
        required {}
        optional {
            /// Tool use is supported.
            tools: Option<Settings> = "tools" since V2025_11_25,
            /// `includeContext` is supported.
            context: Option<Settings> = "context" since V2025_11_25,
        }
    }
}

wire! {
    /// The settings of the capability `elicitation`. If no mode is set, the client supports forms.
    #[derive(Default)]
    pub struct ElicitationCapability {
        required {}
        optional {
            /// Forms are supported.
            form: Option<Settings> = "form" since V2025_11_25,
            /// URLs are supported.
            url: Option<Settings> = "url" since V2025_11_25,
        }
    }
}

impl ElicitationCapability {
    /// Whether the client supports forms, explicitly or by naming no mode.
    #[must_use]
    pub fn has_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// Whether the client supports URLs.
    #[must_use]
    pub fn has_url(&self) -> bool {
        self.url.is_some()
    }
}

wire! {
    /// The settings of the capability `tasks` of 2025-11-25 (MCP-TK-01).
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
