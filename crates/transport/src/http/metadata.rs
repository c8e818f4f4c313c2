//! HTTP headers as metadata of calls, and metadata as headers.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use switchboard_core::{AllowedNames, Metadata, MetadataSource};

use super::head::TIMEOUT;
#[cfg(feature = "ws")]
use super::head::write_line;

/// The headers of a request, as hyper reads them.
struct Headers(HeaderMap);

impl MetadataSource for Headers {
    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a str, &'a [u8]) -> bool) {
        let _ = self.0.iter().all(|(name, value)| visit(name.as_str(), value.as_bytes()));
    }
}

/// What the headers of a request tell about its calls.
pub(super) fn of(headers: HeaderMap) -> Metadata {
    Metadata::from_source(Headers(headers))
}

/// What the headers of a handshake tell about all calls of the WebSocket, without what is about the handshake only. As one text,
/// because it is kept for as long as the connection: a header map is larger, and keeps the buffer that it was read into.
#[cfg(feature = "ws")]
pub(super) fn of_handshake(headers: &HeaderMap) -> Metadata {
    let mut lines = Vec::with_capacity(256);
    for (name, value) in headers {
        let is_handshake = name.as_str().starts_with("sec-websocket-") || is_reserved(name);
        // Browsers send tokens among the subprotocols: they cannot set other headers.
        if !is_handshake || [header::HOST, header::SEC_WEBSOCKET_PROTOCOL].contains(name) {
            write_line(&mut lines, name, value);
        }
    }
    Metadata::from_head(Bytes::from(lines.into_boxed_slice()))
}

/// The headers of a response with these names, as metadata.
pub(super) fn select(headers: &HeaderMap, names: &AllowedNames) -> Metadata {
    let allowed = headers.iter().filter(|(name, _)| names.contains(name.as_str()));
    allowed.map(|(name, value)| (name.as_str(), Bytes::copy_from_slice(value.as_bytes()))).collect()
}

/// Adds metadata to the headers of a request, in the place of values that every request has. What belongs to the connection or
/// to the body stays as it is.
pub(super) fn add(headers: &mut HeaderMap, metadata: &Metadata) {
    let mut added: Vec<HeaderName> = Vec::new();
    for (name, value) in metadata.entries() {
        let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value))
        else {
            tracing::debug!(name, "skipped metadata that is not a valid header");
            continue;
        };
        if is_reserved(&name) {
            tracing::debug!(%name, "skipped metadata named like a header that HTTP itself uses");
            continue;
        }
        if added.contains(&name) {
            headers.append(name, value);
        } else {
            headers.insert(name.clone(), value);
            added.push(name);
        }
    }
}

/// Whether a header is about the connection or the body, and not about the call.
pub(super) fn is_reserved(name: &HeaderName) -> bool {
    const RESERVED: [HeaderName; 13] = [
        header::ACCEPT,
        header::CONNECTION,
        header::CONTENT_ENCODING,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::EXPECT,
        header::HOST,
        header::PROXY_AUTHENTICATE,
        header::PROXY_AUTHORIZATION,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ];
    RESERVED.contains(name) || *name == TIMEOUT || name == "keep-alive"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_replaces_headers_but_not_those_of_the_connection_or_the_body() {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer all"));
        let metadata = Metadata::from_iter([
            ("Authorization", "Bearer one"),
            ("x-tag", "1"),
            ("X-Tag", "2"),
            ("Content-Length", "9"),
            ("Host", "elsewhere"),
            ("no name", "1"),
            ("x-bad", "a\nb"),
        ]);
        add(&mut headers, &metadata);
        assert_eq!(headers.get("authorization").unwrap(), "Bearer one");
        assert_eq!(headers.get_all("x-tag").iter().collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(headers.len(), 3);
    }
}
