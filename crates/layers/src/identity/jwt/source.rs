//! Where keys come from.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::KeySet;
use super::cache::Cache;
use super::key_set::LONGEST;
use crate::identity::file::{CredentialFileError, Watched};

/// Why keys cannot be fetched.
pub type FetchError = Box<dyn Error + Send + Sync>;

/// A JWKS document that is on its way.
pub type FetchFuture = Pin<Box<dyn Future<Output = Result<Bytes, FetchError>> + Send>>;

/// Fetches the JWKS document of an issuer. A closure that returns a future is one.
///
/// It must ask the configured issuer only, over a connection that proves who answers (SEC-T-03), and bound what it reads. With the
/// feature `http`, `http::Resource` of the transport does so.
pub trait KeySource: Send + Sync + 'static {
    /// Fetches the document. The caller limits the time that this takes.
    fn fetch(&self) -> FetchFuture;
}

impl<F, Fetching, E> KeySource for F
where
    F: Fn() -> Fetching + Send + Sync + 'static,
    Fetching: Future<Output = Result<Bytes, E>> + Send + 'static,
    E: Into<FetchError>,
{
    fn fetch(&self) -> FetchFuture {
        let fetching = self();
        Box::pin(async move { fetching.await.map_err(Into::into) })
    }
}

/// When fetched keys are fetched again.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refresh {
    /// How long keys are used without asking again: 10 minutes. The next refresh begins after three quarters of that, in the background.
    pub max_age: Duration,
    /// How much longer keys are used if the issuer cannot be reached: 1 hour.
    pub stale: Duration,
    /// The least time between two refreshes, whatever keys tokens name: 30 s.
    pub interval: Duration,
    /// The time limit of a refresh: 10 s.
    pub time: Duration,
}

impl Refresh {
    /// Sets [`max_age`](Refresh::max_age).
    #[must_use]
    pub fn with_max_age(mut self, max_age: Duration) -> Refresh {
        self.max_age = max_age;
        self
    }

    /// Sets [`stale`](Refresh::stale).
    #[must_use]
    pub fn with_stale(mut self, stale: Duration) -> Refresh {
        self.stale = stale;
        self
    }

    /// Sets [`interval`](Refresh::interval).
    #[must_use]
    pub fn with_interval(mut self, interval: Duration) -> Refresh {
        self.interval = interval;
        self
    }

    /// Sets [`time`](Refresh::time).
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Refresh {
        self.time = time;
        self
    }
}

/// The keys of an issuer: fixed ones, those of a file, or those that a [`KeySource`] fetches. Cheap to clone.
#[derive(Clone)]
pub struct Keys(pub(super) Kept);

#[derive(Clone)]
pub(super) enum Kept {
    Fixed(Arc<KeySet>),
    File(Watched<KeySet>),
    Fetched(Arc<Cache>),
}

impl Keys {
    /// The keys of a file, JWKS or PEM, which is read again when it changes. So an issuer's keys are rotated without a restart.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or has no keys that can be used.
    pub fn file(path: impl AsRef<Path>) -> Result<Keys, CredentialFileError> {
        Watched::open(path.as_ref(), read).map(|watched| Keys(Kept::File(watched)))
    }

    /// The keys that this source fetches: when the first token arrives, and then as [`Refresh`] says by default.
    pub fn fetched(source: impl KeySource) -> Keys {
        Keys::fetched_with(source, Refresh::default())
    }

    /// The keys that this source fetches, with these times.
    pub fn fetched_with(source: impl KeySource, refresh: Refresh) -> Keys {
        Keys(Kept::Fetched(Arc::new(Cache::new(source, refresh))))
    }

    /// Whether these are secrets, not public keys.
    pub(super) fn is_secret(&self) -> bool {
        matches!(&self.0, Kept::Fixed(keys) if keys.is_secret())
    }
}

impl From<KeySet> for Keys {
    fn from(keys: KeySet) -> Keys {
        Keys(Kept::Fixed(Arc::new(keys)))
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Kept::Fixed(_) => "Keys(fixed)",
            Kept::File(_) => "Keys(file)",
            Kept::Fetched(_) => "Keys(fetched)",
        })
    }
}

/// Reads a file of public keys. They are not secret, so its mode does not matter.
fn read(path: &Path) -> Result<KeySet, CredentialFileError> {
    use std::io::Read as _;
    let unreadable = |error| CredentialFileError::Unreadable { path: path.to_owned(), error };
    let mut document = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(LONGEST as u64 + 1).read_to_end(&mut document).map_err(unreadable)?;
    let wrong = |error| CredentialFileError::Keys(format!("{}: {error}", path.display()));
    KeySet::parse(document).map_err(wrong)
}
