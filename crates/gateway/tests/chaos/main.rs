//! Servers that die, stall, fall silent, answer late or garbage, or refuse calls that they have run, at random, under load: no safe call is lost while one server works, no
//! other call runs twice, no answer goes to the wrong caller, neither from a cache nor from a call that several share, and nothing is left in the end.
//!
//! The seed is printed; `SEED` in the environment repeats a run, `CHAOS_MS` makes it longer.

#![allow(clippy::unwrap_used, clippy::print_stdout)]
#![cfg(target_os = "linux")]

#[path = "../../../../tests/support/relay.rs"]
mod relay;
#[path = "../../../../tests/support/until.rs"]
mod until;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use switchboard_core::{
    Call, Code, Connections, Context, ErrorObject, Json, Layer as _, Origin, Outcome, ReplyFuture, Router,
    Service, Session, Upstream,
};
use switchboard_gateway::{Attempts, Breaker, CallProbe, Health, Hedge, Link, Node, Pool, Retry};
use switchboard_layers::cache::{Cache, CacheRule};
use switchboard_layers::coalesce::Coalesce;
use switchboard_layers::identity::{Identity, Proof};
use switchboard_transport::Dial;
use switchboard_transport::server::Server;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::relay::{Mode, Relay};
use self::until::until;

const MS: Duration = Duration::from_millis(1);
/// Nothing here takes that long; it only tells a hang from a slow machine.
const PATIENCE: Duration = Duration::from_secs(30);
const NODES: usize = 4;
const SESSIONS: usize = 32;
/// Who the sessions belong to; some belong to the same caller.
const CALLERS: usize = 8;

/// How often each call ran, by its secret.
type Ran = Arc<Mutex<HashMap<String, u32>>>;

fn seed() -> u64 {
    let given = std::env::var("SEED").ok().map(|seed| seed.parse().expect("SEED is a number"));
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    seed
}

fn time() -> Duration {
    let given = std::env::var("CHAOS_MS").ok().map(|time| time.parse().expect("CHAOS_MS is a number"));
    given.unwrap_or(1500) * MS
}

/// The error that a server answers with after it has run a call, as one does that is over its limits or drains; 0 if it has none.
type Refuses = Arc<AtomicI64>;

/// A server whose methods note that they ran and return the secret of their caller.
async fn server(ran: &Ran, refuses: &Refuses, servers: &mut JoinSet<()>) -> SocketAddr {
    let noting = || {
        let (ran, refuses) = (Arc::clone(ran), Arc::clone(refuses));
        move |(secret,): (String,), _: Context| {
            *ran.lock().unwrap().entry(secret.clone()).or_default() += 1;
            match refuses.load(Ordering::Relaxed) {
                0 => Ok(secret),
                code => Err(ErrorObject::from_code(Code(code))),
            }
        }
    };
    let router = Router::builder()
        .method("safe", noting())
        .method("unsafe", noting())
        .method("ping", |(): (), _| Ok::<_, ErrorObject>(true));
    let mut server = Server::new(router.build().unwrap());
    server.listen("tcp://127.0.0.1:0").await.unwrap();
    let url = server.urls().next().unwrap();
    servers.spawn(server.serve());
    url.trim_start_matches("tcp://").parse().unwrap()
}

/// How calls to servers that stay silent go on: by a second copy, or by another attempt.
#[derive(Clone, Copy, Debug)]
enum Silence {
    Hedged,
    Retried,
}

/// A server whose method `mine` answers with the secret of its caller, as one that knows who calls.
#[derive(Clone)]
struct Knowing(Upstream);

impl Service for Knowing {
    fn call(&self, call: &Call) -> ReplyFuture {
        if call.method.as_str() != "mine" {
            return self.0.call(call);
        }
        let who = &call.cx.caller::<Identity>().unwrap().subject;
        let number: u8 = call.params.as_ref().and_then(|params| params.element(0)).unwrap().decode().unwrap();
        let params = Json::encode(&(own_secret(who, number),)).unwrap();
        self.0.call(&Call::new("safe", Some(params)).with_context(call.cx.clone()))
    }
}

/// What a caller has under a number.
fn own_secret(who: &str, number: u8) -> String {
    format!("safe-of-{who}-{number}")
}

