//! API keys from a file: one `PREFIX SHA256 name=NAME …` per line.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand;

use super::file::{CredentialFileError, Watched, lines, read_secret};
use super::{Authenticate, Credential, Identity, Proof, Verdict, date};

/// What every key begins with, so that scanners of repositories find keys that were committed.
const MARK: &str = "sb_";
/// The length of the prefixes that we generate. It is an identifier, not a secret.
const PREFIX: usize = 8;
/// The length of the secrets that we generate: 62^43 is more than 2^256. Shorter ones are not accepted, since their digests could be
/// reversed by trying.
const SECRET: usize = 43;
/// Longer keys are not looked at.
const LONGEST: usize = 128;
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// API keys that the server knows: for each the digest, the name of its owner, and what it may be used for.
///
/// A key is `sb_PREFIX_SECRET`. The file has one line per key, which does not reveal it:
///
/// ```text
/// # PREFIX, SHA-256 of the whole key in hex, and the owner
/// 4fJ0aQ2k 9b74c9897bac770ffc029102a200c5de…  name=alice roles=admin,ops scopes=read until=2027-01-01
/// ```
///
/// Only `name` is required. A key expires at `until`: a date (its first second in UTC) or a time such as `2027-01-01T12:00:00Z`. Callers
/// send their key as a bearer token or in the header `x-api-key`. A key is found by its prefix and compared in constant time.
///
/// # Examples
///
/// ```
/// use switchboard_layers::identity::{ApiKeys, Authenticate, Credential, Identity, NewApiKey, Proof, Verdict};
///
/// let alice = NewApiKey::generate(&Identity::new("alice", Proof::ApiKey).with_roles(["admin"]))?;
/// let keys = ApiKeys::parse(&alice.line)?;
/// let Verdict::Known(found) = keys.authenticate(&Credential::Bearer(alice.key.as_bytes())) else { panic!() };
/// assert_eq!((found.subject.as_str(), &*found.roles), ("alice", &["admin".to_owned()][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct ApiKeys {
    by_prefix: HashMap<String, Known>,
}

#[derive(Clone)]
struct Known {
    digest: [u8; 32],
    identity: Arc<Identity>,
}

impl ApiKeys {
    /// Reads a file that only its owner can read.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, other users can read it, or a line is wrong.
    pub fn read(path: impl AsRef<Path>) -> Result<ApiKeys, CredentialFileError> {
        ApiKeys::parse(&read_secret(path.as_ref())?)
    }

    /// Reads a file, and reads it again when it changes.
    ///
    /// # Errors
    ///
    /// The same as for [`ApiKeys::read`].
    pub fn watch(path: impl AsRef<Path>) -> Result<Watched<ApiKeys>, CredentialFileError> {
        Watched::open(path.as_ref(), |path| ApiKeys::read(path))
    }

    /// Reads the lines of a file. Blank lines, and lines that start with `#`, are ignored.
    ///
    /// # Errors
    ///
    /// If a line is wrong, a prefix is given twice, or there are no keys.
    pub fn parse(text: &str) -> Result<ApiKeys, CredentialFileError> {
        let mut keys = ApiKeys::default();
        for (number, line) in lines(text) {
            let wrong = |reason| CredentialFileError::Line { line: number, reason };
            let (prefix, known) = entry(line).map_err(wrong)?;
            if keys.by_prefix.insert(prefix.to_owned(), known).is_some() {
                return Err(wrong("the same prefix is given on an earlier line"));
            }
        }
        if keys.is_empty() {
            return Err(CredentialFileError::Empty("keys; make one with: switchboard key new NAME"));
        }
        Ok(keys)
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_prefix.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_prefix.is_empty()
    }

    fn find(&self, key: &str) -> Option<&Arc<Identity>> {
        let prefix = prefix_of(key)?;
        let presented = digest(&SHA256, key.as_bytes());
        // An unknown prefix costs the same work as a known one with a wrong secret (SEC-E-07).
        let known = self.by_prefix.get(prefix);
        let expected = known.map_or(&[0; 32], |known| &known.digest);
        let is_equal = verify_slices_are_equal(presented.as_ref(), expected).is_ok();
        known.filter(|_| is_equal).map(|known| &known.identity)
    }
}

