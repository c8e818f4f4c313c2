//! `switchboard repl`: a prompt to talk to a server.
//!
//! [`entry`] parses what is typed, [`talk`] does it, [`voice`] shows the outcome. At a terminal the [`editor`] reads lines, with
//! [`completion`] and [`highlight`], and the [`screen`] shows notifications above the prompt. Otherwise stdin is a script.

mod completion;
mod editor;
mod entry;
mod highlight;
mod history;
mod raw;
mod screen;
mod talk;
mod voice;

use std::io::{BufRead, IsTerminal};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use clap::Args;
use switchboard::CallError;
use switchboard::carrier::Url;
use switchboard::reconnect::{self, ConnectionState, ReconnectingPeer, Watch};

use self::completion::Known;
use self::editor::Editor;
use self::entry::Action;
pub(crate) use self::screen::Screen;
use self::talk::Talk;
use self::voice::Voice;
use crate::discovery;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::mcp_client::Server;
use crate::output;
use crate::session::{Line, Session};
use crate::target::Target;
use crate::text;
use crate::visible::visible;

const EXAMPLES: &str = "\
Examples:
  switchboard repl ws://127.0.0.1:8000
  switchboard repl 'exec:switchboard serve --stdio'
  switchboard repl http://127.0.0.1:8000/mcp --mcp
  printf 'math/add a=2 b=3\\nsum 1 2 3\\n' | switchboard repl http://127.0.0.1:8000";

const LONG: &str = "\
At the prompt, `math/add a=2 b=3` calls a method, `! logEvent message=hi` sends a notification, `[…]` sends a batch, and \
`.help` lists the commands. Tab completes methods and parameters that the server describes with `rpc.discover`. Notifications \
from the server are shown above the prompt. If the connection breaks, the client reconnects.

If stdin is not a terminal, its lines run as a script: results go to stdout, one per line, and errors to stderr. The exit code \
is that of the first error.";

/// Opens an interactive prompt, with completion and history, to call methods and see notifications.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Repl {
    #[command(flatten)]
    target: Target,
    /// Do not save the history.
    #[arg(long)]
    no_history: bool,
    /// Talk to an MCP server: its tools are methods.
    #[arg(long, conflicts_with_all = ["v1", "extensions", "retry"])]
    mcp: bool,
}

