//! Durable work: calls that are stored in a NATS server before they run, and run until they are done.
//!
//! A call becomes a job in two ways: its caller calls `rpc.job.submit`, or its method is marked `#[method(durable)]`. A job survives the end of any process. It is acknowledged
//! to the queue only after its handler is done, and given to another worker if its own one dies.
//!
//! | method | params | answer |
//! |---|---|---|
//! | `rpc.job.submit` | `method`, `params`, `key` | `{"job": "…", "state": "queued", …}` |
//! | `rpc.job.status` | `job` | the state: `queued`, `running`, `done`, `failed`, `cancelled` or `dead` |
//! | `rpc.job.result` | `job`, `waitMs` | the same with `result` or `error`, at the latest after this time |
//! | `rpc.job.cancel` | `job` | the same; a job that waits is removed, the handler of one that runs is dropped |
//!
//! They are ordinary calls, so they work over every transport. A job belongs to its caller: to others it does not exist.
//!
//! A durable method is called as before: the call is stored, runs as a job, and the caller gets the answer. If it takes longer than
//! [`JobsOptions::wait`], the caller gets -32003 with the job, and can ask for its result later. A notification is stored, and that is all.
//!
//! # Guarantees
//!
//! A job that was accepted is begun at least once, or becomes a dead letter. After a crash it is begun again, so handlers should be idempotent. A job has one recorded result:
//! of two workers that run it, one records its own. The same caller, method and key are the same job, as long as its record is kept. Errors are results, unless their data says
//! `"retryable": true`, the handler panicked, or the call was refused because something is overloaded or shutting down: then the job is tried again, with delays that grow.
//! After [`JobsOptions::attempts`] it is a dead letter, in the stream `SB_DEAD_` + service, with its error. The order of jobs is not kept.
//!
//! # In the broker
//!
//! | what | name |
//! |---|---|
//! | queue | the stream `SB_JOBS_SERVICE` on `_SBJ.SERVICE.JOB`, with the consumer `workers` |
//! | dead letters | the stream `SB_DEAD_SERVICE` on `_SBD.SERVICE.JOB`, for 30 days |
//! | states and results | the key-value bucket `SERVICE-jobs` |
//! | changes, for those who wait | messages to `_SBE.SERVICE.JOB` |
//!
//! A client of the NATS server that may publish to the queue can act as any caller: only servers should have this permission.

mod layer;
mod message;
mod options;
mod queue;
mod record;
mod run;
mod submit;
mod worker;

use std::collections::HashSet;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use switchboard_core::{Description, Engine, FromContext};
use tokio::sync::Semaphore;

pub use self::layer::Submissions;
use self::message::Message;
pub use self::options::JobsOptions;
use self::queue::Queue;
pub use self::record::JobState;
use crate::clock::Clock;
use crate::store::{JetStream, Store, StoreError, StoreLimits};

/// The method that submits a job: `{"method": …, "params": …, "key": …}`.
pub const SUBMIT: &str = "rpc.job.submit";

/// The method that tells the state of a job: `{"job": …}`.
pub const STATUS: &str = "rpc.job.status";

/// The method that tells the result of a job: `{"job": …, "waitMs": …}`.
pub const RESULT: &str = "rpc.job.result";

/// The method that cancels a job: `{"job": …}`.
pub const CANCEL: &str = "rpc.job.cancel";

/// The longest key, in bytes.
pub const MAX_KEY: usize = 256;

