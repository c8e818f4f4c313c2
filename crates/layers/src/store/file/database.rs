//! The file: its tables, and what it says about itself.

use std::fmt;
use std::path::Path;

use redb::{Database, ReadableTable as _, TableDefinition};

use crate::clock::Clock;
use crate::store::StoreError;

/// Values by key, each with the time at which it expires, in milliseconds since 1970.
pub(super) const ENTRIES: TableDefinition<'_, &[u8], (u64, &[u8])> = TableDefinition::new("entries");
/// Keys in the order in which they expire.
pub(super) const EXPIRIES: TableDefinition<'_, (u64, &[u8]), ()> = TableDefinition::new("expiries");
pub(super) const FACTS: TableDefinition<'_, &str, u64> = TableDefinition::new("facts");
/// The fact since when the store has forgotten nothing.
pub(super) const SINCE: &str = "since";
/// The latest time at which something was stored.
pub(super) const LATEST: &str = "latest";

/// What a file says about itself.
pub(super) struct Facts {
    pub(super) since: u64,
    pub(super) latest: u64,
    pub(super) bytes: usize,
}

impl Facts {
    /// Reads them, or writes those of a new file.
    pub(super) fn read_or_write(database: &Database, clock: &Clock) -> Result<Facts, Broken> {
        let transaction = database.begin_write()?;
        let mut bytes = 0;
        let (since, latest) = {
            let mut facts = transaction.open_table(FACTS)?;
            let since = facts.get(SINCE)?.map(|since| since.value());
            let latest = facts.get(LATEST)?.map_or(0, |latest| latest.value());
            let since = match since {
                Some(since) => since,
                None => {
                    let now = clock.millis();
                    facts.insert(SINCE, now)?;
                    now
                }
            };
            for entry in transaction.open_table(ENTRIES)?.iter()? {
                let (key, value) = entry?;
                bytes += key.value().len() + value.value().1.len();
            }
            transaction.open_table(EXPIRIES)?;
            (since, latest)
        };
        transaction.commit()?;
        Ok(Facts { since, latest, bytes })
    }
}

/// Opens or creates a database that only its owner can read.
pub(super) fn open_private(path: &Path) -> Result<Database, StoreError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path).map_err(|error| opening(path, &error))?;
        drop(file);
    }
    Database::create(path).map_err(|error| opening(path, &error))
}

fn opening(path: &Path, error: &dyn fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("cannot open {}: {error}", path.display()))
}

/// Why the file cannot be read or written. Boxed, because it is large.
pub(super) struct Broken(Box<redb::Error>);

impl<E: Into<redb::Error>> From<E> for Broken {
    fn from(error: E) -> Broken {
        Broken(Box::new(error.into()))
    }
}

impl From<Broken> for StoreError {
    fn from(Broken(error): Broken) -> StoreError {
        StoreError::Unavailable(error.to_string())
    }
}
