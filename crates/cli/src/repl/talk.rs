//! Does what is typed.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use futures_util::StreamExt;
use switchboard::{Call, CallError, Items, Json, Outcome, Remote, StreamWanted};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use unicode_width::UnicodeWidthStr;

use super::completion::Known;
use super::entry::{Action, COMMANDS};
use super::raw;
use super::voice::Voice;
use crate::allowance::Allowance;
use crate::batch::input::Entry;
use crate::batch::outcome;
use crate::bench::figures;
use crate::discovery::BRIEFLY;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::{Line, Session};
use crate::suggest::{Asked, did_you_mean};
use crate::{call_options, discover, table};

/// What can be typed besides commands.
const LINES: [(&str, &str); 4] = [
    ("math/add a=2 b=3", "call a method with named parameters"),
    ("math/add [2, 3]", "call it with positional parameters; JSON can span several lines"),
    ("! logEvent message=hi", "send a notification, which gets no answer"),
    ("[{\"method\": …}, …]", "send a batch of requests"),
];
const KEYS: [(&str, &str); 3] = [
    ("Tab", "complete methods and parameters"),
    ("Ctrl-C", "cancel the call in progress, or clear the line"),
    ("Ctrl-R", "search the history; Enter runs the line that was found"),
];
const VALUES: &str = "Values are parsed as JSON if possible; otherwise they are strings.";

/// A conversation with a server.
pub(crate) struct Talk<'a> {
    session: &'a Session<'a>,
    line: Line,
    known: Known,
    voice: Voice,
    is_timing: bool,
    /// Streams that are open, by their numbers.
    streams: BTreeMap<usize, Open>,
    last_stream: usize,
}

impl<'a> Talk<'a> {
    pub(crate) fn new(session: &'a Session<'a>, line: Line, known: Known, voice: Voice) -> Talk<'a> {
        Talk { session, line, known, voice, is_timing: false, streams: BTreeMap::new(), last_stream: 0 }
    }

    /// Does what was typed. Dropping the future cancels it.
    pub(crate) async fn run(&mut self, action: Action) -> Result<(), Failure> {
        match action {
            Action::Nothing | Action::Quit => Ok(()),
            Action::Call(call, words) => self.timed(async |this| this.call(*call, &words).await).await,
            Action::Batch(entries) => self.timed(async |this| this.batch(entries).await).await,
            Action::Raw(text) => {
                self.timed(async |this| raw::send(this.session.target, &this.voice, &text).await).await
            }
            Action::Methods => {
                self.learn_first().await;
                self.methods()
            }
            Action::Describe(name) => {
                self.learn_first().await;
                self.describe(&name)
            }
            Action::Stop(number) => self.stop(number).await,
            Action::Timing => {
                self.is_timing = !self.is_timing;
                self.voice.note(if self.is_timing { "timing is on" } else { "timing is off" });
                Ok(())
            }
            Action::Help => self.voice.page(&help(table::terminal_width())),
        }
    }

    /// Does something, and shows how long it took if timing is on.
    async fn timed(
        &mut self,
        act: impl AsyncFnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let start = Instant::now();
        let outcome = act(self).await;
        if self.is_timing {
            self.voice.note(&format!("({})", figures::time(start.elapsed().as_nanos() as f64)));
        }
        outcome
    }

    async fn call(&mut self, mut call: Call, words: &[String]) -> Result<(), Failure> {
        let (method, is_notification) = (call.method.clone(), call.is_notification());
        if !self.session.target.v1 {
            call.cx.insert(StreamWanted);
        }
        if !is_notification && self.is_understood() {
            call.cx.deadline = Some(Instant::now() + self.session.target.timeout);
            call_options::say(&mut call);
        }
        let error = match self.line.ask(call).await.map(|reply| reply.outcome) {
            Ok(Outcome::Value(_)) if is_notification => return Ok(()),
            Ok(Outcome::Value(json)) => return self.voice.result(&json),
            Ok(Outcome::Stream(items)) => return self.stream(items).await,
            Ok(Outcome::Error(error)) => error.into(),
            Err(error) => error,
        };
        let asked = Asked { method: method.as_str(), words, listing: "`.methods`" };
        Err(self.session.explain(&self.line, asked, error).await)
    }

    /// Whether the server understands the extensions of Switchboard, and does not get them anyway.
    fn is_understood(&self) -> bool {
        let target = self.session.target;
        let is_ours = self.known.read().unwrap_or_else(PoisonError::into_inner).is_ours;
        is_ours && !target.v1 && !target.extensions && !target.is_http()
    }

    async fn batch(&mut self, entries: Vec<Entry>) -> Result<(), Failure> {
        let target = self.session.target;
        let time = Allowance::new(target.timeout);
        let is_understood = self.is_understood();
        let calls = entries.iter().map(|entry| {
            let mut call = entry.call.clone();
            call.cx.deadline = Some(time.until);
            if is_understood && !call.is_notification() {
                call_options::say(&mut call);
            }
            call
        });
        let replies =
            tokio::time::timeout_at(time.until, Remote::batch(self.line.peer(), calls.collect())).await;
        let replies = replies.map_err(|_| target.explain(CallError::TimedOut))?;
        let mut outcomes = Vec::with_capacity(entries.len());
        for (entry, reply) in entries.iter().zip(replies) {
            outcomes.extend(outcome::Outcome::of(entry, reply, time).await);
        }
        if outcomes.is_empty() {
            return Ok(());
        }
        self.voice.result(&outcome::list(&outcomes))?;
        match outcome::verdict(&outcomes, target) {
            // A person has seen it in the list.
            Err(failure) if failure.exit() == Exit::Rejected && self.voice.is_for_people() => Ok(()),
            verdict => verdict,
        }
    }
}

