//! The standard error of a child: logged, and the last of it kept.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes of standard error that are kept.
const KEPT: usize = 2 << 10;

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

    /// Reads all that comes.
    pub(super) async fn collect(&self, mut errors: impl AsyncRead + Unpin, program: &str) {
        let mut chunk = [0; 1 << 10];
        while let Ok(length @ 1..) = errors.read(&mut chunk).await {
            let said = &chunk[..length];
            tracing::debug!(program, said = %String::from_utf8_lossy(said).trim_end(), "output of a child process");
            self.locked(|words| words.add(said));
        }
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
