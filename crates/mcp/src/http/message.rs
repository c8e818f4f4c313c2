//! What a body is, before it is answered (MCP-X-04, MCP-X-06).

use bytes::Bytes;
use http::HeaderMap;
use http::header;
use switchboard_core::{ErrorObject, Json, Kind};

use crate::model::RequestMeta;

/// A message in the body of a request.
pub(super) struct Posted {
    pub(super) json: Json,
    pub(super) id: Option<Json>,
    pub(super) method: Option<String>,
    pub(super) params: Option<Json>,
    pub(super) meta: RequestMeta,
}

impl Posted {
    pub(super) fn read(text: &Bytes) -> Result<Posted, ErrorObject> {
        let json = Json::parse(text.clone()).map_err(|error| ErrorObject::parse_error(error.to_string()))?;
        let [id, method, params] = json.pick(["id", "method", "params"]);
        let id = id.filter(|id| matches!(id.kind(), Kind::String | Kind::Number));
        let method = method.and_then(|method| method.decode().ok());
        let meta = params.as_ref().map(RequestMeta::of).unwrap_or_default();
        Ok(Posted { json, id, method, params, meta })
    }

    pub(super) fn is_batch(&self) -> bool {
        self.json.kind() == Kind::Array
    }

    /// Whether an answer is expected.
    pub(super) fn is_request(&self) -> bool {
        self.method.is_some() && self.json.get("id").is_some()
    }

    /// Whether it answers a request of this side.
    pub(super) fn is_response(&self) -> bool {
        self.method.is_none() && (self.json.get("result").is_some() || self.json.get("error").is_some())
    }
}

/// Whether the body is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let essence = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = essence.and_then(|value| value.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Whether the client takes both kinds of answers (MCP-HTTP-02). One that says nothing takes anything.
pub(super) fn takes_both(headers: &HeaderMap) -> bool {
    accepts(headers, "application/json") && accepts(headers, "text/event-stream")
}

/// Whether `Accept` has this media type.
pub(super) fn accepts(headers: &HeaderMap, media: &str) -> bool {
    let mut lines = headers.get_all(header::ACCEPT).iter().peekable();
    if lines.peek().is_none() {
        return true;
    }
    let family = media.split('/').next().unwrap_or_default();
    lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(',')).any(|range| {
        let range = range.split(';').next().unwrap_or_default().trim();
        range == "*/*"
            || range.eq_ignore_ascii_case(media)
            || range.strip_suffix("/*").is_some_and(|known| known.eq_ignore_ascii_case(family))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-HTTP-02
    #[test]
    fn clients_take_json_and_events_or_do_not_say() {
        let check = |accept: Option<&'static str>, expected: bool| {
            let accept = accept.map(|value| (header::ACCEPT, http::HeaderValue::from_static(value)));
            assert_eq!(takes_both(&accept.into_iter().collect()), expected);
        };
        check(None, true);
        check(Some("*/*"), true);
        check(Some("application/json, text/event-stream"), true);
        check(Some("text/event-stream;q=0.5,application/*"), true);
        check(Some("application/json"), false);
        check(Some("text/html"), false);
    }
}
