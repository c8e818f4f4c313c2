//! The standard error of a child: logged, and the last of it kept.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes of standard error that are kept.
const KEPT: usize = 2 << 10;

/// Longer lines are logged in parts.
const LINE: usize = 1 << 10;

/// Logs a line, unless it is empty.
fn log(program: &str, line: &[u8]) {
    let said = String::from_utf8_lossy(line);
    if !said.trim().is_empty() {
        tracing::info!(program, said = %said.trim_end(), "output of a child process");
    }
}

/// The last lines that a child said.
#[derive(Clone, Debug, Default)]
pub(super) struct LastWords(Arc<Mutex<Words>>);

#[derive(Debug, Default)]
pub(super) struct Words {
    last: Vec<u8>,
    has_ended: bool,
}

impl LastWords {
    /// What is kept, in one line.
    pub(super) fn text(&self) -> String {
        self.locked(|words| words.text())
    }

    /// Whether nothing more comes.
    pub(super) fn are_all(&self) -> bool {
        self.locked(|words| words.has_ended)
    }

    /// Reads all that comes, and logs it line by line.
    pub(super) async fn collect(&self, mut errors: impl AsyncRead + Unpin, program: &str) {
        let (mut chunk, mut line) = ([0; LINE], Vec::new());
        while let Ok(length @ 1..) = errors.read(&mut chunk).await {
            self.locked(|words| words.add(&chunk[..length]));
            line.extend_from_slice(&chunk[..length]);
            while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                log(program, &line[..end]);
                line.drain(..=end);
            }
            if line.len() >= LINE {
                log(program, &line);
                line.clear();
            }
        }
        log(program, &line);
        self.locked(|words| words.has_ended = true);
    }

    fn locked<T>(&self, act: impl FnOnce(&mut Words) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Words {
    /// What is kept, in one line.
    pub(super) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.last);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines.join(" | ")
    }

    pub(super) fn add(&mut self, said: &[u8]) {
        self.last.extend_from_slice(said);
        let surplus = self.last.len().saturating_sub(KEPT);
        self.last.drain(..surplus);
    }
}