/// Streams.
impl Talk<'_> {
    /// Shows the items of a stream: for a person while other things are done, for a program before them.
    async fn stream(&mut self, items: Items) -> Result<(), Failure> {
        self.last_stream += 1;
        let number = self.last_stream;
        let voice = self.voice.clone();
        if let Voice::Pipe(_) = voice {
            return show(&voice, number, items).await;
        }
        voice.note(&format!("stream #{number} is open; `.stop {number}` stops it"));
        let task = tokio::spawn(async move {
            match show(&voice, number, items).await {
                Ok(()) => voice.note(&format!("stream #{number} ended")),
                Err(failure) => voice.failure(&failure.at(format!("stream #{number}"))),
            }
        });
        self.streams.retain(|_, stream| !stream.0.is_finished());
        self.streams.insert(number, Open(task));
        Ok(())
    }

    async fn stop(&mut self, number: Option<usize>) -> Result<(), Failure> {
        self.streams.retain(|_, stream| !stream.0.is_finished());
        let chosen: Vec<usize> =
            self.streams.keys().copied().filter(|key| number.is_none_or(|number| number == *key)).collect();
        if chosen.is_empty() {
            return Err(Failure::usage(match number {
                Some(number) => format!("stream #{number} is not open"),
                None => "no stream is open".to_owned(),
            }));
        }
        for number in chosen {
            if let Some(mut stream) = self.streams.remove(&number) {
                stream.0.abort();
                // Its last item is shown before the note that it stopped.
                let _ = (&mut stream.0).await;
                self.voice.note(&format!("stream #{number} stopped"));
            }
        }
        Ok(())
    }
}

/// The help, on a terminal of this width.
fn help(width: usize) -> String {
    let commands: Vec<(String, &str)> =
        COMMANDS.iter().map(|command| (command.usage(), command.about)).collect();
    let commands: Vec<(&str, &str)> =
        commands.iter().map(|(usage, about)| (usage.as_str(), *about)).collect();
    let parts = [&LINES[..], &commands, &KEYS];
    let left = parts.iter().copied().flatten().map(|(what, _)| what.width()).max().unwrap_or(0);
    let indent = left + 4;
    let row = |(what, about): &(&str, &str)| {
        let about =
            table::wrap(about, width.saturating_sub(indent).max(20)).join(&format!("\n{:indent$}", ""));
        format!("  {what}{:pad$}{about}\n", "", pad = indent - 2 - what.width())
    };
    let parts: Vec<String> = parts.iter().map(|rows| rows.iter().map(row).collect()).collect();
    format!("{}\n{}", parts.join("\n"), table::wrap(VALUES, width).join("\n"))
}

/// A stream that is shown. Dropping it ends it.
struct Open(JoinHandle<()>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn show(voice: &Voice, number: usize, mut items: Items) -> Result<(), Failure> {
    while let Some(item) = items.next().await {
        match item.map_err(CallError::from) {
            Ok(json) => voice.item(number, &json)?,
            // The stream goes on.
            Err(CallError::Gap(gap)) => voice.note(&format!("stream #{number}: {gap}")),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// What the server describes.
impl Talk<'_> {
    /// Asks for what is not known yet.
    async fn learn_first(&self) {
        let is_known = !self.known.read().unwrap_or_else(PoisonError::into_inner).methods.is_empty();
        if !is_known {
            // Without an answer it stays unknown.
            let _ = super::learn(&self.line, &self.known, BRIEFLY).await;
        }
    }

    fn methods(&self) -> Result<(), Failure> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        match known.methods.is_empty() {
            true => Err(undescribed()),
            false if !self.voice.is_for_people() => {
                let names: Vec<&str> = known.methods.iter().map(|method| method.name.as_str()).collect();
                self.voice.result(&Json::encode_ref(&names).expect("a list of names is JSON"))
            }
            false => self.voice.page(&discover::listing(&known, table::terminal_width())),
        }
    }

    fn describe(&self, name: &str) -> Result<(), Failure> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        match known.method(name) {
            Some(method) => {
                let page = discover::detail(method, &self.session.target.url, table::terminal_width());
                self.voice.page(&page)
            }
            None if known.methods.is_empty() => Err(undescribed()),
            None => {
                let names = known.methods.iter().map(|method| method.name.as_str());
                let advice = did_you_mean(name, names).unwrap_or_else(|| "see `.methods`".to_owned());
                Err(Failure::usage(format!("the server describes no method `{name}`")).advise(advice))
            }
        }
    }
}

fn undescribed() -> Failure {
    Failure::usage("the server does not describe its methods: it has no `rpc.discover`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_has_two_aligned_columns() {
        for width in [60, 80, 120] {
            let help = help(width);
            let explained = |about: &str| {
                let word = about.split(' ').next().unwrap();
                let row = help.lines().find(|row| row.contains(&format!("  {word} "))).unwrap();
                row[..row.rfind(&format!("  {word} ")).unwrap()].width() + 2
            };
            let about = LINES.iter().chain(&KEYS).map(|(_, about)| *about);
            let columns: Vec<usize> =
                about.chain(COMMANDS.iter().map(|command| command.about)).map(explained).collect();
            assert!(columns.iter().all(|column| *column == columns[0]), "{columns:?}\n{help}");
            assert!(help.lines().all(|line| line.width() <= width), "{help}");
        }
    }
}
