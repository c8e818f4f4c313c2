//! The error codes that the protocol adds, and their errors.

use serde::Serialize;
use switchboard_core::{Code, ErrorObject, Json};

use super::{ClientCapabilities, Revision, Wire as _};

/// There is no such resource, until 2025-11-25. Later revisions say -32602, and must not say this (MCP-RES-03).
pub const RESOURCE_NOT_FOUND: Code = Code(-32002);
/// A header does not match the message.
pub const HEADER_MISMATCH: Code = Code(-32020);
/// The client lacks a capability that the request needs.
pub const MISSING_CAPABILITY: Code = Code(-32021);
/// The server does not speak the version of the request.
pub const UNSUPPORTED_VERSION: Code = Code(-32022);
/// The user must open a URL first, in 2025-11-25 only (MCP-EL-04).
pub const URL_ELICITATION_REQUIRED: Code = Code(-32042);

/// There is no resource with this URI: -32002, and -32602 from 2026-07-28 on (MCP-RES-03).
#[must_use]
pub fn resource_not_found(uri: &str, revision: Revision) -> ErrorObject {
    #[derive(Serialize)]
    struct Data {
        uri: String,
    }
    let code = if revision.is_stateless() { Code::INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
    ErrorObject::new(code, "Resource not found").with_data(&Data { uri: uri.to_owned() })
}

/// A header does not match the message: -32020. The text says which one.
#[must_use]
pub fn header_mismatch(detail: impl Into<String>) -> ErrorObject {
    ErrorObject::new(HEADER_MISMATCH, format!("Header mismatch: {}", detail.into()))
}

/// The client lacks these capabilities: -32021 (MCP-M-04).
#[must_use]
pub fn missing_capability(required: &ClientCapabilities) -> ErrorObject {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        required_capabilities: Json,
    }
    let required_capabilities = required.to_json(Revision::V2026_07_28);
    ErrorObject::new(MISSING_CAPABILITY, "Missing required client capability")
        .with_data(&Data { required_capabilities })
}

/// The server does not speak the requested version, but these: -32022 (MCP-M-05).
#[must_use]
pub fn unsupported_version(requested: &str, supported: &[Revision]) -> ErrorObject {
    #[derive(Serialize)]
    struct Data {
        supported: Vec<&'static str>,
        requested: String,
    }
    let supported = supported.iter().map(|revision| revision.as_str()).collect();
    ErrorObject::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(&Data { supported, requested: requested.to_owned() })
}

/// The user must open these URLs first: -32042, in 2025-11-25 only. Each is the params of an elicitation by URL.
#[must_use]
pub fn url_elicitation_required(elicitations: Vec<Json>) -> ErrorObject {
    #[derive(Serialize)]
    struct Data {
        elicitations: Vec<Json>,
    }
    ErrorObject::new(URL_ELICITATION_REQUIRED, "URL elicitation required").with_data(&Data { elicitations })
}

/// Whether a server that answers with this error speaks 2026-07-28 (MCP-X-01).
#[must_use]
pub fn is_modern(code: Code) -> bool {
    matches!(code, HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
}

/// Whether an error says that there is no such resource. Clients accept the codes of all revisions (MCP-RES-03).
#[must_use]
pub fn is_resource_not_found(error: &ErrorObject) -> bool {
    let has_uri = || error.data.as_ref().is_some_and(|data| data.get("uri").is_some());
    error.code == RESOURCE_NOT_FOUND || error.code == Code::INVALID_PARAMS && has_uri()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: &ErrorObject, code: i64, data: &str) {
        assert_eq!(error.code, Code(code));
        assert_eq!(error.data.as_ref().map(Json::as_str), Some(data));
    }

    // MCP-RES-03
    #[test]
    fn a_missing_resource_has_another_code_from_2026_on() {
        for revision in Revision::ALL {
            let code = if revision == Revision::V2026_07_28 { -32602 } else { -32002 };
            let error = resource_not_found("desk://x", revision);
            check(&error, code, r#"{"uri":"desk://x"}"#);
            assert!(is_resource_not_found(&error));
        }
        assert!(!is_resource_not_found(&ErrorObject::invalid_params("the cursor is not valid")));
    }

    // MCP-M-04, MCP-M-05
    #[test]
    fn errors_of_stateless_requests_say_what_would_be_right() {
        let wanted = ClientCapabilities { sampling: Some(Default::default()), ..Default::default() };
        check(&missing_capability(&wanted), -32021, r#"{"requiredCapabilities":{"sampling":{}}}"#);
        let error = unsupported_version("1900-01-01", &[Revision::V2026_07_28]);
        check(&error, -32022, r#"{"supported":["2026-07-28"],"requested":"1900-01-01"}"#);
        assert!(is_modern(error.code) && !is_modern(Code::METHOD_NOT_FOUND));
    }
}
