//! `switchboard tap`: stands between a client and a server, and shows what they say.

mod exchange;
mod filter;
mod journal;
mod line;
mod screen;
mod tally;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use clap::Args;
use switchboard::observer::{Begun, Observer, Refused};
use switchboard::server::{Server, ServerOptions};
use switchboard::tls::{ServerFiles, ServerTls};
use switchboard::{AllowedNames, CallError, Context, Limits, Service, Settings, Upstream};
use tokio::sync::Notify;

use self::exchange::Tapped;
use self::filter::Filter;
use self::journal::Journal;
use self::screen::{Screen, Stream};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::recording::{self, Side};
use crate::session::{Interrupt, Session};
use crate::shell::quoted;
use crate::target::Target;
use crate::visible::visible;
use crate::written::Written;
use crate::{address, log, output, serving, units};

const EXAMPLES: &str = "\
Examples:
  switchboard tap 9000 http://127.0.0.1:8000            # clients call http://127.0.0.1:9000
  switchboard tap ws://127.0.0.1:9000 tcp://127.0.0.1:4000
  switchboard tap 9000 'exec:switchboard serve --stdio'
  switchboard tap stdio http://127.0.0.1:8000           # as the program that a client starts
  switchboard tap 9000 http://127.0.0.1:8000 --method 'math/*' --failed
  switchboard tap 9000 http://127.0.0.1:8000 --slower-than 100ms
  switchboard tap 9000 http://127.0.0.1:8000 --record calls.jsonl
  switchboard tap 9000 http://127.0.0.1:8000 | jq 'select(.error)'";

const LONG: &str = "\
On a terminal, each message is one line: the time, the session, the number of the call, the direction, the method, and the params or the \
answer. In a pipe, each call is one line of JSON when it has ended, in the format of recordings. With `stdio`, lines go to stderr.

Params and results are shown and recorded. HTTP headers, metadata and tokens of `rpc.login` are not. The server gets the credentials \
of this command line, and from the client only the headers that `--forward` names.

Calls have no time limit; `--timeout` limits connecting. Ctrl-C ends with a summary.";

/// How long calls in progress may take to finish after Ctrl-C.
const DRAINING: Duration = Duration::from_secs(1);

/// Shows what a client and a server say to each other: forwards all calls and prints them.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(described),
)]
pub(crate) struct Tap {
    /// Where to listen for clients: a port, a URL with the scheme http, https, ws, wss, tcp, tls or unix, or `stdio`.
    #[arg(value_name = "FROM", value_parser = address::listening)]
    from: String,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    filter: Filter,
    /// Show values in full, up to 64 KiB each, instead of cutting lines to the width of the terminal.
    #[arg(long)]
    full: bool,
    /// Append all calls to this file, to compare them later with `switchboard replay`. Only you can read a new file.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Forward this header of the client to the server, such as authorization. Can be repeated.
    #[arg(long, value_name = "NAME")]
    forward: Vec<String>,
    /// Certificate chain in PEM format, for listening on https, wss or tls.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM format.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Allow listening on addresses that other machines can reach.
    #[arg(long)]
    public: bool,
}

/// The options of a server to call, where they are about one to forward to.
fn described(argument: clap::Arg) -> clap::Arg {
    match argument.get_id().as_str() {
        "url" => argument
            .value_name("TO")
            .help("Server to forward to: a URL with the scheme http, https, ws, wss, tcp, tls, unix or exec"),
        "timeout" => argument.help("How long connecting to the server may take"),
        // Clients decide whether to call again.
        "retry" | "repeatable" => argument.hide(true).conflicts_with("from"),
        _ => argument,
    }
}

