//! Logs, on stderr.
//!
//! Each event is one line, in which nothing commands a terminal, whatever a peer made it say. A line goes where notes go: for
//! most commands straight to stderr, or above a prompt; for a server into a [`LineQueue`], so that calls are answered even if nothing reads
//! stderr.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::OnceLock;
use std::time::Duration;

use switchboard::lines::LineQueue;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format;

use crate::output;
use crate::visible::{harmless_line, visible};

/// Starts logging: what `RUST_LOG` says, or warnings, and more for each `-v`.
pub(crate) fn start(verbose: u8) {
    start_at(match verbose {
        // These two warn of what clients do, who could fill the log with it.
        0 => "warn,h2=error,hyper=error",
        1 => "info",
        2 => "debug",
        _ => "trace",
    });
}

/// The same for a server, whose log always has what the programs behind it write to stderr.
pub(crate) fn start_serving(verbose: u8) {
    match verbose {
        0 => start_at("warn,h2=error,hyper=error,switchboard_transport::child::stderr=info"),
        more => start(more),
    }
}

fn start_at(level: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let is_coloured =
        io::stderr().is_terminal() && anstream::stderr().current_choice() != anstream::ColorChoice::Never;
    // A command that calls two servers starts twice, and the first counts.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || Events { is_coloured })
        .with_ansi(is_coloured)
        .fmt_fields(format::debug_fn(write_field).delimited(" "))
        .log_internal_errors(false)
        .try_init();
}

/// Writes a field so that what a peer said is not taken for a colour either.
fn write_field(out: &mut format::Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let text = visible(&format!("{value:?}"));
    match field.name() {
        "message" => out.write_str(&text),
        name => write!(out, "{name}={text}"),
    }
}

/// Takes events, each with one write.
struct Events {
    is_coloured: bool,
}

impl Write for Events {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        output::note(&line(&String::from_utf8_lossy(event), self.is_coloured));
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An event on one line. It cannot pass for several.
fn line(event: &str, is_coloured: bool) -> String {
    let event = event.strip_suffix('\n').unwrap_or(event);
    let mut line = if is_coloured { harmless_line(event).into_owned() } else { visible(event) };
    line.push('\n');
    line
}

static SINK: OnceLock<LineQueue> = OnceLock::new();

/// How long the end of the program waits for its last lines to be written.
const LINGER: Duration = Duration::from_millis(500);

/// Writes to stderr from now on without waiting for its reader: notes, logs and panics. Lines that are not read in time are
/// dropped, and the log says how many.
pub(crate) fn never_wait() -> io::Result<()> {
    let sink = LineQueue::builder("log", gap).start(stderr()?)?;
    let _ = SINK.set(sink.clone());
    output::note_elsewhere(move |text| sink.push(&output::for_stderr(text)));
    std::panic::set_hook(Box::new(|panic| output::note(&told(panic))));
    Ok(())
}

/// The queue of lines for stderr, if it was started.
pub(crate) fn sink() -> Option<LineQueue> {
    SINK.get().cloned()
}

/// The line in the place of dropped ones.
fn gap(dropped: u64) -> String {
    format!("warning: {dropped} log lines were dropped: stderr was not read in time\n")
}

/// Writes the last lines, as far as they are read.
pub(crate) fn flush() {
    if let Some(sink) = SINK.get() {
        sink.flush(LINGER);
    }
}

/// A descriptor for the thread alone: while it waits to write, it must not hold the lock that all who write to stderr share.
#[cfg(unix)]
fn stderr() -> io::Result<impl Write + Send + 'static> {
    use std::os::fd::AsFd;
    Ok(std::fs::File::from(io::stderr().as_fd().try_clone_to_owned()?))
}

#[cfg(not(unix))]
fn stderr() -> io::Result<impl Write + Send + 'static> {
    Ok(io::stderr())
}

/// What a panic says, as it says it without us.
fn told(panic: &PanicHookInfo<'_>) -> String {
    use std::backtrace::{Backtrace, BacktraceStatus};
    let thread = std::thread::current();
    let mut text = format!("thread '{}' {panic}\n", thread.name().unwrap_or("<unnamed>"));
    let trace = Backtrace::capture();
    if trace.status() == BacktraceStatus::Captured {
        text.push_str(&format!("{trace}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_that_commands_nothing() {
        let event = "INFO a\nINFO b \u{202e}\u{9b}2J\u{1b}[1mx\u{1b}[0m\n";
        assert_eq!(line(event, false), "INFO a\\u000aINFO b \\u202e\\u009b2J\\u001b[1mx\\u001b[0m\n");
        assert_eq!(line(event, true), "INFO a\\u000aINFO b \\u202e\\u009b2J\u{1b}[1mx\u{1b}[0m\n");
    }
}
