//! Which requests are plain.

use std::mem::MaybeUninit;
use std::time::Duration;

use httparse::Status;

use crate::http::head;
use crate::http::media::{self, Format};
use crate::http::options::Options;
use crate::http::rules::Rules;

/// More headers than this are not plain.
const HEADERS: usize = 16;

/// A plain request, whole.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain {
    /// Where its body begins.
    pub(super) body: usize,
    /// Where it ends.
    pub(super) size: usize,
    /// The format of its answer.
    pub(super) format: Format,
    /// How long the caller waits, if it says so.
    pub(super) timeout: Option<Duration>,
}

/// The paths where plain requests may come. Some options make every request more than plain.
pub(in crate::http) fn paths(options: &Options) -> Vec<String> {
    if options.keep_headers || options.cors.is_some() {
        return Vec::new();
    }
    let is_plain = |path: &&String| {
        #[cfg(feature = "ws")]
        let is_for_websockets = *path == crate::http::upgrade::PATH;
        #[cfg(not(feature = "ws"))]
        let is_for_websockets = false;
        !options.routes.takes_post(path) && !is_for_websockets && !path.contains(['?', '#'])
    };
    options.paths.iter().filter(is_plain).cloned().collect()
}

/// The plain request that these bytes begin with, if they do.
///
/// It is one that every rule takes: whoever does not know a header, a value or a form here leaves it to them.
pub(super) fn read(bytes: &[u8], rules: &Rules, header_size: usize) -> Option<Plain> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let Ok(Status::Complete(body)) = request.parse_with_uninit_headers(bytes, &mut headers) else {
        return None;
    };
    let (Some("POST"), Some(path), Some(1)) = (request.method, request.path, request.version) else {
        return None;
    };
    if body > header_size || !rules.plain_paths.iter().any(|plain| plain == path) {
        return None;
    }
    let head = Head::read(request.headers)?;
    let (host, content_type) = (head.host?, head.content_type?);
    let length = length(head.content_length?)?;
    let size = body.checked_add(length).filter(|size| *size <= bytes.len())?;
    if !rules.takes_host(host) || !media::is_json(content_type) || length > rules.settings().limits.frame {
        return None;
    }
    let format = media::accept(head.accept).filter(|format| *format != Format::Events)?;
    Some(Plain { body, size, format, timeout: head.timeout.and_then(head::timeout) })
}

/// The headers of a plain request that matter.
#[derive(Default)]
struct Head<'a> {
    host: Option<&'a [u8]>,
    content_type: Option<&'a [u8]>,
    content_length: Option<&'a [u8]>,
    accept: Option<&'a [u8]>,
    timeout: Option<&'a [u8]>,
}

impl<'a> Head<'a> {
    /// Nothing if there is a header twice, or one that is not known to be harmless.
    fn read(headers: &[httparse::Header<'a>]) -> Option<Head<'a>> {
        let mut head = Head::default();
        for httparse::Header { name, value } in headers {
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            // By length first, so that hardly any name is compared more than once.
            let place = match name.len() {
                4 if is("host") => &mut head.host,
                6 if is("accept") => &mut head.accept,
                12 if is("content-type") => &mut head.content_type,
                14 if is("content-length") => &mut head.content_length,
                22 if is(head::TIMEOUT.as_str()) => &mut head.timeout,
                10 if is("user-agent") => continue,
                10 if is("connection") && value.eq_ignore_ascii_case(b"keep-alive") => continue,
                15 if is("accept-encoding") || is("accept-language") => continue,
                _ => return None,
            };
            if place.replace(value).is_some() {
                return None;
            }
        }
        Some(head)
    }
}

/// A number of at most seven digits, and nothing but digits: what is read at once is not longer.
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

    use switchboard_core::{Router, Settings};

    use super::*;
    use crate::http::{Cors, StreamRoute};

    fn rules(options: Options) -> Rules {
        let router = Arc::new(Router::builder().build().unwrap());
        Rules::new(router, Settings::default(), options, Some("127.0.0.1:8000".parse().unwrap()))
    }

    #[test]
    fn a_whole_post_with_known_headers_is_plain_and_nothing_else_is() {
        let rules = rules(Options::default());
        let check = |request: &str, expected: Option<(&str, Format)>| {
            let request = request.replace('\n', "\r\n");
            let plain = read(request.as_bytes(), &rules, 1000);
            let found = plain.map(|plain| (&request[plain.body..plain.size], plain.format));
            assert_eq!(found, expected, "{request:?}");
        };
        let json = Some(("{}", Format::Json));
        let base = "host: localhost:8000\ncontent-type: application/json\ncontent-length: 2\n";
        check(&format!("POST / HTTP/1.1\n{base}\n{{}}"), json);
        check(&format!("POST /rpc HTTP/1.1\n{base}\n{{}}and more"), json);
        check(&format!("POST / HTTP/1.1\n{base}User-Agent: x\nConnection: Keep-Alive\n\n{{}}"), json);
        let json_rpc = Some(("{}", Format::JsonRpc));
        check(&format!("POST / HTTP/1.1\n{base}accept: application/json-rpc\n\n{{}}"), json_rpc);

        check("", None);
        check(&format!("POST / HTTP/1.1\n{base}"), None);
        check(&format!("POST / HTTP/1.1\n{base}\n{{"), None);
        check(&format!("GET / HTTP/1.1\n{base}\n{{}}"), None);
        check(&format!("POST / HTTP/1.0\n{base}\n{{}}"), None);
        check(&format!("POST /rpc/stream HTTP/1.1\n{base}\n{{}}"), None);
        check(&format!("POST /rpc/ws HTTP/1.1\n{base}\n{{}}"), None);
        for header in [
            "accept: text/event-stream",
            "accept: text/html",
            "authorization: Bearer x",
            "connection: close",
            "content-length: 2",
            "expect: 100-continue",
            "host: localhost:8000",
            "origin: http://localhost:8000",
            "transfer-encoding: chunked",
            "x-other: y",
        ] {
            check(&format!("POST / HTTP/1.1\n{base}{header}\n\n{{}}"), None);
        }
        for (from, to) in [
            ("localhost", "evil.com"),
            ("host", "x-host"),
            ("application/json", "text/plain"),
            ("length: 2", "length: +2"),
            ("length: 2", "length: 00000002"),
            ("length: 2", "length:"),
            ("length: 2", "length: 2, 2"),
        ] {
            check(&format!("POST / HTTP/1.1\n{}\n{{}}", base.replacen(from, to, 1)), None);
        }
        check(&format!("POST / HTTP/1.1\n{base}user-agent: {}\n\n{{}}", "x".repeat(1000)), None);
    }

    #[test]
    fn where_more_is_done_with_a_head_no_path_is_plain() {
        assert_eq!(paths(&Options::default()), ["/", "/rpc", "/jsonrpc"]);
        assert!(paths(&Options { keep_headers: true, ..Options::default() }).is_empty());
        assert!(paths(&Options { cors: Some(Cors::default()), ..Options::default() }).is_empty());
        let streaming = Options::default().route("/rpc", StreamRoute);
        assert_eq!(paths(&streaming), ["/", "/jsonrpc"]);
    }
}
