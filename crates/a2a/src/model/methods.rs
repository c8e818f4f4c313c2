//! The methods and their names in both versions.

use super::Version;

/// A method of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Sends a message and waits for the answer.
    Send,
    /// Sends a message and gets the answer in parts.
    Stream,
    /// Reads a task.
    Get,
    /// Lists tasks.
    List,
    /// Cancels a task.
    Cancel,
    /// Gets the rest of what a task does.
    Subscribe,
    /// Adds a place for notifications.
    CreatePush,
    /// Reads one.
    GetPush,
    /// Lists them.
    ListPush,
    /// Removes one.
    DeletePush,
    /// Reads the card for authenticated clients.
    ExtendedCard,
}

/// Each method with its names in 1.0 and, if it has one, in 0.3.
pub const TABLE: [(Method, &str, Option<&str>); 11] = [
    (Method::Send, "SendMessage", Some("message/send")),
    (Method::Stream, "SendStreamingMessage", Some("message/stream")),
    (Method::Get, "GetTask", Some("tasks/get")),
    (Method::List, "ListTasks", None),
    (Method::Cancel, "CancelTask", Some("tasks/cancel")),
    (Method::Subscribe, "SubscribeToTask", Some("tasks/resubscribe")),
    (Method::CreatePush, "CreateTaskPushNotificationConfig", Some("tasks/pushNotificationConfig/set")),
    (Method::GetPush, "GetTaskPushNotificationConfig", Some("tasks/pushNotificationConfig/get")),
    (Method::ListPush, "ListTaskPushNotificationConfigs", Some("tasks/pushNotificationConfig/list")),
    (Method::DeletePush, "DeleteTaskPushNotificationConfig", Some("tasks/pushNotificationConfig/delete")),
    (Method::ExtendedCard, "GetExtendedAgentCard", Some("agent/getAuthenticatedExtendedCard")),
];

impl Method {
    /// The method with this name in a version (A2A-B-02).
    #[must_use]
    pub fn find(name: &str, version: Version) -> Option<Method> {
        let is_named = |new: &str, old: Option<&str>| match version {
            Version::V1_0 => new == name,
            Version::V0_3 => old == Some(name),
        };
        TABLE.iter().find(|(_, new, old)| is_named(new, *old)).map(|(method, ..)| *method)
    }

    /// Its name in a version, if it has one.
    #[must_use]
    pub fn name(self, version: Version) -> Option<&'static str> {
        let (_, new, old) = TABLE.iter().find(|(method, ..)| *method == self)?;
        match version {
            Version::V1_0 => Some(new),
            Version::V0_3 => *old,
        }
    }

    /// Whether it answers in parts.
    #[must_use]
    pub fn is_stream(self) -> bool {
        matches!(self, Method::Stream | Method::Subscribe)
    }
}
