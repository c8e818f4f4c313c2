//! Questions to a client without a session (MCP-R-01 to MCP-R-08): collected while the handler runs, returned as the result of the call,
//! and answered when the client makes the call again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_core::{ErrorObject, Json, Kind};

use super::bound::Bound;
use super::error::AskError;
use super::question::Question;
use super::seal::{StateKeys, digest_of};
use crate::model::Revision;
use crate::object::Object;

/// How many rounds a call may take.
const ROUNDS: u32 = 16;

/// How many bytes the state of a call may have.
const STATE_BYTES: usize = 64 << 10;

/// How long a client may take for a round.
const ROUND_TIME: Duration = Duration::from_secs(600);

/// The questions and answers of one call that is made in rounds.
#[derive(Debug)]
pub(crate) struct Rounds {
    state: Mutex<State>,
    bound: Bound,
}

#[derive(Debug, Default)]
struct State {
    round: u32,
    /// What the client answered, and the digest of the question that it was asked; none if it was not asked.
    answers: HashMap<String, (Option<String>, Json)>,
    /// The answers that were used.
    log: Vec<Entry>,
    once: Vec<(String, Json)>,
    open: Vec<Open>,
    /// How many questions without a key were asked.
    numbered: u32,
    is_over: bool,
    /// What the client sent back belongs to nothing that is still there.
    is_lost: bool,
    waker: Option<Waker>,
    /// Of open questions. Only those of spawned tasks are still there when the round ends.
    asking: Vec<Waker>,
}

#[derive(Debug)]
struct Open {
    key: String,
    digest: String,
    method: &'static str,
    params: Json,
}

/// An answer that was used.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    key: String,
    digest: String,
    answer: Json,
}

/// What travels through the client, sealed.
#[derive(Serialize, Deserialize)]
struct Sealed {
    expires: u64,
    round: u32,
    asked: Vec<(String, String)>,
    log: Vec<Entry>,
    once: Vec<(String, Json)>,
}

/// What became of a question.
pub(crate) enum Asked {
    Answered(Json),
    Open,
}

/// What the client sent back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Returned {
    /// `inputResponses`.
    pub(crate) answers: Option<Json>,
    /// `requestState`.
    pub(crate) state: Option<Json>,
}

