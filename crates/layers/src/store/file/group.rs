//! Operations that become durable together.

use std::time::Duration;

use redb::{ReadableTable as _, ReadableTableMetadata as _, WriteTransaction};

use super::database::{Broken, ENTRIES, EXPIRIES, FACTS, LATEST};
use crate::store::{StoreError, StoreLimits};

/// Operations in one transaction.
pub(super) struct Group<'a> {
    transaction: &'a WriteTransaction,
    now: u64,
    bytes: usize,
    limits: StoreLimits,
    is_changed: bool,
    /// Why the file could not be read or written, if so: then nothing of the group is kept.
    failure: Option<StoreError>,
}

impl<'a> Group<'a> {
    pub(super) fn new(
        transaction: &'a WriteTransaction,
        now: u64,
        bytes: usize,
        limits: StoreLimits,
    ) -> Group<'a> {
        Group { transaction, now, bytes, limits, is_changed: false, failure: None }
    }

    /// The size of all entries, if something was changed and is to be kept.
    ///
    /// # Errors
    ///
    /// If nothing is to be kept, because the file could not be read or written.
    pub(super) fn finish(self) -> Result<Option<usize>, StoreError> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        if !self.is_changed {
            return Ok(None);
        }
        let mut facts = self.transaction.open_table(FACTS).map_err(Broken::from)?;
        facts.insert(LATEST, self.now).map_err(Broken::from)?;
        Ok(Some(self.bytes))
    }

    /// Remembers that the file failed.
    fn failed(&mut self, error: Broken) -> StoreError {
        let error = StoreError::from(error);
        self.failure = Some(error.clone());
        error
    }

    /// The value under a key and when it expires.
    pub(super) fn value(&mut self, key: &[u8]) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let now = self.now;
        let found = self.stored(key).map_err(|error| self.failed(error))?;
        Ok(found.filter(|(expires, _)| *expires > now))
    }

    fn stored(&self, key: &[u8]) -> Result<Option<(u64, Vec<u8>)>, Broken> {
        let entries = self.transaction.open_table(ENTRIES)?;
        let found = entries.get(key)?;
        Ok(found.map(|found| {
            let (expires, value) = found.value();
            (expires, value.to_vec())
        }))
    }

    /// Stores an entry where there is none.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8], time: u64) -> Result<(), StoreError> {
        // An expired entry may still be there.
        self.remove(key)?;
        let size = key.len() + value.len();
        self.check_room(1, size)?;
        self.bytes += size;
        self.overwrite(key, value, self.now.saturating_add(time))
    }

    /// Writes an entry, over another of the same size and expiry if there is one.
    pub(super) fn overwrite(&mut self, key: &[u8], value: &[u8], expires: u64) -> Result<(), StoreError> {
        self.is_changed = true;
        self.write(key, value, expires).map_err(|error| self.failed(error))
    }

    fn write(&self, key: &[u8], value: &[u8], expires: u64) -> Result<(), Broken> {
        self.transaction.open_table(ENTRIES)?.insert(key, (expires, value))?;
        self.transaction.open_table(EXPIRIES)?.insert((expires, key), ())?;
        Ok(())
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> Result<(), StoreError> {
        let removed = self.erase(key).map_err(|error| self.failed(error))?;
        if let Some(size) = removed {
            self.is_changed = true;
            self.bytes = self.bytes.saturating_sub(size);
        }
        Ok(())
    }

    /// Removes an entry. Returns its size.
    fn erase(&self, key: &[u8]) -> Result<Option<usize>, Broken> {
        let mut entries = self.transaction.open_table(ENTRIES)?;
        let Some(found) = entries.remove(key)? else { return Ok(None) };
        let (expires, value) = found.value();
        self.transaction.open_table(EXPIRIES)?.remove((expires, key))?;
        Ok(Some(key.len() + value.len()))
    }

    pub(super) fn check_room(&mut self, entries: usize, bytes: usize) -> Result<(), StoreError> {
        let (count, earliest) = self.counted().map_err(|error| self.failed(error))?;
        let has_room = count + entries <= self.limits.entries && self.bytes + bytes <= self.limits.bytes;
        let wait = Duration::from_millis(earliest.unwrap_or(self.now).saturating_sub(self.now));
        if has_room { Ok(()) } else { Err(StoreError::Full { wait }) }
    }

    /// How many entries there are, and when the first expires.
    fn counted(&self) -> Result<(usize, Option<u64>), Broken> {
        let count = self.transaction.open_table(ENTRIES)?.len()?;
        let expiries = self.transaction.open_table(EXPIRIES)?;
        let earliest = expiries.first()?.map(|(key, _)| key.value().0);
        Ok((usize::try_from(count).unwrap_or(usize::MAX), earliest))
    }

    /// Drops expired entries, but no more than this.
    pub(super) fn purge(&mut self, most: usize) -> Result<(), Broken> {
        for _ in 0..most {
            let expiries = self.transaction.open_table(EXPIRIES)?;
            let first = expiries.first()?.map(|(key, _)| (key.value().0, key.value().1.to_vec()));
            drop(expiries);
            let Some((_, key)) = first.filter(|(expires, _)| *expires <= self.now) else { break };
            let size = self.erase(&key)?;
            self.bytes = self.bytes.saturating_sub(size.unwrap_or(0));
            self.is_changed = true;
        }
        Ok(())
    }
}
