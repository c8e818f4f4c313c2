//! Places for notifications about tasks.

use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderName;
use serde::{Deserialize, Serialize};

use super::wire::{nullable, text};

/// The media type of notifications.
pub(crate) const MEDIA_TYPE: &str = "application/a2a+json";
/// The header with the token of a place.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");
/// The header with the identifier of a notification, which is the same for all attempts.
pub(crate) const ID: HeaderName = HeaderName::from_static("x-a2a-notification-id");
/// The header with the signature of a notification: a JWS without its text (RFC 7515, appendix F).
pub(crate) const SIGNATURE: HeaderName = HeaderName::from_static("x-a2a-notification-signature");

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A place for notifications about a task: a URL that gets each event of the task (A2A-D-07).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct PushConfig {
    /// Which of several agents at one URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Unique within the task. The agent makes one if it is empty.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The task. It is empty in a request that begins one.
    #[serde(alias = "task_id", deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub task_id: String,
    /// Where notifications are sent.
    #[serde(deserialize_with = "text")]
    pub url: String,
    /// Sent with each notification, so that the receiver knows that it asked for it.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub token: String,
    /// What the receiver wants to be sent as `Authorization`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<PushAuthentication>,
}

/// Credentials for the receiver of notifications.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct PushAuthentication {
    /// The scheme, such as `Bearer`.
    #[serde(deserialize_with = "text")]
    pub scheme: String,
    /// What follows it.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub credentials: String,
}

/// The params of `GetTaskPushNotificationConfig` and `DeleteTaskPushNotificationConfig`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPush {
    /// The task.
    #[serde(alias = "task_id", deserialize_with = "text")]
    pub task_id: String,
    /// Which of its places.
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// Which of several agents at one URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// The params of `ListTaskPushNotificationConfigs`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListPush {
    /// The task.
    #[serde(alias = "task_id", deserialize_with = "text")]
    pub task_id: String,
    /// How many at once: all by default.
    #[serde(alias = "page_size", default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    /// Where to go on.
    #[serde(alias = "page_token", default, skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
    /// Which of several agents at one URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// The result of `ListTaskPushNotificationConfigs`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct PushPage {
    /// The places, the oldest first.
    #[serde(deserialize_with = "nullable")]
    pub configs: Vec<PushConfig>,
    /// Where to go on; empty at the end.
    #[serde(
        alias = "next_page_token",
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub next_page_token: String,
}

impl PushConfig {
    /// Notifications to this URL.
    #[must_use]
    pub fn new(url: impl Into<String>) -> PushConfig {
        PushConfig { url: url.into(), ..PushConfig::default() }
    }

    /// About this task.
    #[must_use]
    pub fn for_task(self, task_id: impl Into<String>) -> PushConfig {
        PushConfig { task_id: task_id.into(), ..self }
    }

    /// Sets the identifier.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> PushConfig {
        PushConfig { id: id.into(), ..self }
    }

    /// Sets the token.
    #[must_use]
    pub fn with_token(self, token: impl Into<String>) -> PushConfig {
        PushConfig { token: token.into(), ..self }
    }

    /// Sets the credentials.
    #[must_use]
    pub fn with_authentication(
        self,
        scheme: impl Into<String>,
        credentials: impl Into<String>,
    ) -> PushConfig {
        let authentication = PushAuthentication { scheme: scheme.into(), credentials: credentials.into() };
        PushConfig { authentication: Some(authentication), ..self }
    }
}

impl GetPush {
    /// A request about this place for notifications about this task.
    #[must_use]
    pub fn new(task_id: impl Into<String>, id: impl Into<String>) -> GetPush {
        GetPush { task_id: task_id.into(), id: id.into(), tenant: None }
    }
}

impl ListPush {
    /// A request for all places of this task.
    #[must_use]
    pub fn new(task_id: impl Into<String>) -> ListPush {
        ListPush { task_id: task_id.into(), page_size: None, page_token: None, tenant: None }
    }
}
