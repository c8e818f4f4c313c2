//! Answers that are kept for later calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use switchboard_core::{
    Call, Code, Json, Layer as _, Outcome, Reply, ReplyFuture, Router, Service, StreamWanted, service_fn,
};
use switchboard_layers::cache::{Cache, CacheRule};
use switchboard_transport::memory;
use tokio::task::yield_now;
use tokio::time::advance;

use crate::upstream::{Upstream, call, error, shown, value};

const SECOND: Duration = Duration::from_secs(1);

/// Keeps answers of `get` for ten seconds, for each caller.
fn rule() -> CacheRule {
    CacheRule::new(["get".parse().unwrap()], 10 * SECOND)
}

struct Rig {
    cache: Cache,
    service: Arc<dyn Service>,
    upstream: Upstream,
}

fn rig(rules: impl IntoIterator<Item = CacheRule>) -> Rig {
    rig_of(Cache::new(rules))
}

fn rig_of(cache: Cache) -> Rig {
    let upstream = Upstream::default();
    Rig { service: cache.layer(Arc::new(upstream.clone())), cache, upstream }
}

impl Rig {
    fn get(&self, who: &str) -> ReplyFuture {
        self.service.call(&call(who, "get", "[1]"))
    }

    /// What Ann gets at once: the answer, where it comes from, and its age.
    fn kept(&self) -> Option<String> {
        self.get("ann").now_or_never().map(|reply| noted(&reply))
    }

    /// Calls, and answers the call that this makes.
    async fn fill(&self, call: &Call, reply: Reply) -> String {
        let number = self.upstream.count();
        let pending = self.service.call(call);
        assert_eq!(self.upstream.count(), number + 1, "it is not kept");
        assert!(self.upstream.answer(number, reply));
        noted(&pending.await)
    }

    async fn fill_get(&self, reply: Reply) -> String {
        self.fill(&call("ann", "get", "[1]"), reply).await
    }
}

