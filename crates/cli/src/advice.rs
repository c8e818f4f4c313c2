//! What a failed call means, and what to do about it.

use http::Uri;
use switchboard::carrier::Url;
use switchboard::{CallError, Code, ErrorObject};

use crate::exit::is_too_long;
use crate::failure::Failure;
use crate::login;
use crate::shell::quoted;
use crate::target::{Target, is_http, is_secure, is_websocket};

impl Target {
    /// What a failure means, with advice where there is any.
    pub(crate) fn explain(&self, error: CallError) -> Failure {
        let advice = self.advice(&error);
        let failure = Failure::from(error).without(NO_TLS);
        match advice {
            Some(advice) => failure.advise(advice),
            None => failure,
        }
    }

    fn advice(&self, error: &CallError) -> Option<String> {
        match error {
            error if is_too_long(error) => Some(self.too_long()),
            CallError::Unread(_) => Some("read the output faster, or write it to a file first".to_owned()),
            CallError::Unreachable(what) | CallError::CannotConnect(what) => self.unreachable(what),
            CallError::Closed(what) => self.closed(what),
            CallError::TimedOut => Some(self.late()),
            CallError::Transport(what) => Some(self.not_json_rpc(what)),
            CallError::Protocol(what) => Some(broken(what).to_owned()),
            CallError::Rejected(error) => self.rejected(error),
            _ => None,
        }
    }

    fn unreachable(&self, what: &str) -> Option<String> {
        let has = |part: &str| what.contains(part);
        let advice = match self.scheme().as_deref() {
            _ if has("nothing is listening") => self.start_advice(),
            _ if has("issuer that is not trusted") => "to do so, use `--cacert FILE`".to_owned(),
            _ if has("a CA certificate") => AUTHORITY.to_owned(),
            _ if has(CERTIFICATE_WANTED) => CERTIFICATE.to_owned(),
            Some("ws") if has("speaks TLS") => format!("call `{}`", self.with("wss")),
            Some("https") if has(NO_TLS) => format!("call `{}`", self.with("http")),
            Some("wss") if has(NO_TLS) => format!("call `{}`", self.with("ws")),
            Some("tls") if has(NO_TLS) => format!("call `{}`", self.with("tcp")),
            _ if has("ertificate") || has("TLS") => return None,
            _ if has("status 401") || has(login::REFUSED) => self.token_advice(),
            Some("ws" | "wss") if has("status 404") || has("status 405") => {
                self.other_paths("WebSockets are usually", ["/", "/ws", "/rpc/ws"])
            }
            Some("ws" | "wss") if has("is not a WebSocket server") => {
                format!("check the port; for JSON-RPC without HTTP, call `{}`", self.with("tcp"))
            }
            Some("exec") => "check the command".to_owned(),
            // The error says what to do.
            Some("nats" | "nats+tls") if has("no worker serves") || has("NATS_CREDS") => return None,
            Some("nats" | "nats+tls") => "check that the NATS server is running: `nats-server`".to_owned(),
            _ if has("in time") || has(" within ") => {
                "check the host and the port, or raise `--timeout`".to_owned()
            }
            _ => "check the host and the port".to_owned(),
        };
        Some(advice)
    }

    /// If a connection is closed at the first message, or an invalid message arrives, the server often speaks another protocol.
    fn closed(&self, what: &str) -> Option<String> {
        if what.contains(CERTIFICATE_WANTED) {
            return Some(CERTIFICATE.to_owned());
        }
        let is_odd = ["closed the connection", "framing"].iter().any(|part| what.contains(part));
        match self.scheme().as_deref() {
            Some(scheme @ ("tcp" | "tls")) if is_odd => {
                let is_secure = is_secure(scheme);
                let web = if is_secure { "https" } else { "http" };
                let or_tls = match is_secure {
                    true => String::new(),
                    false => format!(", for TLS `{}`", self.with("tls")),
                };
                Some(format!("for HTTP call `{}`{or_tls}; {FRAMINGS}", self.with(web)))
            }
            Some("exec") if is_odd || what.contains(" ended (") => {
                Some("the program must speak JSON-RPC on its standard input and output".to_owned())
            }
            Some("unix") if what.contains("framing") => Some(FRAMINGS.to_owned()),
            _ => None,
        }
    }

