//! A file of keys.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::Key;
use super::key::KeyError;

/// Keys by their names. Cheap to clone; clones share them, so that [`replace`](SigningKeys::replace) revokes a key everywhere at once.
///
/// # Rotation
///
/// Add the new key to all verifiers, switch the signers, set `until` of the old key to seven minutes from now, and remove it later. Never
/// use a name again for another key.
#[derive(Clone, Default)]
pub struct SigningKeys(Arc<RwLock<Arc<ByName>>>);

type ByName = HashMap<Box<str>, Arc<Key>>;

/// Why a file of keys cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
    /// Other users of the machine can read the file.
    #[error("{} can be read by other users; run: chmod 600 {}", path.display(), path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// A line is wrong. The message does not quote it.
    #[error("line {line}: {error}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        error: KeyError,
    },
    /// There are no keys.
    #[error("the file has no keys; write one `kid algorithm hex` per line")]
    Empty,
}

impl SigningKeys {
    /// Reads a file that only its owner can read.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, other users can read it, or a line is wrong.
    pub fn read(path: impl AsRef<Path>) -> Result<SigningKeys, KeyFileError> {
        let path = path.as_ref();
        let unreadable = |error| KeyFileError::Unreadable { path: path.to_owned(), error };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(path).map_err(unreadable)?.permissions().mode();
            if mode & 0o077 != 0 {
                return Err(KeyFileError::Exposed { path: path.to_owned() });
            }
        }
        SigningKeys::parse(&std::fs::read_to_string(path).map_err(unreadable)?)
    }

    /// Reads one [key](Key) per line. Blank lines, and lines that start with `#`, are ignored.
    ///
    /// # Errors
    ///
    /// If a line is wrong, two keys have the same name, or there are none.
    pub fn parse(text: &str) -> Result<SigningKeys, KeyFileError> {
        let mut keys = ByName::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |error| KeyFileError::Line { line: index + 1, error };
            let key: Key = line.parse().map_err(wrong)?;
            if keys.insert(key.kid().into(), Arc::new(key)).is_some() {
                return Err(wrong(KeyError("an earlier line has the same key id")));
            }
        }
        if keys.is_empty() { Err(KeyFileError::Empty) } else { Ok(SigningKeys::of(keys)) }
    }

    /// The key with this name.
    #[must_use]
    pub fn get(&self, kid: &str) -> Option<Arc<Key>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(kid).cloned()
    }

    /// The first key that can sign, by name: the key to sign with where none is chosen.
    #[must_use]
    pub fn first_signer(&self) -> Option<Arc<Key>> {
        let keys = self.0.read().unwrap_or_else(PoisonError::into_inner);
        keys.values().filter(|key| key.can_sign()).min_by_key(|key| key.kid().to_owned()).cloned()
    }

    /// Uses other keys from now on, in all clones.
    pub fn replace(&self, other: &SigningKeys) {
        let new = Arc::clone(&other.0.read().unwrap_or_else(PoisonError::into_inner));
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = new;
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn of(keys: ByName) -> SigningKeys {
        SigningKeys(Arc::new(RwLock::new(Arc::new(keys))))
    }
}

impl FromIterator<Key> for SigningKeys {
    fn from_iter<I: IntoIterator<Item = Key>>(keys: I) -> SigningKeys {
        SigningKeys::of(keys.into_iter().map(|key| (key.kid().into(), Arc::new(key))).collect())
    }
}

/// Shows how many there are.
impl fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKeys({})", self.len())
    }
}
