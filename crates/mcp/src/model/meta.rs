//! The member `_meta`: its keys, their grammar, and the metadata of requests.

use std::collections::BTreeMap;

use switchboard_core::{ErrorObject, Json, Kind};

use super::{ClientCapabilities, Implementation, LogLevel, Revision, error};

/// Metadata by key.
pub type Meta = BTreeMap<String, Json>;

/// The name of the member that holds metadata.
pub const META: &str = "_meta";
/// The protocol version of a stateless request. Only requests since 2026-07-28 have it (MCP-X-04).
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The capabilities of the client of a stateless request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The name and version of the client of a stateless request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The minimum level of the log messages that the client wants for this request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The name and version of the server that sent a result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The id of the subscription that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The task that a message belongs to, in 2025-11-25.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// The token for progress notifications.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The W3C trace context.
pub const TRACEPARENT: &str = "traceparent";
/// Vendor-specific trace data.
pub const TRACESTATE: &str = "tracestate";
/// W3C baggage.
pub const BAGGAGE: &str = "baggage";

/// The `_meta` of a request. Values are slices of the request and are parsed on demand.
///
/// # Examples
///
/// ```
/// use switchboard_core::Json;
/// use switchboard_mcp::model::{RequestMeta, Revision};
///
/// let params = Json::parse(r#"{"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}, "name": "add"}"#)?;
/// let meta = RequestMeta::of(&params);
/// assert!(meta.is_modern());
/// assert_eq!(meta.revision(&Revision::ALL)?, Revision::V2026_07_28);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RequestMeta {
    /// The protocol version.
    pub protocol_version: Option<Json>,
    /// The capabilities of the client.
    pub client_capabilities: Option<Json>,
    /// The name and version of the client.
    pub client_info: Option<Json>,
    /// The minimum level of log messages.
    pub log_level: Option<Json>,
    /// The token for progress notifications, a string or a number.
    pub progress_token: Option<Json>,
    /// The W3C trace context.
    pub traceparent: Option<Json>,
    /// Vendor-specific trace data.
    pub tracestate: Option<Json>,
    /// W3C baggage.
    pub baggage: Option<Json>,
}

impl RequestMeta {
    /// The metadata in the params of a request.
    #[must_use]
    pub fn of(params: &Json) -> RequestMeta {
        params.get(META).map(|meta| RequestMeta::read(&meta)).unwrap_or_default()
    }

    /// The metadata in the member `_meta` itself.
    #[must_use]
    pub fn read(meta: &Json) -> RequestMeta {
        let [
            protocol_version,
            client_capabilities,
            client_info,
            log_level,
            progress_token,
            traceparent,
            tracestate,
            baggage,
        ] = meta.pick([
            PROTOCOL_VERSION,
            CLIENT_CAPABILITIES,
            CLIENT_INFO,
            LOG_LEVEL,
            PROGRESS_TOKEN,
            TRACEPARENT,
            TRACESTATE,
            BAGGAGE,
        ]);
        RequestMeta {
            protocol_version,
            client_capabilities,
            client_info,
            log_level,
            progress_token: progress_token
                .filter(|token| matches!(token.kind(), Kind::String | Kind::Number)),
            traceparent: traceparent.filter(is_string),
            tracestate: tracestate.filter(is_string),
            baggage: baggage.filter(is_string),
        }
    }

    /// Whether the request is stateless, that is, names its protocol version (MCP-X-04).
    #[must_use]
    pub fn is_modern(&self) -> bool {
        self.protocol_version.is_some()
    }

    /// The revision of the request.
    ///
    /// # Errors
    ///
    /// -32602 if the request names no version, -32022 if the version is not in `supported` (MCP-M-03, MCP-M-05).
    pub fn revision(&self, supported: &[Revision]) -> Result<Revision, ErrorObject> {
        let version: String = required(&self.protocol_version, PROTOCOL_VERSION)?;
        let revision = version.parse().ok().filter(|revision| supported.contains(revision));
        revision.ok_or_else(|| error::unsupported_version(&version, supported))
    }

    /// The capabilities of the client.
    ///
    /// # Errors
    ///
    /// -32602 if the member is absent or malformed (MCP-M-03).
    pub fn client_capabilities(&self) -> Result<ClientCapabilities, ErrorObject> {
        required(&self.client_capabilities, CLIENT_CAPABILITIES)
    }

    /// The name and version of the client, if it sent them (MCP-M-03).
    #[must_use]
    pub fn client_info(&self) -> Option<Implementation> {
        self.client_info.as_ref()?.decode().ok()
    }

    /// The minimum level of log messages. None if the client wants no log messages (MCP-LOG-02).
    ///
    /// # Errors
    ///
    /// -32602 if the level is unknown.
    pub fn log_level(&self) -> Result<Option<LogLevel>, ErrorObject> {
        self.log_level.as_ref().map(|level| decode(level, LOG_LEVEL)).transpose()
    }
}

fn is_string(json: &Json) -> bool {
    json.kind() == Kind::String
}

fn required<T: serde::de::DeserializeOwned + 'static>(
    member: &Option<Json>,
    key: &'static str,
) -> Result<T, ErrorObject> {
    let missing = || ErrorObject::invalid_params(format!("the request has no _meta[\"{key}\"]"));
    decode(member.as_ref().ok_or_else(missing)?, key)
}

