//! A bucket as a store.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::api::{Info, Refusal};
use super::entry::{Draft, Entry, token};
use super::{JetStreamWatch, Link};
use crate::clock::{Clock, millis_of};
use crate::store::{Store, StoreError, StoreFuture, StoreLimits, check_sizes, count_of};

/// What the description of a stream begins with. The time follows since when it has forgotten nothing, in milliseconds since 1970.
const SINCE: &str = "switchboard store since ";

/// A store in a NATS server. Any number of machines can use it at once. Cheap to clone.
///
/// Operations fail at once while there is no connection. If an operation was not answered in time it may have happened; an insertion finds out by itself if the server
/// answers again. Entries take up room until the time of the bucket is over, also those that expired before.
#[derive(Clone)]
pub struct JetStreamStore(Arc<Bucket>);

struct Bucket {
    link: Arc<Link>,
    /// The name of the stream.
    stream: String,
    /// What the subjects of its messages begin with.
    subjects: String,
    /// How long it keeps entries.
    time: Duration,
    limits: StoreLimits,
    clock: Clock,
    since: AtomicU64,
    /// The number of the connection over which the bucket was last seen to be there.
    seen: AtomicU64,
    /// Held by the operation that looks for it.
    looking: Mutex<()>,
}

impl JetStreamStore {
    pub(super) fn new(
        link: Arc<Link>,
        name: &str,
        time: Duration,
        limits: StoreLimits,
        clock: Clock,
    ) -> JetStreamStore {
        let name = format!("{}-{name}", link.options.prefix);
        let bucket = Bucket {
            stream: format!("KV_{name}"),
            subjects: format!("$KV.{name}."),
            time,
            limits,
            since: AtomicU64::new(clock.millis()),
            clock,
            seen: AtomicU64::new(0),
            looking: Mutex::default(),
            link,
        };
        JetStreamStore(Arc::new(bucket))
    }

    /// Creates the bucket if there is none.
    pub(super) async fn ensure(&self) -> Result<(), StoreError> {
        self.0.ensure().await
    }

    /// Tells when the value under this key may have changed, on whichever machine. The value itself has to be read.
    ///
    /// # Errors
    ///
    /// If the client has ended.
    pub async fn watch(&self, key: &[u8]) -> Result<JetStreamWatch, StoreError> {
        JetStreamWatch::new(&self.0.link, self.0.subject(key)).await
    }

    /// Does this with the bucket, in the time that operations have.
    fn within<T, F>(&self, operation: impl FnOnce(Arc<Bucket>) -> F + Send + 'static) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let bucket = Arc::clone(&self.0);
        StoreFuture::pending(async move {
            let operated = async {
                bucket.ensure().await?;
                operation(Arc::clone(&bucket)).await
            };
            let late = |_| StoreError::Unavailable("no answer of the NATS server in time".to_owned());
            let done = tokio::time::timeout(bucket.link.options.timeout, operated).await.map_err(late);
            let done = done.and_then(|done| done);
            if matches!(done, Err(StoreError::Unavailable(_))) {
                // It may be gone: the next operation looks.
                bucket.seen.store(0, Ordering::Release);
            }
            done
        })
    }
}

impl Bucket {
    /// Makes sure that the bucket is there. It is looked for after each reconnect: a server that has lost it has also lost what it remembered, and
    /// [`Store::since`] must say so before anything is decided.
    async fn ensure(&self) -> Result<(), StoreError> {
        let connection = self.link.connection()?;
        if self.seen.load(Ordering::Acquire) == connection {
            return Ok(());
        }
        let _looking = self.looking.lock().await;
        if self.seen.load(Ordering::Acquire) == connection {
            return Ok(());
        }
        let info = match self.link.info(&self.stream).await {
            Err(Refusal::Missing) => match self.link.create(&self.stream, &self.config()).await {
                // Another machine was faster.
                Err(Refusal::Other(_)) => self.link.info(&self.stream).await?,
                created => created?,
            },
            info => info?,
        };
        self.since.store(since_of(&info).unwrap_or_else(|| self.clock.millis()), Ordering::Relaxed);
        self.prolong(info).await?;
        self.seen.store(connection, Ordering::Release);
        Ok(())
    }

    fn config(&self) -> Value {
        json!({
            "name": self.stream,
            "description": format!("{SINCE}{}", self.clock.millis()),
            "subjects": [format!("{}>", self.subjects)],
            "retention": "limits",
            "storage": "file",
            "max_consumers": -1,
            "max_msgs": self.limits.entries,
            "max_bytes": self.limits.bytes,
            "max_msg_size": -1,
            "max_msgs_per_subject": 1,
            "max_age": nanos(self.time),
            "discard": "new",
            "num_replicas": self.link.options.replicas,
            // Copies on other servers may be behind, and decisions are based on reads when a value is replaced.
            "allow_direct": false,
            "allow_rollup_hdrs": false,
            "deny_delete": true,
        })
    }

    /// Has the bucket keep entries for as long as this store promises.
    async fn prolong(&self, info: Info) -> Result<(), StoreError> {
        let mut config = info.config;
        let age = config.get("max_age").and_then(Value::as_u64).unwrap_or(0);
        if age == 0 || age >= nanos(self.time) {
            return Ok(());
        }
        if let Some(age) = config.get_mut("max_age") {
            *age = nanos(self.time).into();
        }
        self.link.update(&self.stream, &config).await?;
        Ok(())
    }

    fn subject(&self, key: &[u8]) -> String {
        format!("{}{}", self.subjects, token(key))
    }