    /// On a connection a message may have arrived that does not answer the call: it may have another identifier, for instance.
    fn late(&self) -> String {
        let more = format!("the timeout was {:?}; raise it with `--timeout`", self.timeout);
        match self.scheme().as_deref() {
            Some("http" | "https") => more,
            _ if self.url.contains("framing=") => format!("{more}; {FRAMINGS}"),
            _ if self.tap().is_some() => more,
            _ => more + ", or see the messages with `-v`",
        }
    }

    /// The answer over HTTP is not JSON-RPC.
    fn not_json_rpc(&self, what: &str) -> String {
        match what {
            _ if what.contains("is not HTTP") => {
                format!("for JSON-RPC without HTTP, call `{}`; {FRAMINGS}", self.with("tcp"))
            }
            _ if what.contains(" and redirects to ") => "call that URL if you trust it".to_owned(),
            _ => match status(what) {
                Some(401 | 403) => self.token_advice(),
                Some(429 | 503) => "the server is busy or not ready; try again later".to_owned(),
                Some(502 | 504) => "a proxy cannot reach the server; check that it is running".to_owned(),
                Some(500..) => "the server failed; look at its log".to_owned(),
                _ => ADDRESS.to_owned(),
            },
        }
    }

    /// The answer is longer than allowed.
    fn too_long(&self) -> String {
        let more = "raise the limit with `--max-answer`, such as `--max-answer 500M`";
        // Read as a length, the start of a message in another framing is a huge number.
        match self.url.ends_with("framing=length") {
            true => format!("{more}; {FRAMINGS}"),
            false => more.to_owned(),
        }
    }