impl Tap {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        log::never_wait().map_err(|error| cannot_start(&error))?;
        self.target.run_watching(async |session, interrupt| self.tap(session, interrupt).await)
    }

    async fn tap(&self, session: &Session<'_>, interrupt: Interrupt) -> Result<(), Failure> {
        let closed = Arc::new(Notify::new());
        let journal = Arc::new(self.journal(Arc::clone(&closed))?);
        let upstream = self.upstream(session, &journal);
        let written = Written::default();
        let mut server = written.watch(self.server(&journal, upstream)?);
        server.listen(&self.from).await.map_err(|error| serving::explain(error, &self.from))?;
        let urls: Vec<String> = server.urls().collect();
        output::note(&self.banner(&urls));
        let handle = server.handle();
        let mut serving = tokio::spawn(server.serve());
        tokio::select! {
            // With stdio it may end by itself.
            _ = &mut serving => {}
            () = stopped(interrupt, &closed) => {
                handle.shutdown();
                let _ = serving.await;
            }
        }
        output::note(&journal.finish());
        written.judge()
    }

    fn journal(&self, closed: Arc<Notify>) -> Result<Journal, Failure> {
        let stream = if self.from == "stdio" { Stream::Stderr } else { Stream::Stdout };
        let screen = Screen::start(stream, self.target.format, self.full, closed);
        let screen = screen.map_err(|error| cannot_start(&error))?;
        let recording = self.record.as_deref().map(recording::start).transpose()?;
        Ok(Journal::new(self.filter.clone(), screen, recording))
    }

    /// The server behind, whose calls back to clients are seen too.
    fn upstream(&self, session: &Session<'_>, journal: &Arc<Journal>) -> Upstream {
        let journal = Arc::clone(journal);
        let trace = ["traceparent", "tracestate"].map(str::to_owned);
        let names: AllowedNames = trace.into_iter().chain(self.forward.iter().cloned()).collect();
        session.upstream().with_call_metadata(names).with_calls_back(move |session, service| {
            let (journal, session) = (Arc::clone(&journal), Some(journal.session(session)));
            Arc::new(Tapped { journal, to: Side::Client, session, service })
        })
    }

    /// The server in front, which listens nowhere yet.
    fn server(&self, journal: &Arc<Journal>, upstream: Upstream) -> Result<Server, Failure> {
        let service: Arc<dyn Service> = Arc::new(upstream.clone());
        let tapped = Tapped { journal: Arc::clone(journal), to: Side::Server, session: None, service };
        let observer = Front { journal: Arc::clone(journal), upstream };
        // The limits are those of the server behind; these only bound what is held here.
        let (longest, default) = (self.target.max_answer, Limits::default());
        let limits = default
            .with_frame(longest)
            .with_reply(longest)
            .with_batch_reply(longest)
            .with_members(usize::MAX)
            .with_call_time(units::LONGEST)
            .with_drain_time(DRAINING);
        let settings = Settings::default().with_limits(limits).with_observer(Some(observer.into()));
        let options = ServerOptions::default().with_duplex_idle_time(None);
        let server = Server::new(tapped).with_settings(settings).with_options(options);
        let server = if self.public { server.public() } else { server };
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else { return Ok(server) };
        let tls = ServerTls::load(ServerFiles::new(certificate, key));
        Ok(server.with_tls(tls.map_err(|error| Failure::usage(error.to_string()))?))
    }

    /// Where to call, where it goes, and how to stop.
    fn banner(&self, urls: &[String]) -> String {
        const HEAD: Style = Style::new().bold();
        const URL: Style = AnsiColor::Cyan.on_default().underline();
        const FAINT: Style = Style::new().dimmed();
        let mut text = format!("{HEAD}switchboard {}{HEAD:#}\n", env!("CARGO_PKG_VERSION"));
        for url in urls {
            text.push_str(&format!("Listening on {URL}{url}{URL:#}\n"));
        }
        text.push_str(&format!("Forwarding to {URL}{}{URL:#}\n", visible(&self.target.url)));
        if let Some(file) = &self.record {
            text.push_str(&format!("Recording to {}\n", visible(&file.display().to_string())));
        }
        if let Some(url) = urls.iter().find(|url| *url != "stdio") {
            let url = quoted(&address::reachable(url));
            text.push_str(&format!("\nCall {url} instead of the server, for example:\n"));
            text.push_str(&format!("  switchboard discover {url}\n"));
        }
        text + &format!("\n{FAINT}Press Ctrl-C to stop.{FAINT:#}\n")
    }
}

/// Sees what clients do before they call.
struct Front {
    journal: Arc<Journal>,
    upstream: Upstream,
}

impl Observer for Front {
    /// A client that only listens needs its connection to the server, too.
    fn opened(&self, session: &switchboard::Session) {
        if !session.is_exclusive() {
            return;
        }
        let (upstream, session) = (self.upstream.clone(), session.clone());
        tokio::spawn(async move {
            // If it fails, the first call fails too, and its caller hears of it.
            if let Err(CallError::CannotConnect(what)) = upstream.open(&session).await {
                output::note(&format!("warning: {}\n", visible(&what)));
            }
        });
    }

    /// The engine calls the service next, on the same thread.
    fn begun(&self, call: &Begun<'_>) {
        Journal::locate(call.at);
    }

    fn refused(&self, cx: &Context, refused: &Refused<'_>) {
        self.journal.refuse(cx.session(), refused);
    }
}

/// Waits for the signal to stop, or until nothing reads the output any more.
async fn stopped(interrupt: Interrupt, closed: &Notify) {
    tokio::select! {
        _ = interrupt => {}
        () = closed.notified() => {}
    }
}

fn cannot_start(error: &io::Error) -> Failure {
    Failure::new(Exit::CannotListen, format!("cannot start: {error}"))
}
