//! From messages to the text of a frame, written by hand into one buffer.
//!
//! All input was checked or written by us, so nothing is checked again.

use std::ops::Range;

use crate::context::Version;
use crate::error::ErrorObject;
use crate::gap::Gap;
use crate::id::Id;
use crate::json::Json;
use crate::name::Name;

/// Writes a response, its members in the order in which the specification prints them.
#[inline]
pub(crate) fn response(out: &mut Vec<u8>, version: Version, id: &Id, outcome: Result<&Json, &ErrorObject>) {
    match (version, outcome) {
        (Version::V2, Ok(result)) => {
            out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"result\":");
            result.append_to(out);
            after_outcome(out, id);
        }
        (Version::V2, Err(failure)) => {
            out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"error\":");
            error(out, failure);
            after_outcome(out, id);
        }
        (Version::V1, outcome) => response_v1(out, id, outcome),
    }
}

/// Adds members that the protocol does not define to the response that `out` ends with.
pub(crate) fn append_members(out: &mut Vec<u8>, members: &Json) {
    let [b'{', inside @ .., b'}'] = members.as_bytes() else { return };
    if !inside.trim_ascii().is_empty() && out.pop_if(|last| *last == b'}').is_some() {
        out.push(b',');
        out.extend_from_slice(inside);
        out.push(b'}');
    }
}

fn response_v1(out: &mut Vec<u8>, id: &Id, outcome: Result<&Json, &ErrorObject>) {
    out.extend_from_slice(b"{\"result\":");
    match outcome {
        Ok(result) => {
            result.append_to(out);
            out.extend_from_slice(b",\"error\":null");
        }
        Err(failure) => {
            out.extend_from_slice(b"null,\"error\":");
            error(out, failure);
        }
    }
    after_outcome(out, id);
}

/// Where the result of a response begins.
pub(crate) fn result_start(version: Version) -> usize {
    match version {
        Version::V2 => b"{\"jsonrpc\":\"2.0\",\"result\":".len(),
        Version::V1 => b"{\"result\":".len(),
    }
}

/// How long a response with this result is.
pub(crate) fn result_len(version: Version, id: &Id, result: &Json) -> usize {
    let frame = match version {
        Version::V2 => b"{\"jsonrpc\":\"2.0\",\"result\":,\"id\":}".len(),
        Version::V1 => b"{\"result\":,\"error\":null,\"id\":}".len(),
    };
    frame + id.as_bytes().len() + result.as_bytes().len()
}

/// Writes the response that begins a stream, with members that the protocol does not define.
///
/// `flag` is the value of the member `stream`: true, or the names that the stream goes by.
pub(crate) fn stream_start(
    out: &mut Vec<u8>,
    id: &Id,
    subscription: &Json,
    flag: &Json,
    members: Option<&Json>,
) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"result\":");
    out.extend_from_slice(subscription.as_bytes());
    out.extend_from_slice(b",\"stream\":");
    out.extend_from_slice(flag.as_bytes());
    after_outcome(out, id);
    if let Some(members) = members {
        append_members(out, members);
    }
}

/// Appends a call in this version to `out`, with members that the protocol does not define.
///
/// `members` is an object; its members are written beside those of the protocol.
pub fn request(
    out: &mut Vec<u8>,
    version: Version,
    id: &Id,
    method: &Name,
    params: Option<&Json>,
    members: Option<&Json>,
) {
    before_method(out, version);
    name(out, method);
    after_method(out, version, params, members);
    out.extend_from_slice(b",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.push(b'}');
}

/// Appends a notification in this version to `out`, as [`encode_request`](super::encode_request) does.
pub fn notification(
    out: &mut Vec<u8>,
    version: Version,
    method: &Name,
    params: Option<&Json>,
    members: Option<&Json>,
) {
    before_method(out, version);
    name(out, method);
    after_method(out, version, params, members);
    if version == Version::V1 {
        out.extend_from_slice(b",\"id\":null");
    }
    out.push(b'}');
}

/// Writes the notification that carries one item of a stream. Returns the place of its params.
pub(crate) fn item(
    out: &mut Vec<u8>,
    method: &Name,
    subscription: &Json,
    gap: Option<Gap>,
    item: &Json,
) -> Range<usize> {
    let start = about_stream(out, method, subscription, gap);
    out.extend_from_slice(b",\"result\":");
    out.extend_from_slice(item.as_bytes());
    out.extend_from_slice(b"}}");
    start..out.len() - 1
}

/// Writes the notification that items of a stream are missing, where none follows now.
pub(crate) fn lone_gap(out: &mut Vec<u8>, method: &Name, subscription: &Json, gap: Gap) -> Range<usize> {
    let start = about_stream(out, method, subscription, Some(gap));
    out.extend_from_slice(b"}}");
    start..out.len() - 1
}

/// Writes the notification that ends a stream.
pub(crate) fn stream_end(
    out: &mut Vec<u8>,
    method: &Name,
    subscription: &Json,
    gap: Option<Gap>,
    failure: Option<&ErrorObject>,
) -> Range<usize> {
    let start = about_stream(out, method, subscription, gap);
    if let Some(failure) = failure {
        out.extend_from_slice(b",\"error\":");
        error(out, failure);
    }
    out.extend_from_slice(b"}}");
    start..out.len() - 1
}

/// Returns the place where the params begin.
fn about_stream(out: &mut Vec<u8>, method: &Name, subscription: &Json, gap: Option<Gap>) -> usize {
    before_method(out, Version::V2);
    name(out, method);
    out.extend_from_slice(b",\"params\":");
    let start = out.len();
    out.extend_from_slice(b"{\"subscription\":");
    out.extend_from_slice(subscription.as_bytes());
    if let Some(gap) = gap {
        out.extend_from_slice(b",\"gap\":");
        serde_json::to_writer(out, &gap).expect("a gap can be written");
    }
    start
}

#[inline(always)]
fn after_outcome(out: &mut Vec<u8>, id: &Id) {
    out.extend_from_slice(b",\"id\":");
    id.append_to(out);
    out.push(b'}');
}

fn before_method(out: &mut Vec<u8>, version: Version) {
    out.extend_from_slice(match version {
        Version::V2 => &b"{\"jsonrpc\":\"2.0\",\"method\":"[..],
        Version::V1 => b"{\"method\":",
    });
}

fn after_method(out: &mut Vec<u8>, version: Version, params: Option<&Json>, members: Option<&Json>) {
    match (params, version) {
        (Some(params), _) => {
            out.extend_from_slice(b",\"params\":");
            out.extend_from_slice(params.as_bytes());
        }
        (None, Version::V1) => out.extend_from_slice(b",\"params\":[]"),
        (None, Version::V2) => {}
    }
    if let Some([b'{', inside @ .., b'}']) = members.map(Json::as_bytes) {
        out.push(b',');
        out.extend_from_slice(inside);
    }
}

/// Appends an error as responses have it.
pub fn error(out: &mut Vec<u8>, error: &ErrorObject) {
    out.extend_from_slice(b"{\"code\":");
    serde_json::to_writer(&mut *out, &error.code.0).expect("a number can be written");
    out.extend_from_slice(b",\"message\":");
    string(out, &error.message);
    if let Some(data) = &error.data {
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(data.as_bytes());
    }
    out.push(b'}');
}

/// Writes the name of a method, which hardly ever has a character that must be escaped.
fn name(out: &mut Vec<u8>, name: &Name) {
    if name.as_bytes().iter().any(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F)) {
        return string(out, name.as_str());
    }
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
}

fn string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a string can be written");
}
