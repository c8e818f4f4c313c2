//! The memory that a cache and a merged stream take.
#![cfg(all(feature = "cache", feature = "merge"))]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use switchboard_core::{Call, Json, Layer as _, Outcome, Reply, ReplyFuture, Service, service_fn};
use switchboard_layers::cache::{Cache, CacheRule};
use switchboard_layers::merge::Merge;

const LIMIT: usize = 4 << 20;

/// Fills a cache with answers that are so long; what it says that they take, and what they do.
fn fill(length: usize, calls: u32) -> (usize, usize) {
    let answer = Json::encode(&"x".repeat(length)).unwrap();
    let inner = service_fn(move |_: &Call| ReplyFuture::ready(Reply::value(answer.detached())));
    let cache = Cache::new([CacheRule::new(["*".parse().unwrap()], Duration::from_secs(60)).shared()]);
    let cache = cache.with_bytes(LIMIT);
    let service: Arc<dyn Service> = cache.layer(Arc::new(inner));
    let used = allocation_counter::measure(|| {
        for number in 0..calls {
            let params = Json::encode(&[number]).unwrap();
            drop(service.call(&Call::new("get", Some(params))));
        }
    });
    (cache.numbers().bytes, usize::try_from(used.bytes_current).unwrap())
}

#[test]
fn a_full_cache_takes_no_more_than_it_says() {
    for (length, calls) in [(0, 40_000), (100, 40_000), (2000, 10_000), (100_000, 400)] {
        let (said, taken) = fill(length, calls);
        assert!(said <= LIMIT && said > LIMIT / 4 * 3, "{length}: {said}");
        assert!(taken <= said + said / 16 && taken > said / 4, "{length}: {taken} of {said}");
    }
}

/// How the readers of a stream behave that one of them reads to its end.
#[derive(Clone, Copy)]
enum Others {
    NeverRead,
    Leave,
}

/// Reads a stream of 10 MB to its end beside so many other readers; the most memory that this takes.
fn read_beside(count: usize, others: Others, buffer: usize) -> u64 {
    let items = || stream::iter(0..1000).map(|_| "x".repeat(10_000));
    let inner = service_fn(move |_: &Call| ReplyFuture::ready(Reply::stream(items())));
    let merge = Merge::new(["ticks".parse().unwrap()]).shared().with_buffer(1000, buffer);
    let service = merge.layer(Arc::new(inner));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let join = || {
        let reply = service.call(&Call::new("ticks", None)).into_ready().unwrap();
        let Outcome::Stream(items) = reply.outcome else { panic!("{reply:?}") };
        items
    };
    let used = allocation_counter::measure(|| {
        runtime.block_on(async {
            let (mut idle, items): (Vec<_>, _) = ((0..count).map(|_| join()).collect(), join());
            if matches!(others, Others::Leave) {
                idle.clear();
            }
            let read = items.filter(|item| std::future::ready(item.is_ok())).count().await;
            assert!(read >= 10);
        });
    });
    used.bytes_max
}

#[test]
fn a_reader_that_never_reads_costs_no_more_than_its_handle() {
    let beside = |count| read_beside(count, Others::NeverRead, 100_000);
    let (alone, beside) = (beside(0), beside(1000));
    assert!(alone < 300_000, "{alone}");
    assert!(beside < alone + 1000 * 400, "{beside} instead of {alone}");
}

#[test]
fn nothing_is_kept_for_readers_that_have_left() {
    let beside = |others| read_beside(3, others, 100_000_000);
    let (kept, left) = (beside(Others::NeverRead), beside(Others::Leave));
    assert!(kept > 10_000_000 && left < 5_000_000, "{kept}, {left}");
}
