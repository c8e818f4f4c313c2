//! The thread that reads and writes the file.

use redb::Database;
use tokio::sync::mpsc;

use super::database::Broken;
use super::group::Group;
use crate::clock::Clock;
use crate::store::{StoreError, StoreLimits};

/// How many operations are made durable together.
const TOGETHER: usize = 512;

/// How many expired entries are dropped beside a group of operations: more than the group can add.
const PURGED: usize = 2 * TOGETHER;

/// An operation. It returns what is to be done with its result once that is durable, or is known not to be.
pub(super) type Job = Box<dyn FnOnce(&mut Group<'_>) -> Answer + Send>;
pub(super) type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// The work of the thread.
pub(super) struct Worker {
    pub(super) database: Database,
    pub(super) bytes: usize,
    pub(super) limits: StoreLimits,
    pub(super) clock: Clock,
}

impl Worker {
    /// Works until the last handle of the store is gone.
    pub(super) fn run(mut self, mut waiting: mpsc::Receiver<Job>) {
        while let Some(first) = waiting.blocking_recv() {
            let mut jobs = vec![first];
            while jobs.len() < TOGETHER
                && let Ok(next) = waiting.try_recv()
            {
                jobs.push(next);
            }
            self.work(jobs);
        }
    }

    /// Does these in one transaction. If it fails, none happened, and all return the error.
    fn work(&mut self, jobs: Vec<Job>) {
        let mut answers = Vec::with_capacity(jobs.len());
        let result = self.transact(jobs, &mut answers);
        if let Err(error) = &result {
            tracing::error!(%error, "cannot write the store");
        }
        for answer in answers {
            answer(result.clone());
        }
    }

    fn transact(&mut self, jobs: Vec<Job>, answers: &mut Vec<Answer>) -> Result<(), StoreError> {
        let transaction = self.database.begin_write().map_err(Broken::from)?;
        let mut group = Group::new(&transaction, self.clock.millis(), self.bytes, self.limits);
        group.purge(PURGED)?;
        answers.extend(jobs.into_iter().map(|job| job(&mut group)));
        if let Some(bytes) = group.finish()? {
            transaction.commit().map_err(Broken::from)?;
            self.bytes = bytes;
        }
        Ok(())
    }
}
