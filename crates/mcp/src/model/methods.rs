//! The methods and notifications of every revision, in one table.

use Capability as Needs;
use Direction::{Both, ToClient, ToServer};
use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

use super::{Capability, Revision};

/// Who sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The client, to the server.
    ToServer,
    /// The server, to the client.
    ToClient,
    /// Either side.
    Both,
}

/// A method or notification in a span of revisions. A name has several rows if its direction or capability changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The name of the method.
    pub name: &'static str,
    /// Who sends it.
    pub direction: Direction,
    /// The first revision that has it so.
    pub first: Revision,
    /// The last revision that has it so.
    pub last: Revision,
    /// The capability that the side that handles it must have (for notifications, the side that sends it). For a method with
    /// direction [`Both`], the side that handles it, whichever that is.
    pub capability: Option<Capability>,
}

impl Row {
    /// Whether it is a notification.
    #[must_use]
    pub fn is_notification(&self) -> bool {
        self.name.starts_with("notifications/")
    }

    /// Whether `sender` may send it: `ToServer` for clients, `ToClient` for servers.
    #[must_use]
    pub fn is_sent(&self, sender: Direction) -> bool {
        self.direction == Both || self.direction == sender
    }
}

/// The row of a name in a revision. None if the revision does not have it, or not in this direction.
///
/// # Examples
///
/// ```
/// use switchboard_mcp::model::methods::{self, Direction};
/// use switchboard_mcp::model::{Capability, Revision};
///
/// let row = methods::find("tools/call", Direction::ToServer, Revision::V2025_03_26).unwrap();
/// assert_eq!(row.capability, Some(Capability::Tools));
/// assert!(methods::find("ping", Direction::ToServer, Revision::V2026_07_28).is_none());
/// ```
#[must_use]
pub fn find(name: &str, sender: Direction, revision: Revision) -> Option<&'static Row> {
    let is_wanted =
        |row: &&Row| row.name == name && row.is_sent(sender) && (row.first..=row.last).contains(&revision);
    TABLE.iter().find(is_wanted)
}

/// Whether any revision has a method or notification of this name.
#[must_use]
pub fn is_known(name: &str) -> bool {
    TABLE.iter().any(|row| row.name == name)
}

