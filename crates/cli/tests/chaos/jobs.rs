//! Jobs: they are submitted until all callers are told to stop. Then everything works, and each job that was accepted has to be done.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::CallError;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::callers::outcome;
use super::fleet::{Fleet, Way};
use super::history::{End, History, Kind, Outcome, Submitted};
use super::{MS, PATIENCE};

const CALLERS: u64 = 3;

/// How long a caller waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(4);

/// How long a server waits for the end of a job: less than that.
const WAIT: Duration = Duration::from_secs(2);

pub(crate) fn start(
    fleet: &Fleet,
    history: &History,
    seed: u64,
    stop: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let mut callers = JoinSet::new();
    let ways: Vec<_> = fleet.ways.iter().filter(|way| !way.is_gateway()).cloned().collect();
    for number in 0..CALLERS {
        let random = fastrand::Rng::with_seed(seed ^ (number << 40));
        let caller = Caller { number, ways: ways.clone(), history: history.clone(), random };
        callers.spawn(caller.run(stop.clone()));
    }
    callers
}

struct Caller {
    number: u64,
    ways: Vec<Arc<Way>>,
    history: History,
    random: fastrand::Rng,
}

impl Caller {
    async fn run(mut self, stop: watch::Receiver<bool>) {
        let mut submitted = Vec::new();
        for turn in 0_u64.. {
            if *stop.borrow() {
                break;
            }
            let kind = if self.random.bool() { Kind::Job } else { Kind::KeyedJob };
            let secret = format!("{}-{}-{turn}-{:x}", kind.method(), self.number, self.random.u64(..));
            submitted.push(self.submit(kind, secret, &stop).await);
            self.pause().await;
        }
        let until = Instant::now() + PATIENCE;
        for mut job in submitted {
            if let Some(id) = job.ids.first() {
                job.end = self.end(id, until).await;
            }
            self.history.job(job);
        }
    }

    /// Submits a job: with a key until it is accepted, and sometimes twice; otherwise until it may have been accepted.
    async fn submit(&mut self, kind: Kind, secret: String, stop: &watch::Receiver<bool>) -> Submitted {
        let millis = if self.random.u8(..8) == 0 { self.random.u64(50..700) } else { 0 };
        let mut params = json!({ "method": kind.method(), "params": [secret, millis] });
        if kind == Kind::KeyedJob {
            params["key"] = json!(secret);
        }
        let wanted = if kind == Kind::KeyedJob { self.random.usize(1..3) } else { 1 };
        let mut job = Submitted { secret, ids: Vec::new(), end: None };
        while job.ids.len() < wanted && !*stop.borrow() {
            match self.call("rpc.job.submit", &params).await {
                Ok(answer) => job.ids.push(answer["job"].as_str().unwrap().to_owned()),
                Err(error) => match (kind, outcome(&error)) {
                    (_, Outcome::Unsent(_)) | (Kind::KeyedJob, Outcome::Unknown(_)) => {}
                    (_, Outcome::Unknown(_)) => break,
                    (_, other) => {
                        self.history.crash(format!("a job was refused: {other:?}"));
                        break;
                    }
                },
            }
            self.pause().await;
        }
        job
    }

    /// How a job ended. None if it did not until then.
    async fn end(&mut self, id: &str, until: Instant) -> Option<End> {
        let params = json!({ "job": id, "waitMs": WAIT.as_millis() as u64 });
        let mut end = None;
        while Instant::now() < until {
            if let Ok(answer) = self.call("rpc.job.result", &params).await {
                let state = answer["state"].as_str().unwrap().to_owned();
                let is_over = !matches!(&*state, "queued" | "running");
                end = Some(End { state, result: answer["result"].as_str().map(str::to_owned) });
                if is_over {
                    break;
                }
            }
            self.pause().await;
        }
        end
    }

    async fn call(&mut self, method: &str, params: &Value) -> Result<Value, CallError> {
        let way = &self.ways[self.random.usize(..self.ways.len())];
        way.peer().await?.call::<Value>(method, params).timeout(TIMEOUT).await
    }

    async fn pause(&mut self) {
        tokio::time::sleep_until(Instant::now() + self.random.u32(5..100) * MS).await;
    }
}
