//! The cache against a plain model, for random sequences of calls, answers, cancellations, clears and steps in time.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_core::{Code, ErrorObject, Json, Layer as _, Outcome, Reply, ReplyFuture, Service};
use switchboard_layers::Pattern;
use switchboard_layers::cache::{Cache, CacheRule};
use tokio::time::Instant;

use crate::upstream::{Upstream, call};

const WHO: [&str; 3] = ["", "ann", "bob"];
const METHODS: [&str; 4] = ["own", "all/x", "all/y", "none"];
/// The first two are equal.
const PARAMS: [&str; 4] = [r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#, "[1]", "[1.0]"];
const PATTERNS: [&str; 4] = ["own", "all/x", "all/*", "**"];

const MS: Duration = Duration::from_millis(1);
const FRESH: Duration = Duration::from_millis(1000);
const STALE: Duration = Duration::from_millis(600);
const ERROR_FRESH: Duration = Duration::from_millis(300);
const KEPT_ERROR: i64 = -31_000;

#[derive(Clone, Debug)]
enum Step {
    Call {
        who: usize,
        method: usize,
        params: usize,
    },
    /// One of the calls that were made upstream, with an answer this long.
    Answer {
        of: prop::sample::Index,
        kind: Kind,
        length: usize,
    },
    Cancel(prop::sample::Index),
    Advance(u64),
    Clear(usize),
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Value,
    Null,
    KeptError,
    OtherError,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        4 => Just(Kind::Value),
        1 => Just(Kind::Null),
        1 => Just(Kind::KeptError),
        1 => Just(Kind::OtherError)
    ];
    let step = prop_oneof![
        8 => (0..WHO.len(), 0..METHODS.len(), 0..PARAMS.len())
            .prop_map(|(who, method, params)| Step::Call { who, method, params }),
        5 => (any::<prop::sample::Index>(), kind, 0..700_usize)
            .prop_map(|(of, kind, length)| Step::Answer { of, kind, length }),
        2 => any::<prop::sample::Index>().prop_map(Step::Cancel),
        3 => (0..900_u64).prop_map(Step::Advance),
        1 => (0..PATTERNS.len()).prop_map(Step::Clear),
    ];
    prop::collection::vec(step, 1..120)
}

/// What makes two calls equal: who calls if that matters, the method, and the params by meaning.
type Key = (Option<usize>, usize, usize);

/// The key of a call; none if it passes.
fn key(who: usize, method: usize, params: usize) -> Option<Key> {
    let params = params.max(1);
    match METHODS[method] {
        "own" if who > 0 => Some((Some(who), method, params)),
        "own" | "none" => None,
        _ => Some((None, method, params)),
    }
}

/// A call that was made upstream, and what became of it.
struct Made {
    key: Option<Key>,
    at: Instant,
    /// The number of clears that are about it and came before it.
    clears: usize,
    is_answered: bool,
    /// Whether it is made to refresh an answer, so that it stays without callers.
    is_refresh: bool,
    /// Whether later calls may wait for it and its answer is kept.
    is_current: bool,
}

/// A call that waits.
struct Waiting {
    reply: ReplyFuture,
    made: usize,
}

/// An answer that is kept.
#[derive(Clone, Copy)]
struct Kept {
    made: usize,
    fresh_until: Instant,
    stale_until: Instant,
}

struct Test {
    cache: Cache,
    limit: usize,
    /// Whether everything has room, so that what is kept is known exactly.
    has_room: bool,
    service: Arc<dyn Service>,
    upstream: Upstream,
    made: Vec<Made>,
    waiting: Vec<Waiting>,
    kept: HashMap<Key, Kept>,
    /// The clears so far, by method.
    clears: [usize; METHODS.len()],
}

fn rules() -> [CacheRule; 2] {
    let pattern = |text: &str| text.parse::<Pattern>().unwrap();
    let own = CacheRule::new([pattern("own")], FRESH).with_stale(STALE);
    let all = CacheRule::new([pattern("all/*")], FRESH).with_null().with_error(Code(KEPT_ERROR), ERROR_FRESH);
    [own, all.shared()]
}