/// The pool of these nodes with retries and hedges, and each node alone. Calls of `mine` are coalesced, and their answers kept for a moment.
fn upstream(relays: &[Relay], link: &Link, silence: Silence) -> (Pool, Stacked, Vec<Upstream>) {
    let mut health = Health::default();
    (health.every, health.timeout, health.fail, health.pass) = (50 * MS, 50 * MS, 2, 1);
    let builder = Pool::builder("u").health(health);
    let builder = if link.connections == Connections::PerClient { builder.pinned() } else { builder };
    let nodes: Vec<Upstream> =
        relays.iter().map(|relay| link.upstream(Dial::new(&relay.url).unwrap())).collect();
    let pool = nodes.iter().zip(["one", "two", "three", "four"]).fold(builder, |pool, (node, name)| {
        let probe = CallProbe::new(node.clone(), "ping");
        pool.node(Node::new(name, Knowing(node.clone())).with_probe(probe))
    });
    let pool = pool.build();
    let retry = Retry::times(6).with_budget(1.0);
    let (retry, hedge) = match silence {
        Silence::Hedged => (retry, Some(Hedge::After(40 * MS))),
        Silence::Retried => (retry.with_timeout(Some(100 * MS)), None),
    };
    let attempts = Attempts::new(pool.clone(), retry, hedge, |call| call.method.as_str() != "unsafe");
    let mine = || "mine".parse().ok();
    let breaker = Breaker::new(0.9, 20 * MS);
    let cache = Cache::new([CacheRule::new(mine(), 20 * MS).with_stale(20 * MS)]);
    let service = cache.layer(Coalesce::new(mine()).layer(breaker.layer(Arc::new(attempts))));
    (pool, Stacked { service, cache }, nodes)
}

/// A pool with its policies.
#[derive(Clone)]
struct Stacked {
    service: Arc<dyn Service>,
    cache: Cache,
}

/// Breaks and repairs nodes at random, one of which always works and at most one of which stalls.
async fn storm(
    relays: &[Relay],
    refuses: &[Refuses],
    nodes: &[Upstream],
    random: &mut fastrand::Rng,
    until: Instant,
) {
    let mut survivor = 0;
    let mut modes = [Mode::Works; NODES];
    while Instant::now() < until {
        if random.u8(..) < 50 {
            let next = random.usize(..NODES);
            modes[next] = Mode::Works;
            relays[next].set(Mode::Works);
            refuses[next].store(0, Ordering::Relaxed);
            works(&nodes[next]).await;
            survivor = next;
        }
        let victim = random.usize(..NODES);
        let has_stalled = modes.iter().any(|mode| matches!(mode, Mode::Stalls | Mode::Silent));
        let mode = match random.u8(..7) {
            0 => Mode::Works,
            1 => Mode::Slow(random.u32(1..30) * MS),
            2 if !has_stalled => Mode::Stalls,
            3 if !has_stalled => Mode::Silent,
            4 => Mode::Garbage,
            5 => Mode::Cuts,
            _ => Mode::Dead,
        };
        let code = match random.u8(..6) {
            0 => Code::OVER_LIMIT.0,
            1 => Code::SHUTTING_DOWN.0,
            _ => 0,
        };
        if victim != survivor {
            refuses[victim].store(code, Ordering::Relaxed);
            modes[victim] = mode;
            relays[victim].set(mode);
        }
        tokio::time::sleep_until(Instant::now() + random.u32(5..40) * MS).await;
    }
    relays.iter().for_each(|relay| relay.set(Mode::Works));
    refuses.iter().for_each(|refuses| refuses.store(0, Ordering::Relaxed));
}

/// Waits until a node answers, and its health checks have seen that.
async fn works(node: &dyn Service) {
    let begun = Instant::now();
    let mut ticks = tokio::time::interval(5 * MS);
    while !matches!(node.call(&Call::new("ping", None)).await.outcome, Outcome::Value(_)) {
        assert!(begun.elapsed() < PATIENCE, "it does not come back");
        ticks.tick().await;
    }
    tokio::time::sleep_until(Instant::now() + 120 * MS).await;
}

/// What became of the calls of a session.
#[derive(Default)]
struct Count {
    answered: usize,
    failed: usize,
    /// By the breaker, without being sent.
    refused: usize,
}

fn is_from_breaker(error: &ErrorObject) -> bool {
    error.code == Code::UPSTREAM_FAILED
        && error.data.as_ref().is_some_and(|data| data.get("retryAfterMs").is_some())
}

