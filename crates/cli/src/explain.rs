//! What a failed call means, and what to do about it.

use http::Uri;
use switchboard::carrier::Url;
use switchboard::{CallError, Code, ErrorObject};

use crate::exit::is_too_long;
use crate::failure::Failure;
use crate::target::{Target, is_secure};

impl Target {
    /// What a failure means, with advice where there is any.
    pub(crate) fn explain(&self, error: CallError) -> Failure {
        let advice = self.advice(&error);
        match advice {
            Some(advice) => Failure::from(error).advise(advice),
            None => Failure::from(error),
        }
    }

    fn advice(&self, error: &CallError) -> Option<String> {
        match error {
            error if is_too_long(error) => Some(self.too_long()),
            CallError::Unread(_) => Some("read it faster, or write it to a file first".to_owned()),
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
            _ if has("nothing listens") => self.start_advice(),
            _ if has("issuer that is not trusted") => "or use `--cacert FILE`".to_owned(),
            _ if has("which no server may show") => AUTHORITY.to_owned(),
            _ if has(CERTIFICATE_WANTED) => CERTIFICATE.to_owned(),
            Some("ws") if has("speaks TLS") => format!("call `{}`", self.with("wss")),
            _ if has("ertificate") || has("TLS") => return None,
            _ if has("status 401") => self.token_advice(),
            Some("ws" | "wss") if has("status 404") || has("status 405") => {
                "check the path; WebSockets are mostly at `/`, `/ws` or `/rpc/ws`".to_owned()
            }
            Some("ws" | "wss") if has("is no WebSocket server") => {
                format!("check the port; if it speaks JSON-RPC without HTTP, call `{}`", self.with("tcp"))
            }
            Some("exec") => "check the command".to_owned(),
            _ if has("in time") || has(" within ") => {
                "check the host and the port, or give it more with `--timeout SECONDS`".to_owned()
            }
            _ => "check the host and the port".to_owned(),
        };
        Some(advice)
    }