impl Rounds {
    /// Goes on with what the client sent back for this call.
    pub(crate) fn resume(returned: &Returned, keys: &StateKeys, bound: Bound) -> Result<Rounds, ErrorObject> {
        let mut state = State::default();
        let mut asked = HashMap::new();
        if let Some(sealed) = &returned.state {
            let sealed = open(sealed, keys, bound.attributes().as_bytes()).ok_or_else(invalid_state)?;
            asked = sealed.asked.into_iter().collect();
            state.round = sealed.round;
            state.once = sealed.once;
            for entry in sealed.log {
                state.answers.insert(entry.key, (Some(entry.digest), entry.answer));
            }
        }
        if let Some(answers) = &returned.answers {
            if answers.kind() != Kind::Object {
                return Err(ErrorObject::invalid_params("inputResponses must be an object"));
            }
            for (key, _) in answers.members() {
                let key = String::from_utf8_lossy(&key).into_owned();
                let Some(answer) = answers.get(&key) else { continue };
                if answer.kind() != Kind::Object {
                    return Err(ErrorObject::invalid_params("each of inputResponses must be an object"));
                }
                let digest = asked.get(&key).cloned();
                if digest.is_some() || returned.state.is_none() {
                    state.answers.insert(key, (digest, answer.detached()));
                }
            }
        }
        Ok(Rounds { state: Mutex::new(state), bound })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a question, unless its answer is known and fits. Questions with an explicit key may be answered in advance.
    pub(crate) fn ask(
        &self,
        question: &Question,
        revision: Revision,
        fits: impl FnOnce(&Json) -> bool,
    ) -> Result<Asked, AskError> {
        let mut state = self.state();
        if state.is_over {
            return Err(AskError::Ended);
        }
        let key = question.key.clone().unwrap_or_else(|| {
            state.numbered += 1;
            format!("{}-{}", question.word(), state.numbered)
        });
        let (method, params) = (question.method(), question.params(revision));
        let digest = digest_of(&[method.as_bytes(), params.as_bytes()]);
        if let Some((asked, answer)) = state.answers.get(&key) {
            let is_for_this = match asked {
                Some(asked) => *asked == digest,
                None => question.key.is_some(),
            };
            // What does not fit, or answers another question, is asked again.
            if is_for_this && fits(answer) {
                let answer = answer.clone();
                state.log.push(Entry { key, digest, answer: answer.clone() });
                return Ok(Asked::Answered(answer));
            }
        }
        if state.round >= ROUNDS {
            return Err(AskError::TooMuch("it has taken 16 rounds"));
        }
        state.open.push(Open { key, digest, method, params });
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        Ok(Asked::Open)
    }

    /// Whether the call has returned. If not, this is woken when it does.
    pub(crate) fn is_over(&self, waker: &Waker) -> bool {
        let mut state = self.state();
        if !state.is_over && !state.asking.iter().any(|known| known.will_wake(waker)) {
            state.asking.push(waker.clone());
        }
        state.is_over
    }

    /// Whether questions are open. If not, this is woken by the next.
    pub(crate) fn is_asking(&self, waker: &Waker) -> bool {
        let mut state = self.state();
        state.waker = Some(waker.clone());
        !state.open.is_empty()
    }

    /// Whether the round ends, or has ended, with questions.
    pub(crate) fn has_asked(&self) -> bool {
        let state = self.state();
        state.is_over || !state.open.is_empty()
    }

    pub(crate) fn lose(&self) {
        self.state().is_lost = true;
    }

    /// Whether the reply is about the state that the client sent, and not about the call.
    pub(crate) fn is_lost(&self) -> bool {
        self.state().is_lost
    }

    pub(crate) fn remembered(&self, key: &str) -> Option<Json> {
        self.state().once.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
    }

    pub(crate) fn remember(&self, key: &str, value: Json) {
        self.state().once.push((key.to_owned(), value));
    }

    /// Ends the round: the open questions, as the result of the call.
    pub(crate) fn end(&self, keys: &StateKeys, server: &Json) -> Result<Json, ErrorObject> {
        let mut state = self.state();
        state.is_over = true;
        let asking = std::mem::take(&mut state.asking);
        let open = std::mem::take(&mut state.open);
        let sealed = Sealed {
            expires: keys.now() + ROUND_TIME.as_secs(),
            round: state.round + 1,
            asked: open.iter().map(|open| (open.key.clone(), open.digest.clone())).collect(),
            log: std::mem::take(&mut state.log),
            once: std::mem::take(&mut state.once),
        };
        drop(state);
        asking.into_iter().for_each(Waker::wake);
        let text = serde_json::to_vec(&sealed).map_err(|error| ErrorObject::internal(&error))?;
        if text.len() > STATE_BYTES {
            return Err(AskError::TooMuch("its answers have more than 64 KiB").into());
        }
        let sealed = keys.seal(&text, self.bound.attributes().as_bytes());
        let sealed = sealed.ok_or_else(|| ErrorObject::internal(&"the state could not be sealed"))?;
        let mut requests = Object::new();
        for Open { key, method, params, .. } in &open {
            requests =
                requests.with(key, Object::new().with("method", *method).with("params", params.clone()));
        }
        let meta = Object::new().with(crate::model::meta::SERVER_INFO, server.clone());
        Object::new()
            .with("resultType", "input_required")
            .with("_meta", meta)
            .with("inputRequests", requests)
            .with("requestState", sealed.as_str())
            .json()
    }
}

/// The error for every state that cannot be used.
pub(super) fn invalid_state() -> ErrorObject {
    ErrorObject::invalid_params("requestState is invalid or has expired")
}

/// Every failure looks the same, so that nothing can be learned from it.
fn open(sealed: &Json, keys: &StateKeys, attributes: &[u8]) -> Option<Sealed> {
    let text: String = sealed.decode().ok()?;
    // A third is what the encoding adds.
    if text.len() > STATE_BYTES * 3 / 2 {
        return None;
    }
    let opened: Sealed = serde_json::from_slice(&keys.open(&text, attributes)?).ok()?;
    (opened.expires >= keys.now()).then_some(opened)
}
