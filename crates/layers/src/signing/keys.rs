//! The keys of signed messages, from a file or from elsewhere.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::FixedState;

use super::Key;
use crate::identity::{CredentialFileError, Watched, lines, read_secret};

/// Keys by their names. Cheap to clone; clones share them, so that [`replace`](SigningKeys::replace) revokes a key everywhere at once.
///
/// # Rotation
///
/// Add the new key to all verifiers, switch the signers, set `until` of the old key to seven minutes from now, and remove it later. Never
/// use a name again for another key.
#[derive(Clone)]
pub struct SigningKeys(Source);

#[derive(Clone)]
enum Source {
    Shared(Arc<RwLock<Arc<ByName>>>),
    File(Watched<ByName>),
}

/// Only our own names are in it: callers cannot flood it, so a fixed hash will do.
type ByName = HashMap<Box<[u8]>, Arc<Key>, FixedState>;

impl SigningKeys {
    /// Reads a file that only its owner can read.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, other users can read it, or a line is wrong.
    pub fn read(path: impl AsRef<Path>) -> Result<SigningKeys, CredentialFileError> {
        read_file(path.as_ref()).map(SigningKeys::of)
    }

    /// The same, and reads it again when it changes, within five seconds. A key that is removed from the file is not accepted after that.
    ///
    /// # Errors
    ///
    /// As for [`read`](SigningKeys::read).
    pub fn watch(path: impl AsRef<Path>) -> Result<SigningKeys, CredentialFileError> {
        Watched::open(path.as_ref(), read_file).map(|keys| SigningKeys(Source::File(keys)))
    }

    /// Reads one [key](Key) per line. Blank lines, and lines that start with `#`, are ignored.
    ///
    /// # Errors
    ///
    /// If a line is wrong, two keys have the same name, or there are none.
    pub fn parse(text: &str) -> Result<SigningKeys, CredentialFileError> {
        parse(text).map(SigningKeys::of)
    }

    /// The key with this name.
    #[must_use]
    pub fn get(&self, kid: &str) -> Option<Arc<Key>> {
        self.find(kid.as_bytes())
    }

    /// The key with this name, as a message has it.
    pub(super) fn find(&self, kid: &[u8]) -> Option<Arc<Key>> {
        self.with(|keys| keys.get(kid).cloned())
    }

    /// The first key that can sign, by name: the key to sign with where none is chosen.
    #[must_use]
    pub fn first_signer(&self) -> Option<Arc<Key>> {
        let keys = self.current();
        keys.values().filter(|key| key.can_sign()).min_by_key(|key| key.kid().to_owned()).cloned()
    }

    /// Uses other keys from now on, in all clones. Keys that are [watched](SigningKeys::watch) in a file stay those of the file.
    pub fn replace(&self, other: &SigningKeys) {
        if let Source::Shared(keys) = &self.0 {
            let new = other.current();
            *keys.write().unwrap_or_else(PoisonError::into_inner) = new;
        }
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.with(HashMap::len)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn with<R>(&self, read: impl FnOnce(&ByName) -> R) -> R {
        match &self.0 {
            Source::Shared(keys) => read(&keys.read().unwrap_or_else(PoisonError::into_inner)),
            Source::File(keys) => read(&keys.current()),
        }
    }

    fn current(&self) -> Arc<ByName> {
        match &self.0 {
            Source::Shared(keys) => Arc::clone(&keys.read().unwrap_or_else(PoisonError::into_inner)),
            Source::File(keys) => keys.current(),
        }
    }

    fn of(keys: ByName) -> SigningKeys {
        SigningKeys(Source::Shared(Arc::new(RwLock::new(Arc::new(keys)))))
    }
}

fn read_file(path: &Path) -> Result<ByName, CredentialFileError> {
    parse(&read_secret(path)?)
}

fn parse(text: &str) -> Result<ByName, CredentialFileError> {
    let mut keys = ByName::default();
    for (line, text) in lines(text) {
        let key: Key = text
            .parse()
            .map_err(|error: super::KeyError| CredentialFileError::Line { line, reason: error.0 })?;
        if keys.insert(key.kid().as_bytes().into(), Arc::new(key)).is_some() {
            return Err(CredentialFileError::Line { line, reason: "an earlier line has the same key id" });
        }
    }
    match keys.is_empty() {
        true => Err(CredentialFileError::Empty("keys; write one `kid algorithm hex` per line")),
        false => Ok(keys),
    }
}

impl Default for SigningKeys {
    fn default() -> SigningKeys {
        SigningKeys::of(ByName::default())
    }
}

impl FromIterator<Key> for SigningKeys {
    fn from_iter<I: IntoIterator<Item = Key>>(keys: I) -> SigningKeys {
        SigningKeys::of(keys.into_iter().map(|key| (key.kid().as_bytes().into(), Arc::new(key))).collect())
    }
}

/// Shows how many there are.
impl fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKeys({})", self.len())
    }
}
