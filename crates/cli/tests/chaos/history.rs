//! What callers asked and got, and what workers executed.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

/// What may happen to the calls of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// May be executed twice, so it is sent until it is answered.
    Safe,
    /// May be executed once. It is sent again if it was certainly not executed.
    Once,
    /// Carries an idempotency key, so it is sent until its answer is known.
    Keyed,
    /// A signed message, sent to all gateways at once.
    Signed,
    /// Is stored, and executed until it is done. It is submitted again if it was certainly not stored.
    Job,
    /// The same with a key, so it is submitted until it was accepted.
    KeyedJob,
}

impl Kind {
    /// The method of such calls.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Kind::Safe => "safe",
            Kind::Once => "once",
            Kind::Keyed => "keyed",
            Kind::Signed => "signed",
            Kind::Job => "job",
            Kind::KeyedJob => "keyed-job",
        }
    }
}

/// What callers are told if nobody will ever know the outcome of a call with a key.
pub(crate) const ANSWER_LOST: &str = "its answer was lost";

/// An error of a gateway that is repeated so often is the answer to a call with a key, which the gateways keep.
const KEPT: usize = 3;

/// What became of a call that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The result.
    Answered(String),
    /// It was certainly not executed: so it says.
    Unsent(String),
    /// Nobody knows whether it was executed.
    Unknown(String),
    /// An error that no fault explains.
    Refused(String),
}

/// A call, sent once or several times.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    pub(crate) secret: String,
    /// What became of it each time, and where it was sent to.
    pub(crate) attempts: Vec<(&'static str, Outcome)>,
    /// Whether nothing was broken while it was made.
    pub(crate) is_calm: bool,
}

impl Operation {
    pub(crate) fn new(kind: Kind, secret: String) -> Operation {
        Operation { kind, secret, attempts: Vec::new(), is_calm: false }
    }

    pub(crate) fn answers(&self) -> impl Iterator<Item = &str> {
        self.attempts.iter().filter_map(|(_, outcome)| match outcome {
            Outcome::Answered(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Whether its caller was told that nobody will ever know its outcome.
    pub(crate) fn is_lost(&self) -> bool {
        let last = self.attempts.last().map(|(_, outcome)| outcome);
        matches!(last, Some(Outcome::Unknown(text)) if text.contains(ANSWER_LOST))
    }

    /// Whether the answer is an error that the gateways keep, such as that its worker stopped. They do not send such a call again.
    pub(crate) fn is_kept(&self) -> bool {
        let mut last = self.attempts.iter().rev().map(|(_, outcome)| outcome).take(KEPT);
        let Some(first @ Outcome::Unknown(text)) = last.next() else { return false };
        text.starts_with("Rejected(") && self.attempts.len() >= KEPT && last.all(|outcome| outcome == first)
    }
}

/// What the reader of a subscription saw. Its items count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// An item, with the secret of the subscription that it belongs to.
    Item(String, u64),
    /// Items were lost: so many, if that is known.
    Gap(Option<u64>),
    /// The end, and why.
    End(String),
    /// Neither an item nor the end arrived for longer than a lost worker may go unnoticed.
    Silence,
}

/// A subscription, and what was seen of it.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) secret: String,
    pub(crate) seen: Vec<Seen>,
}

/// A job, submitted once or several times.
#[derive(Clone, Debug)]
pub(crate) struct Submitted {
    pub(crate) secret: String,
    /// What it was called, each time that it was accepted.
    pub(crate) ids: Vec<String>,
    /// What became of it, when everything worked again.
    pub(crate) end: Option<End>,
}

/// What a job has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) state: String,
    pub(crate) result: Option<String>,
}

/// The jobs that did what they are for, by their secrets: a job does it once, however often it is executed.
pub(crate) type Effects = HashMap<String, HashSet<String>>;

/// How often each call was executed, by its secret.
pub(crate) type Executed = HashMap<String, usize>;

/// Everything that was recorded. Another kind of work, such as topics, adds its records here, and its rules to [`verdict`](super::verdict).
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) operations: Vec<Operation>,
    pub(crate) watched: Vec<Watched>,
    pub(crate) jobs: Vec<Submitted>,
    pub(crate) effects: Effects,
    /// Processes that did not end as they should.
    pub(crate) crashes: Vec<String>,
}

/// Records, to which all callers add.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(Arc<Mutex<Records>>);

impl History {
    pub(crate) fn operation(&self, operation: Operation) {
        self.0.lock().unwrap().operations.push(operation);
    }

    pub(crate) fn watched(&self, watched: Watched) {
        self.0.lock().unwrap().watched.push(watched);
    }

    pub(crate) fn job(&self, job: Submitted) {
        self.0.lock().unwrap().jobs.push(job);
    }

    pub(crate) fn effects(&self, effects: Effects) {
        self.0.lock().unwrap().effects = effects;
    }

    pub(crate) fn crash(&self, what: String) {
        self.0.lock().unwrap().crashes.push(what);
    }

    pub(crate) fn take(&self) -> Records {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    pub(crate) fn summary(&self, executed: &Executed) -> Summary {
        let records = self.0.lock().unwrap();
        let mut summary = Summary { executions: executed.values().sum(), ..Summary::default() };
        for operation in &records.operations {
            summary.operations += 1;
            summary.answered += usize::from(operation.answers().next().is_some());
            summary.attempts += operation.attempts.len();
            summary.lost_answers += usize::from(operation.is_lost());
        }
        summary.jobs = records.jobs.iter().filter(|job| !job.ids.is_empty()).count();
        for seen in records.watched.iter().flat_map(|watched| &watched.seen) {
            match seen {
                Seen::Item(..) => summary.items += 1,
                Seen::Gap(_) => summary.gaps += 1,
                Seen::End(_) | Seen::Silence => summary.ends += 1,
            }
        }
        summary
    }
}

/// How much happened.
#[derive(Debug, Default)]
#[allow(dead_code, reason = "it is printed")]
pub(crate) struct Summary {
    pub(crate) operations: usize,
    pub(crate) attempts: usize,
    pub(crate) answered: usize,
    /// Calls with a key whose callers were told that nobody knows the outcome.
    pub(crate) lost_answers: usize,
    /// Jobs that were accepted.
    pub(crate) jobs: usize,
    pub(crate) executions: usize,
    pub(crate) items: usize,
    pub(crate) gaps: usize,
    pub(crate) ends: usize,
}
