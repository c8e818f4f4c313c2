//! Jobs: accepted by a layer, stored in a broker, run by workers.

#![cfg(feature = "jobs")]
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::{
    Call, CallError, Code, ErrorObject, FromContext as _, Json, Layer, MethodDescription, Peer, Reply,
    ReplyFuture, Service, Settings, service_fn,
};
use switchboard_core::{Description, Engine};
use switchboard_layers::Pattern;
use switchboard_layers::access::{Access, Rule, Who};
use switchboard_layers::identity::{Identity, Proof};
use switchboard_layers::jobs::{Job, Jobs, JobsOptions};
use switchboard_layers::store::{JetStream, JetStreamOptions};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

use self::broker::Broker;
use self::until::until;

#[path = "../../../tests/support/broker.rs"]
mod broker;
#[path = "../../../tests/support/until.rs"]
mod until;

/// Nothing takes that long; it only tells a hang from a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn options() -> JobsOptions {
    JobsOptions::default()
        .with_retry_delay(Duration::from_millis(10))
        .with_wait(PATIENCE)
        .with_bytes(16 << 20)
}

async fn open(broker: &Broker, options: JobsOptions) -> Jobs {
    let broker = JetStreamOptions::new(broker.url()).with_timeout(Duration::from_secs(20));
    let broker = JetStream::connect(broker).await.unwrap();
    Jobs::open(&broker, "math", options).await.unwrap()
}

/// The methods of the tests, and what happened to them.
#[derive(Clone)]
struct Methods {
    /// How often each was begun, by its params.
    begun: Arc<Mutex<HashMap<String, u32>>>,
    /// Lets calls of `held` end.
    gate: Arc<Semaphore>,
    /// Handlers that were dropped before they ended.
    dropped: Arc<Mutex<Vec<String>>>,
}

impl Methods {
    fn new() -> Methods {
        Methods { begun: Arc::default(), gate: Arc::new(Semaphore::new(0)), dropped: Arc::default() }
    }

    fn begun(&self, params: &str) -> u32 {
        self.begun.lock().unwrap().get(params).copied().unwrap_or(0)
    }

    fn service(&self) -> Arc<dyn Service> {
        let methods = self.clone();
        Arc::new(service_fn(move |call| methods.call(call)))
    }

    fn call(&self, call: &Call) -> ReplyFuture {
        let params = call.params.as_ref().map(|params| params.as_str().to_owned()).unwrap_or_default();
        *self.begun.lock().unwrap().entry(params.clone()).or_default() += 1;
        let attempt = call.cx.get::<Job>().map(|job| job.attempt);
        match call.method.as_str() {
            "echo" => ReplyFuture::ready(Reply::value(call.params.clone().unwrap_or(Json::NULL))),
            "who" => {
                let subject = Identity::from_context(&call.cx).map(|identity| identity.subject.clone());
                ReplyFuture::ready(Reply::of(&subject))
            }
            "held" => {
                let (gate, dropped) =
                    (Arc::clone(&self.gate), Noted(Arc::clone(&self.dropped), Some(params)));
                ReplyFuture::pending(async move {
                    gate.acquire().await.unwrap().forget();
                    dropped.done();
                    Reply::of(&attempt)
                })
            }
            "fails" => ReplyFuture::ready(ErrorObject::new(1001, "no such user")),
            "flaky" if attempt < Some(3) => {
                ReplyFuture::ready(ErrorObject::new(1002, "not yet").with_data(&json!({"retryable": true})))
            }
            "flaky" => ReplyFuture::ready(Reply::of(&attempt)),
            "busy" if self.begun(&params) < 4 => {
                ReplyFuture::ready(ErrorObject::over_limit("tests", "too many"))
            }
            "busy" => ReplyFuture::ready(Reply::of(&attempt)),
            "panics" => ReplyFuture::pending(async { panic!("a handler panics") }),
            "large" => ReplyFuture::ready(Reply::of(&"x".repeat(600_000))),
            _ => ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str())),
        }
    }
}

/// Notes that a handler was dropped, unless it is done.
struct Noted(Arc<Mutex<Vec<String>>>, Option<String>);

