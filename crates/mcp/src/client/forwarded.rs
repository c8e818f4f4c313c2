//! Calls of callers that a server works on: who hears of their progress, and who answers its questions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use switchboard_core::{Code, Context, ErrorObject, FromContext as _, Json, Reply};
use tokio::sync::{Notify, oneshot};

use super::clock::{Clock, Paused};
use crate::ask::{Asker, Caller, Question};
use crate::model::{LogLevel, Revision, Sampled, Wire as _, methods};
use crate::object::Object;
use crate::spoken::Handshake;

/// The calls that a server works on, by their progress tokens.
#[derive(Default)]
pub(crate) struct Calls {
    last: AtomicU64,
    running: Mutex<BTreeMap<u64, Weak<Forwarded>>>,
}

impl Calls {
    fn running(&self) -> MutexGuard<'_, BTreeMap<u64, Weak<Forwarded>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call with this context is forwarded until the value is dropped.
    pub(super) fn begin(self: &Arc<Self>, cx: &Context) -> Arc<Forwarded> {
        let token = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (questions, changed) = (Mutex::default(), Notify::new());
        let (cx, calls) = (Mutex::new(cx.clone()), Arc::clone(self));
        let call = Arc::new(Forwarded { token, cx, questions, changed, calls });
        self.running().insert(token, Arc::downgrade(&call));
        call
    }

    /// The call with this progress token.
    pub(super) fn find(&self, token: &Json) -> Option<Arc<Forwarded>> {
        self.running().get(&token.decode().ok()?)?.upgrade()
    }

    /// Stops the clocks of all calls.
    pub(super) fn pause(&self) -> Vec<Paused> {
        let all: Vec<_> = self.running().values().filter_map(Weak::upgrade).collect();
        all.iter().filter_map(|call| call.pause()).collect()
    }

    /// The call that a question belongs to which does not say: the only one. If a session makes all calls, any of them will do.
    ///
    /// With several callers there is no way to know, and to ask the wrong one would tell it what another one does.
    pub(super) fn only(&self) -> Option<Arc<Forwarded>> {
        let all: Vec<_> = self.running().values().filter_map(Weak::upgrade).collect();
        let session = |call: &Arc<Forwarded>| Handshake::of(call.cx().session());
        match all.as_slice() {
            [] => None,
            [only] => Some(Arc::clone(only)),
            [first, rest @ ..] => {
                let one = session(first)?;
                let is_one =
                    rest.iter().all(|call| session(call).is_some_and(|other| Arc::ptr_eq(&one, &other)));
                is_one.then(|| Arc::clone(first))
            }
        }
    }
}

/// A call of a caller that the server works on.
pub(crate) struct Forwarded {
    pub(super) token: u64,
    /// Of the call, or of the last round of it.
    cx: Mutex<Context>,
    questions: Mutex<Questions>,
    changed: Notify,
    calls: Arc<Calls>,
}

/// Questions for a caller that is asked in rounds.
#[derive(Default)]
struct Questions {
    asked: u32,
    open: BTreeMap<String, (Question, oneshot::Sender<Result<Json, ErrorObject>>)>,
}

impl Forwarded {
    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cx(&self) -> Context {
        self.cx.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops the clock of the call, if it has one.
    pub(super) fn pause(&self) -> Option<Paused> {
        self.cx().get::<Arc<Clock>>().map(Clock::pause)
    }

    /// The caller has come back with this context.
    pub(crate) fn resume(&self, cx: &Context) {
        *self.cx.lock().unwrap_or_else(PoisonError::into_inner) = cx.clone();
    }

    pub(super) fn caller(&self) -> Caller {
        Caller::from_context(&self.cx()).cloned().unwrap_or_else(Caller::plain)
    }

    /// Whether someone wants to hear of progress.
    pub(super) fn wants_progress(&self) -> bool {
        self.caller().wants_progress() || self.cx().wants_progress()
    }

    /// Passes progress on: as it is to clients of MCP, and to others as an object.
    pub(super) async fn progress(&self, params: &Json) {
        let [done, total, message] = params.pick(["progress", "total", "message"]);
        let caller = self.caller();
        // Between two rounds nobody hears of it.
        if caller.is_asking_in_rounds() {
            return;
        }
        if caller.wants_progress() {
            let number = |value: &Option<Json>| value.as_ref().and_then(|value| value.decode::<f64>().ok());
            let message: Option<String> = message.and_then(|message| message.decode().ok());
            if let Some(done) = number(&done) {
                caller.report(done, number(&total), message.as_deref()).await;
            }
            return;
        }
        let told = Object::new().with_some("progress", done).with_some("total", total);
        if let Ok(told) = told.with_some("message", message).json() {
            self.cx().progress(&told).await;
        }
    }

    /// The log messages that the caller wants, if it is a client of MCP.
    pub(super) fn log_level(&self) -> Option<LogLevel> {
        self.caller().log_level()
    }

    /// Keeps a question until the caller has answered it.
    fn open(&self, mut question: Question) -> oneshot::Receiver<Result<Json, ErrorObject>> {
        let (sender, answer) = oneshot::channel();
        let mut questions = self.questions();
        questions.asked += 1;
        let key = format!("{}-{}", question.word(), questions.asked);
        question.key = Some(key.clone());
        questions.open.insert(key, (question, sender));
        drop(questions);
        self.changed.notify_waiters();
        answer
    }

    /// The questions that are open, by their keys.
    pub(crate) fn open_questions(&self) -> Vec<(String, Question)> {
        self.questions().open.iter().map(|(key, (question, _))| (key.clone(), question.clone())).collect()
    }

    /// Answers a question.
    pub(crate) fn answer(&self, key: &str, answer: Result<Json, ErrorObject>) {
        let open = self.questions().open.remove(key);
        if let Some((_, sender)) = open {
            let _ = sender.send(answer);
        }
    }

    /// Says that something has changed.
    pub(crate) fn wake(&self) {
        self.changed.notify_waiters();
    }

    /// Waits for another question, or another change.
    pub(crate) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        self.calls.running().remove(&self.token);
    }
}

/// Asks a caller for a server that speaks this revision: during this call, or at any time in its session.
pub(super) async fn ask(
    caller: &Caller,
    during: Option<&Forwarded>,
    method: &str,
    params: Option<&Json>,
    revision: Revision,
) -> Reply {
    let question = match Question::relayed(method, params) {
        Ok(question) => question,
        Err(error) => return error.into(),
    };
    let feature = question.feature;
    if !caller.can(feature) {
        let text = format!("the caller does not support {feature}");
        return ErrorObject::new(Code::METHOD_NOT_FOUND, text).into();
    }
    let answer = match (caller.asker(), during) {
        (Asker::Rounds(_), Some(call)) => call
            .open(question)
            .await
            .unwrap_or_else(|_| Err(ErrorObject::new(Code::CANCELLED, "the call has ended"))),
        _ => caller.relay(question).await.map_err(ErrorObject::from),
    };
    answer.map(|answer| lowered(method, answer, revision)).into()
}

/// An answer as the revision of the server has it. Older ones know one block of content in what a model says.
fn lowered(method: &str, answer: Json, revision: Revision) -> Json {
    match method {
        methods::CREATE_MESSAGE if revision < Revision::V2025_11_25 => {
            answer.decode::<Sampled>().map_or(answer, |sampled| sampled.to_json(revision))
        }
        _ => answer,
    }
}
