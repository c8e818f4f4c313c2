//! The calls with keys that run in this process.

use std::sync::Arc;

use tokio::sync::watch;

use super::answer::Record;
use crate::by_key::{ByKey, Entry, Joined};

/// The keys of running calls, each with those that wait for its answer.
#[derive(Clone, Default)]
pub(super) struct Flights(ByKey<Receiver>);

type Receiver = watch::Receiver<Option<Record>>;

/// How a call with a key begins.
pub(super) enum Boarding {
    /// It is the only one with its key.
    First(Flight),
    /// Another with its key runs: this receives its answer.
    Follower(Receiver),
    /// Too many run.
    Full,
}

/// The running call with a key. Others can follow it until it is dropped.
pub(super) struct Flight {
    _entry: Entry<Receiver>,
    _receiver: Arc<Receiver>,
    answer: watch::Sender<Option<Record>>,
}

impl Flights {
    pub(super) fn board(&self, key: [u8; 32], most: usize) -> Boarding {
        let (answer, receiver) = watch::channel(None);
        match self.0.join_within(most, key.into(), || receiver) {
            Some(Joined::First(receiver, entry)) => {
                Boarding::First(Flight { _entry: entry, _receiver: receiver, answer })
            }
            Some(Joined::Follower(receiver)) => Boarding::Follower(Receiver::clone(&receiver)),
            None => Boarding::Full,
        }
    }
}

impl Flight {
    /// Gives the answer to all that follow.
    pub(super) fn land(self, record: Record) {
        self.answer.send_replace(Some(record));
    }
}

/// The answer that a follower receives; none if the first call has ended without one.
pub(super) async fn followed(mut receiver: Receiver) -> Option<Record> {
    receiver.wait_for(Option::is_some).await.ok().and_then(|record| record.clone())
}
