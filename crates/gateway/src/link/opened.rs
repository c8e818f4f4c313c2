//! The connections of an upstream that sessions of clients hold.

use std::sync::{Mutex, PoisonError, Weak};

use super::expiring::Shared;

/// Lets go of the connections when the upstream is dropped: the sessions that they belong to may last much longer.
#[derive(Default)]
pub(super) struct Opened(Mutex<Vec<Weak<Shared>>>);

impl Opened {
    pub(super) fn add(&self, connection: Weak<Shared>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Now and then, so that each addition costs little.
        if all.len() == all.capacity() {
            all.retain(|connection| connection.strong_count() > 0);
        }
        all.push(connection);
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let all = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        for connection in all.iter().filter_map(Weak::upgrade) {
            connection.let_go();
        }
    }
}
