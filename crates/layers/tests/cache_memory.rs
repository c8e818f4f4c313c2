//! What a cache says that it takes, against what it takes.
#![cfg(feature = "cache")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Call, Json, Layer as _, Reply, ReplyFuture, Service, service_fn};
use switchboard_layers::cache::{Cache, CacheRule};

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
