//! Files of credentials: only their owner may read them, and servers pick up changes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::{Authenticate, Credential, Identity, Verdict};

/// How often a file is checked for changes.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Why a file of credentials cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialFileError {
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
    #[error("line {line}: {reason}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The file has no credentials.
    #[error("the file has no {0}")]
    Empty(&'static str),
    /// The file has no keys to check tokens with, or one that cannot be used.
    #[error("{0}")]
    Keys(String),
}

/// The text of a file that only its owner can read.
pub(crate) fn read_secret(path: &Path) -> Result<String, CredentialFileError> {
    let unreadable = |error| CredentialFileError::Unreadable { path: path.to_owned(), error };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).map_err(unreadable)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(CredentialFileError::Exposed { path: path.to_owned() });
        }
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

/// The lines of a file with their numbers, without comments and blank lines.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Credentials from a file that is read again when it changes, within five seconds. A revoked credential is not accepted after that, and a
/// connection that was opened with it is closed within five more. If
/// the changed file cannot be used, an error is logged once and the credentials of before stay in use.
///
/// The file is looked at while a credential is checked, so there is no task to stop. Keep it on a local disk. Cheap to clone.
pub struct Watched<T>(Arc<Inner<T>>);

struct Inner<T> {
    path: PathBuf,
    read: fn(&Path) -> Result<T, CredentialFileError>,
    loaded: Mutex<Loaded<T>>,
}

struct Loaded<T> {
    value: Arc<T>,
    stamp: Stamp,
    looked_at: Instant,
}

/// What changes with a file: its length, its time and, on Unix, its number.
type Stamp = Option<(u64, Option<SystemTime>, u64)>;

impl<T> Watched<T> {
    pub(crate) fn open(
        path: &Path,
        read: fn(&Path) -> Result<T, CredentialFileError>,
    ) -> Result<Watched<T>, CredentialFileError> {
        // Before reading: a change in between is seen at the next look.
        let stamp = stamp(path);
        let value = Arc::new(read(path)?);
        let loaded = Mutex::new(Loaded { value, stamp, looked_at: Instant::now() });
        Ok(Watched(Arc::new(Inner { path: path.to_owned(), read, loaded })))
    }

    /// What the file says now.
    #[must_use]
    pub fn current(&self) -> Arc<T> {
        let mut loaded = self.lock();
        if loaded.looked_at.elapsed() >= LOOK_AGAIN {
            loaded.looked_at = Instant::now();
            self.reload_if_changed(&mut loaded);
        }
        Arc::clone(&loaded.value)
    }

    fn reload_if_changed(&self, loaded: &mut Loaded<T>) {
        let stamp = stamp(&self.0.path);
        if loaded.stamp == stamp {
            return;
        }
        // A file that cannot be used is not tried again before it changes.
        loaded.stamp = stamp;
        let path = self.0.path.display();
        match (self.0.read)(&self.0.path) {
            Ok(value) => {
                loaded.value = Arc::new(value);
                tracing::info!(%path, "credentials reloaded: their file changed");
            }
            Err(error) => {
                tracing::error!(%path, %error, "cannot reload the changed credentials; keeping the old ones");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Loaded<T>> {
        self.0.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = {
        use std::os::unix::fs::MetadataExt as _;
        // The time of the last change of the entry: it also changes with the mode.
        metadata.ino()
            ^ metadata.ctime_nsec().unsigned_abs().rotate_left(32)
            ^ metadata.ctime().unsigned_abs()
    };
    #[cfg(not(unix))]
    let number = 0;
    Some((metadata.len(), metadata.modified().ok(), number))
}

impl<T> Clone for Watched<T> {
    fn clone(&self) -> Watched<T> {
        Watched(Arc::clone(&self.0))
    }
}

impl<T: Authenticate> Authenticate for Watched<T> {
    fn authenticate(&self, credential: &Credential<'_>) -> Verdict {
        self.current().authenticate(credential)
    }

    fn can_revoke(&self) -> bool {
        true
    }

    fn owners(&self) -> Vec<Arc<Identity>> {
        self.current().owners()
    }
}

impl<T> fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("path", &self.0.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Tokens;

    fn write(path: &Path, text: &str) {
        // A new file, not the old one written over: the clock of a disk may be too coarse to tell.
        let new = path.with_extension("new");
        std::fs::write(&new, text).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        std::fs::rename(&new, path).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_changed_file_is_read_within_five_seconds_and_a_bad_one_is_not_used() {
        let path = std::env::temp_dir().join(format!("switchboard-watched-{}", std::process::id()));
        let (alice, bob) = ("2f9c1b7e55a04d13", "0123456789abcdef");
        write(&path, &format!("alice:{alice}\n"));
        let tokens = Tokens::watch(&path).unwrap();
        let is_known = |token: &str| {
            matches!(tokens.authenticate(&Credential::Bearer(token.as_bytes())), Verdict::Known(_))
        };
        assert!(is_known(alice) && !is_known(bob));
        write(&path, &format!("bob:{bob}\n"));
        tokio::time::advance(LOOK_AGAIN).await;
        assert!(!is_known(alice), "the first check after the change sees it");
        assert!(is_known(bob));
        for bad in ["bob", ""] {
            write(&path, bad);
            tokio::time::advance(LOOK_AGAIN).await;
            assert!(is_known(bob), "the old tokens stay in use");
        }
        std::fs::remove_file(&path).unwrap();
        tokio::time::advance(LOOK_AGAIN).await;
        assert!(is_known(bob));
    }
}
