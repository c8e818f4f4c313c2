//! The heads of requests and responses as text, for debugging: without secrets.

use std::borrow::Cow;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

/// The head of a request to this path.
pub(crate) fn request(method: &Method, path: &str, headers: &HeaderMap) -> String {
    lines(format!("{method} {}", masked_query(path)), headers)
}

/// The head of a request that opens a WebSocket: with its own headers, which hold no secrets, and with others.
#[cfg(feature = "ws")]
pub(crate) fn handshake(path: &str, own: &str, headers: &HeaderMap) -> String {
    let first = format!("{} {}", Method::GET, masked_query(path));
    lines(own.lines().fold(first, |text, line| text + "\n" + line), headers)
}

/// The head of a response.
pub(crate) fn response(status: StatusCode, headers: &HeaderMap) -> String {
    lines(status.to_string(), headers)
}

fn lines(mut text: String, headers: &HeaderMap) -> String {
    for (name, value) in headers {
        text.push_str(&format!("\n{name}: {}", shown(name, value)));
    }
    text
}

/// The placeholder of a secret.
const MASK: &str = "***";

/// A value as it may be shown. The scheme of credentials is not a secret, and helps to debug them.
fn shown<'a>(name: &HeaderName, value: &'a HeaderValue) -> Cow<'a, str> {
    let text = String::from_utf8_lossy(value.as_bytes());
    if !value.is_sensitive() && !is_secret(name.as_str()) {
        return text;
    }
    match text.split_once(' ') {
        Some((scheme, _)) if *name == header::AUTHORIZATION || *name == header::PROXY_AUTHORIZATION => {
            format!("{scheme} {MASK}").into()
        }
        _ => MASK.into(),
    }
}

/// A path whose query does not show what is called like a secret.
fn masked_query(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, _)) if is_secret(name) => format!("{name}={MASK}"),
            _ => pair.to_owned(),
        })
        .collect();
    format!("{path}?{}", pairs.join("&"))
}

/// Whether what has this name is better not shown: what is certain to be a secret, and what is called like one.
fn is_secret(name: &str) -> bool {
    // Browsers send tokens among the subprotocols of a WebSocket.
    const PARTS: [&str; 10] = [
        "auth",
        "token",
        "secret",
        "password",
        "cookie",
        "session",
        "signature",
        "apikey",
        "key",
        "websocket-protocol",
    ];
    const HARMLESS: [&str; 3] = ["www-authenticate", "sec-websocket-key", "idempotency-key"];
    let name = name.to_ascii_lowercase();
    !HARMLESS.contains(&name.as_str()) && PARTS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_shows_everything_but_secrets() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", "application/json"),
            ("authorization", "Bearer abc.def"),
            ("proxy-authorization", "abc"),
            ("cookie", "a=b"),
            ("x-api-key", "abc"),
            ("x-session-id", "abc"),
            ("sec-websocket-key", "dGhl"),
            ("sec-websocket-protocol", "jsonrpc, bearer.abc"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let mut marked = HeaderValue::from_static("abc");
        marked.set_sensitive(true);
        headers.insert("x-plain", marked);
        let text = request(&Method::POST, "/rpc?a=1&access_token=abc", &headers);
        let expected = "POST /rpc?a=1&access_token=***\ncontent-type: application/json\n\
             authorization: Bearer ***\nproxy-authorization: ***\ncookie: ***\nx-api-key: ***\n\
             x-session-id: ***\nsec-websocket-key: dGhl\nsec-websocket-protocol: ***\nx-plain: ***";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_head_of_a_response_begins_with_its_status() {
        let mut headers = HeaderMap::new();
        headers.insert("set-cookie", HeaderValue::from_static("id=1"));
        headers.insert("www-authenticate", HeaderValue::from_static("Bearer realm=\"x\""));
        let expected = "401 Unauthorized\nset-cookie: ***\nwww-authenticate: Bearer realm=\"x\"";
        assert_eq!(response(StatusCode::UNAUTHORIZED, &headers), expected);
    }
}
