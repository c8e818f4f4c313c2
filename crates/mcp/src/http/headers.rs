//! Headers that repeat parts of the message (MCP-N-07 to MCP-N-13): they have to agree with it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use switchboard_core::{ErrorObject, Json, Kind};

use super::message::Posted;
use super::{PROTOCOL_VERSION, header};
use crate::catalog::{Catalog, HeaderParam};
use crate::model::error::header_mismatch;
use crate::model::methods;

/// Whether the version in the header is that of the message.
pub(super) fn check_version(headers: &HeaderMap, posted: &Posted) -> Result<(), ErrorObject> {
    let version = posted.meta.protocol_version.as_ref().and_then(|version| version.decode::<String>().ok());
    match (header(headers, PROTOCOL_VERSION), version) {
        (Some(header), Some(version)) if header == version => Ok(()),
        (_, None) => Ok(()),
        (None, _) => Err(header_mismatch("MCP-Protocol-Version is missing, or given more than once")),
        (Some(_), _) => Err(header_mismatch("MCP-Protocol-Version and the version in _meta differ")),
    }
}

/// Whether the headers that name the method, its target and its arguments agree with the message.
pub(super) fn check(headers: &HeaderMap, posted: &Posted, catalog: &Catalog) -> Result<(), ErrorObject> {
    let method = posted.method.as_deref().unwrap_or_default();
    match header(headers, "mcp-method") {
        Some(given) if given == method => {}
        Some(_) => return Err(header_mismatch("Mcp-Method and the method differ")),
        None => return Err(header_mismatch("Mcp-Method is missing, or given more than once")),
    }
    let params = posted.params.as_ref();
    let text = |name: &str| params.and_then(|params| params.get(name)?.decode::<String>().ok());
    let member = match method {
        methods::CALL_TOOL | methods::GET_PROMPT => "name",
        methods::READ_RESOURCE => "uri",
        methods::GET_TASK | methods::UPDATE_TASK | methods::CANCEL_TASK => "taskId",
        _ => return Ok(()),
    };
    let target = text(member);
    if let Some(target) = &target {
        let given = header(headers, "mcp-name").ok_or_else(|| header_mismatch("Mcp-Name is missing"))?;
        if decode(given)? != *target {
            return Err(header_mismatch(format!("Mcp-Name and params.{member} differ")));
        }
    }
    let tool =
        target.filter(|_| method == methods::CALL_TOOL).and_then(|name| catalog.tools.get(&name).cloned());
    let arguments = params.and_then(|params| params.get("arguments"));
    tool.iter().flat_map(|tool| &tool.value.headers).try_for_each(|param| {
        let value = arguments.clone().and_then(|arguments| value_at(&arguments, &param.path));
        check_param(headers, param, value.as_ref())
    })
}

fn value_at(arguments: &Json, path: &[String]) -> Option<Json> {
    let value = path.iter().try_fold(arguments.clone(), |value, name| value.get(name))?;
    (value.kind() != Kind::Null).then_some(value)
}

/// Whether the header of an argument has its value. Without the argument there is nothing to compare.
fn check_param(headers: &HeaderMap, param: &HeaderParam, value: Option<&Json>) -> Result<(), ErrorObject> {
    let Some(value) = value else { return Ok(()) };
    let name = format!("mcp-param-{}", param.header);
    let missing =
        || header_mismatch(format!("Mcp-Param-{} is missing, or given more than once", param.header));
    let given = decode(header(headers, &name).ok_or_else(missing)?)?;
    let is_equal = match value.kind() {
        Kind::String => value.decode::<String>().is_ok_and(|value| value == given),
        Kind::Bool => value.as_str() == given,
        Kind::Number => same_number(value.as_str(), &given),
        _ => true,
    };
    match is_equal {
        true => Ok(()),
        false => Err(header_mismatch(format!("Mcp-Param-{} and the argument differ", param.header))),
    }
}

fn same_number(value: &str, given: &str) -> bool {
    value == given || matches!((value.parse::<f64>(), given.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}

/// The value of a header that may be encoded.
fn decode(value: &str) -> Result<String, ErrorObject> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(value.to_owned());
    };
    let decoded = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.ok_or_else(|| header_mismatch("a header is not valid Base64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-N-13
    #[test]
    fn only_whole_wrappers_are_decoded() {
        let check = |value: &str, expected: Option<&str>| {
            assert_eq!(decode(value).ok().as_deref(), expected, "{value}");
        };
        check("plain", Some("plain"));
        check("=?base64?w6k=?=", Some("é"));
        check("=?base64?w6k=", Some("=?base64?w6k="));
        check("=?base64?w6k?=", None);
        check("=?base64?/w==?=", None);
        check("=?base64?*?=", None);
        check("=?base64??=", Some(""));
    }
}
