//! A worker: it notes each execution in a file before it does anything, and returns the secret of its caller.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use switchboard::server::Server;
use switchboard::{ErrorObject, Limits, Method, Router, Settings};
use tokio::signal::unix::{SignalKind, signal};

use super::history::{Executed, Kind};
use super::process;

/// How long a worker that stops finishes its calls: less than some of them take.
const DRAIN: Duration = Duration::from_millis(300);

/// How long a subscription waits between two items.
const PAUSE: Duration = Duration::from_millis(5);

/// Where it serves, and where it notes what it executes.
pub(crate) struct Setup {
    pub(crate) url: String,
    pub(crate) record: PathBuf,
}

const URL: &str = "CHAOS_WORKER_URL";
const RECORD: &str = "CHAOS_WORKER_RECORD";

impl Setup {
    /// The setup of this process, if it is a worker.
    pub(crate) fn from_environment() -> Option<Setup> {
        Some(Setup { url: std::env::var(URL).ok()?, record: std::env::var_os(RECORD)?.into() })
    }

    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        vec![(URL.to_owned(), self.url.clone()), (RECORD.to_owned(), self.record.display().to_string())]
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

/// Serves until SIGTERM.
pub(crate) fn run(setup: &Setup) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(async {
        let limits = Limits::default().with_drain_time(DRAIN);
        let mut server =
            Server::new(router(&setup.record)).with_settings(Settings::default().with_limits(limits));
        let mut terminated = signal(SignalKind::terminate()).unwrap();
        if let Err(error) = server.listen(&setup.url).await {
            eprintln!("{error}");
            std::process::exit(2);
        }
        let handle = server.handle();
        let serving = tokio::spawn(server.serve());
        terminated.recv().await;
        handle.shutdown();
        serving.await.unwrap();
    });
}

fn router(record: &PathBuf) -> Router {
    let record = Arc::new(process::file(record));
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
    router.build().unwrap()
}

/// In one write, so that it is there or not, even if this process is killed in the next moment.
fn note(mut record: &File, secret: &str) {
    record.write_all(format!("{secret}\n").as_bytes()).unwrap();
}
