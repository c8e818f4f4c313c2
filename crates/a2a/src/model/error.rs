//! The errors of the protocol (A2A-E-01).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;
use switchboard_core::{Code, ErrorObject, Kind};

/// There is no such task, or it belongs to another caller.
pub const TASK_NOT_FOUND: Code = Code(-32001);
/// The task has ended.
pub const TASK_NOT_CANCELABLE: Code = Code(-32002);
/// The agent sends no notifications.
pub const PUSH_NOT_SUPPORTED: Code = Code(-32003);
/// The agent, or the state of the task, does not allow this.
pub const UNSUPPORTED_OPERATION: Code = Code(-32004);
/// The agent does not take content of this type.
pub const CONTENT_TYPE_NOT_SUPPORTED: Code = Code(-32005);
/// The agent's function answered something that is not an answer.
pub const INVALID_AGENT_RESPONSE: Code = Code(-32006);
/// There is no extended card, although the card says so.
pub const EXTENDED_CARD_NOT_CONFIGURED: Code = Code(-32007);
/// The client does not declare an extension that the agent requires.
pub const EXTENSION_REQUIRED: Code = Code(-32008);
/// The agent does not speak this version.
pub const VERSION_NOT_SUPPORTED: Code = Code(-32009);

/// Errors of the server that the protocol has no code for, such as a missing token.
pub const SERVER_ERROR: Code = Code(-32000);

/// The domain of the reasons of the protocol.
pub const DOMAIN: &str = "a2a-protocol.org";

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";

/// The reason that belongs to a code of the protocol.
#[must_use]
pub fn reason(code: Code) -> Option<&'static str> {
    Some(match code {
        TASK_NOT_FOUND => "TASK_NOT_FOUND",
        TASK_NOT_CANCELABLE => "TASK_NOT_CANCELABLE",
        PUSH_NOT_SUPPORTED => "PUSH_NOTIFICATION_NOT_SUPPORTED",
        UNSUPPORTED_OPERATION => "UNSUPPORTED_OPERATION",
        CONTENT_TYPE_NOT_SUPPORTED => "CONTENT_TYPE_NOT_SUPPORTED",
        INVALID_AGENT_RESPONSE => "INVALID_AGENT_RESPONSE",
        EXTENDED_CARD_NOT_CONFIGURED => "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        EXTENSION_REQUIRED => "EXTENSION_SUPPORT_REQUIRED",
        VERSION_NOT_SUPPORTED => "VERSION_NOT_SUPPORTED",
        _ => return None,
    })
}

/// An error of the protocol: its code, a sentence, and what it is about.
pub(crate) fn error(code: Code, message: impl Into<String>, about: &[(&str, &str)]) -> ErrorObject {
    let metadata: BTreeMap<&str, &str> = about.iter().copied().collect();
    let info = Info { kind: ERROR_INFO, reason: reason(code).unwrap_or("ERROR"), domain: DOMAIN, metadata };
    ErrorObject::new(code, message.into()).with_data(&json!([info]))
}

#[derive(Serialize)]
struct Info<'a> {
    #[serde(rename = "@type")]
    kind: &'static str,
    reason: &'a str,
    domain: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<&'a str, &'a str>,
}

/// The task does not exist for this caller (A2A-E-02).
pub(crate) fn task_not_found(id: &str) -> ErrorObject {
    let id: String = id.chars().take(128).collect();
    error(TASK_NOT_FOUND, "Task not found", &[("taskId", &id)])
}

pub(crate) fn unsupported(message: impl Into<String>) -> ErrorObject {
    error(UNSUPPORTED_OPERATION, message, &[])
}

/// A field of the params is wrong.
pub(crate) fn invalid_field(field: &str, description: &str) -> ErrorObject {
    let violation = json!({"field": field, "description": description});
    let data = json!([{"@type": BAD_REQUEST, "fieldViolations": [violation]}]);
    ErrorObject::new(Code::INVALID_PARAMS, format!("Invalid parameters: {field}: {description}"))
        .with_data(&data)
}

/// An error as this protocol writes it. Codes that mean something else here become -32000, and data becomes an array of typed
/// objects (A2A-E-01, A2A-E-03). Errors of the protocol stay as they are.
pub(crate) fn conform(error: ErrorObject) -> ErrorObject {
    if error.data.as_ref().is_some_and(|data| data.kind() == Kind::Array) {
        return error;
    }
    let is_taken = (-32099..=-32001).contains(&error.code.0);
    let code = if is_taken { SERVER_ERROR } else { error.code };
    let detail = error.data.as_ref().and_then(|data| data.get("details")?.decode::<String>().ok());
    let conformed = ErrorObject::new(code, error.message.clone());
    let details = detail.as_deref().map(|detail| ("detail", detail));
    if details.is_none() && !is_taken {
        return conformed;
    }
    let reason = format!("JSON_RPC_{}", error.code.0.unsigned_abs());
    let metadata = details.into_iter().collect();
    let info = Info { kind: ERROR_INFO, reason: &reason, domain: "switchboard", metadata };
    conformed.with_data(&json!([info]))
}