impl Authenticate for ApiKeys {
    fn authenticate(&self, credential: &Credential<'_>) -> Verdict {
        let found = match credential {
            Credential::Bearer(key) | Credential::ApiKey(key) => {
                std::str::from_utf8(key).ok().and_then(|key| self.find(key))
            }
            // A browser asks its user for a name and a password.
            Credential::Basic { name, password } => {
                self.find(password).filter(|identity| identity.subject == *name)
            }
            _ => None,
        };
        found.map_or(Verdict::Unknown, |identity| Verdict::Known(Arc::clone(identity)))
    }

    fn owners(&self) -> Vec<Arc<Identity>> {
        self.by_prefix.values().map(|known| Arc::clone(&known.identity)).collect()
    }
}

/// Shows how many there are.
impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKeys({})", self.len())
    }
}

/// A key that was just generated.
#[non_exhaustive]
pub struct NewApiKey {
    /// The key, for its owner. It cannot be shown again.
    pub key: String,
    /// The line for the file of [`ApiKeys`]. It is not a secret.
    pub line: String,
}

impl NewApiKey {
    /// Generates a key with the subject, roles, scopes and expiry of this identity.
    ///
    /// # Errors
    ///
    /// If one of them cannot be written to a line: names are ASCII letters, digits and punctuation, without commas.
    pub fn generate(identity: &Identity) -> Result<NewApiKey, CredentialFileError> {
        let (prefix, secret) = (random_text(PREFIX), random_text(SECRET));
        let key = format!("{MARK}{prefix}_{secret}");
        let mut line =
            format!("{prefix} {} name={}", hex(digest(&SHA256, key.as_bytes()).as_ref()), identity.subject);
        for (name, values) in [("roles", &identity.roles), ("scopes", &identity.scopes)] {
            let wrong = |reason| CredentialFileError::Line { line: 1, reason };
            if values.iter().any(|value| value.contains(',')) {
                return Err(wrong("roles and scopes must not contain commas"));
            }
            if !values.is_empty() {
                line.push_str(&format!(" {name}={}", values.join(",")));
            }
        }
        if let Some(expires) = identity.expires {
            line.push_str(&format!(" until={}", date::write(expires)));
        }
        // What is written can be read again.
        ApiKeys::parse(&line)?;
        Ok(NewApiKey { key, line })
    }
}

/// Shows the line, not the key.
impl fmt::Debug for NewApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewApiKey").field("line", &self.line).finish_non_exhaustive()
    }
}

/// The prefix of a well-formed key.
pub(super) fn prefix_of(key: &str) -> Option<&str> {
    let (prefix, secret) = key.strip_prefix(MARK).filter(|_| key.len() <= LONGEST)?.split_once('_')?;
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (!prefix.is_empty() && secret.len() >= SECRET && is_plain(prefix) && is_plain(secret)).then_some(prefix)
}

/// Reads a line of the file.
fn entry(line: &str) -> Result<(&str, Known), &'static str> {
    const FORM: &str = "write `PREFIX SHA256 name=NAME`; make a line with: switchboard key new NAME";
    let mut words = line.split_ascii_whitespace();
    let (Some(prefix), Some(sha256)) = (words.next(), words.next()) else { return Err(FORM) };
    if prefix.starts_with(MARK) {
        return Err("this is a key, not the line for it; make both with: switchboard key new NAME");
    }
    if prefix.len() > 32 || !prefix.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err("the prefix must be at most 32 letters and digits");
    }
    let digest = unhex(sha256).ok_or("the second word must be a SHA-256 digest: 64 hex digits")?;
    let mut identity = Identity::new("", Proof::ApiKey);
    let mut seen: Vec<&str> = Vec::new();
    for word in words {
        let (name, value) = word.split_once('=').ok_or("write the owner as `name=NAME`")?;
        if seen.contains(&name) {
            return Err("a name is given twice");
        }
        seen.push(name);
        if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("values must be ASCII letters, digits and punctuation");
        }
        let list = || value.split(',').map(str::to_owned).collect();
        match name {
            "name" => identity.subject = value.to_owned(),
            "roles" => identity.roles = list(),
            "scopes" => identity.scopes = list(),
            "until" => {
                let time =
                    date::parse(value).ok_or("write `until=2027-01-01` or `until=2027-01-01T12:00:00Z`")?;
                identity.expires = Some(time);
            }
            _ => return Err("unknown name; use name, roles, scopes and until"),
        }
    }
    if identity.subject.is_empty() {
        return Err(FORM);
    }
    Ok((prefix, Known { digest, identity: Arc::new(identity) }))
}

