//! The handshake, as far as both sides know it: keys, tokens and what a request must have.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Version};

/// Why a request is no handshake that can be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// Another method than GET.
    #[error("a WebSocket is opened with GET")]
    Method,
    /// Another version of HTTP than 1.1.
    #[error("a WebSocket is opened over HTTP/1.1")]
    HttpVersion,
    /// No `Upgrade: websocket` with `Connection: Upgrade`.
    #[error("`Upgrade: websocket` and `Connection: Upgrade` are needed")]
    Upgrade,
    /// Another version of the protocol than 13.
    #[error("`Sec-WebSocket-Version` must be 13")]
    Version,
    /// No key of 16 bytes.
    #[error("`Sec-WebSocket-Key` must be 16 bytes in Base64, and stand once")]
    Key,
    /// A body, whose bytes could be taken for frames.
    #[error("a request for a WebSocket has no body")]
    Body,
}

/// What a server answers a good handshake with.
#[derive(Clone, Debug)]
pub(crate) struct Agreement {
    pub(crate) accept: HeaderValue,
    pub(crate) protocol: Option<HeaderValue>,
}

impl Agreement {
    /// Looks at the head of a request. `Host` and `Origin` are looked at elsewhere.
    pub(crate) fn reach(
        method: &Method,
        version: Version,
        headers: &HeaderMap,
        protocols: &[String],
    ) -> Result<Agreement, HandshakeError> {
        if version != Version::HTTP_11 {
            return Err(HandshakeError::HttpVersion);
        }
        if method != Method::GET {
            return Err(HandshakeError::Method);
        }
        if !asks_for_websocket(headers) || !has_token(headers, &header::CONNECTION, "upgrade") {
            return Err(HandshakeError::Upgrade);
        }
        let has_length = headers.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0");
        if has_length || headers.contains_key(header::TRANSFER_ENCODING) {
            return Err(HandshakeError::Body);
        }
        if only(headers, &header::SEC_WEBSOCKET_VERSION) != Some(b"13") {
            return Err(HandshakeError::Version);
        }
        let key = only(headers, &header::SEC_WEBSOCKET_KEY).ok_or(HandshakeError::Key)?;
        if STANDARD.decode(key).map_or(0, |bytes| bytes.len()) != 16 {
            return Err(HandshakeError::Key);
        }
        let accept = HeaderValue::from_str(&accept_key(key)).map_err(|_| HandshakeError::Key)?;
        let asked = |protocol: &&String| has_token(headers, &header::SEC_WEBSOCKET_PROTOCOL, protocol);
        let protocol = protocols.iter().find(asked).and_then(|name| HeaderValue::from_str(name).ok());
        Ok(Agreement { accept, protocol })
    }

    /// Adds what the response says.
    pub(crate) fn add_to(self, headers: &mut HeaderMap) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(protocol) = self.protocol {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        }
    }
}

/// Whether a request wants to become a WebSocket.
pub(crate) fn asks_for_websocket(headers: &HeaderMap) -> bool {
    has_token(headers, &header::UPGRADE, "websocket")
}

/// What proves that the server understood the client's key: SHA-1 is what RFC 6455 fixes, and hides nothing.
pub(super) fn accept_key(key: &[u8]) -> String {
    const MAGIC: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    let mut hash = sha1_smol::Sha1::new();
    hash.update(key);
    hash.update(MAGIC);
    STANDARD.encode(hash.digest().bytes())
}

/// A key for a client's handshake.
pub(super) fn new_key(nonce: [u8; 16]) -> String {
    STANDARD.encode(nonce)
}

/// Whether a header's list of tokens, over all its lines, holds this one.
pub(super) fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    values.map(<[u8]>::trim_ascii).any(|value| value.eq_ignore_ascii_case(token.as_bytes()))
}

/// The value of a header that stands once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(|value| value.as_bytes().trim_ascii());
    if values.next().is_some() { None } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in of {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    const GOOD: &[(&str, &str)] = &[
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-protocol", "chat, jsonrpc"),
    ];

    #[test]
    fn the_example_of_the_rfc_is_accepted() {
        let protocols = ["jsonrpc".to_owned()];
        let agreement = Agreement::reach(&Method::GET, Version::HTTP_11, &headers(GOOD), &protocols).unwrap();
        assert_eq!(agreement.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(agreement.protocol.unwrap(), "jsonrpc");
    }

    #[test]
    fn whatever_is_missing_or_wrong_is_told() {
        let check = |name: &str, value: Option<&'static str>, expected: HandshakeError| {
            let mut list: Vec<_> = GOOD.iter().copied().filter(|(other, _)| *other != name).collect();
            list.extend(value.map(|value| ("", value)).iter().map(|(_, value)| {
                let name = GOOD.iter().find(|(other, _)| *other == name).unwrap().0;
                (name, *value)
            }));
            let reached = Agreement::reach(&Method::GET, Version::HTTP_11, &headers(&list), &[]);
            assert_eq!(reached.map(|_| ()), Err(expected), "{name}: {value:?}");
        };
        check("connection", None, HandshakeError::Upgrade);
        check("connection", Some("close"), HandshakeError::Upgrade);
        check("upgrade", Some("h2c"), HandshakeError::Upgrade);
        check("sec-websocket-version", Some("8"), HandshakeError::Version);
        check("sec-websocket-version", None, HandshakeError::Version);
        check("sec-websocket-key", None, HandshakeError::Key);
        check("sec-websocket-key", Some("c2hvcnQ="), HandshakeError::Key);
        check("sec-websocket-key", Some("not base64"), HandshakeError::Key);
        let posted = Agreement::reach(&Method::POST, Version::HTTP_11, &headers(GOOD), &[]);
        assert_eq!(posted.unwrap_err(), HandshakeError::Method);
        let two = Agreement::reach(&Method::GET, Version::HTTP_2, &headers(GOOD), &[]);
        assert_eq!(two.unwrap_err(), HandshakeError::HttpVersion);
    }
}
