//! A store in a file that survives crashes.

mod database;
mod group;
mod worker;

use std::fmt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use self::database::{Facts, open_private};
use self::group::Group;
use self::worker::{Job, Worker};
use super::{Store, StoreError, StoreFuture, StoreLimits, check_sizes, count_of};
use crate::clock::{Clock, millis_of};

/// How many operations wait at most; callers of further ones wait for room.
const WAITING: usize = 1024;

/// A store in a file. A result means that the change is on disk, so it survives the end of the process and a power failure.
///
/// Concurrent operations share one write to the disk. A thread of this store does the work; it ends with the store. Only one process can open a file at a
/// time.
#[derive(Clone)]
pub struct FileStore {
    jobs: mpsc::Sender<Job>,
    limits: StoreLimits,
    since: u64,
}

impl FileStore {
    /// Opens the store in this file, or creates one. The file can only be read by its owner.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, is not a store, or is in use by another process.
    pub fn open(path: impl AsRef<Path>) -> Result<FileStore, StoreError> {
        FileStore::open_with(path, StoreLimits::default(), Clock::system())
    }

    /// Opens the store in this file with these limits, telling the time by this clock. If the clock is behind the time of the last change, it is
    /// moved forward to it.
    ///
    /// # Errors
    ///
    /// As [`open`](FileStore::open).
    pub fn open_with(
        path: impl AsRef<Path>,
        limits: StoreLimits,
        clock: Clock,
    ) -> Result<FileStore, StoreError> {
        let database = open_private(path.as_ref())?;
        let facts = Facts::read_or_write(&database, &clock)?;
        clock.reach(facts.latest);
        if clock.lag() > Duration::from_secs(60) {
            let lag = clock.lag().as_secs();
            tracing::warn!(lag, "the clock is behind the time of the last change in the store");
        }
        let (jobs, waiting) = mpsc::channel(WAITING);
        let worker = Worker { database, bytes: facts.bytes, limits, clock };
        let thread = thread::Builder::new().name("switchboard-store".to_owned());
        thread
            .spawn(move || worker.run(waiting))
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(FileStore { jobs, limits, since: facts.since })
    }

    /// Has the thread do this, and returns its result when that is durable.
    fn submit<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut Group<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<T> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |group| {
            let result = operation(group);
            Box::new(move |durable| {
                // Nobody waits if the future was dropped.
                drop(sender.send(durable.and(result)));
            })
        });
        let jobs = self.jobs.clone();
        StoreFuture::pending(async move {
            let ended = || StoreError::Unavailable("its thread has ended".to_owned());
            jobs.send(job).await.map_err(|_| ended())?;
            receiver.await.map_err(|_| ended())?
        })
    }
}

impl Store for FileStore {
    fn insert(&self, key: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        if let Err(error) = check_sizes(key, value) {
            return StoreFuture::ready(Err(error));
        }
        let (key, value, time) =
            (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value), millis_of(time));
        self.submit(move |group| match group.value(&key)? {
            Some(_) => Ok(false),
            None => group.put(&key, &value, time).map(|()| true),
        })
    }

    fn read(&self, key: &[u8]) -> StoreFuture<Option<Bytes>> {
        let key = Bytes::copy_from_slice(key);
        self.submit(move |group| Ok(group.value(&key)?.map(|(_, value)| Bytes::from(value))))
    }

    fn replace(&self, key: &[u8], expected: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        if let Err(error) = check_sizes(key, value) {
            return StoreFuture::ready(Err(error));
        }
        let [key, expected, value] = [key, expected, value].map(Bytes::copy_from_slice);
        let time = millis_of(time);
        self.submit(move |group| match group.value(&key)? {
            Some((_, found)) if found == expected => {
                group.check_room(0, value.len().saturating_sub(found.len()))?;
                group.remove(&key)?;
                group.put(&key, &value, time).map(|()| true)
            }
            _ => Ok(false),
        })
    }

    fn add(&self, key: &[u8], amount: u64, time: Duration) -> StoreFuture<u64> {
        if let Err(error) = check_sizes(key, &[]) {
            return StoreFuture::ready(Err(error));
        }
        let (key, time) = (Bytes::copy_from_slice(key), millis_of(time));
        self.submit(move |group| match group.value(&key)? {
            Some((expires, found)) => {
                let count = count_of(&found)?.saturating_add(amount);
                group.overwrite(&key, &count.to_le_bytes(), expires).map(|()| count)
            }
            None => group.put(&key, &amount.to_le_bytes(), time).map(|()| amount),
        })
    }

    fn remove(&self, key: &[u8]) -> StoreFuture<()> {
        let key = Bytes::copy_from_slice(key);
        self.submit(move |group| group.remove(&key))
    }

    fn since(&self) -> u64 {
        self.since
    }

    fn capacity(&self) -> Option<usize> {
        Some(self.limits.entries)
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore").field("limits", &self.limits).finish_non_exhaustive()
    }
}
