//! Decides which requests are plain.

use std::mem::MaybeUninit;
use std::time::Duration;

use httparse::Status;
use switchboard_core::Settings;

use super::SIZE;
use crate::http::head;
use crate::http::media::{self, Format, Wanted};
use crate::http::options::EndpointOptions;
use crate::http::rules::Rules;
use crate::server::ServerOptions;

/// A request with more headers is not plain.
const HEADERS: usize = 64;

/// A plain request whose head is complete.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain {
    /// The offset of its first header.
    pub(super) headers: usize,
    /// The offset of its body.
    pub(super) body: usize,
    /// Its length, head and body.
    pub(super) size: usize,
    /// Which of the [`paths`] it is for.
    pub(super) path: usize,
    /// The media type of the response.
    pub(super) format: Format,
    /// How long the caller waits, if the request says so.
    pub(super) timeout: Option<Duration>,
    /// Start and end of the value of `Origin`.
    pub(super) origin: Option<(usize, usize)>,
    /// Whether the connection closes after its response.
    pub(super) closes: bool,
}

/// The paths that take plain requests: none if an option affects every request.
pub(in crate::http) fn paths(options: &EndpointOptions, settings: &Settings) -> Vec<String> {
    // Without `..`: a new option does not compile until its effect on plain requests is stated here.
    let EndpointOptions {
        paths,
        routes,
        // Applied to plain requests as well.
        hosts: _,
        origins: _,
        cors: _,
        nothing_status: _,
        status: _,
        reply_headers: _,
        // These concern other requests only: GET, event streams, long or slow bodies.
        get: _,
        keep_alive: _,
        body_time: _,
        buffers: _,
        #[cfg(feature = "ws")]
            websocket: _,
    } = options;
    // A tap sees what hyper reads and writes. The admission is asked here too; the rest is the engine's.
    if settings.tap.is_some() {
        return Vec::new();
    }
    let is_plain = |path: &&String| {
        #[cfg(feature = "ws")]
        let is_for_websockets = crate::http::upgrade::PATHS.contains(&path.as_str());
        #[cfg(not(feature = "ws"))]
        let is_for_websockets = false;
        !routes.takes_post(path) && !is_for_websockets && !path.contains(['?', '#'])
    };
    paths.iter().filter(is_plain).cloned().collect()
}

/// The longest head, which is the only server option that plain requests depend on.
pub(in crate::http) fn header_size(options: &ServerOptions) -> usize {
    let ServerOptions {
        header_size,
        // Enforced where connections are accepted and driven.
        connections: _,
        connections_per_address: _,
        header_time: _,
        idle_time: _,
        // These concern other requests and other connections.
        duplex_idle_time: _,
        first_byte_time: _,
        buffers: _,
        streams: _,
        // The caller gives the headers to it.
        trust_proxies: _,
    } = options;
    *header_size
}

/// The plain request at the start of these bytes, if there is one. Its body may be incomplete.
///
/// A plain request satisfies every rule. Anything that is not recognised here is left to the full implementation.
pub(super) fn read(bytes: &[u8], rules: &Rules, header_size: usize) -> Option<Plain> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let Ok(Status::Complete(body)) = request.parse_with_uninit_headers(bytes, &mut headers) else {
        return None;
    };
    let (Some("POST"), Some(path), Some(1)) = (request.method, request.path, request.version) else {
        return None;
    };
    if body > header_size {
        return None;
    }
    let path = rules.plain_paths.iter().position(|plain| plain == path)?;
    let head = Head::read(request.headers)?;
    let (host, content_type) = (head.host?, head.content_type?);
    let length = length(head.content_length?)?;
    let size = body.checked_add(length).filter(|size| *size <= bytes.len().max(SIZE))?;
    if !rules.takes_caller(host, head.origin)
        || !media::is_json(content_type)
        || length > rules.settings().limits.frame
    {
        return None;
    }
    let Some(Wanted::Whole(format)) = media::accept(head.accept) else { return None };
    let closes = match head.connection {
        None => false,
        Some(value) if value.eq_ignore_ascii_case(b"keep-alive") => false,
        Some(value) if value.eq_ignore_ascii_case(b"close") => true,
        Some(_) => return None,
    };
    let headers = request.headers.first().map_or(body, |first| place(bytes, first.name.as_bytes()).0);
    let timeout = head.timeout.and_then(head::timeout);
    let origin = head.origin.map(|origin| place(bytes, origin));
    Some(Plain { path, headers, body, size, format, timeout, origin, closes })
}

