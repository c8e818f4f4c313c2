//! Questions to the client while a call runs: forms, sampling, roots. One way to write them, for clients with and without a session.
//!
//! With a session a question is a request to the client, and the handler waits. Without one ([`rounds`]) the handler is dropped, the
//! client gets the open questions as the result of its call, and calls again with the answers; the handler then runs again from its
//! start and finds them.

mod answer;
mod background;
pub(crate) mod bound;
mod caller;
mod error;
mod form;
mod once;
mod question;
pub(crate) mod rounds;
pub(crate) mod seal;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use switchboard_core::{CallError, Json};

pub use self::answer::{Answer, FromAnswer};
pub(crate) use self::background::Background;
pub use self::caller::{Amount, Caller};
pub(crate) use self::caller::{Asker, CallerParts, Logging};
pub use self::error::{AskError, Feature};
pub(crate) use self::form::form_schema;
pub(crate) use self::question::Question;
use self::rounds::Asked;
use crate::model::{
    ModelHint, ModelPreferences, Role, Sampled, Sampling, SamplingMessage, Tool, ToolChoice, ToolChoiceMode,
};

/// How long a question waits for its answer.
pub(crate) const ASK_TIME: Duration = Duration::from_secs(600);

/// A question to the client. It is asked when it is first polled; until then its options can be changed.
///
/// Questions that are awaited together (`tokio::join!`) are asked together.
#[must_use = "a question is asked when it is awaited"]
pub struct Ask<T> {
    caller: Caller,
    question: Question,
    timeout: Duration,
    state: AskState,
    read: fn(&Json) -> Option<T>,
}

enum AskState {
    New,
    Sent(Pin<Box<dyn Future<Output = Result<Json, CallError>> + Send>>),
    /// In the result of this call. The handler is dropped before the answer comes.
    Open,
}

impl<T: FromAnswer> Ask<T> {
    fn new(caller: &Caller, question: Question) -> Ask<T> {
        let read = T::from_answer;
        Ask { caller: caller.clone(), question, timeout: ASK_TIME, state: AskState::New, read }
    }
}

impl Ask<Json> {
    /// A question whose answer is wanted as it is.
    fn raw(caller: &Caller, question: Question) -> Ask<Json> {
        let read = |answer: &Json| Some(answer.clone());
        Ask { caller: caller.clone(), question, timeout: ASK_TIME, state: AskState::New, read }
    }
}

impl<T> Ask<T> {
    /// Sets the key that the client sees, and that a stateless client may use to answer in advance. By default questions are numbered.
    pub fn key(mut self, key: impl Into<String>) -> Ask<T> {
        self.question.key = Some(key.into());
        self
    }

    /// Sets how long to wait for the answer: 10 minutes by default. It does not count towards the time limit of the call.
    pub fn timeout(mut self, timeout: Duration) -> Ask<T> {
        self.timeout = timeout;
        self
    }

    fn decode(&self, answer: &Json) -> Result<T, AskError> {
        (self.read)(answer).ok_or(AskError::Misfit)
    }

    /// Asks, if the client can be asked. Gives the answer if it is known.
    fn begin(&mut self) -> Result<Option<T>, AskError> {
        self.caller.check(self.question.feature)?;
        match self.caller.asker() {
            Asker::Wire => {
                let (method, params) = (self.question.method(), self.question.params(self.caller.revision()));
                let call = self.caller.peer().call::<Json>(method, params).timeout(self.timeout);
                let waiting = self.caller.begin_waiting();
                self.state = AskState::Sent(Box::pin(async move {
                    let answer = call.await;
                    drop(waiting);
                    answer
                }));
                Ok(None)
            }
            Asker::Rounds(rounds) => {
                let asked = rounds
                    .ask(&self.question, self.caller.revision(), |answer| (self.read)(answer).is_some())?;
                match asked {
                    Asked::Answered(answer) => self.decode(&answer).map(Some),
                    Asked::Open => {
                        self.state = AskState::Open;
                        Ok(None)
                    }
                }
            }
            Asker::Task(task) => {
                let answer = task.ask(&self.question, self.caller.revision());
                let (timeout, waiting) = (self.timeout, self.caller.begin_waiting());
                self.state = AskState::Sent(Box::pin(async move {
                    let answer = tokio::time::timeout(timeout, answer).await;
                    drop(waiting);
                    match answer {
                        Ok(Some(answer)) => Ok(answer),
                        Ok(None) => Err(CallError::Cancelled),
                        Err(_) => Err(CallError::TimedOut),
                    }
                }));
                Ok(None)
            }
            Asker::Absent => Err(AskError::Unsupported(self.question.feature)),
        }
    }
}

