//! `switchboard call`: calls one method and shows what it answers.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use futures_util::StreamExt;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use switchboard::address::Scheme;
use switchboard::tls::{ClientFiles, ClientTls, Trust};
use switchboard::{
    CallError, Dial, DialError, ErrorObject, Items, Json, Reply, ReplyFuture, Service, StreamWanted, Version,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::signals::Signals;
use crate::{output, params, units};

const EXAMPLES: &str = "\
Examples:
  switchboard call http://127.0.0.1:8000 math/add a=2 b=3
  switchboard call http://127.0.0.1:8000 math/add 2 3
  switchboard call http://127.0.0.1:8000 math/add '{\"a\": 2, \"b\": 3}'
  switchboard call ws://127.0.0.1:8000 ticks count=3          # a stream: one item a line, as they come
  switchboard call 'exec:switchboard serve --stdio' math/add 2 3
  echo '[2, 3]' | switchboard call http://127.0.0.1:8000 math/add -
  switchboard call http://127.0.0.1:8000 echo message='\"5\"'   # the string, not the number
  switchboard call http://127.0.0.1:8000 echo hello --notify  # without an answer";

const LONG: &str = "\
On a terminal the result is laid out with colours, unless NO_COLOR is set. In a pipe it is the JSON text as it was \
received. The items of a stream are printed as they come, and Ctrl-C cancels it on the far side. An error of the far \
side goes to stderr, in a pipe as one line of JSON.";

/// Calls a method and prints its result.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Call {
    /// Where to call: a URL of http, https, ws, wss, tcp, tls, unix or exec, such as http://127.0.0.1:8000.
    url: String,
    /// The method to call, such as math/add.
    method: String,
    /// The parameters: name=value each, or values by position, or one JSON array or object, or `-` for JSON from
    /// stdin. A value is JSON if it can be, a string otherwise.
    #[arg(allow_negative_numbers = true)]
    params: Vec<String>,
    /// How long to wait for the answer, or for a stream to begin.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = units::seconds)]
    timeout: Duration,
    /// A header to send, as `Name: value`. May be given several times.
    #[arg(long = "header", short = 'H', value_name = "HEADER", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Trust the certificates that those in this PEM file have issued, and no others.
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// The certificate to show to servers that ask for one, in PEM.
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The key of that certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Trust any certificate: whoever is on the way can read and change everything.
    #[arg(long, conflicts_with = "cacert")]
    insecure: bool,
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
        // A thread besides this one sees signals, even while this one waits for somebody to read its output.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let cannot = |error| Failure::new(Exit::Unreachable, format!("cannot start: {error}"));
        runtime.map_err(cannot)?.block_on(async {
            let mut signals = Signals::listen().map_err(cannot)?;
            let (interrupt, interrupted) = oneshot::channel();
            tokio::spawn(async move {
                signals.next().await;
                let _ = interrupt.send(());
                signals.end_at_next().await;
            });
            self.send(params, interrupted).await.map_err(|error| self.explain(error))
        })
    }

    /// Calls until there is an answer, or a signal: dropping the call cancels it on the far side.
    async fn send(&self, params: Option<Json>, interrupted: oneshot::Receiver<()>) -> Result<(), Unsent> {
        let url = |error: DialError| Unsent::Url(error.to_string());
        let mut dial = Dial::new(&self.url).map_err(url)?.with_connect_time(self.timeout);
        if dial.address().scheme().is_secure() {
            dial = dial.with_tls(self.tls()?);
        }
        let dial = dial
            .with_headers(self.headers.iter().cloned().collect::<HeaderMap>())
            .with_version(if self.v1 { Version::V1 } else { Version::V2 });
        let (end, ended) = oneshot::channel();
        let work = async {
            if matches!(dial.address().scheme(), Scheme::Http | Scheme::Https) {
                return self.call(&dial.client().map_err(url)?, params).await;
            }
            if self.v1 {
                return Err(Unsent::Url("only http and https URLs are called in version 1.0".to_owned()));
            }
            let peer =
                dial.with_service(Nothing { _end: end }).connect().await.map_err(|error| match error {
                    DialError::Unreachable(text) => Unsent::Call(CallError::Unreachable(text.into())),
                    other => url(other),
                })?;
            self.call(&peer, params).await
        };
        let outcome = tokio::select! {
            outcome = work => outcome,
            _ = interrupted => Err(Unsent::Interrupted),
        };
        // The connection sends what is queued, which may be that the call is cancelled, and closes.
        let _ = tokio::time::timeout(self.timeout.min(Duration::from_secs(1)), ended).await;
        outcome
    }

    fn tls(&self) -> Result<ClientTls, Unsent> {
        let trust = match &self.cacert {
            Some(file) => Trust::Authority(file.clone()),
            None if self.insecure => {
                output::note("warning: --insecure trusts any certificate; do not send secrets\n");
                Trust::Anybody
            }
            None => Trust::Platform,
        };
        let certificate = self.cert.clone().zip(self.key.clone());
        let mut files = ClientFiles::default();
        (files.trust, files.certificate) = (trust, certificate);
        ClientTls::load(&files).map_err(|error| Unsent::Url(error.to_string()))
    }

    /// Calls, and prints what comes back: a result, or the items of a stream as they come.
    async fn call(&self, service: &impl Service, params: Option<Json>) -> Result<(), Unsent> {
        // Not through a `Peer`, which keeps silent about a refused notification.
        let mut call = match self.notify {
            true => switchboard::Call::notification(self.method.as_str(), params),
            false => switchboard::Call::new(self.method.as_str(), params),
        };
        call.cx.deadline = Some(Instant::now() + self.timeout);
        if !self.v1 && !self.headers.iter().any(|(name, _)| name == ACCEPT) {
            call.cx.insert(StreamWanted);
        }
        match Service::call(service, &call).await {
            Reply::Value(_) if self.notify => Ok(()),
            Reply::Value(json) => self.show(&json).map(|_| ()),
            Reply::Error(error) => Err(Unsent::Call(error.into())),
            Reply::Stream(items) => self.show_items(items).await,
        }
    }

    async fn show_items(&self, mut items: Items) -> Result<(), Unsent> {
        while let Some(item) = items.next().await {
            match item.map_err(CallError::from) {
                Ok(json) if self.show(&json)? => {}
                // Whoever read has seen enough.
                Ok(_) => break,
                // The stream goes on.
                Err(CallError::Gap(gap)) => output::note(&format!("warning: {gap}\n")),
                Err(error) => return Err(Unsent::Call(error)),
            }
        }
        Ok(())
    }

    /// Prints a result; tells whether anybody reads on.
    fn show(&self, json: &Json) -> Result<bool, Unsent> {
        output::result(json, self.raw).map_err(Unsent::Failed)
    }

    /// What a failure means, and what to do about it.
    fn explain(&self, failure: Unsent) -> Failure {
        let error = match failure {
            Unsent::Url(what) => return Failure::usage(what),
            Unsent::Call(error) => error,
            Unsent::Failed(failure) => return failure,
            Unsent::Interrupted => {
                return Failure::new(Exit::Interrupted, "interrupted; the call was cancelled");
            }
        };
        let advice = match &error {
            CallError::Unreachable(what) if what.starts_with("nothing listens") => Some(self.start_advice()),
            CallError::Unreachable(what) if what.contains("issuer that is not trusted") => {
                Some("or use `--cacert FILE`".to_owned())
            }
            CallError::Unreachable(what) if what.contains("requires a client certificate") => {
                Some("use `--cert FILE --key FILE`".to_owned())
            }
            CallError::Unreachable(what) if what.contains("ertificate") || what.contains("TLS") => None,
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
    /// Something else did.
    Failed(Failure),
    /// A signal came first.
    Interrupted,
}

/// Answers nothing that the far side asks. It ends with the connection, and with it what it holds.
struct Nothing {
    _end: oneshot::Sender<()>,
}

impl Service for Nothing {
    fn call(&self, _: &switchboard::Call) -> ReplyFuture {
        ReplyFuture::ready(ErrorObject::method_not_found())
    }
}

/// Reads a header as it is written on the command line.
fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("it is no header; write it as 'Name: value'")?;
    let name = name.trim().parse().map_err(|_| format!("{:?} is no name of a header", name.trim()))?;
    let value = value.trim().parse().map_err(|_| "its value holds what no header can".to_owned())?;
    Ok((name, value))
}
