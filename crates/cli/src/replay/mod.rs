//! `switchboard replay`: sends the calls of a recording to a server, and compares the answers.

mod answer;
mod calls_back;
mod difference;
mod report;
mod rules;
mod timeline;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use switchboard::identity::LOGIN;
use switchboard::{Call, CallError, StreamWanted};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::answer::Answer;
use self::calls_back::CallsBack;
use self::report::Report;
use self::rules::Rules;
use self::timeline::{Moment, timeline};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::recording::{self, Entry, Part, Run, Side};
use crate::session::{Line, Session};
use crate::target::Target;
use crate::{call_options, output, source, text};

const EXAMPLES: &str = "\
Examples:
  switchboard tap 9000 http://127.0.0.1:8000 --record calls.jsonl
  switchboard replay calls.jsonl http://127.0.0.1:8001
  switchboard replay calls.jsonl http://127.0.0.1:8001 --ignore /result/time
  switchboard replay calls.jsonl http://127.0.0.1:8001 --ignore '/result/items/*/id'
  switchboard replay calls.jsonl ws://127.0.0.1:8001 --ignore-method 'time/*' --only-codes
  switchboard replay calls.jsonl http://127.0.0.1:8001 --pace";

const LONG: &str = "\
Each session of the recording gets its own connection. A call is sent when all calls that had ended before it began are answered; \
`--pace` also waits as long as the clients did. Calls of the server to a client are answered as they were recorded.

The order of members does not matter, and numbers are compared by value. Notifications are sent and not compared. Calls of \
`rpc.login` are not sent, because recordings have no tokens; use `--token`.";

/// Sends the calls of a recording to a server and shows which answers differ.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Replay {
    /// Recording that `switchboard tap --record` wrote; `-` for stdin.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    rules: Rules,
    /// Keep the time between calls that the recording has.
    #[arg(long)]
    pace: bool,
}

impl Replay {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let runs =
            recording::read(&self.file).map_err(|failure| match source::is_far(&text::name(&self.file)) {
                true => failure.advise("the recording comes first: switchboard replay FILE URL"),
                false => failure,
            })?;
        let lost: u64 = runs.iter().map(|run| run.lost).sum();
        if lost > 0 {
            output::note(&format!("warning: {lost} calls are missing in the recording\n"));
        }
        self.target.run(async |session| {
            let calls = runs.iter().flat_map(|run| &run.entries).filter(|entry| is_call(entry)).count();
            let mut report = Report::new(self.target.format, calls);
            for run in runs {
                if !Playing::new(&self, session, run).play(&mut report).await? {
                    return Ok(());
                }
            }
            report.finish()
        })
    }
}

/// Whether an entry is a call from a client, which has an answer.
fn is_call(entry: &Entry) -> bool {
    entry.to == Side::Server && !entry.notification
}

/// One run of a recording while it is sent.
struct Playing<'a> {
    replay: &'a Replay,
    session: &'a Session<'a>,
    entries: Vec<Entry>,
    /// How many entries of each session have not ended.
    left: HashMap<u64, usize>,
    /// What the client of each session answers.
    calls_back: HashMap<u64, CallsBack>,
    /// The connection of each session.
    lines: HashMap<u64, Arc<Line>>,
    /// Calls that were sent, by the index of their entry.
    sent: HashMap<usize, JoinHandle<Result<Answer, CallError>>>,
    start: Instant,
}

impl<'a> Playing<'a> {
    fn new(replay: &'a Replay, session: &'a Session<'a>, run: Run) -> Playing<'a> {
        let mut left = HashMap::new();
        let mut calls_back: HashMap<u64, CallsBack> = HashMap::new();
        for entry in &run.entries {
            *left.entry(entry.session).or_default() += 1;
            if entry.to == Side::Client {
                calls_back.entry(entry.session).or_default().add(entry);
            }
        }
        let (lines, sent) = (HashMap::new(), HashMap::new());
        let (entries, start) = (run.entries, Instant::now());
        Playing { replay, session, entries, left, calls_back, lines, sent, start }
    }

    /// Sends everything. Returns whether stdout is still read.
    async fn play(mut self, report: &mut Report) -> Result<bool, Failure> {
        for moment in timeline(&self.entries) {
            let is_read = match moment {
                Moment::Begin(index) => self.begin(index).await.map(|()| true),
                Moment::End(index) => self.end(index, report).await,
            };
            if !is_read? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends a call, and does not wait for its answer.
    async fn begin(&mut self, index: usize) -> Result<(), Failure> {
        let line = self.line(self.entries[index].session).await?;
        let entry = &self.entries[index];
        if entry.to == Side::Client || entry.method == LOGIN || entry.omitted.contains(&Part::Params) {
            return Ok(());
        }
        if self.replay.pace {
            tokio::time::sleep_until(self.start + Duration::from_secs_f64(entry.at / 1000.0)).await;
        }
        let (call, patience) = (self.call(entry), self.session.target.timeout);
        // The client stopped reading there.
        let most = if entry.cancelled { entry.items.as_ref().map_or(0, Vec::len) } else { usize::MAX };
        let sending = async move { Answer::to(&line, call, most, patience).await };
        self.sent.insert(index, tokio::spawn(sending));
        Ok(())
    }

    /// Waits for the answer of a call, and compares it. Returns whether stdout is still read.
    async fn end(&mut self, index: usize, report: &mut Report) -> Result<bool, Failure> {
        let entry = &self.entries[index];
        let is_read = match self.sent.remove(&index) {
            None => true,
            Some(sent) if entry.cancelled && entry.items.is_none() => {
                sent.abort();
                true
            }
            Some(sent) => {
                let answer = sent.await.map_err(|error| Failure::new(Exit::Protocol, error.to_string()))?;
                let answer = answer.map_err(|error| self.session.target.explain(error))?;
                match self.is_compared(entry) {
                    true => {
                        let differences = Answer::from(entry).differences(answer, &self.replay.rules);
                        report.compared(entry, &differences)?
                    }
                    false => true,
                }
            }
        };
        if let Some(left) = self.left.get_mut(&entry.session) {
            *left -= 1;
            if *left == 0 {
                self.lines.remove(&entry.session);
            }
        }
        Ok(is_read)
    }

    fn is_compared(&self, entry: &Entry) -> bool {
        is_call(entry) && !entry.omitted.contains(&Part::Answer) && self.replay.rules.compares(&entry.method)
    }

    /// The connection of a session.
    async fn line(&mut self, session: u64) -> Result<Arc<Line>, Failure> {
        if let Some(line) = self.lines.get(&session) {
            return Ok(Arc::clone(line));
        }
        let calls_back = self.calls_back.remove(&session).unwrap_or_default();
        let line = Arc::new(self.session.open_for(calls_back).await?);
        self.lines.insert(session, Arc::clone(&line));
        Ok(line)
    }

    /// The call that an entry records.
    fn call(&self, entry: &Entry) -> Call {
        let (method, params) = (entry.method.as_str(), entry.params.clone());
        if entry.notification {
            return Call::notification(method, params);
        }
        let mut call = Call::new(method, params);
        if entry.items.is_some() && !self.replay.target.v1 {
            call.cx.insert(StreamWanted);
            if !self.replay.target.extensions && !self.replay.target.is_http() {
                call_options::say(&mut call);
            }
        }
        call
    }
}