fn noted(reply: &Reply) -> String {
    let metadata = reply.extra.as_ref().map(|extra| &extra.metadata);
    let note = |name| metadata.and_then(|metadata| metadata.text(name)).unwrap_or("none");
    format!("{} {} {}", shown(reply), note("cache"), note("age"))
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_kept_for_its_time_and_tells_its_age() {
    let rig = rig([rule()]);
    assert_eq!(rig.fill_get(value("7")).await, "7 miss 0");
    advance(3 * SECOND).await;
    assert_eq!(rig.kept().unwrap(), "7 hit 3");
    advance(7 * SECOND - Duration::from_millis(1)).await;
    assert_eq!(rig.kept().unwrap(), "7 hit 9");
    advance(Duration::from_millis(1)).await;
    assert_eq!(rig.fill_get(value("8")).await, "8 miss 0");
    assert_eq!(rig.kept().unwrap(), "8 hit 0");
    let numbers = rig.cache.numbers();
    assert_eq!((numbers.hits, numbers.stale_hits, numbers.misses, numbers.entries), (3, 0, 2, 1));
    assert!(numbers.bytes > 0);
}

#[tokio::test(start_paused = true)]
async fn age_counts_from_when_the_call_was_sent() {
    let rig = rig([rule()]);
    let reply = rig.get("ann");
    advance(4 * SECOND).await;
    assert!(rig.upstream.answer(0, value("7")));
    assert_eq!(noted(&reply.await), "7 miss 4");
    advance(5 * SECOND).await;
    assert_eq!(rig.kept().unwrap(), "7 hit 9");
    advance(SECOND).await;
    assert!(rig.kept().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stale_answer_is_given_at_once_while_one_call_refreshes_it() {
    let rig = rig([rule().with_stale(20 * SECOND)]);
    rig.fill_get(value("1")).await;
    advance(12 * SECOND).await;
    for _ in 0..3 {
        assert_eq!(rig.kept().unwrap(), "1 stale 12");
    }
    assert_eq!(rig.upstream.count(), 2);
    // Callers do not have to stay for it.
    advance(SECOND).await;
    assert!(rig.upstream.answer(1, value("2")));
    while rig.kept().unwrap() != "2 hit 1" {
        yield_now().await;
    }
    assert_eq!(rig.upstream.count(), 2);
    // After the time for stale answers, callers wait for the call that refreshes.
    advance(12 * SECOND).await;
    assert_eq!(rig.kept().unwrap(), "2 stale 13");
    advance(18 * SECOND).await;
    let reply = rig.get("ann");
    assert!(rig.upstream.answer(2, value("3")));
    assert_eq!(noted(&reply.await), "3 miss 0");
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_fails_leaves_the_answer_and_other_outcomes_replace_it() {
    let rule = rule().with_stale(20 * SECOND).with_error(Code(-31_000), 5 * SECOND);
    for (outcome, expected) in [
        (Some(error(-31_001)), Some("1 stale 12")),
        (None, Some("1 stale 42")),
        (Some(error(-31_000)), Some("-31000 hit 0")),
        (Some(value("null")), None),
        (Some(Reply::stream(futures_util::stream::iter([1]))), None),
    ] {
        let rig = rig_of(Cache::new([rule.clone().with_stale(60 * SECOND)]));
        rig.fill_get(value("1")).await;
        advance(12 * SECOND).await;
        assert_eq!(rig.kept().unwrap(), "1 stale 12");
        match outcome {
            Some(outcome) => assert!(rig.upstream.answer(1, outcome)),
            // It takes too long.
            None => advance(30 * SECOND).await,
        }
        for _ in 0..5 {
            yield_now().await;
        }
        assert_eq!(rig.kept().as_deref(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn null_and_errors_are_kept_only_if_the_rule_says_so() {
    let plain = rig([rule()]);
    plain.fill_get(value("null")).await;
    plain.fill_get(error(-31_000)).await;
    assert!(plain.kept().is_none());
    let keeping = rig([rule().with_null().with_error(Code(-31_000), 2 * SECOND)]);
    keeping.fill_get(value("null")).await;
    advance(10 * SECOND).await;
    keeping.fill_get(error(-31_001)).await;
    keeping.fill_get(error(-31_000)).await;
    assert_eq!(keeping.kept().unwrap(), "-31000 hit 0");
    advance(2 * SECOND).await;
    assert!(keeping.kept().is_none());
}

#[tokio::test]
async fn answers_belong_to_their_callers_unless_they_are_shared() {
    let private = rig([rule()]);
    private.fill_get(value("1")).await;
    assert_eq!(private.fill(&call("bob", "get", "[1]"), value("2")).await, "2 miss 0");
    assert_eq!(private.kept().unwrap(), "1 hit 0");
    // Nobody knows whether these are the same caller.
    for _ in 0..2 {
        assert_eq!(private.fill(&call("", "get", "[1]"), value("3")).await, "3 none none");
    }
    let shared = rig([rule().shared()]);
    shared.fill(&call("", "get", "[1]"), value("1")).await;
    for who in ["ann", "bob", ""] {
        assert_eq!(noted(&shared.get(who).now_or_never().unwrap()), "1 hit 0");
    }
}

#[tokio::test]
async fn other_params_and_methods_have_other_answers() {
    let rules = [rule(), CacheRule::new(["*".parse().unwrap()], Duration::ZERO)];
    let rig = rig(rules);
    for (method, params) in [("get", "[1]"), ("get", "[1.0]"), ("get", r#"{"a":1,"b":2}"#), ("got", "[1]")] {
        rig.fill(&call("ann", method, params), value("1")).await;
    }
    let again = rig.service.call(&call("ann", "get", r#"{ "b": 2, "a": 1 }"#));
    assert!(again.now_or_never().is_some());
    // The first rule that matches applies: the second keeps nothing.
    assert!(rig.service.call(&call("ann", "got", "[1]")).now_or_never().is_none());
}

#[tokio::test]
async fn concurrent_misses_make_one_call_that_lasts_as_long_as_a_caller() {
    let rig = rig([rule()]);
    let mut replies = vec![rig.get("ann"), rig.get("ann"), rig.get("ann")];
    drop(replies.remove(0));
    assert!(rig.upstream.answer(0, value("1")));
    assert!(join_all(replies).await.iter().all(|reply| noted(reply) == "1 miss 0"));
    assert_eq!(rig.upstream.count(), 1);
    rig.cache.clear_all();
    drop((rig.get("ann"), rig.get("ann")));
    rig.upstream.cancelled(1).await;
    rig.fill_get(value("2")).await;
}

#[tokio::test]
async fn clearing_removes_the_answers_of_matching_methods() {
    let rule = CacheRule::new(["**".parse().unwrap()], 10 * SECOND).shared();
    let rig = rig([rule]);
    for method in ["a/x", "a/y", "b/x"] {
        rig.fill(&call("", method, "[]"), value("1")).await;
    }
    assert_eq!(rig.cache.clear(&"a/*".parse().unwrap()), 2);
    assert_eq!((rig.cache.clear(&"a/*".parse().unwrap()), rig.cache.numbers().entries), (0, 1));
    rig.fill(&call("", "a/x", "[]"), value("2")).await;
    assert!(rig.service.call(&call("", "b/x", "[]")).now_or_never().is_some());
    assert_eq!((rig.cache.clear_all(), rig.cache.numbers().bytes), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_in_flight_during_a_clear_is_not_kept() {
    let rig = rig([rule().with_stale(10 * SECOND)]);
    let before = rig.get("ann");
    rig.cache.clear(&"get".parse().unwrap());
    let after = rig.get("ann");
    assert_eq!(rig.upstream.count(), 2);
    // Whichever is answered first.
    assert!(rig.upstream.answer(1, value("2")));
    assert_eq!(noted(&after.await), "2 miss 0");
    assert!(rig.upstream.answer(0, value("1")));
    assert_eq!(noted(&before.await), "1 miss 0");
    assert_eq!(rig.kept().unwrap(), "2 hit 0");
    // A refresh is in flight, too.
    advance(12 * SECOND).await;
    assert_eq!(rig.kept().unwrap(), "2 stale 12");
    assert_eq!(rig.cache.clear_all(), 1);
    assert!(rig.upstream.answer(2, value("3")));
    yield_now().await;
    assert!(rig.kept().is_none());
}

#[tokio::test]
async fn large_answers_are_not_kept_and_others_make_room() {
    let limit = 64 << 10;
    let rig = rig_of(Cache::new([rule().shared()]).with_bytes(limit));
    let long = |len: usize| Reply::value(Json::encode(&"x".repeat(len)).unwrap());
    rig.fill(&call("", "get", "[0]"), value("1")).await;
    rig.cache.clear_all();
    rig.fill(&call("", "get", "[0]"), long(limit / 8)).await;
    assert_eq!(rig.cache.numbers().entries, 0);
    for number in 0..200 {
        rig.fill(&call("", "get", &format!("[{number}]")), long(limit / 16)).await;
        assert!(rig.cache.numbers().bytes <= limit);
    }
    let numbers = rig.cache.numbers();
    assert!(numbers.entries >= 8 && numbers.bytes >= limit / 2, "{numbers:?}");
}

#[tokio::test]
async fn a_cache_without_room_keeps_nothing_but_works() {
    let rig = rig_of(Cache::new([rule()]).with_bytes(0));
    for _ in 0..2 {
        assert_eq!(rig.fill_get(value("1")).await, "1 miss 0");
    }
    assert_eq!(rig.cache.numbers().bytes, 0);
}

#[tokio::test]
async fn what_travels_beside_an_answer_is_kept_with_it() {
    let rig = rig([rule()]);
    let reply = value("1").with_status(203).with_metadata("x", "y").with_metadata("Age", "99");
    rig.fill_get(reply).await;
    let reply = rig.get("ann").now_or_never().unwrap();
    let extra = reply.extra.unwrap();
    assert_eq!(
        (extra.status, extra.metadata.text("x"), extra.metadata.text("age")),
        (Some(203), Some("y"), Some("0"))
    );
    assert_eq!(extra.metadata.entries().len(), 3);
}

#[tokio::test]
async fn streams_and_notifications_pass() {
    let rig = rig([rule().shared()]);
    let stream = || Reply::stream(futures_util::stream::iter([1]));
    assert_eq!(rig.fill(&call("", "get", "[]"), stream()).await, "stream miss 0");
    assert_eq!(rig.cache.numbers().entries, 0);
    rig.fill(&call("", "get", "[]"), value("1")).await;
    let mut wanting = call("", "get", "[]");
    wanting.cx.insert(StreamWanted);
    assert_eq!(rig.fill(&wanting, stream()).await, "stream miss 0");
    // A method that has no stream for them gives them a value, which is kept for others like them.
    rig.fill(&wanting, value("2")).await;
    assert_eq!(rig.cache.numbers().entries, 2);
    assert!(rig.service.call(&wanting).now_or_never().is_some());
    let notified = rig.service.call(&Call::notification("get", Some(Json::parse("[]").unwrap())));
    assert_eq!(rig.upstream.count(), 5);
    drop(notified);
}

#[tokio::test]
async fn entries_of_a_batch_share_an_answer() {
    let rig = rig([rule().shared()]);
    let peer = memory::connect(Arc::clone(&rig.service), Router::builder().build().unwrap());
    for expected in [(0, 3), (3, 3)] {
        let mut batch = peer.batch();
        let calls: Vec<_> = (0..3).map(|_| batch.add(peer.call::<u64>("get", ()))).collect();
        let sent = tokio::spawn(async move { batch.send().await.unwrap() });
        while rig.upstream.count() == 0 {
            yield_now().await;
        }
        if expected.0 == 0 {
            assert!(rig.upstream.answer(0, value("5")));
        }
        let outcomes = sent.await.unwrap();
        assert!(calls.into_iter().all(|call| call.read(&outcomes).unwrap() == 5));
        assert_eq!((rig.cache.numbers().hits, rig.cache.numbers().misses), expected);
    }
}

#[tokio::test]
async fn an_answer_that_arrives_over_a_connection_shares_no_frame() {
    // A short answer in a long frame would otherwise keep all of it.
    let frame = format!("[\"{}\", \"{}\"]", "x".repeat(50), "y".repeat(100_000));
    let part = Json::parse(frame).unwrap().element(0).unwrap();
    let rig = rig([rule()]);
    rig.fill_get(Reply::value(part.clone())).await;
    let Outcome::Value(kept) = rig.get("ann").now_or_never().unwrap().outcome else { panic!("no value") };
    assert_eq!(kept, part);
    assert_ne!(kept.as_bytes().as_ptr(), part.as_bytes().as_ptr());
}

/// Calls and clears on several threads: after a clear, nobody gets an answer from before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_answer_from_before_a_clear_is_given_after_it_on_any_thread() {
    let version = Arc::new(AtomicU64::new(0));
    let inner = service_fn({
        let version = Arc::clone(&version);
        move |_: &Call| {
            let now = version.load(SeqCst);
            ReplyFuture::pending(async move {
                yield_now().await;
                value(&now.to_string())
            })
        }
    });
    let cache = Cache::new([rule().shared().with_stale(SECOND)]);
    let service = cache.layer(Arc::new(inner));
    let cleared = Arc::new(AtomicU64::new(0));
    let callers: Vec<_> = (0..4)
        .map(|caller| {
            let (service, cleared) = (Arc::clone(&service), Arc::clone(&cleared));
            tokio::spawn(async move {
                for number in 0..3000 {
                    let least = cleared.load(SeqCst);
                    let reply = service.call(&call("", "get", &format!("[{}]", (caller + number) % 3)));
                    let found: u64 = shown(&reply.await).parse().unwrap();
                    assert!(found >= least, "{found} is from before {least}");
                }
            })
        })
        .collect();
    while !callers.iter().all(tokio::task::JoinHandle::is_finished) {
        let next = version.fetch_add(1, SeqCst) + 1;
        cache.clear_all();
        cleared.store(next, SeqCst);
        yield_now().await;
    }
    for caller in callers {
        caller.await.unwrap();
    }
    assert!(cache.numbers().hits > 0 && cleared.load(SeqCst) > 1);
}

#[tokio::test(start_paused = true)]
async fn a_kept_answer_does_not_say_how_often_another_call_was_sent() {
    let rig = rig([rule()]);
    let answer =
        Reply::value(Json::TRUE).with_metadata("switchboard-attempts", "2").with_metadata("etag", "x");
    let pending = rig.get("ann");
    assert!(rig.upstream.answer(0, answer));
    let text = |reply: &Reply, name: &str| {
        reply.extra.as_ref().and_then(|extra| extra.metadata.text(name).map(ToString::to_string))
    };
    let first = pending.await;
    assert_eq!(text(&first, "switchboard-attempts").as_deref(), Some("2"));
    let kept = rig.get("ann").await;
    assert_eq!((text(&kept, "etag").as_deref(), text(&kept, "switchboard-attempts")), (Some("x"), None));
}
