//! Where tokens are kept: in memory, or in a file that only its owner can read.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

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

    /// Replaces what is kept by what this function makes of it. Implement it if other programs may write at the same time: by default
    /// the last one wins.
    ///
    /// # Errors
    ///
    /// When it cannot be read or written, or the function fails.
    fn change(&self, change: &mut Change<'_>) -> Result<(), AuthError> {
        let text = change(self.read()?)?;
        self.write(&text)
    }
}

/// Makes the text that is to be kept of the one that was kept before.
pub type Change<'a> = dyn FnMut(Option<String>) -> Result<String, AuthError> + 'a;

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
        Kept::parse(store.read()?.as_deref())
    }

    fn parse(text: Option<&str>) -> Result<Kept, AuthError> {
        let Some(text) = text else { return Ok(Kept::default()) };
        serde_json::from_str(text).map_err(|_| {
            AuthError::Store("the kept tokens cannot be read; log out and log in again".to_owned())
        })
    }

    /// Changes what is kept. Other programs may have changed it, too.
    pub(super) fn change<T>(
        store: &dyn TokenStore,
        mut change: impl FnMut(&mut Kept) -> T,
    ) -> Result<T, AuthError> {
        let mut outcome = None;
        store.change(&mut |text| {
            let mut kept = Kept::parse(text.as_deref())?;
            outcome = Some(change(&mut kept));
            serde_json::to_string(&kept).map_err(|error| AuthError::Store(error.to_string()))
        })?;
        outcome.ok_or_else(|| AuthError::Store("the store of tokens did not change".to_owned()))
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

/// Keeps tokens in a file with mode 0600. Several programs may share it: they change it one after the other.
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
        // Nothing is written, or made, if there is nothing to remove.
        if !Kept::read(self)?.tokens.contains_key(url) {
            return Ok(false);
        }
        Kept::change(self, |kept| kept.tokens.remove(url).is_some())
    }

    /// The servers that there are tokens for, by their URLs.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn servers(&self) -> Result<Vec<LoggedIn>, AuthError> {
        let kept = Kept::read(self)?;
        let servers = kept.tokens.into_iter().map(|(url, token)| LoggedIn {
            url,
            issuer: token.issuer,
            scopes: token.scopes,
            expires: token.expires.map(|end| SystemTime::UNIX_EPOCH + Duration::from_secs(end)),
            is_renewed: token.refresh.is_some(),
        });
        Ok(servers.collect())
    }

    /// Waits until no other program changes the file.
    fn lock(&self) -> Result<fs::File, AuthError> {
        let lock = self.open_lock().map_err(|error| self.fault("write", &error))?;
        let until = Instant::now() + LOCKED;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(fs::TryLockError::Error(error)) => return Err(self.fault("lock", &error)),
                Err(fs::TryLockError::WouldBlock) if Instant::now() > until => {
                    let text = format!("another program is writing {}; try again", self.0.display());
                    return Err(AuthError::Store(text));
                }
                // A file is written within milliseconds, and seldom.
                Err(fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// The lock is a separate file, because the one with the tokens is replaced.
    fn open_lock(&self) -> io::Result<fs::File> {
        if let Some(folder) = self.0.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            make_folder(folder)?;
        }
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(self.0.with_extension("lock"))
    }

    fn fault(&self, what: &str, error: &io::Error) -> AuthError {
        AuthError::Store(format!("cannot {what} {}: {error}", self.0.display()))
    }
}

/// A server that a program has logged in to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedIn {
    /// Its URL.
    pub url: String,
    /// The authorization server that issued the token.
    pub issuer: String,
    /// What the token was asked for.
    pub scopes: Vec<String>,
    /// When the token expires, if it does.
    pub expires: Option<SystemTime>,
    /// Whether it is renewed without the user.
    pub is_renewed: bool,
}

/// How long another program may take to write the file.
const LOCKED: Duration = Duration::from_secs(5);

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

    fn change(&self, change: &mut Change<'_>) -> Result<(), AuthError> {
        // It is unlocked when it is closed.
        let _lock = self.lock()?;
        let text = change(self.read()?)?;
        self.write(&text)
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

    fn token(access: &str) -> Token {
        let text = format!(
            r#"{{"access":"{access}","is_dpop":false,"expires":60,"refresh":null,"scopes":["a"],
               "issuer":"https://auth.example","resource":"https://a.example"}}"#
        );
        serde_json::from_str(&text).expect("a token")
    }

    #[test]
    fn programs_that_share_a_file_lose_no_tokens_and_log_out_of_one_server() {
        let folder = std::env::temp_dir().join(format!("switchboard-shared-{}", std::process::id()));
        let path = folder.join("tokens.json");
        let url = |thread: usize, round: usize| format!("https://a{thread}-{round}.example");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let file = TokenFile::new(&path);
                scope.spawn(move || {
                    for round in 0..20 {
                        let keep = |kept: &mut Kept| kept.tokens.insert(url(thread, round), token("t"));
                        Kept::change(&file, keep).unwrap();
                    }
                });
            }
        });
        let file = TokenFile::new(&path);
        assert_eq!(file.servers().unwrap().len(), 80);
        let server = file.servers().unwrap().remove(0);
        assert_eq!((&*server.url, &*server.issuer), ("https://a0-0.example", "https://auth.example"));
        assert_eq!(server.expires, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(60)));
        assert_eq!(file.log_out(&server.url), Ok(true));
        assert_eq!(file.log_out(&server.url), Ok(false));
        assert_eq!(file.servers().unwrap().len(), 79);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((file.servers(), file.log_out("https://b.example")), (Ok(Vec::new()), Ok(false)));
        assert!(!folder.exists(), "nothing is made to remove nothing");
    }
}
