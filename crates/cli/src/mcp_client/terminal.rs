//! Questions on the terminal: asked on stderr, answered on stdin.

use std::io::{self, IsTerminal as _};

use anstyle::Style;
use tokio::sync::{Mutex, MutexGuard, oneshot};

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
    output::note(question);
    let (answer, answered) = oneshot::channel();
    // Not a thread of the runtime, which would wait for it when the program is interrupted.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        let _ = answer.send(read.ok().filter(|length| *length > 0).map(|_| line));
    });
    let line = answered.await.ok().flatten()?;
    Some(line.trim_end_matches(['\r', '\n']).to_owned())
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
