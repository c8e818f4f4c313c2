//! Output of a server that is not meant for its client.

use std::sync::{Arc, Mutex, PoisonError};

/// Sets lines aside that cannot be messages, so that a server that prints others is checked nevertheless. All connections of an
/// endpoint share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noise(Arc<Mutex<Option<String>>>);

impl Noise {
    /// Whether this line cannot be a message. The first such line is kept.
    pub(crate) fn takes(&self, line: &[u8]) -> bool {
        let is_noise = !matches!(line.trim_ascii_start().first(), Some(b'{' | b'['));
        if is_noise {
            let text = || String::from_utf8_lossy(line).into_owned();
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(text);
        }
        is_noise
    }

    /// The first line that was set aside.
    pub(crate) fn first(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