    /// A connection that is closed at the first message, or with a message that is none, was often opened to someone who speaks
    /// otherwise.
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
                    false => format!(", if it speaks TLS, `{}`", self.with("tls")),
                };
                Some(format!("if it speaks HTTP, call `{}`{or_tls}; {FRAMINGS}", self.with(web)))
            }
            Some("exec") if is_odd || what.contains(" ended (") => Some(
                "run it by itself to see what it says: it must speak JSON-RPC on its standard input and output".to_owned(),
            ),
            Some("unix") if what.contains("framing") => Some(FRAMINGS.to_owned()),
            _ => None,
        }
    }

    /// On a connection something may come that answers nothing: to another identifier, for instance.
    fn late(&self) -> String {
        let more = format!("it was {:?}; give it more with `--timeout SECONDS`", self.timeout);
        match self.scheme().as_deref() {
            Some("http" | "https") => more,
            _ if self.url.contains("framing=") => format!("{more}; {FRAMINGS}"),
            _ if self.tap().is_some() => more,
            _ => more + ", or see with `-v` what comes",
        }
    }

    /// Something came over HTTP that is no JSON-RPC.
    fn not_json_rpc(&self, what: &str) -> String {
        match what {
            _ if what.contains("is not HTTP") => {
                format!("if it speaks JSON-RPC without HTTP, call `{}`; {FRAMINGS}", self.with("tcp"))
            }
            _ if what.contains(" and points to ") => "call it there, if that is trusted".to_owned(),
            _ => match status(what) {
                Some(401 | 403) => self.token_advice(),
                Some(429 | 503) => "it is too busy, or not ready; try again later".to_owned(),
                Some(502 | 504) => {
                    "whoever stands before the server cannot reach it; check that it runs".to_owned()
                }
                Some(500..) => "something failed in the server; look at its log".to_owned(),
                _ => ADDRESS.to_owned(),
            },
        }
    }

    /// More than is taken came at once.
    fn too_long(&self) -> String {
        let more = "take more with `--max-answer BYTES`, such as 500M";
        // Where lengths stand before messages, what is none looks like a huge one.
        match self.url.ends_with("framing=length") {
            true => format!("{more}; {FRAMINGS}"),
            false => more.to_owned(),
        }
    }

    fn rejected(&self, error: &ErrorObject) -> Option<String> {
        let says = |text: &str| error.data.as_ref().is_some_and(|data| data.as_str().contains(text));
        match error.code {
            Code::UNAUTHORIZED => Some(self.token_advice()),
            Code::INVALID_REQUEST if says("nothing is served at this path") => {
                Some("check the path; calls are mostly taken at `/`, `/rpc` or `/jsonrpc`".to_owned())
            }
            Code::PARSE_ERROR if matches!(self.scheme().as_deref(), Some("tcp" | "tls" | "unix")) => {
                Some(FRAMINGS.to_owned())
            }
            _ => None,
        }
    }

    fn token_advice(&self) -> String {
        match self.scheme().as_deref() {
            Some("http" | "https" | "ws" | "wss") | None => TOKEN.to_owned(),
            Some(scheme) => {
                format!("{scheme} carries no token; call over http or ws, if it is served there")
            }
        }
    }

    fn scheme(&self) -> Option<String> {
        self.url.parse::<Url>().ok().map(|url| url.scheme().to_owned())
    }

    /// The same place by another carrier.
    fn with(&self, scheme: &str) -> String {
        let url = self.url.parse::<Url>().ok();
        match url.as_ref().and_then(Url::place) {
            Some(place) => format!("{scheme}://{place}"),
            None => format!("{scheme}://…"),
        }
    }

    /// How to start what is missing, if it would be on this machine.
    fn start_advice(&self) -> String {
        if let Some(path) = self.url.strip_prefix("unix:") {
            return format!("start it with `switchboard serve --listen unix:{path}`");
        }
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("http", &self.url));
        let uri: Uri = format!("{scheme}://{rest}").parse().unwrap_or_default();
        let (host, port) = (uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(80));
        match (host, port) {
            ("127.0.0.1" | "localhost", 8000) if matches!(scheme, "http" | "ws") => {
                "start it with `switchboard serve`".to_owned()
            }
            // For these it takes a certificate too.
            _ if matches!(scheme, "https" | "wss" | "tls") => "check that the server runs".to_owned(),
            ("127.0.0.1" | "localhost" | "[::1]", _) => {
                format!("start it with `switchboard serve --listen {scheme}://{host}:{port}`")
            }
            _ => "check the host and the port, and that the server runs".to_owned(),
        }
    }
}

/// The status that a server answered with.
fn status(what: &str) -> Option<u16> {
    what.strip_prefix("the server answered ")?.get(..3)?.parse().ok()
}

/// What to do about an answer that breaks the protocol. What is JSON-RPC, almost, comes from the right place.
fn broken(what: &str) -> &'static str {
    match what {
        "a response holds `result` and `error`" => {
            "JSON-RPC 2.0 (section 5) has one of them only, and an `error` that is null counts, too; if it speaks 1.0, add `--v1`"
        }
        _ if ["empty", "not JSON", "no response object"].iter().any(|part| what.contains(part)) => ADDRESS,
        _ => "see it with `-v`; `switchboard check` finds what else is wrong",
    }
}

