//! What every store does, and what survives the end of a process.

#![cfg(feature = "store")]
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use switchboard_layers::Clock;
use switchboard_layers::store::{MemoryStore, Store, StoreError, StoreLimits};

const MINUTE: Duration = Duration::from_secs(60);

/// Everything that a store promises, with room for two entries. A full one says that there may be room after this time.
async fn check(store: &dyn Store, clock: &Clock, wait: Duration) {
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

    assert_eq!(store.insert(b"more", b"", MINUTE).await, Err(StoreError::Full { wait }));
}

/// Of many that insert at once, one succeeds (SEC-R-03).
async fn check_race(store: &dyn Store) {
    let inserted = join_all((0..100).map(|_| store.insert(b"same", b"", MINUTE))).await;
    assert_eq!(inserted.iter().filter(|inserted| **inserted == Ok(true)).count(), 1);
}

fn limits() -> StoreLimits {
    StoreLimits::default().with_entries(2)
}

#[tokio::test]
async fn a_store_in_memory_keeps_its_promises() {
    let clock = Clock::manual(1000);
    let store = MemoryStore::with_clock(limits(), clock.clone());
    check(&store, &clock, MINUTE).await;
    clock.advance(MINUTE);
    check_race(&store).await;
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

#[cfg(feature = "store-jetstream")]
#[path = "../../../tests/support/broker.rs"]
mod broker;

/// A store that many machines share.
#[cfg(feature = "store-jetstream")]
mod jetstream {
    use switchboard_layers::store::{JetStream, JetStreamAuth, JetStreamOptions, JetStreamStore};

    use super::broker::Broker;
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// More time than usual, for machines that are busy.
    fn options(broker: &Broker) -> JetStreamOptions {
        JetStreamOptions::new(broker.url()).with_timeout(Duration::from_secs(20))
    }

    async fn bucket(broker: &Broker) -> JetStreamStore {
        let connection = JetStream::connect(options(broker)).await.unwrap();
        connection.bucket("test", HOUR, StoreLimits::default()).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_store_in_a_broker_keeps_its_promises() {
        let (broker, clock) = (Broker::start(&[]), Clock::manual(1000));
        let connection = JetStream::connect(options(&broker)).await.unwrap();
        let store = connection.bucket_with_clock("test", HOUR, limits(), clock.clone()).await.unwrap();
        check(&store, &clock, Duration::from_secs(1)).await;
        // It does not know when those that have expired make room.
        store.remove(b"text").await.unwrap();
        check_race(&store).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_of_eight_machines_inserts() {
        let broker = Broker::start(&[]);
        let stores = join_all((0..8).map(|_| bucket(&broker))).await;
        for round in 0..50_u32 {
            let inserted = stores.iter().map(|store| store.insert(&round.to_le_bytes(), b"", MINUTE));
            let inserted = join_all(inserted).await;
            assert_eq!(inserted.iter().filter(|inserted| **inserted == Ok(true)).count(), 1, "{inserted:?}");
            let added = join_all(stores.iter().map(|store| store.add(b"count", 1, HOUR))).await;
            let highest = added.into_iter().map(Result::unwrap).max();
            assert_eq!(highest, Some(u64::from(round + 1) * 8));
        }
        let first = stores[0].since();
        assert!(stores.iter().all(|store| store.since() == first), "they began to remember at the same time");
    }

    #[cfg(feature = "rate")]
    #[tokio::test(flavor = "multi_thread")]
    async fn machines_share_rate_limits_and_go_on_without_the_broker() {
        use switchboard_core::Context;
        use switchboard_layers::rate::{RateBy, RateLimits, RateRule};

        let mut broker = Broker::start(&[]);
        let limits = || RateLimits::new([RateRule::new("1000/h".parse().unwrap()).by(RateBy::All)]);
        let mut machines = Vec::new();
        for _ in 0..2 {
            let connection = JetStream::connect(options(&broker)).await.unwrap();
            let bucket = connection.bucket_later("rates", limits().store_time(), StoreLimits::default());
            machines.push(limits().with_store(Arc::new(bucket)));
        }
        let passes = |limits: &RateLimits| limits.charge(&Context::default(), "m").is_ok();
        assert_eq!((0..2000).filter(|_| passes(&machines[0])).count(), 1000);
        let mut passed = 0;
        while passes(&machines[1]) {
            passed += 1;
            assert!(passed < 1000, "the second machine heard nothing of the first");
            tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_millis(2)).await;
        }
        broker.kill();
        // Whoever has room here may call.
        let alone = machines.remove(0).with_buckets(8);
        assert_eq!((0..2000).filter(|_| passes(&alone)).count(), 1000);
        while alone.store_failures() == 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_is_decided_without_the_broker_and_nothing_is_forgotten() {
        let mut broker = Broker::start(&[]);
        let store = bucket(&broker).await;
        let since = store.since();
        assert_eq!(store.insert(b"a", b"1", HOUR).await, Ok(true));
        broker.kill();
        // The connection may not be known to be lost yet; then the operation is not answered.
        let short = Duration::from_secs(5);
        let refused = tokio::time::timeout(short, store.insert(b"b", b"", HOUR)).await;
        assert!(!matches!(refused, Ok(Ok(_))), "{refused:?}");
        broker.restart();
        let found = loop {
            match store.insert(b"a", b"2", HOUR).await {
                Err(StoreError::Unavailable(_)) => tokio::task::yield_now().await,
                found => break found,
            }
        };
        assert_eq!(found, Ok(false));
        assert_eq!(store.since(), since);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_bucket_that_was_lost_is_made_again_and_remembers_since_then() {
        let broker = Broker::start(&[]);
        let store = bucket(&broker).await;
        let since = store.since();
        assert_eq!(store.insert(b"a", b"1", HOUR).await, Ok(true));
        let client = async_nats::connect(broker.url()).await.unwrap();
        client.request("$JS.API.STREAM.DELETE.KV_switchboard-test", "".into()).await.unwrap();
        assert!(matches!(store.insert(b"a", b"1", HOUR).await, Err(StoreError::Unavailable(_))));
        assert_eq!(store.insert(b"a", b"1", HOUR).await, Ok(true));
        assert!(store.since() > since);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_bucket_keeps_entries_for_as_long_as_the_one_that_needs_it_longest() {
        let broker = Broker::start(&[]);
        let connection = JetStream::connect(options(&broker)).await.unwrap();
        let short = connection.bucket("test", MINUTE, StoreLimits::default()).await.unwrap();
        let refused = short.insert(b"a", b"", HOUR).await;
        assert_eq!(refused, Err(StoreError::TooLongTime { time: HOUR, limit: MINUTE }));
        for (time, expected) in [(HOUR, HOUR), (MINUTE, HOUR)] {
            connection.bucket("test", time, StoreLimits::default()).await.unwrap();
            let client = async_nats::connect(broker.url()).await.unwrap();
            let info = client.request("$JS.API.STREAM.INFO.KV_switchboard-test", "".into()).await.unwrap();
            let info: serde_json::Value = serde_json::from_slice(&info.payload).unwrap();
            assert_eq!(info["config"]["max_age"].as_u64(), Some(expected.as_nanos() as u64));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn credentials_are_sent_and_not_shown() {
        let broker = Broker::start(&["--user", "alice", "--pass", "open-sesame"]);
        let password = JetStreamAuth::Password { user: "alice".into(), password: "open-sesame".into() };
        let right = options(&broker).with_auth(password);
        assert!(!format!("{right:?}").contains("sesame"));
        JetStream::connect(right).await.unwrap();
        let token = options(&broker).with_auth(JetStreamAuth::Token("close-sesame".into()));
        let refused = JetStream::connect(token).await.unwrap_err().to_string();
        assert!(refused.contains("authorization violation") && !refused.contains("sesame"), "{refused}");
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
        check(&store, &clock, MINUTE).await;
        clock.advance(MINUTE);
        check_race(&store).await;
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
