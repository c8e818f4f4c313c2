//! What callers with the same key share, as long as one of them is there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::hashing::{SecretHashing, secret_hashing};

/// Values by key. Each lives as long as a caller holds it; this only finds it.
pub(crate) struct ByKey<T>(Arc<Mutex<Found<T>>>);

type Found<T> = HashMap<Arc<[u8]>, Weak<T>, SecretHashing>;

/// How a caller comes to the value of its key.
pub(crate) enum Joined<T> {
    /// There was none, so it has a new one, which others find until the entry is dropped.
    First(Arc<T>, Entry<T>),
    /// It has that of another caller.
    Follower(Arc<T>),
}

/// Lets others find a value until it is dropped.
pub(crate) struct Entry<T> {
    all: ByKey<T>,
    key: Arc<[u8]>,
    value: Weak<T>,
}

impl<T> ByKey<T> {
    /// The value of this key. Makes one if no caller holds one.
    #[cfg(any(feature = "cache", feature = "coalesce", feature = "merge"))]
    pub(crate) fn join(&self, key: Vec<u8>, make: impl FnOnce() -> T) -> Joined<T> {
        self.join_within(usize::MAX, key, make).expect("memory ends first")
    }

    /// The same, unless there would be more than so many values.
    pub(crate) fn join_within(
        &self,
        most: usize,
        key: Vec<u8>,
        make: impl FnOnce() -> T,
    ) -> Option<Joined<T>> {
        let mut found = self.lock();
        if let Some(value) = found.get(&*key).and_then(Weak::upgrade) {
            return Some(Joined::Follower(value));
        }
        if found.len() >= most {
            return None;
        }
        let (key, value): (Arc<[u8]>, _) = (key.into(), Arc::new(make()));
        found.insert(Arc::clone(&key), Arc::downgrade(&value));
        let entry = Entry { all: self.clone(), key, value: Arc::downgrade(&value) };
        Some(Joined::First(value, entry))
    }

    /// Whether a caller holds a value with this key.
    #[cfg(feature = "cache")]
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        self.lock().get(key).is_some_and(|value| value.strong_count() > 0)
    }

    /// Hides the values of these keys from later callers. Those that hold them keep them.
    #[cfg(feature = "cache")]
    pub(crate) fn forget(&self, is_meant: impl Fn(&[u8]) -> bool) {
        self.lock().retain(|key, _| !is_meant(key));
    }

    fn lock(&self) -> MutexGuard<'_, Found<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Entry<T> {
    #[cfg(feature = "cache")]
    pub(crate) fn key(&self) -> &Arc<[u8]> {
        &self.key
    }

    /// Whether others with the key would find this value, and not a later one or none.
    #[cfg(feature = "cache")]
    pub(crate) fn is_current(&self) -> bool {
        self.is_found_in(&self.all.lock())
    }

    fn is_found_in(&self, found: &Found<T>) -> bool {
        found.get(&self.key).is_some_and(|value| Weak::ptr_eq(value, &self.value))
    }
}

impl<T> Drop for Entry<T> {
    fn drop(&mut self) {
        let mut found = self.all.lock();
        if self.is_found_in(&found) {
            found.remove(&self.key);
        }
    }
}

impl<T> Clone for ByKey<T> {
    fn clone(&self) -> ByKey<T> {
        ByKey(Arc::clone(&self.0))
    }
}

impl<T> Default for ByKey<T> {
    fn default() -> ByKey<T> {
        ByKey(Arc::new(Mutex::new(HashMap::with_hasher(secret_hashing()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(all: &ByKey<u8>, key: &str, value: u8) -> (Arc<u8>, Option<Entry<u8>>) {
        match all.join_within(2, key.into(), || value).unwrap() {
            Joined::First(value, entry) => (value, Some(entry)),
            Joined::Follower(value) => (value, None),
        }
    }

    #[test]
    fn there_are_no_more_values_than_allowed() {
        let all = ByKey::default();
        let held = (join(&all, "a", 1), join(&all, "b", 2));
        assert!(all.join_within(2, "c".into(), || 3).is_none());
        assert_eq!(*join(&all, "b", 4).0, 2);
        drop(held);
        assert_eq!(*join(&all, "c", 5).0, 5);
    }

    #[test]
    fn a_value_is_found_while_a_caller_holds_it_and_its_entry() {
        let all = ByKey::default();
        let (first, entry) = join(&all, "a", 1);
        assert_eq!(*join(&all, "a", 2).0, 1);
        assert_eq!(*join(&all, "b", 3).0, 3);
        drop(first);
        // No caller holds it, so the next is new, and the entry of the old one does not hide it when it is dropped.
        let (second, other) = join(&all, "a", 4);
        drop(entry);
        assert_eq!((*second, *join(&all, "a", 5).0), (4, 4));
        drop(other);
        assert_eq!(*join(&all, "a", 6).0, 6);
        assert_eq!(all.lock().len(), 0);
    }

    #[cfg(feature = "cache")]
    #[test]
    fn a_forgotten_value_is_held_but_not_current() {
        let all = ByKey::default();
        let (_first, entry) = join(&all, "a", 1);
        let entry = entry.unwrap();
        assert!(entry.is_current() && all.has(b"a"));
        all.forget(|key| key == b"a");
        assert!(!entry.is_current() && !all.has(b"a"));
        let (_second, other) = join(&all, "a", 2);
        assert!(!entry.is_current() && other.unwrap().is_current());
    }
}