/// The jobs of one service. Cheap to clone.
///
/// It is a layer, which accepts jobs and answers questions about them. [`work`](Jobs::work) runs them. Most servers do both.
///
/// If other layers should see what is submitted, such as access rules, put them between this layer and [`submissions`](Jobs::submissions).
///
/// # Examples
///
/// ```no_run
/// use std::sync::Arc;
/// use std::time::Duration;
/// use switchboard_core::{Engine, ErrorObject, Layer, Peer, Router, Settings};
/// use switchboard_layers::jobs::{Jobs, JobsOptions};
/// use switchboard_layers::store::{JetStream, JetStreamOptions};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let add = |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b);
/// let router = Router::builder().method("math/add", add).build()?;
///
/// let broker = JetStream::connect(JetStreamOptions::new("nats://127.0.0.1:4222")).await?;
/// let jobs = Jobs::open(&broker, "math", JobsOptions::default()).await?;
/// let service = jobs.layer(Arc::new(router));
/// let engine = Engine::new(Arc::clone(&service), Settings::default());
/// let (worker, stop) = (jobs.clone(), std::future::pending());
/// tokio::spawn(async move { worker.work(&engine, 16, stop, Duration::from_secs(10)).await });
///
/// let peer = Peer::local(service);
/// let params = serde_json::json!({"method": "math/add", "params": [2, 3]});
/// let submitted: serde_json::Value = peer.call("rpc.job.submit", &params).await?;
/// let wait = serde_json::json!({"job": submitted["job"], "waitMs": 5000});
/// let done: serde_json::Value = peer.call("rpc.job.result", &wait).await?;
/// assert_eq!(done["result"], 5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Jobs(Arc<Inner>);

struct Inner {
    queue: Queue,
    records: Arc<dyn Store>,
    /// The methods that are marked as durable.
    durable: RwLock<HashSet<String>>,
    options: JobsOptions,
    clock: Clock,
    /// Places for those who wait.
    waiting: Semaphore,
}

/// The job that a handler runs for. A method of `#[service]` takes it as `job: Option<&Job>`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Job {
    /// Its identifier: the same each time that the job is begun.
    pub id: String,
    /// Which attempt this is, from 1.
    pub attempt: u32,
}

impl FromContext for Job {}

impl Jobs {
    /// The jobs of the service with this name, in this server. What is missing there is created.
    ///
    /// # Errors
    ///
    /// If the name has other characters than letters, digits, `-` and `_`, or the server does not answer, has no JetStream, or refuses.
    pub async fn open(broker: &JetStream, service: &str, options: JobsOptions) -> Result<Jobs, StoreError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if service.is_empty() || service.len() > 64 || !service.bytes().all(is_plain) {
            let text = "the name of a service has 1 to 64 letters, digits, `-` and `_`";
            return Err(StoreError::Unavailable(text.to_owned()));
        }
        let limits = StoreLimits::default().with_bytes(options.bytes);
        // The time that a record has left is longer than those who read it need.
        let keep = options.keep + Duration::from_secs(3600);
        let records = broker.with_prefix(service).bucket("jobs", keep, limits).await?;
        let queue = Queue::new(Arc::clone(&broker.0), service.to_owned(), options.clone());
        queue.ensure().await?;
        Ok(Jobs(Arc::new(Inner {
            queue,
            records: Arc::new(records),
            durable: RwLock::default(),
            waiting: Semaphore::new(options.waiting),
            options,
            clock: Clock::system(),
        })))
    }

    /// The name of the service.
    #[must_use]
    pub fn service(&self) -> &str {
        self.0.queue.service()
    }

    /// Makes jobs of all calls of those methods that are marked as durable, and only of those.
    pub fn follow(&self, methods: &Description) {
        let durable = methods.methods.iter().filter(|method| method.marks.durable);
        let durable = durable.map(|method| method.name.clone()).collect();
        *self.0.durable.write().unwrap_or_else(PoisonError::into_inner) = durable;
    }

    /// The layer that makes a call of its method from a `rpc.job.submit`, so that the layers inside it see who wants to call what. It belongs outside of access rules and
    /// limits, and inside authentication.
    #[must_use]
    pub fn submissions(&self) -> Submissions {
        Submissions::new()
    }

    /// Runs jobs with this service, up to so many at once, until `stopping` is ready. Then it takes no more, and gives those back that are not done after `drain_time`.
    ///
    /// The settings of the engine apply, so jobs are logged and counted like calls.
    pub async fn work(
        &self,
        engine: &Engine,
        places: usize,
        stopping: impl Future<Output = ()> + Send,
        drain_time: Duration,
    ) {
        worker::Worker::new(self.clone(), engine, places).run(stopping, drain_time).await;
    }

    fn is_durable(&self, method: &str) -> bool {
        self.0.durable.read().unwrap_or_else(PoisonError::into_inner).contains(method)
    }
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs").field("service", &self.service()).finish_non_exhaustive()
    }
}