/// The headers that affect a plain request: its framing, the rules, or its calls.
#[derive(Default)]
struct Head<'a> {
    host: Option<&'a [u8]>,
    origin: Option<&'a [u8]>,
    connection: Option<&'a [u8]>,
    content_type: Option<&'a [u8]>,
    content_length: Option<&'a [u8]>,
    accept: Option<&'a [u8]>,
    timeout: Option<&'a [u8]>,
}

impl<'a> Head<'a> {
    /// `None` if one of them is repeated, or if a header requires hyper. All other headers have no effect.
    fn read(headers: &[httparse::Header<'a>]) -> Option<Head<'a>> {
        let mut head = Head::default();
        for httparse::Header { name, value } in headers {
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            // By length first, so that most names are compared at most once.
            let place = match name.len() {
                4 if is("host") => &mut head.host,
                6 if is("accept") => &mut head.accept,
                6 if is("origin") => &mut head.origin,
                10 if is("connection") => &mut head.connection,
                12 if is("content-type") => &mut head.content_type,
                14 if is("content-length") => &mut head.content_length,
                22 if is(head::TIMEOUT.as_str()) => &mut head.timeout,
                6 if is("expect") => return None,
                7 if is("upgrade") => return None,
                15 if is("signature-input") => return None,
                16 if is("content-encoding") => return None,
                17 if is("transfer-encoding") => return None,
                _ => continue,
            };
            if place.replace(value).is_some() {
                return None;
            }
        }
        Some(head)
    }
}

/// Start and end of a subslice.
fn place(whole: &[u8], part: &[u8]) -> (usize, usize) {
    let from = part.as_ptr().addr() - whole.as_ptr().addr();
    (from, from + part.len())
}

/// A number of one to seven digits; longer bodies are not plain.
fn length(text: &[u8]) -> Option<usize> {
    if !(1..=7).contains(&text.len()) {
        return None;
    }
    text.iter()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + usize::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use switchboard_core::Router;

    use super::*;
    use crate::http::StreamRoute;

    fn rules(options: EndpointOptions) -> Rules {
        let router = Arc::new(Router::builder().build().unwrap());
        Rules::new(router, Settings::default(), options, Some("127.0.0.1:8000".parse().unwrap()))
    }

    /// A new setting fails here until its effect on plain requests is stated in `paths`.
    #[test]
    fn no_setting_is_forgotten() {
        let shown = format!("{:#?}", Settings::default());
        let fields = shown
            .lines()
            .filter_map(|line| line.strip_prefix("    "))
            .filter(|line| !line.starts_with([' ', '}']));
        let names: Vec<&str> = fields.filter_map(|line| Some(line.split_once(':')?.0)).collect();
        assert_eq!(names, ["limits", "profile", "tap", "observer", "admission", "inherit"]);
    }

    /// Checks what `read` makes of a request, written with `\n` for line breaks.
    fn check(options: EndpointOptions, request: &str, expected: Option<(&str, Format)>) {
        let request = request.replace('\n', "\r\n");
        let plain = read(request.as_bytes(), &rules(options), 1000);
        let found = plain.map(|plain| (&request[plain.body..plain.size.min(request.len())], plain.format));
        assert_eq!(found, expected, "{request:?}");
    }

    const BASE: &str = "host: localhost:8000\ncontent-type: application/json\ncontent-length: 2\n";

    #[test]
    fn a_post_with_a_length_is_plain_and_nothing_else_is() {
        let check = |request: &str, expected| check(EndpointOptions::default(), request, expected);
        let json = Some(("{}", Format::Json));
        check(&format!("POST / HTTP/1.1\n{BASE}\n{{}}"), json);
        check(&format!("POST /rpc HTTP/1.1\n{BASE}\n{{}}and more"), json);
        check(&format!("POST / HTTP/1.1\n{BASE}\n{{"), Some(("{", Format::Json)));
        let json_rpc = Some(("{}", Format::JsonRpc));
        check(&format!("POST / HTTP/1.1\n{BASE}accept: application/json-rpc\n\n{{}}"), json_rpc);

        check("", None);
        check(&format!("POST / HTTP/1.1\n{BASE}"), None);
        check(&format!("GET / HTTP/1.1\n{BASE}\n{{}}"), None);
        check(&format!("POST / HTTP/1.0\n{BASE}\n{{}}"), None);
        check(&format!("POST /rpc/stream HTTP/1.1\n{BASE}\n{{}}"), None);
        check(&format!("POST /rpc/ws HTTP/1.1\n{BASE}\n{{}}"), None);
        for (from, to) in [
            ("localhost", "evil.com"),
            ("host", "x-host"),
            ("application/json", "text/plain"),
            ("length: 2", "length: +2"),
            ("length: 2", "length: 00000002"),
            ("length: 2", "length:"),
            ("length: 2", "length: 2, 2"),
            ("length: 2", "length: 8192"),
        ] {
            check(&format!("POST / HTTP/1.1\n{}\n{{}}", BASE.replacen(from, to, 1)), None);
        }
        check(&format!("POST / HTTP/1.1\n{BASE}user-agent: {}\n\n{{}}", "x".repeat(1000)), None);
        check(&format!("POST / HTTP/1.1\n{BASE}{}\n{{}}", "x: y\n".repeat(HEADERS)), None);
    }

    #[test]
    fn only_headers_that_matter_make_a_request_more_than_plain() {
        let check = |header: &str, expected| {
            let request = format!("POST / HTTP/1.1\n{BASE}{header}\n\n{{}}");
            check(
                EndpointOptions::default(),
                &request,
                if expected { Some(("{}", Format::Json)) } else { None },
            );
        };
        for header in [
            "accept: application/json, text/plain, */*",
            "authorization: Bearer x",
            "Connection: Keep-Alive",
            "connection: close",
            "Cookie: a=b",
            "cookie: a=b\ncookie: c=d",
            "origin: http://localhost:8000",
            "te: trailers",
            "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "x-other: y",
        ] {
            check(header, true);
        }
        for header in [
            "accept: text/event-stream",
            "accept: text/html",
            "accept: */*\naccept: */*",
            "connection: keep-alive, te",
            "connection: close\nconnection: close",
            "connection: upgrade",
            "content-encoding: identity",
            "content-length: 2",
            "content-type: application/json",
            "Expect: 100-continue",
            "host: localhost:8000",
            "origin: http://evil.com",
            "origin: http://localhost:8000\norigin: http://localhost:8000",
            "Signature-Input: sb=()",
            "Transfer-Encoding: chunked",
            "Upgrade: h2c",
        ] {
            check(header, false);
        }
    }

    #[test]
    fn an_origin_is_found_where_it_stands() {
        let request = format!("POST / HTTP/1.1\nOrigin:  http://localhost:8000 \n{BASE}\n{{}}");
        let request = request.replace('\n', "\r\n");
        let plain = read(request.as_bytes(), &rules(EndpointOptions::default()), 1000).unwrap();
        let (from, to) = plain.origin.unwrap();
        assert_eq!(&request[from..to], "http://localhost:8000");
    }

    #[test]
    fn where_more_is_done_with_a_head_no_path_is_plain() {
        let paths = |options: EndpointOptions| paths(&options, &Settings::default());
        assert_eq!(paths(EndpointOptions::default()), ["/", "/rpc", "/jsonrpc"]);
        let streaming = EndpointOptions::default().route("/rpc", StreamRoute);
        assert_eq!(paths(streaming), ["/", "/jsonrpc"]);
    }
}
