//! Which tasks there are: what lists are made of. It is made from the store, and can be made again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
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
    is_loaded: AtomicBool,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<u64, Entry>,
    ended: usize,
    /// Up to which number the store was read.
    known: u64,
    /// Numbers up to there without a task, and since when they are known, in milliseconds since 1970: the process that has taken one may not have
    /// stored its task yet.
    missing: BTreeMap<u64, u64>,
}

/// Tasks of a list.
pub(super) struct Page {
    pub(super) entries: Vec<Entry>,
    /// How many there are on all pages.
    pub(super) total: usize,
    /// Whether there are further ones.
    pub(super) is_more: bool,
}

/// How long a number without a task is read again, in milliseconds. Its process stores the task right after it has taken the number, or never.
const MISSING: u64 = 60_000;

/// How many of the latest numbers are read again.
const READ_AGAIN: u64 = 1_000;

/// How many tasks are read at once.
const AT_ONCE: usize = 32;

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
            is_loaded: AtomicBool::new(false),
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

    /// The first of the tasks that a function chooses, with their numbers.
    pub(super) fn some(&self, is_wanted: impl Fn(&Entry) -> bool, limit: usize) -> Vec<(u64, Box<str>)> {
        let state = self.state();
        let chosen = state.entries.iter().filter(|(_, entry)| is_wanted(entry)).take(limit);
        chosen.map(|(number, entry)| (*number, entry.id.clone())).collect()
    }

    /// The tasks that a function chooses, those whose status changed last first: those after one with this time and number.
    pub(super) fn page(
        &self,
        is_wanted: impl Fn(&Entry) -> bool,
        after: Option<(u64, u64)>,
        size: usize,
    ) -> Page {
        let state = self.state();
        let mut total = 0;
        let mut rest = 0;
        // The latest so far. The first to go is the earliest of them.
        let mut latest = BinaryHeap::with_capacity(size + 1);
        for (number, entry) in state.entries.iter().filter(|(_, entry)| is_wanted(entry)) {
            total += 1;
            let place = (entry.time, *number);
            if after.is_some_and(|after| place >= after) {
                continue;
            }
            rest += 1;
            latest.push(Reverse(place));
            if latest.len() > size {
                latest.pop();
            }
        }
        let places = latest.into_sorted_vec().into_iter();
        let entries = places.filter_map(|Reverse((_, number))| state.entries.get(&number).cloned()).collect();
        Page { entries, total, is_more: rest > size }
    }

    /// Reads the tasks that this process has added to the store in an earlier life, unless that was done.
    pub(super) async fn load_first(&self, records: &Records) -> Result<(), StoreError> {
        if self.is_loaded.load(Ordering::Acquire) { Ok(()) } else { self.load(records).await }
    }

    /// Reads the tasks that other processes, or this one in an earlier life, have added to the store.
    pub(super) async fn load(&self, records: &Records) -> Result<(), StoreError> {
        let _loading = self.loading.lock().await;
        let (count, now) = (records.count().await?, records.now().0);
        let wanted: Vec<u64> = {
            let state = self.state();
            let known = state.known.min(count);
            let first = known.max(count.saturating_sub(self.limit as u64)) + 1;
            let missing = state.missing.keys().copied();
            let wanted = missing.filter(|number| *number <= known).chain(first..=count);
            wanted.filter(|number| !state.entries.contains_key(number)).collect()
        };
        for numbers in wanted.chunks(AT_ONCE) {
            let read = join_all(numbers.iter().map(|number| self.read(*number, records))).await;
            for (number, is_there) in numbers.iter().zip(read) {
                let mut state = self.state();
                let _ = match is_there? {
                    true => state.missing.remove(number),
                    false => Some(*state.missing.entry(*number).or_insert(now)),
                };
            }
        }
        let mut state = self.state();
        state.known = count;
        let oldest = count.saturating_sub(READ_AGAIN);
        state.missing.retain(|number, since| *number > oldest && now.saturating_sub(*since) < MISSING);
        self.is_loaded.store(true, Ordering::Release);
        Ok(())
    }

    /// Reads a task. False if it is not in the store.
    async fn read(&self, number: u64, records: &Records) -> Result<bool, StoreError> {
        let Some(id) = records.at(number).await? else { return Ok(false) };
        let Some(stored) = records.read(&id).await? else { return Ok(false) };
        self.note(&stored.record);
        Ok(true)
    }
}
