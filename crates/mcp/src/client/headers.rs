//! Headers that repeat parts of a stateless request (MCP-N-07, MCP-N-12, MCP-N-13).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_core::{Json, Kind};

use crate::catalog::HeaderParam;
use crate::model::methods;

/// The headers of arguments that travel in headers too.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParamHeaders(pub(super) Vec<(HeaderName, HeaderValue)>);

/// The headers of these arguments.
pub(crate) fn param_headers(arguments: &Json, params: &[HeaderParam]) -> ParamHeaders {
    let header = |param: &HeaderParam| {
        let value = param.path.iter().try_fold(arguments.clone(), |value, name| value.get(name))?;
        let text = match value.kind() {
            Kind::String => value.decode().ok()?,
            Kind::Bool | Kind::Number => value.to_string(),
            _ => return None,
        };
        let name = HeaderName::try_from(format!("mcp-param-{}", param.header)).ok()?;
        Some((name, encode(&text)?))
    };
    ParamHeaders(params.iter().filter_map(header).collect())
}

/// Adds the headers that name the method and its target.
pub(super) fn describe(headers: &mut HeaderMap, method: &str, params: Option<&Json>) {
    if let Some(method) = encode(method) {
        headers.insert("mcp-method", method);
    }
    let member = match method {
        methods::CALL_TOOL | methods::GET_PROMPT => "name",
        methods::READ_RESOURCE => "uri",
        _ => return,
    };
    let target = params.and_then(|params| params.get(member)?.decode::<String>().ok());
    if let Some(target) = target.as_deref().and_then(encode) {
        headers.insert("mcp-name", target);
    }
}

/// A text as the value of a header. What is not plain is encoded.
fn encode(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    match is_plain {
        true => HeaderValue::from_str(text).ok(),
        false => HeaderValue::try_from(format!("=?base64?{}?=", STANDARD.encode(text))).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-N-13
    #[test]
    fn texts_that_are_not_plain_are_encoded() {
        let check = |text: &str, expected: &str| assert_eq!(encode(text).unwrap(), expected, "{text:?}");
        check("us-west1", "us-west1");
        check("a b", "a b");
        check("", "");
        check("é", "=?base64?w6k=?=");
        check(" a", "=?base64?IGE=?=");
        check("a\nb", "=?base64?YQpi?=");
        check("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?=");
    }

    // MCP-N-12
    #[test]
    fn arguments_are_repeated_unless_they_are_missing() {
        let arguments = Json::parse(r#"{"region":"eu","n":{"count":3},"none":null}"#).unwrap();
        let param = |header: &str, path: &[&str]| HeaderParam {
            header: header.to_owned(),
            path: path.iter().map(|name| (*name).to_owned()).collect(),
        };
        let params = [
            param("region", &["region"]),
            param("count", &["n", "count"]),
            param("none", &["none"]),
            param("no", &["no"]),
        ];
        let ParamHeaders(headers) = param_headers(&arguments, &params);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(headers, [("mcp-param-region", &b"eu"[..]), ("mcp-param-count", b"3")]);
    }
}
