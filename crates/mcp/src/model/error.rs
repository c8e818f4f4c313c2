//! The error codes that MCP defines.

use serde::Serialize;
use switchboard_core::{Code, ErrorObject, Json};

use super::{ClientCapabilities, Revision, Wire as _};

/// Resource not found, until 2025-11-25. Later revisions use -32602 and must not use this code (MCP-RES-03).
pub const RESOURCE_NOT_FOUND: Code = Code(-32002);
/// An HTTP header does not match the message.
pub const HEADER_MISMATCH: Code = Code(-32020);
/// The client lacks a capability that the request needs.
pub const MISSING_CAPABILITY: Code = Code(-32021);
/// The server does not support the protocol version of the request.
pub const UNSUPPORTED_VERSION: Code = Code(-32022);
/// The user must open a URL first. 2025-11-25 only (MCP-EL-04).
pub const URL_ELICITATION_REQUIRED: Code = Code(-32042);

/// No resource has this URI: -32002, or -32602 since 2026-07-28 (MCP-RES-03).
#[must_use]
pub fn resource_not_found(uri: &str, revision: Revision) -> ErrorObject {
    #[derive(Serialize)]
    struct Data {
        uri: String,
    }
    let code = if revision.is_stateless() { Code::INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
    ErrorObject::new(code, "Resource not found").with_data(&Data { uri: uri.to_owned() })
}

/// -32020: an HTTP header does not match the message. `detail` names the header.
#[must_use]
pub fn header_mismatch(detail: impl Into<String>) -> ErrorObject {
    ErrorObject::new(HEADER_MISMATCH, format!("Header mismatch: {}", detail.into()))
}

/// -32021: the client lacks these capabilities (MCP-M-04).
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

/// -32022: the server does not support the requested version. The error lists the supported ones (MCP-M-05).
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

/// -32042: the user must open URLs first. 2025-11-25 only. Each element is the params of a URL elicitation.
#[must_use]
pub fn url_elicitation_required(elicitations: Vec<Json>) -> ErrorObject {
    #[derive(Serialize)]
    struct Data {
        elicitations: Vec<Json>,
    }
    ErrorObject::new(URL_ELICITATION_REQUIRED, "URL elicitation required").with_data(&Data { elicitations })
}

/// Whether only servers of 2026-07-28 or later use this code (MCP-X-01).
#[must_use]
pub fn is_modern(code: Code) -> bool {
    matches!(code, HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
}

/// Whether the error means that the resource does not exist, in any revision (MCP-RES-03).
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