impl Ask<Sampled> {
    fn with(mut self, change: impl FnOnce(&mut Sampling)) -> Ask<Sampled> {
        self.question.change_sampling(change);
        self
    }

    fn preferring(self, change: impl FnOnce(&mut ModelPreferences)) -> Ask<Sampled> {
        self.with(|sampling| change(sampling.model_preferences.get_or_insert_default()))
    }

    /// Sets the most tokens to generate: 1,000 by default.
    pub fn max_tokens(self, tokens: u64) -> Ask<Sampled> {
        self.with(|sampling| sampling.max_tokens = tokens)
    }

    /// Sets the system prompt.
    pub fn system(self, prompt: impl Into<String>) -> Ask<Sampled> {
        self.with(|sampling| sampling.system_prompt = Some(prompt.into()))
    }

    /// Sets the temperature.
    pub fn temperature(self, temperature: f64) -> Ask<Sampled> {
        self.with(|sampling| sampling.temperature = Some(temperature))
    }

    /// Sets the texts that end the answer.
    pub fn stop_at(self, sequences: impl IntoIterator<Item = impl Into<String>>) -> Ask<Sampled> {
        self.with(|sampling| sampling.stop_sequences = sequences.into_iter().map(Into::into).collect())
    }

    /// Names a model, or a part of its name, that the client should prefer. The first one that it has counts.
    pub fn prefer_model(self, name: impl Into<String>) -> Ask<Sampled> {
        self.preferring(|preferences| {
            preferences.hints.push(ModelHint { name: Some(name.into()) });
        })
    }

    /// Says how important low cost, speed and capability of the model are, each from 0 to 1.
    pub fn priorities(self, cost: f64, speed: f64, intelligence: f64) -> Ask<Sampled> {
        self.preferring(|preferences| {
            preferences.cost_priority = Some(cost);
            preferences.speed_priority = Some(speed);
            preferences.intelligence_priority = Some(intelligence);
        })
    }

    /// Offers tools to the model. The answer then may have calls of them ([`SamplingContent::ToolUse`](crate::model::SamplingContent)),
    /// whose results belong into the conversation of the next question. For clients that declare it, see [`Feature::SamplingTools`].
    pub fn tools(self, tools: impl IntoIterator<Item = Tool>) -> Ask<Sampled> {
        self.with(|sampling| sampling.tools = tools.into_iter().collect())
    }

    /// Says whether the model has to call a tool, or may not. It decides by default.
    pub fn tool_choice(self, mode: ToolChoiceMode) -> Ask<Sampled> {
        self.with(|sampling| sampling.tool_choice = Some(ToolChoice { mode: Some(mode) }))
    }

    /// Replaces the conversation.
    pub fn messages(self, messages: impl IntoIterator<Item = impl Into<SamplingMessage>>) -> Ask<Sampled> {
        self.with(|sampling| sampling.messages = messages.into_iter().map(Into::into).collect())
    }

    /// Adds a message to the conversation.
    pub fn then(self, role: Role, text: impl Into<String>) -> Ask<Sampled> {
        self.with(|sampling| {
            sampling.messages.push(match role {
                Role::User => SamplingMessage::user(text.into()),
                Role::Assistant => SamplingMessage::assistant(text.into()),
            });
        })
    }
}

impl<T> Future for Ask<T> {
    type Output = Result<T, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, AskError>> {
        if matches!(self.state, AskState::New)
            && let Some(known) = self.begin().transpose()
        {
            return Poll::Ready(known);
        }
        match &mut self.state {
            AskState::Sent(answer) => {
                let answer = ready!(answer.as_mut().poll(cx));
                Poll::Ready(answer.map_err(AskError::from).and_then(|answer| self.decode(&answer)))
            }
            AskState::New | AskState::Open => match self.caller.asker() {
                Asker::Rounds(rounds) if rounds.is_over(cx.waker()) => Poll::Ready(Err(AskError::Ended)),
                _ => Poll::Pending,
            },
        }
    }
}

impl<T> fmt::Debug for Ask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask").field("feature", &self.question.feature).finish_non_exhaustive()
    }
}