    /// The entry under this subject, expired or not.
    async fn last(&self, subject: &str) -> Result<Option<Entry>, StoreError> {
        self.link.last(&self.stream, subject).await
    }

    /// When an entry expires that is kept for this long.
    fn expiry(&self, time: Duration) -> u64 {
        self.clock.millis().saturating_add(millis_of(time))
    }

    async fn insert(&self, subject: &str, value: &[u8], time: Duration) -> Result<bool, StoreError> {
        let draft = Draft::new(value, self.expiry(time));
        let mut expected = 0;
        loop {
            // Half of the time, so that a message or an answer that was lost leaves time to ask.
            let patience = self.link.options.timeout / 2;
            match self.link.write(subject, &draft, expected, patience).await {
                Ok(()) => return Ok(true),
                Err(Refusal::Conflict | Refusal::Unknown(_)) => {}
                Err(refusal) => return Err(refusal.into()),
            }
            match self.last(subject).await? {
                // This operation wrote it, though the answer was lost.
                Some(entry) if entry.mark == draft.mark => return Ok(true),
                Some(entry) if !entry.is_over(self.clock.millis()) => return Ok(false),
                Some(entry) => expected = entry.revision,
                None => expected = 0,
            }
        }
    }

    async fn replace(
        &self,
        subject: &str,
        expected: &[u8],
        value: &[u8],
        time: Duration,
    ) -> Result<bool, StoreError> {
        let draft = Draft::new(value, self.expiry(time));
        loop {
            let found = self.last(subject).await?;
            let revision = match found {
                Some(entry) if entry.mark == draft.mark => return Ok(true),
                Some(entry) if !entry.is_over(self.clock.millis()) && entry.value == expected => {
                    entry.revision
                }
                _ => return Ok(false),
            };
            match self.link.write(subject, &draft, revision, self.link.options.timeout / 2).await {
                Ok(()) => return Ok(true),
                Err(Refusal::Conflict | Refusal::Unknown(_)) => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
    }

    async fn add(&self, subject: &str, amount: u64, time: Duration) -> Result<u64, StoreError> {
        loop {
            let found = self.last(subject).await?;
            let (count, expires, revision) = match found {
                Some(entry) if !entry.is_over(self.clock.millis()) => {
                    (count_of(&entry.value)?.saturating_add(amount), entry.expires, entry.revision)
                }
                Some(entry) => (amount, self.expiry(time), entry.revision),
                None => (amount, self.expiry(time), 0),
            };
            let draft = Draft::new(&count.to_le_bytes(), expires);
            // An addition that may have happened must not happen twice, so the caller decides what is to be done then.
            match self.link.write(subject, &draft, revision, self.link.options.timeout).await {
                Ok(()) => return Ok(count),
                Err(Refusal::Conflict) => {
                    // Those that lost do not try again at the same time.
                    tokio::time::sleep(Duration::from_micros(fastrand::u64(0..2000))).await;
                }
                Err(refusal) => return Err(refusal.into()),
            }
        }
    }

    /// Refuses what the bucket would not keep.
    fn check(&self, key: &[u8], value: &[u8], time: Duration) -> Result<(), StoreError> {
        check_sizes(key, value)?;
        match time > self.time {
            true => Err(StoreError::TooLongTime { time, limit: self.time }),
            false => Ok(()),
        }
    }
}

impl Store for JetStreamStore {
    fn insert(&self, key: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        if let Err(error) = self.0.check(key, value, time) {
            return StoreFuture::ready(Err(error));
        }
        let (subject, value) = (self.0.subject(key), Bytes::copy_from_slice(value));
        self.within(move |bucket| async move { bucket.insert(&subject, &value, time).await })
    }

    fn read(&self, key: &[u8]) -> StoreFuture<Option<Bytes>> {
        let subject = self.0.subject(key);
        self.within(move |bucket| async move {
            let found = bucket.last(&subject).await?;
            Ok(found.filter(|entry| !entry.is_over(bucket.clock.millis())).map(|entry| entry.value))
        })
    }

    fn replace(&self, key: &[u8], expected: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        if let Err(error) = self.0.check(key, value, time) {
            return StoreFuture::ready(Err(error));
        }
        let subject = self.0.subject(key);
        let [expected, value] = [expected, value].map(Bytes::copy_from_slice);
        self.within(move |bucket| async move { bucket.replace(&subject, &expected, &value, time).await })
    }

    fn add(&self, key: &[u8], amount: u64, time: Duration) -> StoreFuture<u64> {
        if let Err(error) = self.0.check(key, &[], time) {
            return StoreFuture::ready(Err(error));
        }
        let subject = self.0.subject(key);
        self.within(move |bucket| async move { bucket.add(&subject, amount, time).await })
    }

    fn remove(&self, key: &[u8]) -> StoreFuture<()> {
        let subject = self.0.subject(key);
        self.within(move |bucket| async move { Ok(bucket.link.purge(&bucket.stream, &subject).await?) })
    }

    fn since(&self) -> u64 {
        self.0.since.load(Ordering::Relaxed)
    }

    fn capacity(&self) -> Option<usize> {
        Some(self.0.limits.entries)
    }
}

impl fmt::Debug for JetStreamStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JetStreamStore").field("stream", &self.0.stream).finish_non_exhaustive()
    }
}

/// Since when a stream has forgotten nothing, if one of our servers has created it.
fn since_of(info: &Info) -> Option<u64> {
    info.config.get("description")?.as_str()?.strip_prefix(SINCE)?.parse().ok()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(i64::MAX as u64).min(i64::MAX as u64)
}
