//! How an entry is written: when it expires, a mark of the operation that wrote it, and the value.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;

use crate::store::StoreError;

/// The version of this form, the time and the mark.
const HEAD: usize = 1 + 8 + 8;

const VERSION: u8 = 1;

/// An entry as a reader finds it.
pub(super) struct Entry {
    /// Its number, by which the server compares.
    pub(super) revision: u64,
    /// When it expires, in milliseconds since 1970.
    pub(super) expires: u64,
    pub(super) mark: u64,
    pub(super) value: Bytes,
}

impl Entry {
    /// Reads an entry. What something else has written is not one.
    pub(super) fn parse(revision: u64, bytes: Vec<u8>) -> Result<Entry, StoreError> {
        let foreign =
            || StoreError::Unavailable("the bucket contains an entry of another program".to_owned());
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        match (bytes.first(), number(1), number(9)) {
            (Some(&VERSION), Some(expires), Some(mark)) => {
                Ok(Entry { revision, expires, mark, value: Bytes::from(bytes).slice(HEAD..) })
            }
            _ => Err(foreign()),
        }
    }

    pub(super) fn is_over(&self, now: u64) -> bool {
        self.expires <= now
    }
}

/// An entry to be written.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) mark: u64,
    pub(super) bytes: Bytes,
}

impl Draft {
    pub(super) fn new(value: &[u8], expires: u64) -> Draft {
        let mark = fastrand::u64(..);
        let mut bytes = Vec::with_capacity(HEAD + value.len());
        bytes.push(VERSION);
        bytes.extend_from_slice(&expires.to_le_bytes());
        bytes.extend_from_slice(&mark.to_le_bytes());
        bytes.extend_from_slice(value);
        Draft { mark, bytes: bytes.into() }
    }
}

/// The last part of the subject of a key. Callers choose parts of keys, so it is a digest: it has no dots, no wildcards, and one length.
pub(super) fn token(key: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let draft = Draft::new(b"value", 77);
        let entry = Entry::parse(5, draft.bytes.to_vec()).unwrap();
        assert_eq!((entry.revision, entry.expires, entry.mark), (5, 77, draft.mark));
        assert_eq!(&entry.value[..], b"value");
        assert!(entry.is_over(77) && !entry.is_over(76));
        assert!(Entry::parse(1, b"\x01short".to_vec()).is_err());
        assert!(Entry::parse(1, vec![9; 40]).is_err());
    }

    #[test]
    fn a_key_becomes_one_part_of_a_subject() {
        for key in [&b""[..], b"a.b.*", b">", &[0xff; 256]] {
            let token = token(key);
            assert_eq!(token.len(), 43);
            assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')));
        }
    }
}
