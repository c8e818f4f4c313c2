//! Pseudo-random requests and options. The sequence is fixed, so failures are reproducible.

use std::time::Duration;

use http::{HeaderName, StatusCode};
use switchboard_core::{Limits, Settings};
use switchboard_transport::http::{
    Cors, DocumentRoute, EndpointOptions, Hosts, Origins, StatusMapping, StreamRoute,
};
use switchboard_transport::server::ServerOptions;

use super::ADD;

pub struct Picks(pub u64);

impl Picks {
    pub fn number(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    /// One of these; mostly the first.
    fn mostly<T: Clone>(&mut self, list: &[T]) -> T {
        if self.number(8) > 0 { list[0].clone() } else { self.any(list) }
    }

    /// One of these.
    fn any<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.number(list.len())].clone()
    }

    /// A request in which HOST stands for the address of the server. Most are plain or nearly so.
    pub fn request(&mut self) -> String {
        let body = self.mostly(&[
            ADD,
            r#"[{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1},{"jsonrpc":"2.0","method":"x"}]"#,
            r#"{"jsonrpc":"2.0","method":"add","params":[2,3]}"#,
            r#"{"method":"add","params":[2,3],"id":1}"#,
            r#"{"jsonrpc":"2.0","method":"none","id":null}"#,
            "{",
            "",
        ]);
        let length = body.len().to_string();
        let (plus, long, short) = (format!("+{length}"), format!("0{length}"), body.len().saturating_sub(1));
        let short = short.to_string();
        let start = self.mostly(&[
            "POST / HTTP/1.1",
            "POST /rpc HTTP/1.1",
            "POST /jsonrpc HTTP/1.1",
            "POST /?a=b HTTP/1.1",
            "POST /none HTTP/1.1",
            "POST /rpc/stream HTTP/1.1",
            "POST /rpc/ws HTTP/1.1",
            "POST http://HOST/ HTTP/1.1",
            "POST  / HTTP/1.1",
            "post / HTTP/1.1",
            "GET / HTTP/1.1",
            "GET /openrpc.json HTTP/1.1",
            "OPTIONS / HTTP/1.1",
            "PUT / HTTP/1.1",
            "POST / HTTP/1.0",
            "POST / HTTP/1.2",
            "\r\nPOST / HTTP/1.1",
        ]);
        let host =
            self.mostly(&["host: HOST", "Host:HOST  ", "HOST: localhost", "host: evil.com", "host:", "x: y"]);
        let kind = self.mostly(&[
            "content-type: application/json",
            "Content-Type: application/json; charset=utf-8",
            "content-type:application/json-rpc",
            "content-type: text/plain",
            "content-type : application/json",
            "content-type: application/json\r\ncontent-type: application/json",
            "x: y",
        ]);
        let sizes = [&*length, &*plus, &*long, &*short, "0", "-1", "", "99999999999", "1, 1"];
        let size = self.mostly(&sizes);
        let more: String = (0..self.number(3)).map(|_| self.header() + "\r\n").collect();
        format!("{start}\r\n{host}\r\n{kind}\r\ncontent-length: {size}\r\n{more}\r\n{body}")
    }

    fn header(&mut self) -> String {
        if self.number(2) == 0 {
            return format!(
                "{}: {}",
                self.any(HARMLESS),
                self.any(&["x", "a, b;q=0.5", "close", "chunked", "7"])
            );
        }
        self.any(MATTERING).to_owned()
    }

    /// Options and settings of a server.
    pub fn options(&mut self) -> (EndpointOptions, Settings, ServerOptions) {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let listed = Cors::default().with_exposed(vec![HeaderName::from_static("x-a")]);
        let options = EndpointOptions::default()
            .with_paths(self.any(&[
                texts(&["/", "/rpc", "/jsonrpc"]),
                texts(&["/", "/jsonrpc"]),
                texts(&["/", "/rpc/ws", "/?a=b"]),
                Vec::new(),
            ]))
            .with_nothing_status(self.any(&[StatusCode::NO_CONTENT, StatusCode::ACCEPTED, StatusCode::OK]))
            .with_status(self.any(&[StatusMapping::AlwaysOk, StatusMapping::Draft2008]))
            .with_hosts(self.any(&[
                Hosts::default(),
                Hosts::any(),
                Hosts::only(["evil.com", "127.0.0.1"]).unwrap(),
            ]))
            .with_origins(self.any(&[
                Origins::default(),
                Origins::any(),
                Origins::only(["http://evil.com", "null"]).unwrap(),
            ]))
            .with_cors(self.any(&[
                None,
                Some(Cors::default()),
                Some(Cors::default().with_credentials(true)),
                Some(listed),
            ]))
            .with_body_time(self.any(&[Duration::from_secs(30), Duration::from_millis(300)]));
        let options = match self.number(4) {
            0 => options.route("/rpc", StreamRoute),
            1 => options.without_routes(),
            2 => options.route("/openrpc.json", DocumentRoute),
            _ => options,
        };
        let limits = Limits::default().with_frame(self.any(&[4 << 20, 4 << 20, 60]));
        let header_size = self.any(&[16 << 10, 16 << 10, 16 << 10, 150]);
        let server = ServerOptions::default().with_header_size(header_size);
        (options, Settings::default().with_limits(limits), server)
    }
}

/// Headers that never change an answer.
const HARMLESS: &[&str] = &[
    "Accept-Charset",
    "Accept-Encoding",
    "Accept-Language",
    "Authorization",
    "Cache-Control",
    "Cookie",
    "DNT",
    "Forwarded",
    "From",
    "If-Match",
    "If-None-Match",
    "Keep-Alive",
    "Pragma",
    "Priority",
    "Proxy-Connection",
    "Range",
    "Referer",
    "Sec-CH-UA",
    "Sec-Fetch-Site",
    "Sec-WebSocket-Key",
    "TE",
    "Trailer",
    "Upgrade-Insecure-Requests",
    "User-Agent",
    "Via",
    "X-Forwarded-For",
    "X-HTTP-Method-Override",
    "X-Real-IP",
    "X-Request-ID",
    "traceparent",
    "tracestate",
];

/// Headers that may change an answer, and invalid ones.
const MATTERING: &[&str] = &[
    "accept: application/json",
    "Accept: */*",
    "accept: application/json, text/plain, */*",
    "accept: application/json-rpc",
    "accept: text/event-stream",
    "accept: text/html",
    "accept: application/json\r\naccept: text/html",
    "connection: keep-alive",
    "connection: Keep-Alive",
    "connection: close",
    "Connection: Close",
    "connection: close\r\nconnection: keep-alive",
    "connection: keep-alive, x",
    "connection:",
    "switchboard-timeout-ms: 5000",
    "switchboard-timeout-ms: soon",
    "expect: 100-continue",
    "expect: something",
    "transfer-encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "content-encoding: gzip",
    "Content-Encoding: identity",
    "content-length: 3",
    "origin: http://evil.com",
    "Origin: http://HOST",
    "origin: null",
    "origin:",
    "origin: http://HOST\r\norigin: http://HOST",
    "access-control-request-method: POST",
    "upgrade: websocket",
    "Upgrade: h2c",
    "x-other: \u{e4}",
    "x-folded: a\r\n b",
    "x-nul: \0",
    "no colon",
];
