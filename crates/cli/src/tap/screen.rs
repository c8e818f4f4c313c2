//! What is shown of calls: a line for each message on a terminal, a line of JSON for each call in a pipe.
//!
//! A thread writes the lines. What is not read in time is dropped, and a line says how much, so that a terminal that is
//! scrolled back or a slow pipe never delays a call.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use switchboard::lines::LineQueue;
use switchboard::{ErrorObject, Json};
use tokio::sync::Notify;

use super::line::{Content, Head};
use crate::bench::figures::time;
use crate::output::Format;
use crate::recording::{self, Entry, RecordedError, Side};
use crate::visible::visible;

/// How many bytes wait for the reader before lines are dropped.
const ROOM: usize = 8 << 20;

/// Where calls are shown.
pub(crate) struct Screen {
    queue: LineQueue,
    form: Form,
}

/// How calls are shown.
#[derive(Clone, Copy)]
enum Form {
    /// A line for each message, cut to the width of the terminal unless all is shown.
    People { stream: Stream, is_full: bool, is_coloured: bool },
    /// A line of JSON for each call.
    Json { is_terminal: bool },
}

/// Where lines are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    /// Where stdout carries the messages themselves.
    Stderr,
}

impl Screen {
    /// Shows calls there. `closed` is notified when nothing reads them any more.
    pub(crate) fn start(
        stream: Stream,
        format: Format,
        is_full: bool,
        closed: Arc<Notify>,
    ) -> io::Result<Screen> {
        let (is_terminal, choice) = match stream {
            Stream::Stdout => (io::stdout().is_terminal(), anstream::AutoStream::choice(&io::stdout())),
            Stream::Stderr => (io::stderr().is_terminal(), anstream::AutoStream::choice(&io::stderr())),
        };
        let is_coloured = choice != anstream::ColorChoice::Never;
        let is_for_people = is_terminal && !format.is_json();
        let form = match is_for_people {
            true => Form::People { stream, is_full, is_coloured },
            false => Form::Json { is_terminal },
        };
        let gap = if is_for_people { dropped } else { dropped_json };
        let to = Closing { to: stream.duplicate()?, closed };
        let queue = LineQueue::builder("screen", gap).with_room(ROOM).start(to)?;
        Ok(Screen { queue, form })
    }

    /// Whether messages are shown as they pass, not only calls that have ended.
    pub(crate) fn shows_messages(&self) -> bool {
        matches!(self.form, Form::People { .. })
    }

    /// Shows that a call begins.
    pub(crate) fn begin(&self, entry: &Entry, params: Option<&Json>) {
        let notes = entry.notification.then_some("notification".to_owned());
        let batch = entry.batch.zip(entry.entry).map(|(batch, index)| format!("batch {batch} entry {index}"));
        let notes: Vec<String> = notes.into_iter().chain(batch).collect();
        self.message(entry, entry.to, &notes.join(", "), params.map(Content::Value));
    }

    /// Shows an item of a stream.
    pub(crate) fn item(&self, entry: &Entry, number: u64, item: &Json) {
        self.message(entry, entry.to.other(), &format!("item {number}"), Some(Content::Value(item)));
    }

    /// Shows how a call ended. Notifications are not answered.
    pub(crate) fn end(&self, entry: &Entry, answer: Option<Content<'_>>) {
        if entry.notification && !entry.has_failed() {
            return;
        }
        let answer = if entry.cancelled { Some(Content::Words("cancelled")) } else { answer };
        self.message(entry, entry.to.other(), &time(entry.ms * 1e6), answer);
    }

    /// Shows that a message was refused before it became a call.
    pub(crate) fn refused(&self, session: u64, at: f64, error: &ErrorObject) {
        let error = RecordedError::from(error);
        let Form::People { .. } = self.form else {
            #[derive(Serialize)]
            struct Line<'a> {
                at: f64,
                session: u64,
                refused: &'a RecordedError,
            }
            return self.write_json(&Line { at, session, refused: &error });
        };
        let head = Head { session, id: None, to: Side::Server, method: "invalid message", note: "refused" };
        self.write(&head, Some(Content::Error(&error)));
    }

    /// Writes the last lines, as far as they are read in this time.
    pub(crate) fn flush(&self, patience: Duration) {
        self.queue.flush(patience);
    }

    fn message(&self, entry: &Entry, to: Side, note: &str, content: Option<Content<'_>>) {
        let head = Head { session: entry.session, id: Some(entry.id), to, method: &entry.method, note };
        self.write(&head, content);
    }

    fn write(&self, head: &Head<'_>, content: Option<Content<'_>>) {
        let Form::People { stream, is_full, is_coloured } = self.form else { return };
        let line = head.line(SystemTime::now(), content, (!is_full).then(|| stream.columns()));
        match is_coloured {
            true => self.queue.push(&line),
            false => self.queue.push(&anstream::adapter::strip_str(&line).to_string()),
        }
    }

    /// Shows a call that has ended, or something else, as a line of JSON.
    pub(crate) fn write_json(&self, line: &impl Serialize) {
        let line = recording::line(line);
        match self.form {
            // What a terminal would obey is escaped, which does not change the value.
            Form::Json { is_terminal: true } => self.queue.push(&(visible(line.trim_end()) + "\n")),
            _ => self.queue.push(&line),
        }
    }
}

/// A stream that notifies when its reader is gone.
struct Closing<W> {
    to: W,
    closed: Arc<Notify>,
}

impl<W: Write> Write for Closing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.to.write(bytes) {
            // Its reader has seen enough. That is not a failure.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed.notify_one();
                Ok(bytes.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Stream {
    /// A descriptor for the thread alone: while it waits to write, it must not hold the lock that all who write share.
    #[cfg(unix)]
    fn duplicate(self) -> io::Result<impl Write + Send + 'static> {
        use std::os::fd::AsFd;
        let own = match self {
            Stream::Stdout => io::stdout().as_fd().try_clone_to_owned(),
            Stream::Stderr => io::stderr().as_fd().try_clone_to_owned(),
        };
        own.map(std::fs::File::from)
    }

    #[cfg(not(unix))]
    fn duplicate(self) -> io::Result<Box<dyn Write + Send>> {
        Ok(match self {
            Stream::Stdout => Box::new(io::stdout()),
            Stream::Stderr => Box::new(io::stderr()),
        })
    }

    /// How wide its terminal is. It may change at any time.
    fn columns(self) -> usize {
        let size = match self {
            Stream::Stdout => terminal_size::terminal_size_of(io::stdout()),
            Stream::Stderr => terminal_size::terminal_size_of(io::stderr()),
        };
        size.map_or(80, |(width, _)| usize::from(width.0).max(40))
    }
}

/// The line in the place of dropped ones.
fn dropped(count: u64) -> String {
    format!("{count} lines were dropped: they were not read in time\n")
}

fn dropped_json(count: u64) -> String {
    format!("{{\"dropped\":{count}}}\n")
}
