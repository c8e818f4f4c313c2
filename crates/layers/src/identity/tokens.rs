//! Tokens from a file: one `name:token` per line.

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use foldhash::fast::FixedState;

use super::file::{CredentialFileError, Watched, lines, read_secret};
use super::{Authenticate, Credential, Identity, Proof, Verdict};
use crate::hashing::{SecretHashing, secret_hashing};

/// A shorter token can be guessed.
const SHORTEST: usize = 16;

/// Tokens that the server knows, each with the name of its owner.
///
/// Tokens are looked up by a hash with a seed that only this process has, and then compared in constant time, so the time of a lookup
/// reveals nothing about them.
///
/// # Examples
///
/// ```
/// use switchboard_layers::identity::{Authenticate, Credential, Tokens, Verdict};
///
/// let tokens = Tokens::parse("# our people\nalice:2f9c1b7e55a04d13\n")?;
/// let Verdict::Known(alice) = tokens.authenticate(&Credential::Bearer(b"2f9c1b7e55a04d13")) else { panic!() };
/// assert_eq!(alice.subject, "alice");
/// assert!(Tokens::parse("alice:short").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Tokens {
    hashing: SecretHashing,
    /// Filled with our own hashes only: callers cannot flood it, so a fixed hash of them will do.
    by_hash: HashMap<u64, KnownToken, FixedState>,
}

#[derive(Clone)]
struct KnownToken {
    token: Box<[u8]>,
    identity: Arc<Identity>,
}

impl Tokens {
    /// Reads a file that only its owner can read.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, other users can read it, or a line is wrong.
    pub fn read(path: impl AsRef<Path>) -> Result<Tokens, CredentialFileError> {
        Tokens::parse(&read_secret(path.as_ref())?)
    }

    /// Reads a file, and reads it again when it changes.
    ///
    /// # Errors
    ///
    /// The same as for [`Tokens::read`].
    pub fn watch(path: impl AsRef<Path>) -> Result<Watched<Tokens>, CredentialFileError> {
        Watched::open(path.as_ref(), |path| Tokens::read(path))
    }

    /// Reads lines of `name:token`. Blank lines, and lines that start with `#`, are ignored.
    ///
    /// # Errors
    ///
    /// If a line is wrong, a token is shorter than 16 characters or given twice, or there are none.
    pub fn parse(text: &str) -> Result<Tokens, CredentialFileError> {
        let mut tokens = Tokens { hashing: secret_hashing(), by_hash: HashMap::default() };
        for (number, line) in lines(text) {
            let wrong = |reason| CredentialFileError::Line { line: number, reason };
            let (name, token) = line.split_once(':').ok_or_else(|| wrong("write `name:token`"))?;
            tokens.add(name.trim(), token.trim()).map_err(wrong)?;
        }
        if tokens.is_empty() {
            return Err(CredentialFileError::Empty("tokens; write one `name:token` per line"));
        }
        Ok(tokens)
    }

    fn add(&mut self, name: &str, token: &str) -> Result<(), &'static str> {
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if name.is_empty() || !is_plain(name) {
            return Err("the name must be ASCII letters, digits and punctuation");
        }
        if token.len() < SHORTEST {
            return Err("the token is shorter than 16 characters; make one with: openssl rand -hex 32");
        }
        if !is_plain(token) {
            return Err("the token must be ASCII letters, digits and punctuation, without spaces");
        }
        let known = KnownToken {
            token: token.as_bytes().into(),
            identity: Arc::new(Identity::new(name, Proof::Token)),
        };
        match self.by_hash.insert(self.hash(token.as_bytes()), known) {
            None => Ok(()),
            Some(_) => Err("the same token is given on an earlier line; every caller needs a different one"),
        }
    }

    /// How many tokens there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_hash.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    #[inline(always)]
    fn find(&self, token: &[u8]) -> Option<&Arc<Identity>> {
        let known = self.by_hash.get(&self.hash(token))?;
        verify_slices_are_equal(&known.token, token).ok()?;
        Some(&known.identity)
    }

    fn hash(&self, token: &[u8]) -> u64 {
        self.hashing.hash_one(token)
    }
}

impl Authenticate for Tokens {
    fn authenticate(&self, credential: &Credential<'_>) -> Verdict {
        let found = match credential {
            Credential::Bearer(token) => self.find(token),
            Credential::Basic { name, password } => {
                self.find(password.as_bytes()).filter(|identity| identity.subject == *name)
            }
            _ => None,
        };
        found.map_or(Verdict::Unknown, |identity| Verdict::Known(Arc::clone(identity)))
    }

    fn owners(&self) -> Vec<Arc<Identity>> {
        self.by_hash.values().map(|known| Arc::clone(&known.identity)).collect()
    }
}

/// Shows how many there are.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Tokens::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_line_is_named_and_never_quoted() {
        assert_eq!(error("alice"), "line 1: write `name:token`");
        assert!(error("\n# a\nalice:hunter2").starts_with("line 3: the token is shorter"));
        assert!(error("alice:three words of it").starts_with("line 1: the token must be ASCII"));
        assert!(error(":0123456789abcdef").starts_with("line 1: the name"));
        assert!(error("a:0123456789abcdef\nb:0123456789abcdef").starts_with("line 2: the same token"));
        assert!(error("# nothing").starts_with("the file has no tokens"));
        assert!(!error("alice:hunter2").contains("hunter2"));
    }

    #[test]
    fn a_password_is_good_with_its_own_name_only() {
        let tokens = Tokens::parse("alice:0123456789abcdef\nbob:fedcba9876543210").unwrap();
        let basic = |name: &str| Credential::Basic { name: name.into(), password: "0123456789abcdef".into() };
        assert!(matches!(tokens.authenticate(&basic("alice")), Verdict::Known(_)));
        assert!(matches!(tokens.authenticate(&basic("bob")), Verdict::Unknown));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let path = std::env::temp_dir().join(format!("switchboard-tokens-{}", std::process::id()));
        std::fs::write(&path, "alice:0123456789abcdef\n").unwrap();
        let read_with = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            Tokens::read(&path)
        };
        assert!(matches!(read_with(0o640), Err(CredentialFileError::Exposed { .. })));
        assert_eq!(read_with(0o600).unwrap().len(), 1);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(Tokens::read(&path), Err(CredentialFileError::Unreadable { .. })));
    }
}
