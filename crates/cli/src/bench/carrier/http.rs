//! HTTP/1.1: one request after the other, or several at once, and their responses in the same order.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName};

use super::{Event, LIMIT};
use crate::bench::form::Form;
use crate::bench::work::Text;
use crate::check::wire::http::write_headers;
use crate::responses::{self, Read, Responses};

/// What every request begins with.
#[derive(Clone, Debug)]
pub(crate) struct Head(Arc<[u8]>);

impl Head {
    /// A head for this host and path. Headers that are given take the place of those that there would be.
    pub(crate) fn new(host: &str, path: &str, headers: &HeaderMap) -> Head {
        let mut bytes = format!("POST {path} HTTP/1.1\r\n").into_bytes();
        let usual: [(HeaderName, &str); 4] = [
            (HOST, host),
            (CONTENT_TYPE, "application/json"),
            (ACCEPT, "application/json"),
            (USER_AGENT, concat!("switchboard/", env!("CARGO_PKG_VERSION"))),
        ];
        for (name, value) in usual.iter().filter(|(name, _)| !headers.contains_key(name)) {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        write_headers(&mut bytes, headers);
        Head(bytes.into())
    }
}

/// Requests and responses on one connection.
#[derive(Debug)]
pub(crate) struct Http {
    head: Head,
    responses: Responses,
}

impl Http {
    pub(crate) fn new(head: Head) -> Http {
        Http { head, responses: Responses::new(LIMIT) }
    }

    pub(super) fn form(&self, text: &Text) -> Form {
        let mut bytes = self.head.0.to_vec();
        bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", text.bytes.len()).as_bytes());
        let shift = bytes.len();
        bytes.extend_from_slice(&text.bytes);
        Form::new(bytes, &text.holes, shift)
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.responses.buffer().extend_from_slice(bytes);
    }

    pub(super) fn said(&self) -> String {
        format!("HTTP status {}", self.responses.head().status)
    }

    pub(super) fn next(&mut self) -> Result<Option<Event>, String> {
        Ok(self.responses.next()?.map(|read| self.event(read)))
    }

    pub(super) fn finish(&mut self) -> Option<Event> {
        self.responses.finish().map(|read| self.event(read))
    }

    /// A response, as what it is.
    fn event(&self, read: Read) -> Event {
        let Read::Response(body) = read else { return Event::End };
        let responses::Head { status, is_stream, .. } = *self.responses.head();
        let body = if is_stream { last_event(&body) } else { body };
        match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{' | b'[') => Event::Message(body),
            Some(_) => {
                let text: String =
                    String::from_utf8_lossy(&body[..body.len().min(400)]).chars().take(60).collect();
                Event::NoAnswer(format!("HTTP status {status}: {}", text.trim()))
            }
            None => Event::NoAnswer(format!("HTTP status {status} without a body")),
        }
    }
}

/// The data of the last event of a stream: the answer follows everything else.
fn last_event(body: &Bytes) -> Bytes {
    let lines = body.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
    let last = lines.map(<[u8]>::trim_ascii).rfind(|data| !data.is_empty() && *data != b"[DONE]");
    last.map_or_else(Bytes::new, |data| body.slice_ref(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http() -> Http {
        Http::new(Head::new("a:1", "/rpc", &HeaderMap::new()))
    }

    /// What is read from these bytes, however they are cut, and at their end.
    fn events(bytes: &str) -> Vec<String> {
        let all = |size: usize| {
            let mut http = http();
            let mut events = Vec::new();
            let mut take = |http: &mut Http| {
                loop {
                    match http.next() {
                        Ok(Some(Event::End)) => return events.push("end".to_owned()),
                        Ok(Some(Event::Message(body))) => {
                            events.push(String::from_utf8(body.to_vec()).unwrap());
                        }
                        Ok(Some(other)) => events.push(format!("{other:?}")),
                        Ok(None) => return,
                        Err(error) => return events.push(error),
                    }
                }
            };
            for part in bytes.as_bytes().chunks(size) {
                http.feed(part);
                take(&mut http);
            }
            if let Some(Event::Message(body)) = http.finish() {
                events.push(format!("at the end {}", String::from_utf8(body.to_vec()).unwrap()));
            }
            events.dedup();
            events
        };
        assert_eq!(all(1), all(bytes.len()), "{bytes}");
        all(bytes.len())
    }

    #[test]
    fn a_request_has_a_head_and_the_headers_that_are_given() {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, "x/y".parse().unwrap());
        let http = Http::new(Head::new("a:1", "/rpc", &headers));
        let mut out = Vec::new();
        http.form(&Text { bytes: b"[000000000]".to_vec(), holes: vec![1] }).write(100_000_007, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with("POST /rpc HTTP/1.1\r\nhost: a:1\r\ncontent-type: application/json\r\n"),
            "{text}"
        );
        assert!(text.contains("\r\naccept: x/y\r\n") && !text.contains("accept: application"), "{text}");
        assert!(text.ends_with("\r\ncontent-length: 11\r\n\r\n[100000007]"), "{text}");
    }

    #[test]
    fn responses_end_where_they_say() {
        let sized = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(events(&format!("{sized}HTTP/1.1 100 Continue\r\n\r\n{sized}")), ["{}"]);
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n";
        assert_eq!(events(chunked), ["{}"]);
        let trailers = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA: b\r\n\r\n";
        assert_eq!(events(&format!("{trailers}{chunked}")), ["{}"]);
        assert_eq!(events("HTTP/1.1 200 OK\r\n\r\n{}"), ["at the end {}"]);
        assert_eq!(
            events("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"),
            ["{}", "end"]
        );
        assert_eq!(events("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}"), ["{}", "end"]);
    }

    #[test]
    fn the_answer_in_a_stream_of_events_is_its_last() {
        let body = "event: x\ndata: {\"method\":1}\n\ndata: {\"id\":1}\n\ndata: [DONE]\n\n";
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
        let found = events(&format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()));
        assert_eq!(found, ["{\"id\":1}"]);
    }

    #[test]
    fn what_is_no_answer_is_told_with_its_status() {
        let told = events("HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\n\r\n<html>");
        assert_eq!(told, ["NoAnswer(\"HTTP status 404: <html>\")"]);
        let told = events("HTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(told, ["NoAnswer(\"HTTP status 204 without a body\")"]);
    }

    #[test]
    fn a_response_that_is_not_http_ends_it() {
        assert!(events("SSH-2.0-x\r\n")[0].contains("no HTTP/1.1"));
        assert!(events("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n")[0].contains("length"));
        assert!(events("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")[0].contains("longer"));
        assert!(events("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")[0].contains("chunk"));
    }

    /// Parts of which a response may be made, in any order.
    const PARTS: [&str; 12] = [
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 404 No\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "Content-Length: 2\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        "Content-Type: text/event-stream\r\n",
        "\r\n",
        "{}",
        "2\r\n{}\r\n",
        "0\r\n\r\n",
    ];

    proptest::proptest! {
        #[test]
        fn however_a_response_is_cut_the_same_comes_of_it(parts in proptest::collection::vec(0..PARTS.len(), 1..12)) {
            // It compares, and panics if that differs.
            events(&parts.into_iter().map(|part| PARTS[part]).collect::<String>());
        }
    }
}