fn answer(number: usize, kind: Kind, length: usize) -> Reply {
    let text = json!({"number": number, "text": "x".repeat(length)});
    match kind {
        Kind::Value => Reply::value(Json::encode(&text).unwrap()),
        Kind::Null => Reply::value(Json::NULL),
        Kind::KeptError => Reply::error(ErrorObject::new(KEPT_ERROR, "kept").with_data(&text)),
        Kind::OtherError => Reply::error(ErrorObject::new(KEPT_ERROR - 1, "not kept").with_data(&text)),
    }
}

/// The number of the call that this is the answer of; none if it is null.
fn number_of(reply: &Reply) -> Option<usize> {
    let text: Value = match &reply.outcome {
        Outcome::Value(json) => json.decode().unwrap(),
        Outcome::Error(error) => error.data.as_ref().unwrap().decode().unwrap(),
        Outcome::Stream(_) => panic!("there are no streams"),
    };
    text["number"].as_u64().map(|number| usize::try_from(number).unwrap())
}

fn note<'a>(reply: &'a Reply, name: &str) -> Option<&'a str> {
    reply.extra.as_ref()?.metadata.text(name)
}

fn poll(reply: &mut ReplyFuture) -> Option<Reply> {
    match Pin::new(reply).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(reply) => Some(reply),
        Poll::Pending => None,
    }
}

