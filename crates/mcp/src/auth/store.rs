//! Where tokens are kept: in memory, or in a file that only its owner can read.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::client::RegisteredClient;
use super::error::AuthError;
use super::token::Token;

/// Keeps what logins have got. Implement it to use the keychain of a system.
///
/// All of it is one text, which contains secrets.
pub trait TokenStore: fmt::Debug + Send + Sync + 'static {
    /// What was written last; none if nothing was.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn read(&self) -> Result<Option<String>, AuthError>;

    /// Replaces what is kept.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn write(&self, text: &str) -> Result<(), AuthError>;
}

/// What is kept: clients by the authorization server that knows them, and tokens by the server that they are for.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Kept {
    #[serde(default)]
    pub(super) clients: BTreeMap<String, RegisteredClient>,
    #[serde(default)]
    pub(super) tokens: BTreeMap<String, Token>,
}

impl Kept {
    pub(super) fn read(store: &dyn TokenStore) -> Result<Kept, AuthError> {
        let Some(text) = store.read()? else { return Ok(Kept::default()) };
        serde_json::from_str(&text).map_err(|_| {
            AuthError::Store("the kept tokens cannot be read; log out and log in again".to_owned())
        })
    }

    pub(super) fn write(&self, store: &dyn TokenStore) -> Result<(), AuthError> {
        let text = serde_json::to_string(self).map_err(|error| AuthError::Store(error.to_string()))?;
        store.write(&text)
    }
}

/// Keeps tokens as long as the program runs.
#[derive(Default)]
pub struct MemoryTokens(Mutex<Option<String>>);

impl TokenStore for MemoryTokens {
    fn read(&self) -> Result<Option<String>, AuthError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn write(&self, text: &str) -> Result<(), AuthError> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
        Ok(())
    }
}

impl fmt::Debug for MemoryTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryTokens(..)")
    }
}

/// Keeps tokens in a file with mode 0600. Several programs may share it; of two that write at once, the last one wins.
#[derive(Clone, Debug)]
pub struct TokenFile(PathBuf);

impl TokenFile {
    /// The file at this path. It is made when there is something to keep.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> TokenFile {
        TokenFile(path.into())
    }

    /// Removes the tokens for this server, and tells whether there were any. Registrations are kept.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn log_out(&self, url: &str) -> Result<bool, AuthError> {
        let mut kept = Kept::read(self)?;
        let had = kept.tokens.remove(url).is_some();
        if had {
            kept.write(self)?;
        }
        Ok(had)
    }

    fn fault(&self, what: &str, error: &io::Error) -> AuthError {
        AuthError::Store(format!("cannot {what} {}: {error}", self.0.display()))
    }
}

impl TokenStore for TokenFile {
    fn read(&self) -> Result<Option<String>, AuthError> {
        match fs::metadata(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.fault("read", &error)),
            Ok(metadata) if is_open_to_others(&metadata) => {
                let path = self.0.display();
                let text = format!("other users can read {path}; correct that with: chmod 600 {path}");
                return Err(AuthError::Store(text));
            }
            Ok(_) => {}
        }
        fs::read_to_string(&self.0).map(Some).map_err(|error| self.fault("read", &error))
    }

    fn write(&self, text: &str) -> Result<(), AuthError> {
        let failed = |error| self.fault("write", &error);
        if let Some(folder) = self.0.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            make_folder(folder).map_err(failed)?;
        }
        // A new file in its place: readers see the old text or the new one, and its mode is right from the start.
        let new = self.0.with_extension(format!("{}.new", crate::ask::seal::random_id()));
        let written = create(&new).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.0)
        });
        written.map_err(|error| {
            drop(fs::remove_file(&new));
            self.fault("write", &error)
        })
    }
}

#[cfg(unix)]
fn is_open_to_others(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_: &fs::Metadata) -> bool {
    false
}

fn create(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_the_owner_can_read_the_file() {
        let folder = std::env::temp_dir().join(format!("switchboard-tokens-{}", std::process::id()));
        let file = TokenFile::new(folder.join("tokens.json"));
        assert_eq!(file.read(), Ok(None));
        file.write("first").unwrap();
        file.write("second").unwrap();
        assert_eq!(file.read().unwrap().as_deref(), Some("second"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file.0), mode(&folder)), (0o600, 0o700));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");
        fs::set_permissions(&file.0, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = file.read().unwrap_err().to_string();
        assert!(refused.contains("chmod 600"), "{refused}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
