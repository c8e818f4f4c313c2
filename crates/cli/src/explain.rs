//! What a failed call means, and what to do about it.

use http::Uri;
use switchboard::{CallError, Code};

use crate::failure::Failure;
use crate::target::Target;

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
            CallError::Unreachable(what) if what.contains("nothing listens") => Some(self.start_advice()),
            CallError::Unreachable(what) if what.contains("issuer that is not trusted") => {
                Some("or use `--cacert FILE`".to_owned())
            }
            CallError::Unreachable(what) if what.contains("requires a client certificate") => {
                Some("use `--cert FILE --key FILE`".to_owned())
            }
            CallError::Unreachable(what) if what.contains("ertificate") || what.contains("TLS") => None,
            CallError::Unreachable(what) | CallError::Transport(what) if what.contains(" 401 ") => {
                Some(TOKEN.to_owned())
            }
            CallError::Unreachable(_) => Some(match self.url.starts_with("exec:") {
                true => "check the command".to_owned(),
                false => "check the host and the port".to_owned(),
            }),
            CallError::TimedOut => {
                Some(format!("it was {:?}; give it more with `--timeout SECONDS`", self.timeout))
            }
            CallError::Transport(_) | CallError::Protocol(_) => {
                Some("check that the URL and its path are those of a JSON-RPC server".to_owned())
            }
            CallError::Rejected(error) if error.code == Code::UNAUTHORIZED => Some(TOKEN.to_owned()),
            _ => None,
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

const TOKEN: &str = "give a token with `--token` or SWITCHBOARD_TOKEN, or other credentials with `--header`";
