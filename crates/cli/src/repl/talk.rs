//! What is done for what is typed.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use futures_util::StreamExt;
use switchboard::{Call, CallError, Items, Json, Outcome, Remote, StreamWanted};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::completion::Known;
use super::entry::{COMMANDS, Wish};
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
use crate::{call_options, discover, table};

const HELP: &str = "\
  math/add a=2 b=3          call a method, with parameters by name
  math/add [2, 3]           or by position; JSON may go over several lines
  ! logEvent message=hi     send a notification, which has no answer
  [{\"method\": …}, …]        send requests as one batch
";

const KEYS: &str = "\
Tab completes methods and parameters. Ctrl-C cancels the call under way, or empties the line. Ctrl-R searches what was
typed before. A value is JSON if it can be, a string otherwise.";

/// A conversation with a far side.
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

    /// Does what is wished for. Dropping the future cancels it.
    pub(crate) async fn grant(&mut self, wish: Wish) -> Result<(), Failure> {
        match wish {
            Wish::Nothing | Wish::Quit => Ok(()),
            Wish::Call(call) => self.timed(async |this| this.call(call).await).await,
            Wish::Batch(entries) => self.timed(async |this| this.batch(entries).await).await,
            Wish::Raw(text) => {
                self.timed(async |this| raw::send(this.session.target, &this.voice, &text).await).await
            }
            Wish::Methods => {
                self.learn_first().await;
                self.methods()
            }
            Wish::Describe(name) => {
                self.learn_first().await;
                self.describe(&name)
            }
            Wish::Stop(number) => self.stop(number).await,
            Wish::Timing => {
                self.is_timing = !self.is_timing;
                self.voice.note(if self.is_timing { "timing is on" } else { "timing is off" });
                Ok(())
            }
            Wish::Help => {
                let commands = COMMANDS.map(|(name, what)| format!("  {name:<12}{what}\n")).concat();
                self.voice.page(&format!("{HELP}\n{commands}\n{KEYS}"))
            }
        }
    }

    /// Does something, and tells how long it took if that is wished for.
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

    async fn call(&mut self, mut call: Call) -> Result<(), Failure> {
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
        Err(self.session.explain(&self.line, method.as_str(), error, "`.methods`").await)
    }

    /// Whether the far side understands members of requests that it takes to say more, and is not told already.
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
            // A person has seen it.
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
        voice.note(&format!("stream #{number} is open; `.stop {number}` ends it"));
        let task = tokio::spawn(async move {
            match show(&voice, number, items).await {
                Ok(()) => voice.note(&format!("stream #{number} has ended")),
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
                Some(number) => format!("there is no open stream #{number}"),
                None => "there is no open stream".to_owned(),
            }));
        }
        for number in chosen {
            if let Some(mut stream) = self.streams.remove(&number) {
                stream.0.abort();
                // What it was about to show comes before the word that it has ended.
                let _ = (&mut stream.0).await;
                self.voice.note(&format!("stream #{number} was ended"));
            }
        }
        Ok(())
    }
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

/// What the far side describes.
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
                Err(Failure::usage(format!("the far side describes no method {name}"))
                    .advise("see `.methods`"))
            }
        }
    }
}

fn undescribed() -> Failure {
    Failure::usage("the far side does not describe its methods").advise("it has no `rpc.discover`")
}