/// Calls until it is told to stop.
async fn client(service: Arc<dyn Service>, number: usize, seed: u64, stop: watch::Receiver<bool>) -> Count {
    let mut random = fastrand::Rng::with_seed(seed ^ number as u64);
    // Every fourth client has no connection to keep.
    let session = match number % 4 {
        0 => Session::shared(Origin::default()),
        _ => Session::new(Origin::default()),
    };
    let mut count = Count::default();
    for turn in 0_u64.. {
        if *stop.borrow() {
            break;
        }
        let method = ["safe", "unsafe", "mine"][random.usize(..3)];
        let who = format!("caller-{}", number % CALLERS);
        let of_caller = random.u8(..4);
        let (secret, params) = match method {
            "mine" => (own_secret(&who, of_caller), Json::encode(&(of_caller,)).unwrap()),
            _ => {
                let secret = format!("{method}-{number}-{turn}-{}", random.u64(..));
                (secret.clone(), Json::encode(&(secret,)).unwrap())
            }
        };
        let mut cx = Context::default().with_session(session.clone());
        Identity::new(who, Proof::Token).attach(&mut cx);
        cx.deadline = Some(Instant::now() + PATIENCE);
        let call = Call::new(method, Some(params)).with_context(cx);
        // Its caller waits for as long as the deadline says.
        let time = if method == "unsafe" { 300 * MS } else { PATIENCE };
        let Ok(reply) = tokio::time::timeout(time, service.call(&call)).await else {
            assert_eq!(method, "unsafe", "a safe call was not answered");
            count.failed += 1;
            continue;
        };
        match &reply.outcome {
            Outcome::Value(value) => {
                assert_eq!(value.decode::<String>().unwrap(), secret, "the answer of another caller");
                count.answered += 1;
            }
            Outcome::Error(error) if is_from_breaker(error) => count.refused += 1,
            _ => {
                assert_eq!(method, "unsafe", "a safe call was lost: {reply:?}");
                count.failed += 1;
            }
        }
    }
    count
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

async fn weather(link: Link, silence: Silence, seed: u64) {
    let (tasks, before) = (Handle::current().metrics().num_alive_tasks(), descriptors());
    let (ran, mut servers) = (Ran::default(), JoinSet::new());
    let mut relays = Vec::new();
    let refuses: Vec<Refuses> = (0..NODES).map(|_| Refuses::default()).collect();
    for refuses in &refuses {
        relays.push(Relay::start(server(&ran, refuses, &mut servers).await).await);
    }
    let (pool, service, nodes) = upstream(&relays, &link, silence);
    let (stop, stopped) = watch::channel(false);
    let mut clients = JoinSet::new();
    for number in 0..SESSIONS {
        clients.spawn(client(Arc::clone(&service.service), number, seed, stopped.clone()));
    }
    storm(&relays, &refuses, &nodes, &mut fastrand::Rng::with_seed(seed), Instant::now() + time()).await;
    stop.send_replace(true);
    let counts = clients.join_all().await;
    let answered: usize = counts.iter().map(|count| count.answered).sum();
    let failed: usize = counts.iter().map(|count| count.failed).sum();
    let refused: usize = counts.iter().map(|count| count.refused).sum();
    let kept = service.cache.numbers();
    println!(
        "{:?}, {silence:?}: {answered} calls answered, {failed} unsafe ones failed, {refused} refused; {kept:?}",
        link.connections
    );
    assert!(answered > 10 * SESSIONS, "only {answered} calls were answered");
    assert!(kept.hits > 0 && kept.misses > 0, "{kept:?}");
    works(&*service.service).await;
    for (secret, times) in ran.lock().unwrap().iter() {
        assert!(*times == 1 || secret.starts_with("safe"), "{secret} ran {times} times");
    }
    until("no call is in flight", || pool.nodes().all(|(_, node, _)| node.in_flight() == 0)).await;
    drop((pool, service, nodes, relays, servers));
    until("all tasks have ended", || Handle::current().metrics().num_alive_tasks() <= tasks).await;
    until("all descriptors are closed", || descriptors() <= before).await;
}

/// Sessions that call once and end, each with its own connection or process.
async fn cycles() {
    let (tasks, before) = (Handle::current().metrics().num_alive_tasks(), descriptors());
    let (ran, mut servers) = (Ran::default(), JoinSet::new());
    let address = server(&ran, &Refuses::default(), &mut servers).await;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gateway/server.sh");
    let program = format!("exec:sh '{script}' /dev/null");
    let (many, few) = if cfg!(debug_assertions) { (500, 10) } else { (10_000, 100) };
    for (url, count) in [(format!("tcp://{address}"), many), (program, few)] {
        let upstream = Link::default().upstream(Dial::new(&url).unwrap());
        for _ in 0..count {
            let session = Session::new(Origin::default());
            let call = Call::new("ping", None).with_context(Context::default().with_session(session));
            let reply = upstream.call(&call).await;
            assert!(matches!(reply.outcome, Outcome::Value(_)), "{url}: {reply:?}");
        }
    }
    drop(servers);
    until("all tasks have ended", || Handle::current().metrics().num_alive_tasks() <= tasks).await;
    until("all descriptors are closed", || descriptors() <= before).await;
}

/// One test, because descriptors are counted for the whole process.
#[tokio::test]
async fn nothing_is_lost_run_twice_mixed_up_or_left_behind() {
    let seed = seed();
    let shared = Link::default().with_connections(Connections::Shared(NonZeroUsize::new(2).unwrap()));
    weather(shared.clone(), Silence::Hedged, seed).await;
    weather(Link::default(), Silence::Hedged, seed).await;
    weather(shared, Silence::Retried, seed).await;
    cycles().await;
}
