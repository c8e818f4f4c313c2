//! Errors against the published schemas.

use serde_json::{Value, json};
use switchboard_core::ErrorObject;
use switchboard_mcp::model::{ClientCapabilities, Elicitation, Revision, Wire as _, error};

use crate::schemas::{self, Reading};

#[track_caller]
fn check(error: &ErrorObject, name: &str, revision: Revision) {
    let data: Value = error.data.as_ref().map(|data| data.decode().unwrap()).unwrap_or_default();
    let mut message =
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": error.code.0, "message": error.message}});
    if error.data.is_some() {
        message["error"]["data"] = data;
    }
    schemas::check(revision, name, &message, Reading::Published);
}

// MCP-M-04, MCP-M-05, MCP-EL-04
#[test]
fn errors_fit_the_schema() {
    let modern = Revision::V2026_07_28;
    check(&error::header_mismatch("Mcp-Name is absent"), "HeaderMismatchError", modern);
    let mut required = ClientCapabilities::default();
    required.sampling = Some(Default::default());
    check(&error::missing_capability(&required), "MissingRequiredClientCapabilityError", modern);
    let unsupported = error::unsupported_version("1900-01-01", &[modern]);
    check(&unsupported, "UnsupportedProtocolVersionError", modern);
    let sessions = Revision::V2025_11_25;
    let url = Elicitation::url("Pay.", "https://pay.example", "e1").to_json(sessions);
    check(&error::url_elicitation_required(vec![url]), "URLElicitationRequiredError", sessions);
}
