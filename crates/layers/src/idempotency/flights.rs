//! The calls with keys that run in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::answer::Record;

/// The keys of running calls, each with those that wait for its answer.
#[derive(Clone, Default)]
pub(super) struct Flights(Arc<Mutex<Running>>);

type Running = HashMap<[u8; 32], watch::Receiver<Option<Record>>>;

/// How a call with a key begins.
pub(super) enum Boarding {
    /// It is the only one with its key.
    First(Flight),
    /// Another with its key runs: this receives its answer.
    Follower(watch::Receiver<Option<Record>>),
    /// Too many run.
    Full,
}

/// The running call with a key. Others can follow it until it is dropped.
pub(super) struct Flight {
    flights: Flights,
    key: [u8; 32],
    answer: watch::Sender<Option<Record>>,
}

impl Flights {
    pub(super) fn board(&self, key: [u8; 32], most: usize) -> Boarding {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(receiver) = running.get(&key) {
            return Boarding::Follower(receiver.clone());
        }
        if running.len() >= most {
            return Boarding::Full;
        }
        let (answer, receiver) = watch::channel(None);
        running.insert(key, receiver);
        Boarding::First(Flight { flights: self.clone(), key, answer })
    }
}

impl Flight {
    /// Gives the answer to all that follow.
    pub(super) fn land(self, record: Record) {
        self.answer.send_replace(Some(record));
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.flights.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// The answer that a follower receives; none if the first call has ended without one.
pub(super) async fn followed(mut receiver: watch::Receiver<Option<Record>>) -> Option<Record> {
    receiver.wait_for(Option::is_some).await.ok().and_then(|record| record.clone())
}
