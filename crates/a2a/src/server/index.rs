//! Which tasks there are: what lists are made of. It is made from the store, and can be made again.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard_layers::store::StoreError;

use super::records::{Record, Records};
use crate::model::TaskState;

/// All tasks of an agent, by number.
pub(super) struct Index {
    hashing: RandomState,
    limit: usize,
    state: Mutex<State>,
    /// Held while numbers are read.
    loading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<u64, Entry>,
    ended: usize,
    /// Up to which number the store was read.
    known: u64,
}

/// A task. Callers and conversations are hashes, so that it is small.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) id: Box<str>,
    pub(super) owner: u64,
    pub(super) context: u64,
    pub(super) state: TaskState,
    /// When its status changed.
    pub(super) time: u64,
}

impl Index {
    pub(super) fn new(limit: usize) -> Index {
        Index {
            hashing: RandomState::new(),
            limit,
            state: Mutex::default(),
            loading: tokio::sync::Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hash(&self, text: &str) -> u64 {
        self.hashing.hash_one(text)
    }

    /// Takes note of a task, or of its status.
    pub(super) fn note(&self, record: &Record) {
        let task = &record.task;
        let entry = Entry {
            id: task.id.as_str().into(),
            owner: self.hash(&record.owner),
            context: self.hash(&task.context_id),
            state: task.status.state,
            time: task.status.timestamp.unwrap_or_default().0,
        };
        let mut state = self.state();
        state.ended += usize::from(entry.state.is_terminal());
        let before = state.entries.insert(record.number, entry);
        if before.is_some_and(|before| before.state.is_terminal()) {
            state.ended -= 1;
        }
    }

    pub(super) fn forget(&self, number: u64) {
        let mut state = self.state();
        if state.entries.remove(&number).is_some_and(|entry| entry.state.is_terminal()) {
            state.ended -= 1;
        }
    }

    /// The task that makes room for a new one, if there are as many as there may be.
    pub(super) fn surplus(&self) -> Option<(u64, Box<str>)> {
        let is_full = self.state().entries.len() >= self.limit;
        if is_full { self.oldest_ended() } else { None }
    }

    /// Whether there are as many as there may be, and none has ended.
    pub(super) fn is_full_of_work(&self) -> bool {
        let state = self.state();
        state.entries.len() >= self.limit && state.ended == 0
    }

    pub(super) fn oldest_ended(&self) -> Option<(u64, Box<str>)> {
        let state = self.state();
        let ended = state.entries.iter().find(|(_, entry)| entry.state.is_terminal());
        ended.map(|(number, entry)| (*number, entry.id.clone()))
    }

    /// The tasks that a function chooses, with their numbers.
    pub(super) fn select(&self, is_wanted: impl Fn(&Entry) -> bool) -> Vec<(u64, Entry)> {
        let state = self.state();
        let chosen = state.entries.iter().filter(|(_, entry)| is_wanted(entry));
        chosen.map(|(number, entry)| (*number, entry.clone())).collect()
    }

    /// Reads the tasks that other processes, or this one in an earlier life, have added to the store.
    pub(super) async fn load(&self, records: &Records) -> Result<(), StoreError> {
        let _loading = self.loading.lock().await;
        let count = records.count().await?;
        let known = self.state().known.min(count);
        let first = known.max(count.saturating_sub(self.limit as u64)) + 1;
        for number in first..=count {
            if self.state().entries.contains_key(&number) {
                continue;
            }
            let Some(id) = records.at(number).await? else { continue };
            if let Some(stored) = records.read(&id).await? {
                self.note(&stored.record);
            }
        }
        self.state().known = count;
        Ok(())
    }
}
