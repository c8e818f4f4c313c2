//! How programs that were started failed.

use std::sync::{Arc, Mutex, PoisonError};

use switchboard::ProgramEnd;

/// The first failure since the last time it was taken. All connections of an endpoint share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deaths(Arc<Mutex<Option<String>>>);

impl Deaths {
    /// Records how a program ended. A program whose input has ended may exit with any code; ending by a signal is always a failure.
    pub(crate) fn note(&self, ended: &ProgramEnd, is_told: bool) {
        let is_fault = match ended.status.code() {
            Some(code) => code != 0 && !is_told,
            None => true,
        };
        if is_fault {
            let last = ended.words.rsplit(" | ").next().unwrap_or_default();
            let words = if last.is_empty() { String::new() } else { format!("; its last output: {last}") };
            let text = format!("the program ended ({}){words}", ended.status);
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
        }
    }

    /// The first failure since the last call.
    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
