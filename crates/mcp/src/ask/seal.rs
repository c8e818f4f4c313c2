//! State that travels through a client, so that it can neither be read nor changed there (MCP-R-05).

use std::fmt;
use std::time::Duration;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use switchboard_layers::Clock;
use switchboard_layers::store::{Store, StoreError};

/// The keys that seal the state of calls, and the clock by which states expire. The first key seals; all open.
pub struct StateKeys {
    keys: Vec<RandomizedNonceKey>,
    clock: Clock,
}

/// Where a store has the key of all its servers.
const SHARED: &[u8] = b"mcp-state-key";

/// The key does not have 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a state key has 32 bytes")]
#[non_exhaustive]
pub struct StateKeyError;

impl StateKeys {
    /// Keys of 32 bytes each. Servers behind one address share them; to replace one, put the new key first and keep the old one for a
    /// while.
    ///
    /// # Errors
    ///
    /// When the list is empty, or a key has another length.
    pub fn new<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Result<StateKeys, StateKeyError> {
        let key = |key: K| RandomizedNonceKey::new(&AES_256_GCM, key.as_ref()).map_err(|_| StateKeyError);
        let keys: Vec<_> = keys.into_iter().map(key).collect::<Result<_, _>>()?;
        if keys.is_empty() { Err(StateKeyError) } else { Ok(StateKeys { keys, clock: Clock::system() }) }
    }

    /// The random key of all servers that share this store. The first of them makes it, and the store keeps it for this time, which should be years: servers that
    /// start later than that have another one.
    ///
    /// # Errors
    ///
    /// When the store fails, or has something else in the place of the key.
    pub async fn shared(store: &dyn Store, time: Duration) -> Result<StateKeys, StoreError> {
        let made = random::<32>();
        let key = match store.insert(SHARED, &made, time).await? {
            true => Some(made.to_vec().into()),
            false => store.read(SHARED).await?,
        };
        let wrong = |text: &str| StoreError::Unavailable(text.to_owned());
        let key = key.ok_or_else(|| wrong("the state key was removed while it was read"))?;
        StateKeys::new([key]).map_err(|error| wrong(&error.to_string()))
    }

    /// Uses this clock, which decides when a state expires.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> StateKeys {
        StateKeys { clock, ..self }
    }

    /// The time, in seconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.clock.seconds()
    }

    /// A random key, which only this process has.
    #[must_use]
    pub fn random() -> StateKeys {
        StateKeys::new([random::<32>()]).expect("the key has 32 bytes")
    }

    /// Seals this text for calls with these attributes.
    pub(crate) fn seal(&self, text: &[u8], attributes: &[u8]) -> Option<String> {
        let mut sealed = text.to_vec();
        let nonce = self.keys[0].seal_in_place_append_tag(Aad::from(attributes), &mut sealed).ok()?;
        let mut whole = nonce.as_ref().to_vec();
        whole.extend_from_slice(&sealed);
        Some(URL_SAFE_NO_PAD.encode(whole))
    }

    /// The text, if one of the keys sealed it for calls with these attributes.
    pub(crate) fn open(&self, sealed: &str, attributes: &[u8]) -> Option<Vec<u8>> {
        let whole = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, text) = whole.split_at_checked(NONCE_LEN)?;
        self.keys.iter().find_map(|key| {
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut text = text.to_vec();
            let opened = key.open_in_place(nonce, Aad::from(attributes), &mut text).ok()?;
            Some(opened.to_vec())
        })
    }
}

impl fmt::Debug for StateKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateKeys({})", self.keys.len())
    }
}

/// The digest of these parts, as text. Each part has its length before it, so that parts cannot run into each other.
pub(crate) fn digest_of(parts: &[&[u8]]) -> String {
    let mut text = Vec::new();
    for part in parts {
        text.extend_from_slice(&(part.len() as u64).to_be_bytes());
        text.extend_from_slice(part);
    }
    URL_SAFE_NO_PAD.encode(digest(&SHA256, &text))
}

/// 128 random bits as text.
pub(crate) fn random_id() -> String {
    URL_SAFE_NO_PAD.encode(random::<16>())
}

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has randomness");
    bytes
}

#[cfg(test)]
mod tests {
    use switchboard_layers::store::MemoryStore;

    use super::*;

    // MCP-R-05
    #[test]
    fn only_what_was_sealed_for_the_same_call_opens() {
        let keys = StateKeys::random();
        let sealed = keys.seal(b"state", b"ann tools/call book").unwrap();
        assert_eq!(keys.open(&sealed, b"ann tools/call book").unwrap(), b"state");
        assert_eq!(keys.open(&sealed, b"bob tools/call book"), None);
        assert_eq!(StateKeys::random().open(&sealed, b"ann tools/call book"), None);
        for index in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            assert_eq!(keys.open(std::str::from_utf8(&changed).unwrap(), b"ann tools/call book"), None);
        }
        for text in ["", "A", "not base64!", &sealed[..20]] {
            assert_eq!(keys.open(text, b"ann tools/call book"), None);
        }
    }

    // MCP-R-05
    #[tokio::test]
    async fn servers_with_one_store_have_the_same_random_key() {
        let (store, year) = (MemoryStore::default(), Duration::from_secs(365 * 24 * 3600));
        let one = StateKeys::shared(&store, year).await.unwrap();
        let two = StateKeys::shared(&store, year).await.unwrap();
        let sealed = one.seal(b"state", b"").unwrap();
        assert_eq!(two.open(&sealed, b"").unwrap(), b"state");
        let other = StateKeys::shared(&MemoryStore::default(), year).await.unwrap();
        assert_eq!(other.open(&sealed, b""), None);
        let broken = MemoryStore::default();
        broken.insert(SHARED, b"short", year).await.unwrap();
        assert!(StateKeys::shared(&broken, year).await.is_err());
    }

    #[test]
    fn an_old_key_still_opens_and_the_new_one_seals() {
        let (old, new) = ([1; 32], [2; 32]);
        let before = StateKeys::new([old]).unwrap();
        let after = StateKeys::new([new, old]).unwrap();
        let sealed = before.seal(b"state", b"").unwrap();
        assert_eq!(after.open(&sealed, b"").unwrap(), b"state");
        assert_eq!(before.open(&after.seal(b"state", b"").unwrap(), b""), None);
        assert_eq!(StateKeys::new([[1; 16]]).unwrap_err(), StateKeyError);
        assert_eq!(StateKeys::new::<[u8; 32]>([]).unwrap_err(), StateKeyError);
    }
}