macro_rules! names {
    ($( $(#[$meta:meta])* $constant:ident = $name:literal; )+) => {
        $( $(#[$meta])* pub const $constant: &str = $name; )+
    };
}

names! {
    /// Begins a session.
    INITIALIZE = "initialize";
    /// Checks that the peer is there.
    PING = "ping";
    /// Asks a stateless server for its versions and capabilities.
    DISCOVER = "server/discover";
    /// Lists tools.
    LIST_TOOLS = "tools/list";
    /// Calls a tool.
    CALL_TOOL = "tools/call";
    /// Lists resources.
    LIST_RESOURCES = "resources/list";
    /// Lists templates of resources.
    LIST_TEMPLATES = "resources/templates/list";
    /// Reads a resource.
    READ_RESOURCE = "resources/read";
    /// Subscribes to a resource, in a session.
    SUBSCRIBE = "resources/subscribe";
    /// Ends a subscription to a resource.
    UNSUBSCRIBE = "resources/unsubscribe";
    /// Lists prompts.
    LIST_PROMPTS = "prompts/list";
    /// Fills in a prompt.
    GET_PROMPT = "prompts/get";
    /// Completes an argument.
    COMPLETE = "completion/complete";
    /// Sets the least level of log messages, in a session.
    SET_LEVEL = "logging/setLevel";
    /// Opens a stream of notifications, without a session.
    LISTEN = "subscriptions/listen";
    /// Asks a client for its roots.
    LIST_ROOTS = "roots/list";
    /// Asks the model of a client.
    CREATE_MESSAGE = "sampling/createMessage";
    /// Asks the user of a client.
    ELICIT = "elicitation/create";
    /// Asks how a task is.
    GET_TASK = "tasks/get";
    /// Waits for the result of a task.
    TASK_RESULT = "tasks/result";
    /// Lists tasks.
    LIST_TASKS = "tasks/list";
    /// Cancels a task.
    CANCEL_TASK = "tasks/cancel";
    /// Answers the questions of a task.
    UPDATE_TASK = "tasks/update";

    /// The client is ready.
    INITIALIZED = "notifications/initialized";
    /// The sender no longer waits for a request.
    CANCELLED = "notifications/cancelled";
    /// How far a request is.
    PROGRESS = "notifications/progress";
    /// A log message.
    MESSAGE = "notifications/message";
    /// The list of tools changed.
    TOOLS_CHANGED = "notifications/tools/list_changed";
    /// The list of prompts changed.
    PROMPTS_CHANGED = "notifications/prompts/list_changed";
    /// The list of resources changed.
    RESOURCES_CHANGED = "notifications/resources/list_changed";
    /// A resource changed.
    RESOURCE_UPDATED = "notifications/resources/updated";
    /// The list of roots changed.
    ROOTS_CHANGED = "notifications/roots/list_changed";
    /// A stream of notifications is open.
    ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
    /// The user is done with a URL.
    ELICITATION_COMPLETE = "notifications/elicitation/complete";
    /// The status of a task of 2025-11-25.
    TASK_STATUS = "notifications/tasks/status";
    /// The status of a task of the extension.
    TASK = "notifications/tasks";
}

/// The methods that a stateless server may ask for inside a result (MCP-R-02).
pub const INPUT_REQUESTS: [&str; 3] = [ELICIT, CREATE_MESSAGE, LIST_ROOTS];

/// The methods whose result may ask for input (MCP-R-01).
pub const MAY_ASK: [&str; 3] = [CALL_TOOL, READ_RESOURCE, GET_PROMPT];

/// The methods whose complete results carry caching hints from 2026-07-28 on (MCP-K-01).
pub const CACHEABLE: [&str; 6] =
    [DISCOVER, LIST_TOOLS, LIST_PROMPTS, LIST_RESOURCES, LIST_TEMPLATES, READ_RESOURCE];

const fn row(
    name: &'static str,
    direction: Direction,
    first: Revision,
    last: Revision,
    capability: Option<Capability>,
) -> Row {
    Row { name, direction, first, last, capability }
}

/// Every method and notification.
pub const TABLE: &[Row] = &[
    row(INITIALIZE, ToServer, V2024_11_05, V2025_11_25, None),
    row(PING, Both, V2024_11_05, V2025_11_25, None),
    row(DISCOVER, ToServer, V2026_07_28, V2026_07_28, None),
    row(LIST_TOOLS, ToServer, V2024_11_05, V2026_07_28, Some(Needs::Tools)),
    row(CALL_TOOL, ToServer, V2024_11_05, V2026_07_28, Some(Needs::Tools)),
    row(LIST_RESOURCES, ToServer, V2024_11_05, V2026_07_28, Some(Needs::Resources)),
    row(LIST_TEMPLATES, ToServer, V2024_11_05, V2026_07_28, Some(Needs::Resources)),
    row(READ_RESOURCE, ToServer, V2024_11_05, V2026_07_28, Some(Needs::Resources)),
    row(SUBSCRIBE, ToServer, V2024_11_05, V2025_11_25, Some(Needs::Subscribe)),
    row(UNSUBSCRIBE, ToServer, V2024_11_05, V2025_11_25, Some(Needs::Subscribe)),
    row(LIST_PROMPTS, ToServer, V2024_11_05, V2026_07_28, Some(Needs::Prompts)),
    row(GET_PROMPT, ToServer, V2024_11_05, V2026_07_28, Some(Needs::Prompts)),
    // The first revision has the method but no capability for it.
    row(COMPLETE, ToServer, V2024_11_05, V2024_11_05, None),
    row(COMPLETE, ToServer, V2025_03_26, V2026_07_28, Some(Needs::Completions)),
    row(SET_LEVEL, ToServer, V2024_11_05, V2025_11_25, Some(Needs::Logging)),
    row(LISTEN, ToServer, V2026_07_28, V2026_07_28, None),
    row(LIST_ROOTS, ToClient, V2024_11_05, V2025_11_25, Some(Needs::Roots)),
    row(CREATE_MESSAGE, ToClient, V2024_11_05, V2025_11_25, Some(Needs::Sampling)),
    row(ELICIT, ToClient, V2025_06_18, V2025_11_25, Some(Needs::Elicitation)),
    row(GET_TASK, Both, V2025_11_25, V2025_11_25, Some(Needs::Tasks)),
    row(TASK_RESULT, Both, V2025_11_25, V2025_11_25, Some(Needs::Tasks)),
    row(LIST_TASKS, Both, V2025_11_25, V2025_11_25, Some(Needs::ListTasks)),
    row(CANCEL_TASK, Both, V2025_11_25, V2025_11_25, Some(Needs::CancelTasks)),
    row(GET_TASK, ToServer, V2026_07_28, V2026_07_28, Some(Needs::TasksExtension)),
    row(UPDATE_TASK, ToServer, V2026_07_28, V2026_07_28, Some(Needs::TasksExtension)),
    row(CANCEL_TASK, ToServer, V2026_07_28, V2026_07_28, Some(Needs::TasksExtension)),
    row(INITIALIZED, ToServer, V2024_11_05, V2025_11_25, None),
    row(CANCELLED, Both, V2024_11_05, V2026_07_28, None),
    row(PROGRESS, Both, V2024_11_05, V2025_11_25, None),
    row(PROGRESS, ToClient, V2026_07_28, V2026_07_28, None),
    row(MESSAGE, ToClient, V2024_11_05, V2026_07_28, Some(Needs::Logging)),
    row(TOOLS_CHANGED, ToClient, V2024_11_05, V2026_07_28, Some(Needs::Tools)),
    row(PROMPTS_CHANGED, ToClient, V2024_11_05, V2026_07_28, Some(Needs::Prompts)),
    row(RESOURCES_CHANGED, ToClient, V2024_11_05, V2026_07_28, Some(Needs::Resources)),
    row(RESOURCE_UPDATED, ToClient, V2024_11_05, V2026_07_28, Some(Needs::Subscribe)),
    row(ACKNOWLEDGED, ToClient, V2026_07_28, V2026_07_28, None),
    row(ROOTS_CHANGED, ToServer, V2024_11_05, V2025_11_25, Some(Needs::Roots)),
    row(ELICITATION_COMPLETE, ToClient, V2025_11_25, V2025_11_25, None),
    row(TASK_STATUS, Both, V2025_11_25, V2025_11_25, Some(Needs::Tasks)),
    row(TASK, ToClient, V2026_07_28, V2026_07_28, Some(Needs::TasksExtension)),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, sender: Direction, expected: &[Revision]) {
        let found: Vec<_> =
            Revision::ALL.into_iter().filter(|revision| find(name, sender, *revision).is_some()).collect();
        assert_eq!(found, expected, "{name}");
    }

    // MCP-L-01, MCP-D-01, MCP-M-08, MCP-TK-04, MCP-TX-05
    #[test]
    fn a_method_is_found_only_in_its_revisions_and_direction() {
        check(INITIALIZE, ToServer, &Revision::ALL[..4]);
        check(INITIALIZE, ToClient, &[]);
        check(DISCOVER, ToServer, &[V2026_07_28]);
        check(CALL_TOOL, ToServer, &Revision::ALL);
        check(ELICIT, ToClient, &[V2025_06_18, V2025_11_25]);
        check(CREATE_MESSAGE, ToServer, &[]);
        check(GET_TASK, ToServer, &[V2025_11_25, V2026_07_28]);
        check(GET_TASK, ToClient, &[V2025_11_25]);
        check(TASK_RESULT, ToServer, &[V2025_11_25]);
        check(PROGRESS, ToServer, &Revision::ALL[..4]);
        check("tools/unknown", ToServer, &[]);
    }

    #[test]
    fn no_revision_has_two_rows_for_a_message() {
        for (index, row) in TABLE.iter().enumerate() {
            for other in &TABLE[index + 1..] {
                let overlaps = row.first <= other.last && other.first <= row.last;
                assert!(row.name != other.name || !overlaps, "{}", row.name);
            }
        }
    }

    #[test]
    fn the_first_revision_completes_without_a_capability() {
        assert_eq!(find(COMPLETE, ToServer, V2024_11_05).unwrap().capability, None);
        let later = find(COMPLETE, ToServer, V2025_03_26).unwrap();
        assert_eq!(later.capability, Some(Capability::Completions));
    }
}