const ADDRESS: &str = "check that the URL and its path are those of a JSON-RPC server";
const TOKEN: &str = "give a token with `--token` or SWITCHBOARD_TOKEN, or other credentials with `--header`";
const CERTIFICATE_WANTED: &str = "requires a client certificate";
const CERTIFICATE: &str = "use `--cert FILE --key FILE`";
const AUTHORITY: &str = "then trust it with `--cacert FILE`, or for a try use `--insecure`";
const FRAMINGS: &str =
    "if its messages are framed otherwise, add `?framing=lines`, `?framing=lsp` or `?framing=length`";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        target: Target,
    }

    fn check(url: &str, error: &CallError, expected: &str) {
        let target = Line::try_parse_from(["line", url]).unwrap().target;
        let advice = target.advice(error);
        let is_as_expected = match expected {
            "" => advice.is_none(),
            _ => advice.as_ref().is_some_and(|advice| advice.contains(expected)),
        };
        assert!(is_as_expected, "{url} {error}: {advice:?}");
    }

    #[test]
    fn whoever_knocks_at_the_wrong_door_is_told_the_others() {
        let closed = |what: &'static str| CallError::Closed(what.into());
        let gone = "the far side closed the connection";
        check("tcp://h:1", &closed(gone), "call `http://h:1`, if it speaks TLS, `tls://h:1`");
        check("exec:a", &closed(gone), "run it by itself");
        check("tls://h:1?framing=lines", &closed(gone), "call `https://h:1`");
        check("tcp://h:1", &closed("the far side broke the framing: odd"), "?framing=lsp");
        check("unix:/a", &closed("the far side broke the framing: odd"), "?framing=lsp");
        check("unix:/a", &closed(gone), "");
        check(
            "http://h:1/rpc",
            &CallError::Transport("what h:1 answered is not HTTP".into()),
            "call `tcp://h:1`",
        );
        let unreachable = |what: &'static str| CallError::Unreachable(what.into());
        check(
            "ws://h:1/x",
            &unreachable("h:1 refused the connection with status 404 Not Found"),
            "`/rpc/ws`",
        );
        check("ws://h:1", &unreachable("h:1 is no WebSocket server: odd"), "call `tcp://h:1`");
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
    fn a_status_is_told_with_what_fits_it() {
        let answered = |what: &'static str| CallError::Transport(what.into());
        let status = |status: &str| CallError::Transport(format!("the server answered {status}").into());
        check("http://h:1", &status("503 Service Unavailable"), "try again later");
        check("http://h:1", &status("500 Internal Server Error"), "its log");
        check("http://h:1", &status("502 Bad Gateway"), "check that it runs");
        check("http://h:1", &status("403 Forbidden"), "--token");
        check("http://h:1", &status("404 Not Found"), "the URL and its path");
        check("http://h:1", &answered("the server answered 302 Found and points to /x"), "call it there");
    }

    #[test]
    fn what_is_too_long_is_told_alike_over_every_carrier() {
        let over_http = CallError::Transport("the answer has more than 5 bytes (limits.reply)".into());
        let over_tcp = CallError::Closed("a frame exceeds the limit of 5 bytes (limits.frame)".into());
        check("http://h:1", &over_http, "--max-answer");
        check("tcp://h:1", &over_tcp, "--max-answer");
        check("tcp://h:1?framing=length", &over_tcp, "?framing=lsp");
        assert_eq!(Exit::of(&over_http), Exit::of(&over_tcp));
        check("tcp://h:1", &CallError::Unread("odd".into()), "faster");
        assert_eq!(Exit::of(&CallError::Unread("odd".into())), Exit::CannotWrite);
    }

    #[test]
    fn who_waits_on_a_connection_is_told_how_to_see_what_comes() {
        check("tcp://h:1", &CallError::TimedOut, "or see with `-v` what comes");
        check("tcp://h:1?framing=length", &CallError::TimedOut, "?framing=lsp");
        check("http://h:1", &CallError::TimedOut, "it was 30s; give it more with `--timeout SECONDS`");
    }

    #[test]
    fn whoever_lacks_credentials_is_told_where_they_go() {
        let rejected = || CallError::Rejected(ErrorObject::from_code(Code::UNAUTHORIZED));
        check("http://h:1", &rejected(), "--token");
        check("tcp://h:1", &rejected(), "tcp carries no token");
        let closed = CallError::Closed("the connection failed: h requires a client certificate".into());
        check("tls://h:1", &closed, "--cert FILE --key FILE");
    }

    #[test]
    fn an_answer_that_is_almost_right_does_not_come_from_the_wrong_place() {
        let protocol = |what: &'static str| CallError::Protocol(what.into());
        check("http://h:1", &protocol("a response holds `result` and `error`"), "section 5");
        check("http://h:1", &protocol("it answers a call with another identifier"), "`-v`");
        check("http://h:1", &protocol("it is not JSON"), "the URL and its path");
    }
}