impl Test {
    fn new(limit: usize, has_room: bool) -> Test {
        let (cache, upstream) = (Cache::new(rules()).with_bytes(limit), Upstream::default());
        let cache = cache.with_refresh_time(Duration::from_secs(3600));
        let service = cache.layer(Arc::new(upstream.clone()));
        let (made, waiting, kept) = (Vec::new(), Vec::new(), HashMap::new());
        Test { cache, limit, has_room, service, upstream, made, waiting, kept, clears: [0; METHODS.len()] }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Call { who, method, params } => self.call(who, method, params),
            Step::Answer { of, kind, length } => self.answer(&of, kind, length).await,
            Step::Cancel(which) => self.cancel(&which),
            Step::Advance(time) => tokio::time::advance(time as u32 * MS).await,
            Step::Clear(pattern) => self.clear(PATTERNS[pattern]),
        }
        assert!(self.cache.numbers().bytes <= self.limit);
    }

    fn call(&mut self, who: usize, method: usize, params: usize) {
        let (key, now, count) = (key(who, method, params), Instant::now(), self.upstream.count());
        let mut reply = self.service.call(&call(WHO[who], METHODS[method], PARAMS[params]));
        let is_new = self.upstream.count() > count;
        let kept = key.and_then(|key| self.kept.get(&key).copied()).filter(|kept| now < kept.stale_until);
        let in_flight = key.and_then(|key| self.flight(key));
        if let Some(reply) = poll(&mut reply) {
            let kept = kept.expect("only kept answers are ready");
            self.check_hit(&reply, kept, method);
            let is_fresh = now < kept.fresh_until;
            assert_eq!(note(&reply, "cache"), Some(if is_fresh { "hit" } else { "stale" }));
            assert_eq!(is_new, !is_fresh && in_flight.is_none(), "one call refreshes what is stale");
            if is_new {
                self.make(key, method, true);
            }
            return;
        }
        assert!(!self.has_room || kept.is_none(), "what is kept is given");
        let made = match in_flight {
            Some(made) if !is_new => made,
            None if is_new => self.make(key, method, false),
            _ => panic!("a call is made if none with its key is in flight"),
        };
        self.waiting.push(Waiting { reply, made });
    }

    fn check_hit(&self, reply: &Reply, kept: Kept, method: usize) {
        let made = &self.made[kept.made];
        assert_eq!(made.clears, self.clears[method], "it is not from before a clear");
        assert!(number_of(reply).is_none_or(|number| number == kept.made), "it is the right answer");
        let age = made.at.elapsed();
        assert!(age < FRESH + STALE);
        assert_eq!(note(reply, "age"), Some(&*age.as_secs().to_string()));
    }

    fn make(&mut self, key: Option<Key>, method: usize, is_refresh: bool) -> usize {
        let (at, clears) = (Instant::now(), self.clears[method]);
        self.made.push(Made { key, at, clears, is_answered: false, is_refresh, is_current: true });
        assert_eq!(self.made.len(), self.upstream.count());
        self.made.len() - 1
    }

    fn flight(&self, key: Key) -> Option<usize> {
        let is_it = |made: &Made| made.key == Some(key) && made.is_current && !made.is_answered;
        self.made.iter().rposition(is_it)
    }

    async fn answer(&mut self, of: &prop::sample::Index, kind: Kind, length: usize) {
        let open: Vec<_> = (0..self.made.len()).filter(|at| !self.made[*at].is_answered).collect();
        if open.is_empty() {
            return;
        }
        let number = *of.get(&open);
        self.made[number].is_answered = true;
        let has_callers = self.waiting.iter().any(|waiting| waiting.made == number);
        let is_taken = self.upstream.answer(number, answer(number, kind, length));
        assert!(is_taken || !(has_callers || self.made[number].is_refresh), "a call with callers goes on");
        // The task that waits for the answer runs.
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        self.keep(number, kind);
        let (done, waiting) =
            std::mem::take(&mut self.waiting).into_iter().partition(|waiting| waiting.made == number);
        self.waiting = waiting;
        let done: Vec<Waiting> = done;
        for mut waiting in done {
            let reply = poll(&mut waiting.reply).expect("its call was answered");
            assert!(number_of(&reply).is_none_or(|found| found == number));
            assert_eq!(note(&reply, "cache"), self.made[number].key.map(|_| "miss"));
        }
    }

    fn keep(&mut self, number: usize, kind: Kind) {
        let Made { key: Some(key), at, is_current: true, .. } = self.made[number] else { return };
        let is_own = key.0.is_some();
        let (fresh, stale) = match kind {
            Kind::Value if is_own => (FRESH, STALE),
            Kind::Value => (FRESH, Duration::ZERO),
            Kind::Null if !is_own => (FRESH, Duration::ZERO),
            Kind::KeptError if !is_own => (ERROR_FRESH, Duration::ZERO),
            Kind::Null => {
                self.kept.remove(&key);
                return;
            }
            Kind::KeptError | Kind::OtherError => return,
        };
        let kept = Kept { made: number, fresh_until: at + fresh, stale_until: at + fresh + stale };
        match kept.stale_until > Instant::now() {
            true => self.kept.insert(key, kept),
            false => self.kept.remove(&key),
        };
    }

    fn cancel(&mut self, which: &prop::sample::Index) {
        if self.waiting.is_empty() {
            return;
        }
        let Waiting { reply, made } = self.waiting.swap_remove(which.index(self.waiting.len()));
        drop(reply);
        let made_call = &mut self.made[made];
        if !made_call.is_refresh && !self.waiting.iter().any(|waiting| waiting.made == made) {
            made_call.is_current = false;
        }
    }

    fn clear(&mut self, pattern: &str) {
        let parsed: Pattern = pattern.parse().unwrap();
        let removed = self.cache.clear(&parsed);
        let is_meant = |key: &Key| parsed.matches(METHODS[key.1]);
        let known = self.kept.keys().filter(|key| is_meant(key)).count();
        assert!(removed <= known && (removed == known || !self.has_room));
        self.kept.retain(|key, _| !is_meant(key));
        self.made
            .iter_mut()
            .filter(|made| made.key.as_ref().is_some_and(is_meant))
            .for_each(|made| made.is_current = false);
        for (method, count) in METHODS.iter().zip(&mut self.clears) {
            *count += usize::from(parsed.matches(method));
        }
    }
}

fn run(limit: usize, has_room: bool, steps: Vec<Step>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut test = Test::new(limit, has_room);
        for step in steps {
            test.step(step).await;
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_cache_with_room_does_what_the_model_does(steps in steps()) {
        run(512 << 10, true, steps);
    }

    #[test]
    fn a_cache_without_room_gives_no_wrong_answer(steps in steps()) {
        run(8 << 10, false, steps);
    }
}
