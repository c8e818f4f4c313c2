//! The handshake, shared by both sides: keys, tokens and required headers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Version};

/// Why a request is not a valid handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// A method other than GET.
    #[error("WebSocket handshakes use GET")]
    Method,
    /// An HTTP version other than 1.1.
    #[error("WebSocket connections need HTTP/1.1")]
    HttpVersion,
    /// No `Upgrade: websocket` with `Connection: Upgrade`.
    #[error("`Upgrade: websocket` and `Connection: Upgrade` are needed")]
    Upgrade,
    /// A protocol version other than 13.
    #[error("`Sec-WebSocket-Version` must be 13")]
    Version,
    /// No key of 16 bytes.
    #[error("`Sec-WebSocket-Key` must be 16 bytes in Base64, given once")]
    Key,
    /// A body, whose bytes could be mistaken for frames.
    #[error("a WebSocket handshake must not have a body")]
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

/// When the head of a message is worth another look, however slowly its bytes come.
///
/// Reading a head from its beginning after each byte would take the square of its length. It is read when its end may have
/// come, and otherwise when it has doubled, so that what is not HTTP is noticed early.
#[derive(Debug, Default)]
pub(super) struct HeadWatch {
    /// How many bytes were searched for the end.
    searched: usize,
    /// How many bytes there were when the head was read last.
    read: usize,
}

impl HeadWatch {
    /// Whether to read the head now that these bytes are there.
    pub(super) fn is_due(&mut self, bytes: &[u8]) -> bool {
        // The end is an empty line; the line before it may have come with the last bytes.
        let new = &bytes[self.searched.saturating_sub(2)..];
        let has_end =
            new.windows(2).any(|two| two == b"\n\n") || new.windows(3).any(|three| three == b"\n\r\n");
        self.searched = bytes.len();
        let is_due = has_end || bytes.len() >= 2 * self.read;
        if is_due {
            self.read = bytes.len();
        }
        is_due
    }
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
    fn a_head_that_drips_is_read_a_few_times_and_always_at_its_end() {
        let check = |head: &str| {
            let mut watch = HeadWatch::default();
            let due = (1..=head.len()).filter(|length| watch.is_due(&head.as_bytes()[..*length]));
            let due: Vec<usize> = due.collect();
            assert!(due.len() < 20, "{due:?}");
            assert_eq!(due.last(), Some(&head.len()));
        };
        check(&format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(10_000)));
        check(&format!("GET / HTTP/1.1\nx: {}\n\n", "x".repeat(10_000)));
        check("GET / HTTP/1.1\r\n\r\n");
    }

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