    fn rejected(&self, error: &ErrorObject) -> Option<String> {
        let says = |text: &str| error.data.as_ref().is_some_and(|data| data.as_str().contains(text));
        match error.code {
            Code::UNAUTHORIZED if says(r#""reason":"signature""#) => Some(SIGNATURE.to_owned()),
            Code::UNAUTHORIZED if says(r#""incident":"#) => Some(FORBIDDEN.to_owned()),
            Code::UNAUTHORIZED => Some(self.token_advice()),
            Code::INVALID_REQUEST if says("nothing is served at this path") => {
                Some(self.other_paths("calls are usually accepted", ["/", "/rpc", "/jsonrpc"]))
            }
            _ if says("limits.frame") => Some(TOO_LARGE.to_owned()),
            Code::PARSE_ERROR if matches!(self.scheme().as_deref(), Some("tcp" | "tls" | "unix")) => {
                Some(FRAMINGS.to_owned())
            }
            _ => None,
        }
    }

    fn token_advice(&self) -> String {
        match self.scheme().as_deref() {
            Some("http" | "https" | "ws" | "wss") | None => TOKEN.to_owned(),
            Some(_) => "send a token with `--token` or SWITCHBOARD_TOKEN".to_owned(),
        }
    }

    fn scheme(&self) -> Option<String> {
        self.url.parse::<Url>().ok().map(|url| url.scheme().to_owned())
    }

    /// The same server with another scheme. A path or a framing stays if that scheme has it too.
    fn with(&self, scheme: &str) -> String {
        let is_web = |scheme: &str| is_http(scheme) || is_websocket(scheme);
        let Ok(url) = self.url.parse::<Url>() else { return format!("{scheme}://…") };
        match url.place() {
            Some(place) if is_web(scheme) == is_web(url.scheme()) => {
                let (_, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
                let (_, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
                format!("{scheme}://{place}{rest}")
            }
            Some(place) => format!("{scheme}://{place}"),
            None => format!("{scheme}://…"),
        }
    }

    /// Where to look instead of the path of the URL.
    fn other_paths(&self, what: &str, usual: [&str; 3]) -> String {
        let url = self.url.parse::<Url>().ok();
        let tried = url.as_ref().map_or("/", |url| if url.path().is_empty() { "/" } else { url.path() });
        let others: Vec<String> =
            usual.iter().filter(|path| **path != tried).map(|path| format!("`{path}`")).collect();
        match others.split_last() {
            Some((last, others)) => format!("check the path; {what} at {} or {last}", others.join(", ")),
            None => "check the path".to_owned(),
        }
    }

    /// How to start the server, if it would be on this machine.
    fn start_advice(&self) -> String {
        if let Some(path) = self.url.strip_prefix("unix:") {
            return format!(
                "start a server with `switchboard serve --listen {}`",
                quoted(&format!("unix:{path}"))
            );
        }
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("http", &self.url));
        let uri: Uri = format!("{scheme}://{rest}").parse().unwrap_or_default();
        let (host, port) = (uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(80));
        match (host, port) {
            ("127.0.0.1" | "localhost", 8000) if matches!(scheme, "http" | "ws") => {
                "start a server with `switchboard serve`".to_owned()
            }
            // These need a certificate too.
            _ if matches!(scheme, "https" | "wss" | "tls") => "check that the server is running".to_owned(),
            ("127.0.0.1" | "localhost" | "[::1]", _) => {
                format!("start a server with `switchboard serve --listen {scheme}://{host}:{port}`")
            }
            _ => "check the host and the port, and that the server is running".to_owned(),
        }
    }
}

/// The status that a server answered with.
fn status(what: &str) -> Option<u16> {
    what.strip_prefix("the server answered ")?.get(..3)?.parse().ok()
}

/// What to do about an answer that breaks the protocol. If it is almost JSON-RPC, the URL is right.
fn broken(what: &str) -> &'static str {
    match what {
        "the response has both `result` and `error`" => {
            "JSON-RPC 2.0 (section 5) allows only one of them, even if `error` is null; for a 1.0 server, add `--v1`"
        }
        _ if ["empty", "not JSON", "not a response object"].iter().any(|part| what.contains(part)) => ADDRESS,
        _ => "see it with `-v`; `switchboard check` finds other faults in the server",
    }
}

const ADDRESS: &str = "check the URL and its path: this is not a JSON-RPC server";
const TOO_LARGE: &str =
    "send less, or raise the limit of the server, such as `switchboard serve --max-body 16M`";
/// How the library ends its message about a server without TLS. The advice here has the whole URL.
const NO_TLS: &str = "; check the port, or use the scheme without TLS";
const FORBIDDEN: &str =
    "this caller may not make this call; the server's log has the reason under the incident number";
const TOKEN: &str = "send a token with `--token` or SWITCHBOARD_TOKEN, or other credentials with `--header`";
const SIGNATURE: &str =
    "sign calls with `--sign FILE`; check the key, the audience (`--audience URL`) and your clock";
const CERTIFICATE_WANTED: &str = "requires a client certificate";
const CERTIFICATE: &str = "use `--cert FILE --key FILE`";
const AUTHORITY: &str = "then trust it with `--cacert FILE`, or use `--insecure` for a test";
const FRAMINGS: &str =
    "if the server uses another framing, add `?framing=lines`, `?framing=lsp` or `?framing=length`";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use switchboard::Json;

    fn check(url: &str, error: &CallError, expected: &str) {
        let target = Target::of(&[url]);
        let advice = target.advice(error);
        let is_as_expected = match expected {
            "" => advice.is_none(),
            _ => advice.as_ref().is_some_and(|advice| advice.contains(expected)),
        };
        assert!(is_as_expected, "{url} {error}: {advice:?}");
    }

    #[test]
    fn a_server_that_speaks_another_protocol_is_explained_with_the_url_to_use() {
        let closed = |what: &'static str| CallError::Closed(what.into());
        let gone = "the peer closed the connection";
        check("tcp://h:1", &closed(gone), "for HTTP call `http://h:1`, for TLS `tls://h:1`");
        check("exec:a", &closed(gone), "must speak JSON-RPC");
        check("tls://h:1?framing=lines", &closed(gone), "call `https://h:1`");
        check("tcp://h:1", &closed("invalid framing: odd"), "?framing=lsp");
        check("unix:/a", &closed("invalid framing: odd"), "?framing=lsp");
        check("unix:/a", &closed(gone), "");
        check(
            "http://h:1/rpc",
            &CallError::Transport("the response from h:1 is not HTTP".into()),
            "call `tcp://h:1`",
        );
        let unreachable = |what: &'static str| CallError::Unreachable(what.into());
        check("ws://h:1", &unreachable("h:1 is not a WebSocket server: odd"), "call `tcp://h:1`");
        let plain = "h:1 does not speak TLS at this port; check the port, or use the scheme without TLS";
        check("https://h:1/rpc?a=b", &unreachable(plain), "call `http://h:1/rpc?a=b`");
        check("wss://h:1", &unreachable(plain), "call `ws://h:1`");
        check("tls://h:1?framing=lsp", &unreachable(plain), "call `tcp://h:1?framing=lsp`");
        check("ws://h:1", &unreachable("h:1 refused: this port speaks TLS"), "call `wss://h:1`");
        check("exec:a", &unreachable("`a` did not start"), "check the command");
        check("ws://h:1", &unreachable("h:1 did not accept the connection in time"), "--timeout");
        check("tls://h:1", &unreachable("no connection to h:1 within 1s"), "--timeout");
        check(
            "http://h:1",
            &CallError::Transport("the server answered 404 Not Found".into()),
            "the URL and its path",
        );
    }

    #[test]
    fn the_path_that_was_tried_is_not_recommended() {
        let missing = CallError::Unreachable("h:1 refused the connection with status 404 Not Found".into());
        check("ws://h:1/x", &missing, "at `/`, `/ws` or `/rpc/ws`");
        check("ws://h:1/ws", &missing, "at `/` or `/rpc/ws`");
        check("ws://h:1", &missing, "at `/ws` or `/rpc/ws`");
        let error = ErrorObject::invalid_request("nothing is served at this path");
        check("http://h:1/rpc", &CallError::Rejected(error), "at `/` or `/jsonrpc`");
    }

    #[test]
    fn a_request_that_is_too_large_is_explained_with_the_option_of_the_server() {
        let error = ErrorObject::invalid_request("the message has more than 5 bytes (limits.frame)");
        check("http://h:1", &CallError::Rejected(error), "`switchboard serve --max-body 16M`");
    }

    #[test]
    fn a_status_is_explained() {
        let answered = |what: &'static str| CallError::Transport(what.into());
        let status = |status: &str| CallError::Transport(format!("the server answered {status}").into());
        check("http://h:1", &status("503 Service Unavailable"), "try again later");
        check("http://h:1", &status("500 Internal Server Error"), "its log");
        check("http://h:1", &status("502 Bad Gateway"), "check that it is running");
        check("http://h:1", &status("403 Forbidden"), "--token");
        check("http://h:1", &status("404 Not Found"), "the URL and its path");
        check("http://h:1", &answered("the server answered 302 Found and redirects to /x"), "call that URL");
    }

    #[test]
    fn an_answer_that_is_too_long_is_explained_alike_over_every_transport() {
        let over_http = CallError::Transport("the response exceeds 5 bytes (limits.reply)".into());
        let over_tcp = CallError::Closed("a frame exceeds the limit of 5 bytes (limits.frame)".into());
        check("http://h:1", &over_http, "--max-answer");
        check("tcp://h:1", &over_tcp, "--max-answer");
        check("tcp://h:1?framing=length", &over_tcp, "?framing=lsp");
        assert_eq!(Exit::of(&over_http), Exit::of(&over_tcp));
        check("tcp://h:1", &CallError::Unread("odd".into()), "faster");
        assert_eq!(Exit::of(&CallError::Unread("odd".into())), Exit::CannotWrite);
    }

    #[test]
    fn a_timeout_on_a_connection_is_explained_with_how_to_see_the_messages() {
        check("tcp://h:1", &CallError::TimedOut, "or see the messages with `-v`");
        check("tcp://h:1?framing=length", &CallError::TimedOut, "?framing=lsp");
        check("http://h:1", &CallError::TimedOut, "the timeout was 30s; raise it with `--timeout`");
    }

    #[test]
    fn missing_credentials_are_explained_with_the_option_for_them() {
        let rejected = || CallError::Rejected(ErrorObject::from_code(Code::UNAUTHORIZED));
        check("http://h:1", &rejected(), "--token");
        check("tcp://h:1", &rejected(), "send a token with `--token`");
        let mut denied = ErrorObject::from_code(Code::UNAUTHORIZED);
        denied.data = Some(Json::parse(r#"{"method":"m","incident":"1"}"#.to_owned()).unwrap());
        check("http://h:1", &CallError::Rejected(denied), "under the incident number");
        let closed = CallError::Closed("the connection failed: h requires a client certificate".into());
        check("tls://h:1", &closed, "--cert FILE --key FILE");
    }

    #[test]
    fn an_answer_that_is_almost_right_does_not_blame_the_url() {
        let protocol = |what: &'static str| CallError::Protocol(what.into());
        check("http://h:1", &protocol("the response has both `result` and `error`"), "section 5");
        check("http://h:1", &protocol("it has the identifier of another call"), "`-v`");
        check("http://h:1", &protocol("it is not JSON"), "the URL and its path");
    }
}
