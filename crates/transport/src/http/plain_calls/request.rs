//! The bytes of a plain call: head and body in one buffer, so that they leave in one write.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName};
use http::uri::Scheme;
use http::{HeaderValue, Uri};
use switchboard_core::Metadata;
use tokio::time::Instant;

use crate::http::client_options::HttpClientOptions;
use crate::http::head::{TIMEOUT, write_length, write_line};
use crate::http::metadata;

/// A longer body is not plain: the server may answer before it has read all of it.
const BODY: usize = 16 << 10;

/// The room for the last line of a head, which is written when the length of the body is known.
const LENGTH_LINE: usize = "content-length: 16384\r\n\r\n".len();

/// The head that all plain calls of a client have.
pub(super) struct RequestHead {
    /// The first line, and `Host`.
    start: Vec<u8>,
    headers: HeaderMap,
    /// The headers as they are written.
    lines: Vec<u8>,
}

/// A plain call, ready to be sent.
pub(in crate::http) struct Message {
    bytes: Vec<u8>,
    /// Where the body begins.
    body: usize,
    pub(in crate::http) metadata: Metadata,
    pub(in crate::http) deadline: Option<Instant>,
}

impl RequestHead {
    /// The head of plain calls with these options; none if an option affects every call.
    pub(super) fn new(uri: &Uri, options: &HttpClientOptions) -> Option<RequestHead> {
        // Without `..`: a new option does not compile until its effect on plain calls is stated here.
        let HttpClientOptions {
            headers,
            http2,
            seal,
            tap,
            // Applied to plain calls as well.
            connect_time: _,
            call_time: _,
            idle_time: _,
            version: _,
            #[cfg(feature = "tls")]
                tls: _,
            limits: _,
            inherit: _,
            reply_metadata: _,
            addresses: _,
            // This concerns event streams only.
            silence: _,
        } = options;
        if *http2 || seal.is_some() || tap.is_some() || headers.keys().any(changes_framing) {
            return None;
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let start = format!("POST {path} HTTP/1.1\r\nhost: {}\r\n", host(uri)).into_bytes();
        Some(RequestHead { start, lines: lines(headers), headers: headers.clone() })
    }

    /// A call with the body that `encode` writes.
    pub(super) fn message(
        &self,
        deadline: Option<Instant>,
        metadata: Metadata,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> Message {
        let mut bytes = Vec::with_capacity(self.start.len() + self.lines.len() + 256);
        bytes.extend_from_slice(&self.start);
        if metadata.is_empty() {
            bytes.extend_from_slice(&self.lines);
        } else {
            let mut headers = self.headers.clone();
            metadata::add(&mut headers, &metadata);
            bytes.extend_from_slice(&lines(&headers));
        }
        if let Some(deadline) = deadline {
            let told = deadline.saturating_duration_since(Instant::now()).as_millis();
            bytes.extend_from_slice(format!("{TIMEOUT}: {told}\r\n").as_bytes());
        }
        let line = bytes.len();
        bytes.resize(line + LENGTH_LINE, 0);
        encode(&mut bytes);
        let body = close_head(&mut bytes, line);
        Message { bytes, body, metadata, deadline }
    }
}

/// Writes the length of the body to the end of the head, and moves the body up to it. Returns where it begins.
fn close_head(bytes: &mut Vec<u8>, line: usize) -> usize {
    let end = bytes.len();
    write_length(bytes, end - line - LENGTH_LINE);
    bytes.extend_from_slice(b"\r\n");
    let written = bytes.len() - end;
    if written > LENGTH_LINE {
        // A body that is so long is not plain: its head is not sent.
        bytes.truncate(end);
        return line + LENGTH_LINE;
    }
    bytes.copy_within(end.., line);
    bytes.copy_within(line + LENGTH_LINE..end, line + written);
    bytes.truncate(end - LENGTH_LINE + written);
    line + written
}

impl Message {
    /// What to send; none if the body is too long to be plain.
    pub(super) fn plain(&self) -> Option<&[u8]> {
        (self.bytes.len() - self.body <= BODY).then_some(&self.bytes)
    }

    pub(in crate::http) fn into_body(self) -> Bytes {
        Bytes::from(self.bytes).slice(self.body..)
    }
}

/// Whether a header changes how a request or the connection is read.
fn changes_framing(name: &HeaderName) -> bool {
    metadata::is_reserved(name) && ![header::ACCEPT, header::CONTENT_TYPE].contains(name)
}

fn lines(headers: &HeaderMap<HeaderValue>) -> Vec<u8> {
    let mut lines = Vec::with_capacity(256);
    for (name, value) in headers {
        write_line(&mut lines, name, value);
    }
    lines
}

/// The value of `Host`, without the port that the scheme implies.
fn host(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    let implied = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    match uri.port_u16().filter(|port| *port != implied) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(url: &str, body: &str) -> String {
        let uri: Uri = url.parse().unwrap();
        let options = HttpClientOptions::default();
        let head = RequestHead::new(&uri, &options).unwrap();
        let message = head.message(None, Metadata::default(), |out| out.extend_from_slice(body.as_bytes()));
        let bytes = message.bytes.clone();
        assert_eq!(&message.into_body()[..], body.as_bytes());
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn head_and_body_follow_each_other_whatever_the_length() {
        for length in [0, 1, 9, 10, 99, 100, 9_999, 10_000, BODY, 99_999, 1_000_000] {
            let body = "x".repeat(length);
            let sent = sent("http://h:8000/rpc?a=b", &body);
            if length <= BODY {
                let expected = format!(
                    "POST /rpc?a=b HTTP/1.1\r\nhost: h:8000\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                assert_eq!(sent, expected);
            }
        }
    }

    #[test]
    fn a_host_names_its_port_unless_the_scheme_implies_it() {
        let check = |url: &str, expected: &str| assert_eq!(host(&url.parse().unwrap()), expected, "{url}");
        check("http://a.example/", "a.example");
        check("http://a.example:80/", "a.example");
        check("http://a.example:443/", "a.example:443");
        check("https://a.example:443/", "a.example");
        check("http://[::1]:8000/", "[::1]:8000");
    }

    #[test]
    fn options_that_affect_every_call_leave_no_plain_ones() {
        let uri: Uri = "http://a.example/".parse().unwrap();
        let is_plain = |options: &HttpClientOptions| RequestHead::new(&uri, options).is_some();
        assert!(!is_plain(&HttpClientOptions::default().with_http2(true)));
        assert!(!is_plain(
            &HttpClientOptions::default().with_tap(Some(switchboard_core::Tap::new(|_, _| {})))
        ));
        let with = |name: &'static str| {
            let headers =
                HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static("x"))]);
            HttpClientOptions::default().with_headers(headers)
        };
        for name in ["authorization", "accept", "content-type", "cookie"] {
            assert!(is_plain(&with(name)), "{name}");
        }
        for name in ["connection", "content-length", "expect", "host", "te", "transfer-encoding", "upgrade"] {
            assert!(!is_plain(&with(name)), "{name}");
        }
    }
}
