//! `switchboard call`: calls one method and shows what it answers.

use std::time::Duration;

use clap::Args;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use switchboard::http::{Client, ClientOptions};
use switchboard::{CallError, Json, Reply, Service, Version};
use tokio::time::Instant;

use crate::exit;
use crate::failure::Failure;
use crate::{output, params, units};

const EXAMPLES: &str = "\
Examples:
  switchboard call http://127.0.0.1:8000 math/add a=2 b=3
  switchboard call http://127.0.0.1:8000 math/add 2 3
  switchboard call http://127.0.0.1:8000 math/add '{\"a\": 2, \"b\": 3}'
  echo '[2, 3]' | switchboard call http://127.0.0.1:8000 math/add -
  switchboard call http://127.0.0.1:8000 echo message='\"5\"'   # the string, not the number
  switchboard call http://127.0.0.1:8000 echo hello --notify  # without an answer";

const LONG: &str = "\
On a terminal the result is laid out with colours, unless NO_COLOR is set. In a pipe it is the JSON text as it was \
received. An error of the far side goes to stderr, in a pipe as one line of JSON.";

/// Calls a method and prints its result.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Call {
    /// Where to call, such as http://127.0.0.1:8000.
    url: String,
    /// The method to call, such as math/add.
    method: String,
    /// The parameters: name=value each, or values by position, or one JSON array or object, or `-` for JSON from
    /// stdin. A value is JSON if it can be, a string otherwise.
    #[arg(allow_negative_numbers = true)]
    params: Vec<String>,
    /// How long to wait for the answer.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = units::seconds)]
    timeout: Duration,
    /// A header to send, as `Name: value`. May be given several times.
    #[arg(long = "header", short = 'H', value_name = "HEADER", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Send a notification: there is no answer, and nothing is printed.
    #[arg(long)]
    notify: bool,
    /// Print the result exactly as it was received, on a terminal too.
    #[arg(long)]
    raw: bool,
    /// Call in version 1.0 of JSON-RPC.
    #[arg(long)]
    v1: bool,
}

impl Call {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let params = params::read(&self.params)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| Failure::new(exit::Exit::Unreachable, format!("cannot start: {error}")))?;
        let result = runtime.block_on(self.send(params)).map_err(|error| self.explain(error))?;
        if self.notify { Ok(()) } else { output::result(&result, self.raw) }
    }

    async fn send(&self, params: Option<Json>) -> Result<Json, Unsent> {
        let options = ClientOptions {
            headers: self.headers.iter().cloned().collect::<HeaderMap>(),
            version: if self.v1 { Version::V1 } else { Version::V2 },
            ..ClientOptions::default()
        };
        let client =
            Client::with_options(&self.url, options).map_err(|error| Unsent::Url(error.to_string()))?;
        // Not through a `Peer`, which keeps silent about a refused notification.
        let mut call = match self.notify {
            true => switchboard::Call::notification(self.method.as_str(), params),
            false => switchboard::Call::new(self.method.as_str(), params),
        };
        call.cx.deadline = Some(Instant::now() + self.timeout);
        match client.call(&call).await {
            Reply::Value(json) => Ok(json),
            Reply::Error(error) => Err(Unsent::Call(error.into())),
            Reply::Stream(_) => {
                Err(Unsent::Call(CallError::Protocol("a stream answers a plain call".into())))
            }
        }
    }

    /// What a failure means, and what to do about it.
    fn explain(&self, failure: Unsent) -> Failure {
        let error = match failure {
            Unsent::Url(what) => return Failure::usage(what),
            Unsent::Call(error) => error,
        };
        let advice = match &error {
            CallError::Unreachable(what) if what.starts_with("nothing listens") => Some(self.start_advice()),
            CallError::Unreachable(_) => Some("check the host and the port".to_owned()),
            CallError::TimedOut => {
                Some(format!("it was {:?}; give it more with `--timeout SECONDS`", self.timeout))
            }
            CallError::Transport(_) | CallError::Protocol(_) => {
                Some("check that the URL and its path are those of a JSON-RPC server".to_owned())
            }
            _ => None,
        };
        match advice {
            Some(advice) => Failure::from(error).advise(advice),
            None => Failure::from(error),
        }
    }

    /// How to start what is missing, if it would be on this machine.
    fn start_advice(&self) -> String {
        let uri: Uri = self.url.parse().unwrap_or_default();
        let (host, port) = (uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(80));
        match (host, port) {
            ("127.0.0.1" | "localhost", 8000) => "start it with `switchboard serve`".to_owned(),
            ("127.0.0.1" | "localhost" | "[::1]", _) => {
                format!("start it with `switchboard serve --listen http://{host}:{port}`")
            }
            _ => "check the host and the port, and that the server runs".to_owned(),
        }
    }
}

/// Why there is no result.
enum Unsent {
    /// The URL is none to call.
    Url(String),
    /// The call failed.
    Call(CallError),
}

/// Reads a header as it is written on the command line.
fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("it is no header; write it as 'Name: value'")?;
    let name = name.trim().parse().map_err(|_| format!("{:?} is no name of a header", name.trim()))?;
    let value = value.trim().parse().map_err(|_| "its value holds what no header can".to_owned())?;
    Ok((name, value))
}
