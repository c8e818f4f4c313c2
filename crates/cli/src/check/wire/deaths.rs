//! How programs that were started ended, where they should not have ended like that.

use std::sync::{Arc, Mutex, PoisonError};

use switchboard::Ended;

/// The first bad end since somebody asked. Whoever starts programs shares it with all of their connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deaths(Arc<Mutex<Option<String>>>);

impl Deaths {
    /// Takes note of how a program ended. One that was told that nothing follows may end with whatever code it likes, and
    /// no program may be ended by a signal.
    pub(crate) fn note(&self, ended: &Ended, is_told: bool) {
        let is_fault = match ended.status.code() {
            Some(code) => code != 0 && !is_told,
            None => true,
        };
        if is_fault {
            let last = ended.words.rsplit(" | ").next().unwrap_or_default();
            let words = if last.is_empty() { String::new() } else { format!("; it said last: {last}") };
            let text = format!("the program ended ({}){words}", ended.status);
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
        }
    }

    /// The first bad end since this was asked.
    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