fn decode<T: serde::de::DeserializeOwned + 'static>(
    member: &Json,
    key: &'static str,
) -> Result<T, ErrorObject> {
    member.decode().map_err(|_| ErrorObject::invalid_params(format!("_meta[\"{key}\"] is malformed")))
}

/// Whether a key of `_meta` is valid: an optional prefix of labels, and a name (MCP-B-07).
///
/// # Examples
///
/// ```
/// use switchboard_mcp::model::meta::is_valid_key;
///
/// assert!(is_valid_key("com.example/trace-id"));
/// assert!(!is_valid_key("com..example/trace-id"));
/// ```
#[must_use]
pub fn is_valid_key(key: &str) -> bool {
    let (prefix, name) = split(key);
    prefix.is_none_or(|prefix| prefix.split('.').all(is_label)) && is_name(name)
}

/// Whether a key of `_meta` is reserved for the protocol (MCP-B-07).
#[must_use]
pub fn is_reserved_key(key: &str, revision: Revision) -> bool {
    let (Some(prefix), _) = split(key) else {
        let is_trace = matches!(key, TRACEPARENT | TRACESTATE | BAGGAGE);
        return key == PROGRESS_TOKEN || is_trace && revision >= Revision::V2026_07_28;
    };
    let is_ours = |label: Option<&str>| matches!(label, Some("modelcontextprotocol" | "mcp"));
    match revision {
        Revision::V2024_11_05 | Revision::V2025_03_26 => false,
        // This revision reads prefixes as domains, `tools.mcp.com`; later ones as reversed domains, `com.mcp.tools`.
        Revision::V2025_06_18 => is_ours(prefix.rsplit('.').nth(1)),
        _ => is_ours(prefix.split('.').nth(1)),
    }
}

fn split(key: &str) -> (Option<&str>, &str) {
    key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name))
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let [Some(first), Some(last)] = [bytes.first(), bytes.last()] else { return true };
    first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() && bytes.iter().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-B-07
    #[test]
    fn keys_have_labels_and_a_name() {
        for key in ["", "a", "progressToken", "com.example/", "com.ex-ample/a-b_c.d", "a1/1", "x/y"] {
            assert!(is_valid_key(key), "{key}");
        }
        for key in ["-a", "a-", "/a", "1a/b", "com./a", "com.example-/a", "a/b/c", "a b", "ü"] {
            assert!(!is_valid_key(key), "{key}");
        }
    }

    // MCP-B-07
    #[test]
    fn reserved_prefixes_changed_with_the_revision() {
        use Revision::{V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
        let check = |key, expected: [bool; 4]| {
            let found = [V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28]
                .map(|revision| is_reserved_key(key, revision));
            assert_eq!(found, expected, "{key}");
        };
        check("modelcontextprotocol.io/a", [false, true, false, false]);
        check("tools.mcp.com/a", [false, true, true, true]);
        check("io.modelcontextprotocol/a", [false, false, true, true]);
        check("dev.mcp/a", [false, false, true, true]);
        check("com.mcp.tools/a", [false, true, true, true]);
        check("com.example.mcp/a", [false, false, false, false]);
        check("progressToken", [true; 4]);
        check("traceparent", [false, false, false, true]);
        check("a", [false; 4]);
    }

    // MCP-M-02, MCP-P-01
    #[test]
    fn a_modern_request_says_who_asks_and_what_the_client_can_do() {
        let params = r#"{"name": "add", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"sampling": {}},
            "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
            "io.modelcontextprotocol/logLevel": "warning",
            "progressToken": 7, "traceparent": "00-ab-cd-01", "tracestate": 5}}"#;
        let meta = RequestMeta::of(&Json::parse(params).unwrap());
        assert_eq!(meta.revision(&Revision::ALL), Ok(Revision::V2026_07_28));
        assert!(meta.client_capabilities().unwrap().sampling.is_some());
        assert_eq!(meta.client_info().unwrap().name, "probe");
        assert_eq!(meta.log_level(), Ok(Some(LogLevel::Warning)));
        assert_eq!(meta.progress_token.unwrap().as_str(), "7");
        assert_eq!(meta.traceparent.unwrap().as_str(), "\"00-ab-cd-01\"");
        assert_eq!(meta.tracestate, None);
    }

    // MCP-M-03, MCP-M-05, MCP-LOG-02
    #[test]
    fn incomplete_metadata_is_an_error_with_the_code_of_its_rule() {
        let code = |params: &str| {
            let meta = RequestMeta::of(&Json::parse(params.to_owned()).unwrap());
            let revision = meta.revision(&Revision::ALL).map(|_| ());
            let capabilities = meta.client_capabilities().map(|_| ());
            let level = meta.log_level().map(|_| ());
            [revision, capabilities, level].map(|result| result.err().map(|error| error.code.0))
        };
        assert_eq!(code("{}"), [Some(-32602), Some(-32602), None]);
        assert_eq!(code(r#"{"_meta": []}"#), [Some(-32602), Some(-32602), None]);
        let wrong = r#"{"_meta": {"io.modelcontextprotocol/protocolVersion": "1900-01-01",
            "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/logLevel": "loud"}}"#;
        assert_eq!(code(wrong), [Some(-32022), None, Some(-32602)]);
    }
}
