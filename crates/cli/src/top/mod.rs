//! `switchboard top`: what a running server does, live in the terminal or as JSON lines.

mod draw;
mod feed;
mod input;
mod item;
mod lines;
mod live;
mod once;
mod state;
mod terminal;
mod upstreams;
mod wording;

use std::time::Duration;

use clap::Args;

use self::feed::Feed;
use self::state::By;
use crate::failure::Failure;
use crate::session::{Interrupt, Session};
use crate::target::Target;
use crate::{address, exit, units};

const EXAMPLES: &str = "\
Examples:
  switchboard serve --admin 9000                       # in another terminal
  switchboard top                                      # the admin listener at port 9000
  switchboard top 9001 --by transport
  switchboard top unix:/run/switchboard/admin.sock
  switchboard top https://rpc.example.com:9000 --token TOKEN
  switchboard top --once
  switchboard top --every 10s | jq '{calls, errors}'";

const LONG: &str = "\
On a terminal, the view shows calls and errors per second, latency, sessions, the busiest methods, and the latest calls that failed or took \
long. For a gateway, it also shows the upstreams. `?` lists the keys. It reconnects if the server goes away. In a pipe, each interval is one line of JSON: an item of the \
method `admin/stats`.";

/// The shortest interval that an admin listener measures.
const SHORTEST: Duration = Duration::from_millis(100);

/// Shows what a running server does: calls, errors, latency and sessions, live in the terminal.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(described),
)]
pub(crate) struct Top {
    #[command(flatten)]
    target: Target,
    /// Length of an interval: how often numbers change. At least 100ms.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    every: Duration,
    /// What the rows of the table are about.
    #[arg(long, value_enum, default_value_t = By::Method)]
    by: By,
    /// List calls that take longer than this, besides those that fail.
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = units::duration)]
    slow: Duration,
    /// Measure one interval, print it and exit.
    #[arg(long)]
    once: bool,
}

/// The options of a server to call, where they are about an admin listener.
fn described(argument: clap::Arg) -> clap::Arg {
    match argument.get_id().as_str() {
        "url" => argument
            .required(false)
            .default_value("http://127.0.0.1:9000")
            .value_parser(address::listening)
            .help(
                "Admin listener: a port on this machine, or a URL such as http://127.0.0.1:9000 or unix:PATH",
            ),
        "timeout" => argument.help("How long connecting and each answer may take"),
        // It reconnects in any case, and needs streams.
        "retry" | "repeatable" | "v1" | "extensions" => argument.hide(true),
        _ => argument,
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let every = units::duration(text)?;
    if every < SHORTEST { Err("use 100ms or longer".to_owned()) } else { Ok(every) }
}

impl Top {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.target.backoff().is_some() {
            return Err(Failure::usage("`top` reconnects by itself").advise("remove `--retry`"));
        }
        if self.target.v1 {
            return Err(
                Failure::usage("JSON-RPC 1.0 has no streams, which `top` needs").advise("remove `--v1`")
            );
        }
        self.target.run_watching(async |session, interrupt| self.watch(session, interrupt).await)
    }

    async fn watch(&self, session: &Session<'_>, mut interrupt: Interrupt) -> Result<(), Failure> {
        let format = self.target.format;
        let feed = Feed { session, every: self.every, slow: self.slow };
        let (line, info) = tokio::select! {
            opened = feed.open() => opened?,
            _ = &mut interrupt => return Ok(()),
        };
        if !self.once && format.is_for_people() {
            return live::show(&feed, line, info, self.by, interrupt).await;
        }
        tokio::select! {
            outcome = async {
                match self.once {
                    true => once::print(&feed, &line, &info, self.by).await,
                    false => lines::print(&feed, line, self.by).await,
                }
            } => outcome,
            // This is how it is meant to end.
            _ = interrupt => Ok(()),
        }
    }
}