impl Repl {
    /// Runs the command.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        if self.mcp {
            self.target = Server::plain(self.target).target().clone();
        }
        let is_terminal = std::io::stdin().is_terminal()
            && std::io::stdout().is_terminal()
            && std::io::stderr().is_terminal();
        self.target.run_unwatched(async |session| match is_terminal {
            true => self.converse(session).await,
            false => self.follow(session).await,
        })
    }

    /// Runs the prompt.
    async fn converse(&self, session: &Session<'_>) -> Result<(), Failure> {
        // From now on a signal ends nothing by itself.
        let cannot = |error| Failure::new(Exit::Usage, format!("cannot start the prompt: {error}"));
        drop(interrupt().map_err(cannot)?);
        let (screen, printer) = Screen::new();
        let voice = Voice::Screen(screen.clone());
        // Notes of others, such as the wire that `-v` shows, must not run into the line that is typed.
        let notes = screen.clone();
        output::note_elsewhere(move |text| notes.say(text.trim_end_matches('\n')));
        let (line, client) = self.open(session, &voice).await?;
        let known = self.discover(&line, &voice).await?;
        let announcer = client.map(|client| {
            let line = Line::new(client.peer(), self.target.timeout);
            tokio::spawn(tell_states(client.watch(), line, voice.clone(), Arc::clone(&known)))
        });
        let editor = Editor {
            name: self.name(),
            history: self.history(&voice),
            known: Arc::clone(&known),
            screen,
            printer,
        };
        let (mut typed, thread) = editor.start().map_err(cannot)?;
        let mut talk = Talk::new(session, line, known, voice.clone());
        while let Some(line) = typed.recv().await {
            match entry::parse(&line.text) {
                // Before this line is dropped, which would show another prompt.
                Ok(Action::Quit) => typed.close(),
                Ok(action) => answer(&mut talk, action, &voice).await,
                Err(failure) => voice.failure(&failure),
            }
        }
        if let Some(announcer) = announcer {
            announcer.abort();
        }
        let _ = thread.join();
        Ok(())
    }

    /// Runs a script.
    async fn follow(&self, session: &Session<'_>) -> Result<(), Failure> {
        let voice = Voice::Pipe(self.target.format);
        let (line, _client) = self.open(session, &voice).await?;
        let mut talk = Talk::new(session, line, Known::default(), voice.clone());
        let mut failures = Vec::new();
        let mut script = Script { lines: std::io::stdin().lock().lines(), read: 0 };
        // With `--retry` the calls wait for the server.
        if self.target.is_http() && self.target.backoff().is_none() {
            session.reach().await?;
        }
        while let Some((number, text)) = script.next()? {
            let done = match entry::parse(&text) {
                Ok(Action::Quit) => break,
                Ok(action) => talk.run(action).await,
                Err(failure) => Err(failure),
            };
            if let Err(failure) = done {
                let failure = failure.at(format!("line {number}"));
                voice.failure(&failure);
                failures.push((number, failure.exit()));
            }
        }
        let numbers: Vec<String> = failures.iter().map(|(number, _)| number.to_string()).collect();
        match failures.first() {
            None => Ok(()),
            Some((_, exit)) => {
                let count = failures.len();
                Err(Failure::new(
                    *exit,
                    format!("{count} lines of the script failed: {}", numbers.join(", ")),
                ))
            }
        }
    }

    /// Connects, and reconnects when the connection breaks, if the transport has connections.
    async fn open(
        &self,
        session: &Session<'_>,
        voice: &Voice,
    ) -> Result<(Line, Option<ReconnectingPeer>), Failure> {
        if self.mcp {
            let server = Server::plain(self.target.clone());
            let peer = server.methods(session, voice.listener()).await?;
            return Ok((Line::new(peer, self.target.timeout), None));
        }
        if self.target.is_http() {
            return Ok((session.open_for(voice.listener()).await?, None));
        }
        // The attempts at the start are limited; after the first connection it reconnects without end.
        let backoff = self.target.backoff().unwrap_or_default();
        let attempts = backoff.attempts.unwrap_or(1);
        let options = reconnect::ReconnectOptions::default()
            .with_backoff(backoff.with_attempts(None).with_initial_attempts(Some(attempts)))
            .with_connect_time(self.target.timeout)
            .with_connect_wait(self.target.timeout);
        let client = session.reconnect(voice.listener(), options);
        let mut watch = client.watch();
        while let Some(state) = watch.next().await {
            match state {
                ConnectionState::Connected => {
                    return Ok((Line::new(client.peer(), self.target.timeout), Some(client)));
                }
                ConnectionState::Waiting { reason, attempt, .. } => {
                    // Later ones are counted only if there was a connection, which broke at once.
                    let all = if attempt <= attempts { format!(" of {attempts}") } else { String::new() };
                    voice.note(&format!("warning: {}; retrying (attempt {attempt}{all})", visible(&reason)));
                }
                ConnectionState::Closed(error) => return Err(self.target.explain(error)),
                _ => {}
            }
        }
        Err(self.target.explain(CallError::Cancelled))
    }

    /// Asks the server for its methods, and greets.
    async fn discover(&self, line: &Line, voice: &Voice) -> Result<Known, Failure> {
        let known = Known::default();
        // With `--retry` the server may come up later.
        let is_patient = self.target.backoff().is_some();
        let time = if is_patient { self.target.timeout } else { discovery::BRIEFLY };
        let what = match learn(line, &known, time).await {
            Ok(()) => {
                let found = known.read().unwrap_or_else(PoisonError::into_inner);
                format!("{}, {} methods", visible(&found.title), found.methods.len())
            }
            Err(error @ (CallError::Unreachable(_) | CallError::CannotConnect(_))) => {
                return Err(self.target.explain(error));
            }
            Err(_) => "it does not describe its methods, so Tab completes nothing".to_owned(),
        };
        let url = visible(&self.target.url);
        voice.note(&format!("Connected to {url}: {what}. Type `.help` for help, Ctrl-D to quit."));
        Ok(known)
    }

    /// The start of the prompt: the address of the server.
    fn name(&self) -> String {
        let name = match self.target.url.parse::<Url>() {
            Ok(url) => url.place().map_or_else(|| url.scheme().to_owned(), ToString::to_string),
            Err(_) => String::new(),
        };
        visible(&name)
    }

    fn history(&self, voice: &Voice) -> Option<std::path::PathBuf> {
        if self.no_history {
            return None;
        }
        history::file().unwrap_or_else(|error| {
            voice.note(&format!("the history is not saved: {error}"));
            None
        })
    }
}

