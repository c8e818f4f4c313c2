//! The methods and notifications of every revision, in one table.

use Capability as Needs;
use Direction::{Both, ToClient, ToServer};
use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

use super::{Capability, Revision};

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
    /// Both directions.
    Both,
}

/// A method or notification over a range of revisions. A name has several rows if its direction or capability changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The name of the method.
    pub name: &'static str,
    /// The direction.
    pub direction: Direction,
    /// The first revision of the range.
    pub first: Revision,
    /// The last revision of the range.
    pub last: Revision,
    /// The required capability: of the receiver for methods, of the sender for notifications.
    pub capability: Option<Capability>,
}

impl Row {
    /// Whether it is a notification.
    #[must_use]
    pub fn is_notification(&self) -> bool {
        self.name.starts_with("notifications/")
    }

    /// Whether the message may go in this direction.
    #[must_use]
    pub fn is_sent(&self, sender: Direction) -> bool {
        self.direction == Both || self.direction == sender
    }
}

/// Finds the row of a method or notification. None if the revision lacks it, or has it only in the other direction.
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

/// Whether any revision has a method or notification with this name.
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
    /// Starts a session.
    INITIALIZE = "initialize";
    /// Checks that the peer responds.
    PING = "ping";
    /// Returns the versions and capabilities of a stateless server.
    DISCOVER = "server/discover";
    /// Lists tools.
    LIST_TOOLS = "tools/list";
    /// Calls a tool.
    CALL_TOOL = "tools/call";
    /// Lists resources.
    LIST_RESOURCES = "resources/list";
    /// Lists resource templates.
    LIST_TEMPLATES = "resources/templates/list";
    /// Reads a resource.
    READ_RESOURCE = "resources/read";
    /// Subscribes to a resource, with sessions.
    SUBSCRIBE = "resources/subscribe";
    /// Unsubscribes from a resource.
    UNSUBSCRIBE = "resources/unsubscribe";
    /// Lists prompts.
    LIST_PROMPTS = "prompts/list";
    /// Renders a prompt.
    GET_PROMPT = "prompts/get";
    /// Completes an argument.
    COMPLETE = "completion/complete";
    /// Sets the minimum level of log messages, with sessions.
    SET_LEVEL = "logging/setLevel";
    /// Opens a stream of notifications, without sessions.
    LISTEN = "subscriptions/listen";
    /// Lists the roots of the client.
    LIST_ROOTS = "roots/list";
    /// Samples the model of the client.
    CREATE_MESSAGE = "sampling/createMessage";
    /// Asks the user of the client.
    ELICIT = "elicitation/create";
    /// Returns the state of a task.
    GET_TASK = "tasks/get";
    /// Waits for the result of a task.
    TASK_RESULT = "tasks/result";
    /// Lists tasks.
    LIST_TASKS = "tasks/list";
    /// Cancels a task.
    CANCEL_TASK = "tasks/cancel";
    /// Supplies the input that a task waits for.
    UPDATE_TASK = "tasks/update";

    /// The client completed the handshake.
    INITIALIZED = "notifications/initialized";
    /// The sender cancelled a request.
    CANCELLED = "notifications/cancelled";
    /// The progress of a request.
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
    /// A stream of notifications was opened.
    ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
    /// A URL elicitation was completed.
    ELICITATION_COMPLETE = "notifications/elicitation/complete";
    /// The state of a task changed (2025-11-25).
    TASK_STATUS = "notifications/tasks/status";
    /// The state of a task changed (the tasks extension).
    TASK = "notifications/tasks";
}

/// The requests that a stateless server may embed in a result (MCP-R-02).
pub const INPUT_REQUESTS: [&str; 3] = [ELICIT, CREATE_MESSAGE, LIST_ROOTS];

/// The methods whose result may request input (MCP-R-01).
pub const MAY_ASK: [&str; 3] = [CALL_TOOL, READ_RESOURCE, GET_PROMPT];

/// The methods whose complete results carry caching hints since 2026-07-28 (MCP-K-01).
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
    // The first revision has no capability for it.
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
