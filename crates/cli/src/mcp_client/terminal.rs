//! Questions on the terminal: asked on stderr, answered on stdin.

use std::io::{self, BufRead, IsTerminal as _};
use std::sync::mpsc as std_mpsc;

use anstyle::Style;
use tokio::sync::{Mutex, MutexGuard, mpsc};

use crate::output;

pub(super) const HEAD: Style = Style::new().bold();

/// Whether the user can be asked.
pub(super) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Questions are asked one after the other.
static ASKING: Mutex<()> = Mutex::const_new(());

/// Waits until no other question is asked.
pub(super) async fn alone() -> MutexGuard<'static, ()> {
    ASKING.lock().await
}

/// Asks, and gives the line that was typed; none at the end of the input.
pub(super) async fn line(question: &str) -> Option<String> {
    let mut lines = LINES.lock().await;
    let lines = lines.get_or_insert_with(|| Lines::of(|| io::stdin().lock()));
    lines.want();
    output::note(question);
    let line = lines.next().await?;
    Some(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// The lines of stdin.
static LINES: Mutex<Option<Lines>> = Mutex::const_new(None);

/// Lines, which one thread reads as they are wanted. A read goes on when its question is cancelled: the line is for the next question, unless it was
/// typed before that.
struct Lines {
    wanted: std_mpsc::Sender<()>,
    read: mpsc::UnboundedReceiver<Option<String>>,
    is_reading: bool,
}

impl Lines {
    fn of<R: BufRead>(open: impl FnOnce() -> R + Send + 'static) -> Lines {
        let (wanted, wants) = std_mpsc::channel();
        let (lines, read) = mpsc::unbounded_channel();
        // Not a thread of the runtime, which would wait for it when the program is interrupted.
        std::thread::spawn(move || {
            let mut input = open();
            while wants.recv().is_ok() {
                let mut line = String::new();
                let read = input.read_line(&mut line);
                if lines.send(read.ok().filter(|length| *length > 0).map(|_| line)).is_err() {
                    return;
                }
            }
        });
        Lines { wanted, read, is_reading: false }
    }

    /// Begins to read a line, and drops one that was typed for a question that was cancelled.
    fn want(&mut self) {
        while self.read.try_recv().is_ok() {
            self.is_reading = false;
        }
        self.is_reading = self.is_reading || self.wanted.send(()).is_ok();
    }

    async fn next(&mut self) -> Option<String> {
        let line = self.read.recv().await;
        self.is_reading = false;
        line.flatten()
    }
}

/// Asks for a yes or a no; none at the end of the input. An empty answer means this one.
pub(super) async fn agrees(question: &str, usual: bool) -> Option<bool> {
    let choices = if usual { "[Y/n]" } else { "[y/N]" };
    loop {
        let answer = line(&format!("{question} {choices} ")).await?;
        match answer.trim().to_lowercase().as_str() {
            "" => return Some(usual),
            "y" | "yes" => return Some(true),
            "n" | "no" => return Some(false),
            _ => output::note("please answer y or n\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write as _};

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_cancelled_question_takes_no_line_of_the_next_one() {
        let (input, mut typed) = io::pipe().unwrap();
        let mut lines = Lines::of(|| BufReader::new(input));
        let asked = |lines: &mut Lines| {
            lines.want();
            lines.next().now_or_never()
        };
        assert_eq!(asked(&mut lines), None, "nothing is typed, and the question is cancelled");
        lines.want();
        typed.write_all(b"one\n").unwrap();
        assert_eq!(lines.next().await.as_deref(), Some("one\n"));
        assert_eq!(asked(&mut lines), None);
        typed.write_all(b"late\n").unwrap();
        while lines.read.is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(asked(&mut lines), None, "the line was typed before the question");
        typed.write_all(b"two\nthree\n").unwrap();
        assert_eq!(lines.next().await.as_deref(), Some("two\n"));
        lines.want();
        assert_eq!(lines.next().await.as_deref(), Some("three\n"), "lines that are not wanted yet are kept");
        drop(typed);
        lines.want();
        assert_eq!(lines.next().await, None);
    }
}