/// Does what was typed, unless Ctrl-C comes first.
async fn answer(talk: &mut Talk<'_>, action: Action, voice: &Voice) {
    // It listens before anything is sent.
    let Ok(interrupt) = interrupt() else { return };
    tokio::select! {
        outcome = talk.run(action) => {
            if let Err(failure) = outcome {
                voice.failure(&failure);
            }
        }
        () = interrupt => voice.note("cancelled"),
    }
}

/// Waits for a Ctrl-C that comes after this is called.
#[cfg(unix)]
fn interrupt() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut signal = signal(SignalKind::interrupt())?;
    Ok(async move {
        signal.recv().await;
    })
}

/// Waits for a Ctrl-C.
#[cfg(not(unix))]
fn interrupt() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// Asks the server for its methods, and keeps them.
async fn learn(line: &Line, known: &Known, time: Duration) -> Result<(), CallError> {
    let found = discovery::within(line, time).await?;
    *known.write().unwrap_or_else(PoisonError::into_inner) = found;
    Ok(())
}

/// Reports when the connection breaks and when it is back. The methods of the server may have changed by then.
async fn tell_states(mut watch: Watch, line: Line, voice: Voice, known: Known) {
    let mut is_broken = false;
    while let Some(state) = watch.next().await {
        match state {
            ConnectionState::Waiting { reason, .. } if !is_broken => {
                is_broken = true;
                voice.note(&format!("connection lost: {}; reconnecting", visible(&reason)));
            }
            ConnectionState::Connected if is_broken => {
                is_broken = false;
                voice.note("reconnected");
                let _ = learn(&line, &known, discovery::BRIEFLY).await;
            }
            ConnectionState::Closed(error) => {
                voice.note(&format!("the connection is closed: {}", visible(&error.to_string())));
            }
            _ => {}
        }
    }
}

/// Entries of a script, each of which may go over several lines.
struct Script<L> {
    lines: L,
    /// How many were read.
    read: usize,
}

impl<L: Iterator<Item = std::io::Result<String>>> Script<L> {
    /// The next entry, and the line that it begins on.
    fn next(&mut self) -> Result<Option<(usize, String)>, Failure> {
        let (mut text, begin) = (String::new(), self.read + 1);
        for line in self.lines.by_ref() {
            let line = line.map_err(|error| Failure::usage(format!("cannot read stdin: {error}")))?;
            self.read += 1;
            let line = if self.read == 1 { text::unmarked(&line) } else { &line };
            let is_blank = line.trim().is_empty();
            text.push_str(line);
            if is_blank || entry::is_complete(&text) {
                return Ok(Some((begin, text)));
            }
            text.push('\n');
        }
        Ok(Some((begin, text)).filter(|(_, text)| !text.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_script_go_on_until_their_brackets_are_closed() {
        let text = "\u{feff}sum 1 2\n\nadd {\n\"a\": 1\n}\n[1,\n\nsum\nadd [";
        let mut script = Script { lines: text.lines().map(|line| Ok(line.to_owned())), read: 0 };
        let entries: Vec<(usize, String)> = std::iter::from_fn(|| script.next().unwrap()).collect();
        let expected =
            [(1, "sum 1 2"), (2, ""), (3, "add {\n\"a\": 1\n}"), (6, "[1,\n"), (8, "sum"), (9, "add [\n")];
        assert_eq!(entries, expected.map(|(line, text)| (line, text.to_owned())));
    }
}
