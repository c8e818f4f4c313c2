//! A worker: it notes each execution in a file before it does anything, and returns the secret of its caller.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use switchboard::jobs::{Job, Jobs, JobsOptions};
use switchboard::server::Server;
use switchboard::store::{JetStream, JetStreamOptions};
use switchboard::{Context, Engine, ErrorObject, Layer as _, Limits, Method, Router, Settings};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::MS;
use super::history::{Effects, Executed, Kind};
use super::process;

/// How long a worker that stops finishes its calls: less than some of them take.
const DRAIN: Duration = Duration::from_millis(300);

/// How long a subscription waits between two items.
const PAUSE: Duration = Duration::from_millis(5);

/// How many jobs it runs at once.
const JOBS: usize = 4;

/// How often a job is begun: more often than its workers may be killed.
const ATTEMPTS: u32 = 50;

/// After this time in silence a worker has lost its jobs. Those that are paused are lost, too.
const LOST: Duration = Duration::from_secs(1);

/// Where it serves, and where it notes what it executes.
pub(crate) struct Setup {
    /// Host and port of the broker.
    pub(crate) broker: String,
    /// How many brokers keep its jobs.
    pub(crate) replicas: usize,
    /// A file with what it begins.
    pub(crate) record: PathBuf,
    /// A folder with a file for each job that took effect, which all workers share.
    pub(crate) effects: PathBuf,
}

/// The service of all workers.
pub(crate) const SERVICE: &str = "chaos";

const VARIABLE: &str = "CHAOS_WORKER";

impl Setup {
    /// The setup of this process, if it is a worker.
    pub(crate) fn from_environment() -> Option<Setup> {
        let text = std::env::var(VARIABLE).ok()?;
        let parts: Vec<&str> = text.split('\n').collect();
        let [broker, replicas, record, effects] = parts[..] else { return None };
        Some(Setup {
            broker: broker.to_owned(),
            replicas: replicas.parse().unwrap(),
            record: record.into(),
            effects: effects.into(),
        })
    }

    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let Setup { broker, replicas, record, effects } = self;
        let text = format!("{broker}\n{replicas}\n{}\n{}", record.display(), effects.display());
        vec![(VARIABLE.to_owned(), text)]
    }

    /// How to start it: this program, as the test that is none.
    pub(crate) fn command() -> Vec<String> {
        let program = std::env::current_exe().unwrap().display().to_string();
        [&program, "--exact", "worker_process", "--nocapture"].map(str::to_owned).to_vec()
    }
}

/// How often each call was executed by those who wrote these files.
pub(crate) fn executed<'a>(records: impl Iterator<Item = &'a PathBuf>) -> Executed {
    let mut executed = Executed::new();
    for text in records.map(|path| std::fs::read_to_string(path).unwrap_or_default()) {
        for secret in text.lines() {
            *executed.entry(secret.to_owned()).or_default() += 1;
        }
    }
    executed
}

/// The jobs that took effect, according to this folder.
pub(crate) fn effects(folder: &PathBuf) -> Effects {
    let mut effects = Effects::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (secret, id) = name.split_once('~').unwrap();
        effects.entry(secret.to_owned()).or_default().insert(id.to_owned());
    }
    effects
}

/// Serves until SIGTERM.
pub(crate) fn run(setup: &Setup) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(async {
        let mut terminated = signal(SignalKind::terminate()).unwrap();
        let settings = Settings::default().with_limits(Limits::default().with_drain_time(DRAIN));
        let jobs = tokio::select! {
            jobs = opened(setup) => jobs,
            _ = terminated.recv() => return,
        };
        let service = jobs.layer(Arc::new(router(setup)));
        let engine = Engine::new(Arc::clone(&service), settings.clone());
        let mut server = Server::new(service).with_settings(settings);
        if let Err(error) = server.listen(&format!("nats://{}/{SERVICE}", setup.broker)).await {
            eprintln!("{error}");
            std::process::exit(2);
        }
        let (handle, (stop, mut stopping)) = (server.handle(), watch::channel(false));
        let serving = tokio::spawn(server.serve());
        let working = tokio::spawn(async move {
            let stopping = async move { drop(stopping.wait_for(|stop| *stop).await) };
            jobs.work(&engine, JOBS, stopping, DRAIN).await;
        });
        terminated.recv().await;
        handle.shutdown();
        stop.send_replace(true);
        serving.await.unwrap();
        working.await.unwrap();
    });
}

/// The queue, as soon as the brokers have one.
async fn opened(setup: &Setup) -> Jobs {
    loop {
        match open(setup).await {
            Ok(jobs) => return jobs,
            Err(error) => eprintln!("{error}"),
        }
        tokio::time::sleep_until(tokio::time::Instant::now() + 100 * MS).await;
    }
}

async fn open(setup: &Setup) -> Result<Jobs, switchboard::store::StoreError> {
    let options = JetStreamOptions::new(format!("nats://{}", setup.broker)).with_replicas(setup.replicas);
    let options = options.with_timeout(Duration::from_secs(2));
    let jobs =
        JobsOptions::default().with_attempts(ATTEMPTS).with_lost_after(LOST).with_retry_delay(100 * MS);
    Jobs::open(&JetStream::connect(options).await?, SERVICE, jobs).await
}

fn router(setup: &Setup) -> Router {
    let record = Arc::new(process::file(&setup.record));
    let mut router = Router::builder().add(Method::stream("ticks", |(secret,): (String,), _| {
        stream::unfold(0_u64, move |number| {
            let item = (secret.clone(), number);
            async move {
                tokio::time::sleep_until(tokio::time::Instant::now() + PAUSE).await;
                Some((item, number + 1))
            }
        })
    }));
    router = router.method("ping", |(): (), _| Ok::<_, ErrorObject>(()));
    for kind in [Kind::Safe, Kind::Once, Kind::Keyed, Kind::Signed] {
        let record = Arc::clone(&record);
        router = router.async_method(kind.method(), move |(secret, millis): (String, u64), _| {
            let record = Arc::clone(&record);
            async move {
                note(&record, &secret);
                if millis > 0 {
                    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_millis(millis))
                        .await;
                }
                Ok::<_, ErrorObject>(secret)
            }
        });
    }
    for kind in [Kind::Job, Kind::KeyedJob] {
        let (record, folder) = (Arc::clone(&record), setup.effects.clone());
        router = router.async_method(kind.method(), move |(secret, millis): (String, u64), cx: Context| {
            let (record, folder) = (Arc::clone(&record), folder.clone());
            async move {
                note(&record, &secret);
                tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_millis(millis)).await;
                let job = cx.get::<Job>().ok_or_else(|| ErrorObject::invalid_request("not a job"))?;
                // It is the same for each attempt, so the effect is there once.
                File::create(folder.join(format!("{secret}~{}", job.id))).unwrap();
                Ok::<_, ErrorObject>(secret)
            }
        });
    }
    router.build().unwrap()
}

/// In one write, so that it is there or not, even if this process is killed in the next moment.
fn note(mut record: &File, secret: &str) {
    record.write_all(format!("{secret}\n").as_bytes()).unwrap();
}
