//! What every store does, and what survives the end of a process.

#![cfg(feature = "store")]
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use switchboard_layers::Clock;
use switchboard_layers::store::{MemoryStore, Store, StoreError, StoreLimits};

const MINUTE: Duration = Duration::from_secs(60);

/// Everything that a store promises, with room for two entries.
async fn check(store: Arc<dyn Store>, clock: Clock) {
    assert_eq!(store.insert(b"a", b"1", MINUTE).await, Ok(true));
    assert_eq!(store.insert(b"a", b"2", MINUTE).await, Ok(false));
    assert_eq!(store.read(b"a").await.unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(store.replace(b"a", b"2", b"3", MINUTE).await, Ok(false));
    clock.advance(Duration::from_secs(30));
    assert_eq!(store.replace(b"a", b"1", b"333", MINUTE).await, Ok(true));
    // A replaced value lives longer than the one it replaces.
    clock.advance(Duration::from_secs(59));
    assert_eq!(store.read(b"a").await.unwrap().as_deref(), Some(&b"333"[..]));
    clock.advance(Duration::from_secs(1));
    assert_eq!(store.read(b"a").await, Ok(None));
    assert_eq!(store.replace(b"a", b"333", b"4", MINUTE).await, Ok(false));
    assert_eq!(store.insert(b"a", b"5", MINUTE).await, Ok(true));
    store.remove(b"a").await.unwrap();
    store.remove(b"a").await.unwrap();
    assert_eq!(store.read(b"a").await, Ok(None));

    assert_eq!(store.add(b"count", 3, MINUTE).await, Ok(3));
    clock.advance(Duration::from_secs(59));
    assert_eq!(store.add(b"count", 4, MINUTE).await, Ok(7));
    // Later additions do not prolong a counter.
    clock.advance(Duration::from_secs(1));
    assert_eq!(store.add(b"count", 1, MINUTE).await, Ok(1));
    assert_eq!(store.insert(b"text", b"abc", MINUTE).await, Ok(true));
    assert_eq!(store.add(b"text", 1, MINUTE).await, Err(StoreError::NotACounter));

    assert_eq!(store.insert(b"more", b"", MINUTE).await, Err(StoreError::Full { wait: MINUTE }));
    clock.advance(MINUTE);
    // Of many that insert at once, one succeeds (SEC-R-03).
    let inserted = join_all((0..100).map(|_| store.insert(b"same", b"", MINUTE))).await;
    assert_eq!(inserted.iter().filter(|inserted| **inserted == Ok(true)).count(), 1);
}

fn limits() -> StoreLimits {
    StoreLimits::default().with_entries(2)
}

#[tokio::test]
async fn a_store_in_memory_keeps_its_promises() {
    let clock = Clock::manual(1000);
    check(Arc::new(MemoryStore::with_clock(limits(), clock.clone())), clock).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_threads_inserts() {
    let store = Arc::new(MemoryStore::default());
    for round in 0..200_u32 {
        let tasks = (0..4).map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.insert(&round.to_le_bytes(), b"", MINUTE).await })
        });
        let inserted = join_all(tasks).await;
        assert_eq!(inserted.iter().filter(|inserted| matches!(inserted, Ok(Ok(true)))).count(), 1);
    }
}

#[cfg(feature = "store-file")]
mod file {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    use switchboard_layers::store::FileStore;

    use super::*;

    /// A file that is removed at the end of a test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            Scratch(std::env::temp_dir().join(format!("switchboard-{name}-{}", std::process::id())))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(std::fs::remove_file(&self.0));
        }
    }

    #[tokio::test]
    async fn a_store_in_a_file_keeps_its_promises() {
        let (scratch, clock) = (Scratch::new("promises"), Clock::manual(1000));
        let store = FileStore::open_with(&scratch.0, limits(), clock.clone()).unwrap();
        check(Arc::new(store), clock).await;
    }

    #[tokio::test]
    async fn a_file_is_for_one_process_and_its_owner() {
        let scratch = Scratch::new("owner");
        let store = FileStore::open(&scratch.0).unwrap();
        assert!(matches!(FileStore::open(&scratch.0), Err(StoreError::Unavailable(_))));
        assert_eq!(store.insert(b"a", b"", MINUTE).await, Ok(true));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&scratch.0).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    /// The process that is killed, if another test has started it: it inserts keys and prints the number of each that is stored.
    #[tokio::test]
    async fn insert_until_killed() {
        let Some(path) = std::env::var_os("SWITCHBOARD_TEST_STORE") else { return };
        let store = FileStore::open(path).unwrap();
        for number in 0_u32.. {
            assert_eq!(store.insert(&number.to_le_bytes(), b"x", MINUTE * 60).await, Ok(true));
            let mut out = std::io::stdout();
            writeln!(out, "stored {number}").unwrap();
            out.flush().unwrap();
        }
    }

    #[tokio::test]
    async fn what_was_stored_survives_the_killing_of_the_process() {
        let scratch = Scratch::new("killed");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "file::insert_until_killed", "--nocapture"])
            .env("SWITCHBOARD_TEST_STORE", &scratch.0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let numbers = lines.map_while(Result::ok).filter_map(|line| {
            line.rsplit_once("stored ").and_then(|(_, number)| number.parse::<u32>().ok())
        });
        let last = numbers.take(40).last().unwrap();
        // SIGKILL: nothing is flushed.
        child.kill().unwrap();
        child.wait().unwrap();
        let store = FileStore::open(&scratch.0).unwrap();
        for number in 0..=last {
            assert_eq!(store.insert(&number.to_le_bytes(), b"y", MINUTE).await, Ok(false), "{number}");
        }
    }

    #[tokio::test]
    async fn a_clock_that_was_set_back_does_not_bring_expired_entries_back() {
        let scratch = Scratch::new("clock");
        let store = FileStore::open_with(&scratch.0, limits(), Clock::manual(2000)).unwrap();
        store.insert(b"a", b"", MINUTE).await.unwrap();
        drop(store);
        let clock = Clock::manual(1000);
        // The thread of the first store closes the file when it ends.
        let store = loop {
            match FileStore::open_with(&scratch.0, limits(), clock.clone()) {
                Ok(store) => break store,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        assert_eq!(clock.seconds(), 2000);
        assert_eq!(store.insert(b"a", b"", MINUTE).await, Ok(false));
    }
}
