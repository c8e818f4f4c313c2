//! `switchboard batch`: sends many calls, and shows their answers.

pub(crate) mod input;
pub(crate) mod outcome;

use std::path::{Path, PathBuf};

use clap::Args;
use futures_util::{StreamExt, stream};
use switchboard::{CallError, Remote, Reply};

use self::input::Entry;
use self::outcome::Outcome;
use crate::allowance::Allowance;
use crate::exit;
use crate::failure::Failure;
use crate::session::{Line, Session};
use crate::target::Target;
use crate::{output, units};

const EXAMPLES: &str = "\
Examples:
  printf 'math/add a=2 b=3\\nmath/add 4 5\\n' | switchboard batch http://127.0.0.1:8000
  switchboard batch http://127.0.0.1:8000 calls.txt
  switchboard batch ws://127.0.0.1:8000 calls.json --concurrent   # separate requests, ten at a time
  switchboard batch http://127.0.0.1:8000 calls.txt --lines | jq .result";

const LONG: &str = "\
The input is a JSON array of requests, or one call per line:

  # lines that start with a number sign are comments
  math/add a=2 b=3
  echo message=\"two words\"
  ! logEvent message=hello
  {\"method\": \"math/add\", \"params\": [2, 3], \"id\": \"x\"}

A line that starts with `!`, or a JSON request without `id`, is a notification, which gets no answer. Words are separated by spaces, \
except inside quotes and brackets. Parameters are written as for `switchboard call`.

All calls are sent as one batch. With `--concurrent`, they are sent as separate requests, several at a time. The answers are \
printed in the order of the calls, each with the `id` of its request, or the number of the call, counted from 1, if it has none. On a \
terminal they are shown as a table, in a pipe as a JSON array, and with `--lines` as one JSON object per line.

If a call gets no valid answer, because the connection broke, it timed out, or the answer violates the protocol, an object \
with `failure` takes the place of the response. It has a `kind` (`connection`, `timeout`, `protocol` or `unsupported`) and a \
`message`.

The exit code is 1 if any call was answered with an error. If any call got no valid answer, the exit code is the one that \
`call` returns for that failure.";

/// Sends many calls, as one batch or concurrently, and prints the answers in order.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Batch {
    #[command(flatten)]
    target: Target,
    /// File with the calls; `-` or nothing for stdin.
    file: Option<PathBuf>,
    /// Send the calls as separate requests, this many at a time. Without a number, 10.
    #[arg(long, value_name = "COUNT", num_args = 0..=1, require_equals = true, default_missing_value = "10")]
    #[arg(value_parser = units::count)]
    concurrent: Option<usize>,
    /// Print one JSON object per line instead of an array.
    #[arg(long, help_heading = "Output")]
    lines: bool,
}

impl Batch {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let entries = input::read(self.file.as_deref().unwrap_or(Path::new("-")))?;
        if self.target.v1 && self.concurrent.is_none() {
            return Err(Failure::usage("JSON-RPC 1.0 has no batches").advise("add `--concurrent`"));
        }
        self.target.run(async |session| self.send(session, entries).await)
    }

    async fn send(&self, session: &Session<'_>, entries: Vec<Entry>) -> Result<(), Failure> {
        let line = session.open().await?;
        let outcomes = match self.concurrent {
            None => self.send_together(&line, &entries).await?,
            Some(count) => self.send_each(&line, &entries, count).await?,
        };
        self.show(&outcomes)?;
        outcome::verdict(&outcomes, &self.target)
    }

    /// Sends all calls as one message.
    async fn send_together(&self, line: &Line, entries: &[Entry]) -> Result<Vec<Outcome>, Failure> {
        let time = Allowance::new(self.target.timeout);
        let calls = entries.iter().map(|entry| {
            let mut call = entry.call.clone();
            call.cx.deadline = Some(time.until);
            call
        });
        let replies = Remote::batch(line.peer(), calls.collect());
        let replies = tokio::time::timeout_at(time.until, replies).await;
        let replies = replies.map_err(|_| self.target.explain(CallError::TimedOut))?;
        self.check(replies.iter())?;
        let mut outcomes = Vec::with_capacity(entries.len());
        for (entry, reply) in entries.iter().zip(replies) {
            outcomes.extend(Outcome::of(entry, reply, time).await);
        }
        outcome::refusal(&outcomes).map_or(Ok(outcomes), Err)
    }

    /// If no call was answered at all, there is nothing to show.
    fn check<'a>(&self, mut replies: impl Iterator<Item = &'a Reply>) -> Result<(), Failure> {
        let local = |reply: &Reply| match &reply.outcome {
            switchboard::Outcome::Error(error) if error.is_local() => Some(CallError::from(error.clone())),
            _ => None,
        };
        match replies.next().and_then(local) {
            Some(error) if replies.all(|reply| local(reply).is_some()) => Err(self.target.explain(error)),
            _ => Ok(()),
        }
    }

    /// Sends the calls as separate requests, so many at a time. The answers keep the order of the calls.
    async fn send_each(&self, line: &Line, entries: &[Entry], count: usize) -> Result<Vec<Outcome>, Failure> {
        let one = async |entry: &Entry| {
            let time = Allowance::new(self.target.timeout);
            let reply = line.ask(entry.call.clone()).await.unwrap_or_else(|error| Reply::error(error.into()));
            (entry.clone(), reply, time)
        };
        let replies: Vec<(Entry, Reply, Allowance)> =
            stream::iter(entries).map(one).buffered(count).collect().await;
        self.check(replies.iter().map(|(_, reply, _)| reply))?;
        let mut outcomes = Vec::with_capacity(entries.len());
        for (entry, reply, time) in replies {
            outcomes.extend(Outcome::of(&entry, reply, time).await);
        }
        Ok(outcomes)
    }

    fn show(&self, outcomes: &[Outcome]) -> Result<(), Failure> {
        if self.target.format.is_for_people() && !self.lines {
            let is_any = !outcomes.is_empty();
            return if is_any { output::page(&outcome::table(outcomes)).map(drop) } else { Ok(()) };
        }
        if self.lines {
            for outcome in outcomes {
                if !output::result(&outcome.to_json(), self.target.format)? {
                    break;
                }
            }
            return Ok(());
        }
        output::result(&outcome::list(outcomes), self.target.format).map(drop)
    }
}