impl Noted {
    fn done(mut self) {
        self.1 = None;
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.lock().unwrap().extend(self.1.take());
    }
}

/// A worker that can be stopped.
struct Working {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Working {
    fn start(jobs: &Jobs, methods: &Methods, drain_time: Duration) -> Working {
        Working::around(jobs, methods.service(), drain_time)
    }

    fn around(jobs: &Jobs, service: Arc<dyn Service>, drain_time: Duration) -> Working {
        Working::with_places(jobs, service, 4, drain_time)
    }

    fn with_places(jobs: &Jobs, service: Arc<dyn Service>, places: usize, drain_time: Duration) -> Working {
        let engine = Engine::new(jobs.layer(service), Settings::default());
        let (stop, stopping) = oneshot::channel();
        let jobs = jobs.clone();
        let task = tokio::spawn(async move {
            jobs.work(&engine, places, async { drop(stopping.await) }, drain_time).await;
        });
        Working { stop, task }
    }

    async fn stop(self) {
        let _ = self.stop.send(());
        tokio::time::timeout(PATIENCE, self.task).await.unwrap().unwrap();
    }

    /// Ends it in the middle of everything, as if its process were killed.
    fn kill(self) {
        self.task.abort();
    }
}

fn peer(jobs: &Jobs, methods: &Methods) -> Peer {
    Peer::local(jobs.layer(methods.service()))
}

/// A peer whose calls are made by this caller.
fn peer_of(jobs: &Jobs, methods: &Methods, subject: &'static str) -> Peer {
    let service = jobs.layer(methods.service());
    Peer::local(Arc::new(service_fn(move |call: &Call| {
        let mut call = call.clone();
        Identity::new(subject, Proof::Token).attach(&mut call.cx);
        service.call(&call)
    })))
}

async fn submit(peer: &Peer, params: Value) -> String {
    let submitted: Value = peer.call("rpc.job.submit", &params).await.unwrap();
    submitted["job"].as_str().unwrap().to_owned()
}

async fn status(peer: &Peer, job: &str) -> Value {
    peer.call("rpc.job.status", json!({"job": job})).await.unwrap()
}

async fn result(peer: &Peer, job: &str) -> Value {
    peer.call("rpc.job.result", json!({"job": job, "waitMs": 60_000})).await.unwrap()
}

/// Waits until the job is in this state.
async fn until_state(peer: &Peer, job: &str, state: &str) {
    let reached = async {
        while status(peer, job).await["state"] != state {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.unwrap();
}

fn code_of(error: &CallError) -> Code {
    ErrorObject::from(error.clone()).code
}

/// The messages of a stream, as the broker counts them.
async fn messages(broker: &Broker, stream: &str) -> u64 {
    let client = async_nats::connect(broker.url()).await.unwrap();
    let answer = client.request(format!("$JS.API.STREAM.INFO.{stream}"), "".into()).await.unwrap();
    let info: Value = serde_json::from_slice(&answer.payload).unwrap();
    info["state"]["messages"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_stored_and_run_and_its_result_is_kept() {
    let (broker, methods) = (Broker::start(&[]), Methods::new());
    // Options of another server that was there before.
    drop(open(&broker, options().with_lost_after(Duration::from_secs(7))).await);
    let jobs = open(&broker, options()).await;
    let peer = peer(&jobs, &methods);
    let job = submit(&peer, json!({"method": "echo", "params": [2, 3]})).await;
    assert_eq!(status(&peer, &job).await["state"], "queued");
    assert_eq!(messages(&broker, "SB_JOBS_math").await, 1);
    let working = Working::start(&jobs, &methods, PATIENCE);
    let done = result(&peer, &job).await;
    assert_eq!(
        (&done["state"], &done["result"], &done["attempts"]),
        (&json!("done"), &json!([2, 3]), &json!(1))
    );
    assert_eq!(result(&peer, &job).await, done);
    working.stop().await;
    assert_eq!(messages(&broker, "SB_JOBS_math").await, 0);
    assert_eq!(methods.begun("[2,3]"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_is_the_same_job_before_and_after_it_ran() {
    let (broker, methods) = (Broker::start(&[]), Methods::new());
    let jobs = open(&broker, options()).await;
    let peer = peer_of(&jobs, &methods, "alice");
    let params = json!({"method": "echo", "params": [1], "key": "order-7"});
    let submitted = futures_util::future::join_all((0..20).map(|_| submit(&peer, params.clone()))).await;
    let job = &submitted[0];
    assert!(submitted.iter().all(|other| other == job), "{submitted:?}");
    assert_eq!(messages(&broker, "SB_JOBS_math").await, 1);
    let working = Working::start(&jobs, &methods, PATIENCE);
    assert_eq!(result(&peer, job).await["state"], "done");
    // Long after the server has forgotten the identifier of the message, the record says that the job is done.
    let again: Value = peer.call("rpc.job.submit", &params).await.unwrap();
    assert_eq!((again["job"].as_str(), &again["state"]), (Some(job.as_str()), &json!("done")));
    working.stop().await;
    assert_eq!(methods.begun("[1]"), 1);
    let other = json!({"method": "echo", "params": [2], "key": "order-7"});
    let refused = peer.call::<Value>("rpc.job.submit", &other).await.unwrap_err();
    assert_eq!(code_of(&refused), Code::INVALID_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_run_as_its_caller_and_does_not_exist_for_others() {
    let (broker, methods) = (Broker::start(&[]), Methods::new());
    let jobs = open(&broker, options()).await;
    let [alice, bob] = ["alice", "bob"].map(|name| peer_of(&jobs, &methods, name));
    let working = Working::start(&jobs, &methods, PATIENCE);
    let job = submit(&alice, json!({"method": "who", "key": "k"})).await;
    assert_eq!(result(&alice, &job).await["result"], "alice");
    assert_ne!(submit(&bob, json!({"method": "who", "key": "k"})).await, job);
    for method in ["rpc.job.status", "rpc.job.result", "rpc.job.cancel"] {
        for (peer, job) in
            [(&bob, job.as_str()), (&alice, "0123456789abcdef0123456789abcdef"), (&alice, "a.>")]
        {
            let error = peer.call::<Value>(method, &json!({"job": job})).await.unwrap_err();
            let error = ErrorObject::from(error);
            assert_eq!(error.code, Code::INVALID_PARAMS);
            assert!(error.data.as_ref().unwrap().as_str().contains("unknown job"), "{method}");
        }
    }
    working.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_results_unless_they_are_worth_another_attempt() {
    let (broker, methods) = (Broker::start(&[]), Methods::new());
    let jobs = open(&broker, options()).await;
    let peer = peer(&jobs, &methods);
    let working = Working::start(&jobs, &methods, PATIENCE);
    let ended = async |method: &str| {
        let job = submit(&peer, json!({"method": method, "params": [method]})).await;
        result(&peer, &job).await
    };
    let failed = ended("fails").await;
    assert_eq!(
        (&failed["state"], &failed["error"]["code"], &failed["attempts"]),
        (&json!("failed"), &json!(1001), &json!(1))
    );
    let unknown = ended("unknown").await;
    assert_eq!((&unknown["state"], &unknown["error"]["code"]), (&json!("failed"), &json!(-32601)));
    let flaky = ended("flaky").await;
    assert_eq!(
        (&flaky["state"], &flaky["result"], &flaky["attempts"]),
        (&json!("done"), &json!(3), &json!(3))
    );
    assert!(flaky.get("error").is_none(), "{flaky}");
    // What was refused before it ran was no attempt.
    let busy = ended("busy").await;
    assert_eq!((&busy["state"], &busy["result"]), (&json!("done"), &json!(1)));
    let large = ended("large").await;
    assert_eq!((&large["state"], &large["error"]["code"]), (&json!("failed"), &json!(-32007)));
    working.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_panics_each_time_leaves_a_dead_letter() {
    let (broker, methods) = (Broker::start(&[]), Methods::new());
    let jobs = open(&broker, options().with_attempts(3)).await;
    let peer = peer(&jobs, &methods);
    let working = Working::start(&jobs, &methods, PATIENCE);
    let job = submit(&peer, json!({"method": "panics", "params": ["p"]})).await;
    let dead = result(&peer, &job).await;
    assert_eq!(
        (&dead["state"], &dead["attempts"], &dead["error"]["code"]),
        (&json!("dead"), &json!(3), &json!(-32603))
    );
    working.stop().await;
    assert_eq!(methods.begun(r#"["p"]"#), 3);
    assert_eq!(messages(&broker, "SB_JOBS_math").await, 0);
    let letter = dead_letter(&broker, &job).await;
    assert_eq!((&letter["attempts"], &letter["message"]["method"]), (&json!(3), &json!("panics")));
    assert_eq!(letter["error"]["code"], -32603);
}

async fn dead_letter(broker: &Broker, job: &str) -> Value {
    let client = async_nats::connect(broker.url()).await.unwrap();
    let body = json!({"last_by_subj": format!("_SBD.math.{job}")}).to_string();
    let answer = client.request("$JS.API.STREAM.MSG.GET.SB_DEAD_math", body.into()).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
    let data = answer["message"]["data"].as_str().unwrap_or_else(|| panic!("{answer}"));
    use base64::Engine as _;
    serde_json::from_slice(&base64::engine::general_purpose::STANDARD.decode(data).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_worker_dies_is_run_by_another_and_is_dead_after_the_last_attempt() {
    let (broker, methods) = (Broker::start(&[]), Methods::new());
    let options = options().with_attempts(2).with_lost_after(Duration::from_millis(300));
    let jobs = open(&broker, options.clone()).await;
    let peer = peer(&jobs, &methods);
    let [job, poison] = [
        submit(&peer, json!({"method": "held", "params": ["job"]})).await,
        submit(&peer, json!({"method": "held", "params": ["poison"]})).await,
    ];
    let worker = open(&broker, options.clone()).await;
    let working = Working::start(&worker, &methods, PATIENCE);
    until_state(&peer, &job, "running").await;
    until_state(&peer, &poison, "running").await;
    working.kill();
    drop(worker);
    let worker = open(&broker, options.clone()).await;
    let working = Working::start(&worker, &methods, PATIENCE);
    until_begun(&methods, r#"["job"]"#, 2).await;
    until_begun(&methods, r#"["poison"]"#, 2).await;
    assert_eq!(status(&peer, &job).await["attempts"], 2);
    working.kill();
    drop(worker);
    // No third attempt: the next worker only buries them.
    let working = Working::start(&jobs, &methods, PATIENCE);
    for job in [&job, &poison] {
        let dead = result(&peer, job).await;
        assert_eq!((&dead["state"], &dead["error"]["code"]), (&json!("dead"), &json!(-32004)));
        assert_eq!(dead_letter(&broker, job).await["attempts"], 2);
    }
    working.stop().await;
    assert_eq!(methods.begun(r#"["job"]"#), 2);
}

async fn until_begun(methods: &Methods, params: &str, times: u32) {
    until("a job is begun", || methods.begun(params) >= times).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_takes_long_is_not_given_to_another_worker() {
    let (broker, methods) = (Broker::start(&[]), Methods::new());
    let options = options().with_lost_after(Duration::from_millis(300));
    let jobs = open(&broker, options.clone()).await;
    let peer = peer(&jobs, &methods);
    let working = Working::with_places(&jobs, methods.service(), 1, PATIENCE);
    let job = submit(&peer, json!({"method": "held", "params": ["long"]})).await;
    until_begun(&methods, r#"["long"]"#, 1).await;
    // Another job is given to another worker three times, so that the time has passed in which a silent worker is lost.
    submit(&peer, json!({"method": "held", "params": ["lost"]})).await;
    for attempt in 1..=3 {
        let worker = open(&broker, options.clone()).await;
        let killed = Working::start(&worker, &methods, PATIENCE);
        until_begun(&methods, r#"["lost"]"#, attempt).await;
        killed.kill();
    }
    methods.gate.add_permits(8);
    let done = result(&peer, &job).await;
    assert_eq!((&done["state"], &done["attempts"]), (&json!("done"), &json!(1)));
    assert_eq!(methods.begun(r#"["long"]"#), 1);
    working.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_cancelled_while_it_waits_and_while_it_runs() {
    let (broker, methods) = (Broker::start(&[]), Methods::new());
    let jobs = open(&broker, options()).await;
    let peer = peer(&jobs, &methods);
    let waits = submit(&peer, json!({"method": "held", "params": ["waits"]})).await;
    let cancel =
        async |job: &str| -> Value { peer.call("rpc.job.cancel", json!({"job": job})).await.unwrap() };
    assert_eq!(cancel(&waits).await["state"], "cancelled");
    assert_eq!(messages(&broker, "SB_JOBS_math").await, 0);
    let working = Working::start(&jobs, &methods, PATIENCE);
    let runs = submit(&peer, json!({"method": "held", "params": ["runs"]})).await;
    until_begun(&methods, r#"["runs"]"#, 1).await;
    assert_eq!(cancel(&runs).await["state"], "cancelled");
    assert_eq!(result(&peer, &runs).await["state"], "cancelled");
    until("its handler is dropped", || !methods.dropped.lock().unwrap().is_empty()).await;
    assert_eq!(*methods.dropped.lock().unwrap(), [r#"["runs"]"#]);
    // What has ended stays as it is.
    let done = submit(&peer, json!({"method": "echo", "params": [1]})).await;
    result(&peer, &done).await;
    assert_eq!(cancel(&done).await["state"], "done");
    working.stop().await;
    assert_eq!(methods.begun(r#"["waits"]"#), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_gives_back_what_it_cannot_finish() {
    let (broker, methods) = (Broker::start(&[]), Methods::new());
    // Nobody waits for a silence: what is given back is there at once.
    let jobs = open(&broker, options().with_lost_after(Duration::from_secs(600))).await;
    let peer = peer(&jobs, &methods);
    let job = submit(&peer, json!({"method": "held", "params": ["job"]})).await;
    let working = Working::start(&jobs, &methods, Duration::ZERO);
    until_begun(&methods, r#"["job"]"#, 1).await;
    working.stop().await;
    assert_eq!(*methods.dropped.lock().unwrap(), [r#"["job"]"#]);
    let queued = status(&peer, &job).await;
    assert_eq!((&queued["state"], &queued["attempts"]), (&json!("queued"), &json!(0)));
    let working = Working::start(&jobs, &methods, PATIENCE);
    methods.gate.add_permits(1);
    assert_eq!(result(&peer, &job).await["state"], "done");
    working.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_full_and_a_job_that_is_too_large_are_refused() {
    let (broker, methods) = (Broker::start(&[]), Methods::new());
    let jobs = open(&broker, options().with_bytes(1 << 20)).await;
    let peer = peer(&jobs, &methods);
    let text = "x".repeat(300_000);
    let refused = loop {
        let params = json!({"method": "echo", "params": [text]});
        if let Err(error) = peer.call::<Value>("rpc.job.submit", &params).await {
            break ErrorObject::from(error);
        }
    };
    assert_eq!(refused.code, Code::OVER_LIMIT);
    assert!(refused.data.as_ref().unwrap().as_str().contains("the queue is full"));
    let params = json!({"method": "echo", "params": ["x".repeat(1 << 20)]});
    let refused = ErrorObject::from(peer.call::<Value>("rpc.job.submit", &params).await.unwrap_err());
    assert_eq!(refused.code, Code::OVER_LIMIT);
    assert!(refused.data.as_ref().unwrap().as_str().contains("max_payload"));
    // Those that were accepted are run.
    let working = Working::start(&jobs, &methods, PATIENCE);
    let job = submit_when_there_is_room(&peer).await;
    assert_eq!(result(&peer, &job).await["result"], json!(["small"]));
    working.stop().await;
    assert_eq!(messages(&broker, "SB_JOBS_math").await, 0);
}

async fn submit_when_there_is_room(peer: &Peer) -> String {
    let params = json!({"method": "echo", "params": ["small"]});
    let submitted = async {
        loop {
            if let Ok(submitted) = peer.call::<Value>("rpc.job.submit", &params).await {
                return submitted["job"].as_str().unwrap().to_owned();
            }
        }
    };
    tokio::time::timeout(PATIENCE, submitted).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_survive_a_broker_that_is_killed() {
    let (mut broker, methods) = (Broker::start(&[]), Methods::new());
    let jobs = open(&broker, options().with_lost_after(Duration::from_secs(2))).await;
    let peer = peer(&jobs, &methods);
    let working = Working::start(&jobs, &methods, PATIENCE);
    let runs = submit(&peer, json!({"method": "held", "params": ["runs"]})).await;
    until_begun(&methods, r#"["runs"]"#, 1).await;
    broker.kill();
    broker.restart();
    methods.gate.add_permits(8);
    let ended = async {
        loop {
            match peer.call::<Value>("rpc.job.result", &json!({"job": runs, "waitMs": 1000})).await {
                Ok(ended) if ended["state"] == "done" => return ended,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.unwrap();
    let next = submit_when_there_is_room(&peer).await;
    assert_eq!(result(&peer, &next).await["state"], "done");
    working.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_durable_methods_are_jobs() {
    let (broker, methods) = (Broker::start(&[]), Methods::new());
    let jobs = open(&broker, options()).await;
    let named = |name: &str| {
        let mut method = MethodDescription::default().durable();
        method.name = name.to_owned();
        method
    };
    let mut description = Description::default();
    description.methods = ["echo", "fails", "held"].map(named).into();
    jobs.follow(&description);
    let peer = peer(&jobs, &methods);
    // Stored before it runs, and answered when it is done.
    peer.notify("echo", &json!(["noted"])).await.unwrap();
    let stored = async {
        while messages(&broker, "SB_JOBS_math").await == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, stored).await.unwrap();
    assert_eq!(methods.begun(r#"["noted"]"#), 0);
    let working = Working::start(&jobs, &methods, PATIENCE);
    assert_eq!(peer.call::<Value>("echo", &json!([5])).await.unwrap(), json!([5]));
    let error = peer.call::<Value>("fails", &json!([])).await.unwrap_err();
    assert_eq!(code_of(&error), Code(1001));
    until_begun(&methods, r#"["noted"]"#, 1).await;
    // A caller that does not want to wait for so long learns which job it is.
    let late =
        peer.call::<Value>("held", &json!(["late"])).timeout(Duration::from_secs(2)).await.unwrap_err();
    assert_eq!(code_of(&late), Code::TIMED_OUT);
    methods.gate.add_permits(1);
    // Other methods are called as ever.
    assert_eq!(peer.call::<Value>("who", &json!([])).await.unwrap(), Value::Null);
    working.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_apply_when_a_job_is_submitted_and_when_it_runs() {
    let (broker, methods) = (Broker::start(&[]), Methods::new());
    let jobs = open(&broker, options()).await;
    let access = |method: &str| {
        let patterns = [method, "rpc.job.*"].map(|pattern| pattern.parse::<Pattern>().unwrap());
        Access::new([Rule::allow(patterns, [Who::Anyone])])
    };
    let guarded = |method: &str| {
        let service = access(method).layer(jobs.layer(methods.service()));
        let service = jobs.submissions().layer(service);
        Arc::new(service_fn(move |call: &Call| {
            let mut call = call.clone();
            if Identity::from_context(&call.cx).is_none() {
                Identity::new("alice", Proof::Token).attach(&mut call.cx);
            }
            service.call(&call)
        })) as Arc<dyn Service>
    };
    let peer = Peer::local(guarded("echo"));
    let refused = peer.call::<Value>("rpc.job.submit", &json!({"method": "who"})).await.unwrap_err();
    assert_eq!(code_of(&refused), Code::UNAUTHORIZED);
    let job = submit(&peer, json!({"method": "echo", "params": [1]})).await;
    // The rules of the worker are others.
    let working = Working::around(&jobs, guarded("who"), PATIENCE);
    let failed = result(&peer, &job).await;
    assert_eq!((&failed["state"], &failed["error"]["code"]), (&json!("failed"), &json!(-32002)));
    working.stop().await;
    assert_eq!(methods.begun("[1]"), 0);
}