/// Random letters and digits, all equally likely.
fn random_text(length: usize) -> String {
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let mut bytes = [0; 64];
        rand::fill(&mut bytes).expect("the system has random numbers");
        // 248 is a multiple of 62, so every letter is as likely as any other.
        let fair = bytes.into_iter().filter(|byte| *byte < 248);
        text.extend(fair.map(|byte| char::from(LETTERS[usize::from(byte) % 62])).take(length - text.len()));
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> =
        digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect();
    bytes.try_into().ok().filter(|_| digits.len() == 64)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn alice() -> NewApiKey {
        NewApiKey::generate(&Identity::new("alice", Proof::ApiKey)).unwrap()
    }

    fn found(keys: &ApiKeys, key: &str) -> Option<String> {
        match keys.authenticate(&Credential::ApiKey(key.as_bytes())) {
            Verdict::Known(identity) => Some(identity.subject.clone()),
            _ => None,
        }
    }

    // SEC-T-10
    #[test]
    fn a_key_is_known_and_no_other() {
        let (alice, other) = (alice(), alice());
        let keys = ApiKeys::parse(&alice.line).unwrap();
        assert_eq!(found(&keys, &alice.key).as_deref(), Some("alice"));
        let (prefix, secret) = alice.key.rsplit_once('_').unwrap();
        let (_, other_secret) = other.key.rsplit_once('_').unwrap();
        let longer = format!("{}x", alice.key);
        for wrong in [
            other.key.as_str(),
            &format!("{prefix}_{other_secret}"),
            &alice.key[..alice.key.len() - 1],
            &longer,
            &alice.key.to_lowercase(),
            prefix,
            secret,
            "",
            "sb_",
            "sb__",
            &"sb_x_".repeat(1000),
        ] {
            assert_eq!(found(&keys, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_line_and_debug_output_do_not_contain_the_key() {
        let alice = alice();
        let (_, secret) = alice.key.rsplit_once('_').unwrap();
        assert!(!format!("{alice:?}").contains(secret) && !alice.line.contains(secret));
        // 43 letters of 62 are 256 bits.
        assert_eq!((alice.key.len(), secret.len()), (3 + 8 + 1 + 43, 43));
        assert_eq!(format!("{:?}", ApiKeys::parse(&alice.line).unwrap()), "ApiKeys(1)");
    }

    #[test]
    fn roles_scopes_and_expiry_survive_the_file() {
        let expires = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
        let identity = Identity::new("ci@example.com", Proof::ApiKey)
            .with_roles(["admin", "ops"])
            .with_scopes(["files:read"])
            .with_expiry(expires);
        let new = NewApiKey::generate(&identity).unwrap();
        let keys = ApiKeys::parse(&new.line).unwrap();
        let Verdict::Known(known) = keys.authenticate(&Credential::Bearer(new.key.as_bytes())) else {
            panic!()
        };
        assert_eq!(*known, identity);
        for bad in ["", "two words", "höhe"] {
            assert!(NewApiKey::generate(&Identity::new(bad, Proof::ApiKey)).is_err(), "{bad}");
        }
        assert!(NewApiKey::generate(&identity.with_roles(["a,b"])).is_err());
    }

    #[test]
    fn a_wrong_line_is_named_and_never_quoted() {
        let digest = "0".repeat(64);
        let check = |line: &str, expected: &str| {
            let error = ApiKeys::parse(&format!("# keys\n{line}")).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        };
        check("abc", "line 2: write `PREFIX SHA256 name=NAME`");
        check(&alice().key, "line 2: write `PREFIX");
        check(&format!("{} name=alice", alice().key), "line 2: this is a key");
        check("abc 123 name=alice", "line 2: the second word must be a SHA-256");
        check(&format!("abc {digest}"), "line 2: write `PREFIX");
        check(&format!("a-c {digest} name=alice"), "line 2: the prefix");
        check(&format!("abc {digest} alice"), "line 2: write the owner");
        check(&format!("abc {digest} name=alice name=bob"), "line 2: a name is given twice");
        check(&format!("abc {digest} name=alice role=a"), "line 2: unknown name");
        check(&format!("abc {digest} name=alice until=soon"), "line 2: write `until=2027-01-01`");
        check(&format!("abc {digest} name=alice\nabc {digest} name=bob"), "line 3: the same prefix");
        check("", "the file has no keys; make one with: switchboard key new NAME");
    }
}
