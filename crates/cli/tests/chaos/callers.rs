//! Callers: they make calls until they are told to stop, and send each as often as it may be sent.

use std::sync::Arc;
use std::time::Duration;

use switchboard::{CallError, Code};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::fleet::{Fleet, Way};
use super::history::{ANSWER_LOST, History, Kind, Operation, Outcome};
use super::{MS, PATIENCE};

const CALLERS: u64 = 16;

/// How long a caller waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn start(
    fleet: &Fleet,
    history: &History,
    seed: u64,
    stop: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        let random = fastrand::Rng::with_seed(seed ^ (number << 32));
        let caller = Caller { number, ways: fleet.ways.clone(), history: history.clone(), random };
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
        for turn in 0_u64.. {
            if *stop.borrow() {
                return;
            }
            let kind = match self.random.u8(..4) {
                0 | 1 => Kind::Once,
                2 => Kind::Safe,
                _ => Kind::Keyed,
            };
            // Most are answered at once, some in parts, and some take longer than a worker waits that stops.
            let millis = match self.random.u8(..10) {
                0 => self.random.u64(80..700),
                1..4 => self.random.u64(1..20),
                _ => 0,
            };
            let secret = format!("{}-{}-{turn}-{:x}", kind.method(), self.number, self.random.u64(..));
            let operation = self.operate(kind, secret, millis, &stop).await;
            self.history.operation(operation);
        }
    }

    /// Sends a call until it must not be sent again, or until everything should have worked for long enough.
    async fn operate(
        &mut self,
        kind: Kind,
        secret: String,
        millis: u64,
        stop: &watch::Receiver<bool>,
    ) -> Operation {
        let mut operation = Operation::new(kind, secret);
        let mut last: Option<Instant> = None;
        while last.is_none_or(|last| Instant::now() < last) {
            if last.is_none() && *stop.borrow() {
                last = Some(Instant::now() + PATIENCE);
            }
            let way = self.way(kind);
            let outcome = attempt(&way, &operation, millis).await;
            operation.attempts.push((way.name, outcome.clone()));
            let is_over = match (kind, outcome) {
                (_, Outcome::Answered(_) | Outcome::Refused(_)) => true,
                (_, Outcome::Unsent(_)) | (Kind::Safe, Outcome::Unknown(_)) => false,
                (Kind::Keyed, Outcome::Unknown(_)) => operation.is_lost() || operation.is_kept(),
                (_, Outcome::Unknown(_)) => true,
            };
            if is_over {
                break;
            }
            tokio::time::sleep_until(Instant::now() + self.random.u32(5..100) * MS).await;
        }
        operation
    }

    /// Any way; the store that keeps keys is that of the gateways.
    fn way(&mut self, kind: Kind) -> Arc<Way> {
        loop {
            let way = &self.ways[self.random.usize(..self.ways.len())];
            if kind != Kind::Keyed || way.is_gateway() {
                return Arc::clone(way);
            }
        }
    }
}

async fn attempt(way: &Way, operation: &Operation, millis: u64) -> Outcome {
    let peer = match way.peer().await {
        Ok(peer) => peer,
        Err(error) => return Outcome::Unsent(error.to_string()),
    };
    let mut call = peer.call::<String>(operation.kind.method(), (operation.secret.clone(), millis));
    if operation.kind == Kind::Keyed {
        call = call.metadata("idempotency-key", operation.secret.clone());
    }
    match call.timeout(TIMEOUT).await {
        Ok(answer) => Outcome::Answered(answer),
        Err(error) => outcome(&error),
    }
}

/// What an error says about its call.
pub(crate) fn outcome(error: &CallError) -> Outcome {
    let text = format!("{error:?}");
    match error {
        error if error.is_unsent() => Outcome::Unsent(text),
        CallError::Rejected(rejection) => match rejection.code {
            Code::OVER_LIMIT => Outcome::Unsent(text),
            Code::SHUTTING_DOWN if rejection.is_refused_at_shutdown() => Outcome::Unsent(text),
            Code::SHUTTING_DOWN | Code::UPSTREAM_FAILED | Code::TIMED_OUT => Outcome::Unknown(text),
            Code::INVALID_REQUEST if text.contains(ANSWER_LOST) => Outcome::Unknown(text),
            _ => Outcome::Refused(text),
        },
        CallError::Closed(_) | CallError::TimedOut | CallError::Transport(_) => Outcome::Unknown(text),
        _ => Outcome::Refused(text),
    }
}
