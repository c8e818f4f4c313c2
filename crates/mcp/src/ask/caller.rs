//! The client of a call, for its handler.

use std::cmp::Ordering;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::task::Waker;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchboard_core::{Context, ErrorObject, FromContext, Json, Peer};
use tokio::time::Instant;

use super::background::Background;
use super::question::Question;
use super::rounds::{self, Rounds};
use super::{Answer, Ask, AskError, Feature, form_schema};
use crate::model::{LogLevel, Revision, Root, Sampled};
use crate::object::Object;
use crate::server::TaskCall;
use crate::spoken::{Features, Handshake, Spoken};

/// The client that makes a call: asks it questions, reports progress to it, and logs to it.
///
/// Methods of a `#[service]` take it as an argument: `caller: &Caller`. The same method can be called by clients of any revision, and
/// over plain JSON-RPC, where progress and logs do nothing and questions fail with [`AskError::Unsupported`].
///
/// # Questions
///
/// A client with a session is asked while the handler waits. A stateless client gets the questions as the result of its call and
/// calls again with the answers, so the handler runs again from its start, up to the question that is not answered yet. Hence:
///
/// - Before the last question, only read, or use [`once`](Caller::once).
/// - Make questions from arguments and earlier answers, not from clocks or random values: a question that changed is asked again.
///
/// # Examples
///
/// ```
/// use switchboard_core::ErrorObject;
/// use switchboard_mcp::{Answer, Caller};
///
/// async fn delete(caller: &Caller, path: String) -> Result<String, ErrorObject> {
///     match caller.elicit::<bool>(format!("Delete {path}?")).await? {
///         Answer::Accept(true) => Ok(format!("deleted {path}")),
///         _ => Err(ErrorObject::validation_failed("the user declined")),
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Caller(Arc<Inner>);

struct Inner {
    parts: CallerParts,
    /// The last progress that was reported: it has to increase.
    progress: Mutex<f64>,
    /// How many questions wait for an answer, and how long others did, in milliseconds.
    waiting: AtomicUsize,
    waited: AtomicU64,
}

/// What is known about the client of a call.
pub(crate) struct CallerParts {
    pub(crate) spoken: Arc<Spoken>,
    pub(crate) peer: Peer,
    pub(crate) asker: Mutex<Asker>,
    /// Lets the call become a task.
    pub(crate) background: Option<Background>,
    pub(crate) progress_token: Option<Json>,
    pub(crate) logging: Logging,
    /// Ends the event stream of the answer early, where there is one.
    pub(crate) stream: Option<Arc<dyn Fn(Duration) + Send + Sync>>,
}

/// Which log messages the client gets.
pub(crate) enum Logging {
    Off,
    From(LogLevel),
    Session(Arc<Handshake>),
}

/// How questions are asked.
#[derive(Clone)]
pub(crate) enum Asker {
    /// Not at all.
    Absent,
    /// By requests.
    Wire,
    /// By the result of the call.
    Rounds(Arc<Rounds>),
    /// By the state of a task.
    Task(Arc<TaskCall>),
}

impl Caller {
    pub(crate) fn new(parts: CallerParts) -> Caller {
        let progress = Mutex::new(f64::NEG_INFINITY);
        Caller(Arc::new(Inner { parts, progress, waiting: AtomicUsize::new(0), waited: AtomicU64::new(0) }))
    }

    /// Asks the user to fill in a form. The fields of `T` are strings, numbers, booleans and enums.
    ///
    /// Do not ask for passwords, keys or tokens this way: use [`open_url`](Caller::open_url).
    pub fn elicit<T>(&self, message: impl Into<String>) -> Ask<Answer<T>>
    where
        T: JsonSchema + DeserializeOwned + 'static,
    {
        self.elicit_as(message, &form_schema::<T>())
    }

    /// Asks the user to fill in a form with this schema: an object whose properties are strings, numbers, booleans and enums.
    pub fn elicit_as<T>(&self, message: impl Into<String>, schema: &Value) -> Ask<Answer<T>>
    where
        T: DeserializeOwned + 'static,
    {
        let params = json!({"message": message.into(), "requestedSchema": schema});
        Ask::new(self, Question::new(Feature::Form, params))
    }

    /// Asks the user to open a page, for what must not pass through the client. Accepting means that the user agreed, not that it is
    /// done.
    pub fn open_url(&self, message: impl Into<String>, url: impl Into<String>) -> Ask<Answer<()>> {
        let params = json!({"mode": "url", "message": message.into(), "url": url.into()});
        Ask::new(self, Question::new(Feature::Url, params))
    }

    /// Asks the client's language model.
    pub fn sample(&self, prompt: impl Into<String>) -> Ask<Sampled> {
        Ask::new(self, Question::sampling(prompt.into()))
    }

    /// Asks for the folders that the client works in.
    pub fn roots(&self) -> Ask<Vec<Root>> {
        Ask::new(self, Question::new(Feature::Roots, json!({})))
    }

    /// Passes a question of another server on to the client, and gives its answer as it is.
    pub(crate) fn relay(&self, question: Question) -> Ask<Json> {
        Ask::raw(self, question)
    }

    /// What the client can be asked for.
    pub(crate) fn features(&self) -> Features {
        match self.asker() {
            Asker::Absent => Features::default(),
            _ => self.0.parts.spoken.features,
        }
    }

    /// Whether the call is made in rounds, and this one ends with questions.
    pub(crate) fn is_asking_in_rounds(&self) -> bool {
        matches!(self.asker(), Asker::Rounds(rounds) if rounds.has_asked())
    }

    /// What the client sent back belongs to nothing that is still there: the error is one of the protocol, so that it starts over.
    pub(crate) fn forget_state(&self) -> ErrorObject {
        if let Asker::Rounds(rounds) = self.asker() {
            rounds.lose();
        }
        rounds::invalid_state()
    }

    /// Whether the client declared that it can be asked for this.
    #[must_use]
    pub fn can(&self, feature: Feature) -> bool {
        self.check(feature).is_ok()
    }

    pub(super) fn check(&self, feature: Feature) -> Result<(), AskError> {
        let features = &self.0.parts.spoken.features;
        let is_there = match feature {
            _ if matches!(self.asker(), Asker::Absent) => false,
            Feature::Sampling => features.sampling,
            Feature::SamplingTools => features.sampling_tools,
            Feature::Form => features.form,
            Feature::Url => features.url,
            Feature::Roots => features.roots,
        };
        if is_there { Ok(()) } else { Err(AskError::Unsupported(feature)) }
    }

    /// Reports progress, if the client asked for it. Values that do not increase are skipped.
    pub async fn progress(&self, done: impl Amount, total: impl Amount) {
        self.report(done.amount(), Some(total.amount()), None).await;
    }

    /// Reports progress with a message for people.
    pub async fn progress_with(&self, done: impl Amount, total: Option<f64>, message: &str) {
        self.report(done.amount(), total, Some(message)).await;
    }

    pub(crate) async fn report(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = &self.0.parts.progress_token else { return };
        {
            let mut last = self.0.progress.lock().unwrap_or_else(PoisonError::into_inner);
            // MCP-P-01. Not a number is not more than anything.
            if done.partial_cmp(&last).is_none_or(|order| order != Ordering::Greater) {
                return;
            }
            *last = done;
        }
        let number = |value: f64| Json::encode(&value).unwrap_or(Json::NULL);
        let whole = |value: f64| match value.fract() == 0.0 && value.abs() < 1e15 {
            true => Json::encode(&(value as i64)).unwrap_or(Json::NULL),
            false => number(value),
        };
        // The first revision has no messages.
        let message = message.filter(|_| self.revision() > Revision::V2024_11_05);
        let params = Object::new()
            .with("progressToken", token.clone())
            .with("progress", whole(done))
            .with_some("total", total.map(whole))
            .with_some("message", message);
        self.notify("notifications/progress", &params).await;
    }

    /// Logs a message to the client, if it wants messages of this level. Never log secrets.
    pub async fn log<T: Serialize + ?Sized>(&self, level: LogLevel, data: &T) {
        let is_wanted = self.log_level().is_some_and(|least| level >= least);
        let Some(data) = is_wanted.then(|| Json::encode_ref(data).ok()).flatten() else { return };
        let params = Object::new().with("level", level.as_str()).with("data", data);
        self.notify("notifications/message", &params).await;
    }

    /// The least severe messages that the client wants; none if it wants none.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        match &self.0.parts.logging {
            Logging::Off => None,
            Logging::From(level) => Some(*level),
            Logging::Session(handshake) => Some(handshake.level()),
        }
    }

    /// Passes a log message of the server with this name on, if the client wants messages of its level.
    pub(crate) async fn relay_log(&self, server: &str, params: Option<&Json>) {
        let Some(params) = params else { return };
        let [level, logger, data] = params.pick(["level", "logger", "data"]);
        let level = level.and_then(|level| level.decode::<String>().ok()?.parse::<LogLevel>().ok());
        let (Some(level), Some(data)) = (level, data) else { return };
        if self.log_level().is_none_or(|least| level < least) {
            return;
        }
        let params = Object::new().with("level", level.as_str());
        let params = match logger {
            Some(logger) => params.with("logger", logger),
            None => params.with("logger", server),
        };
        self.notify("notifications/message", &params.with("data", data)).await;
    }

    /// Passes on that a resource of another server has changed.
    pub(crate) async fn relay_update(&self, params: &Json) {
        let uri = params.get("uri");
        self.notify("notifications/resources/updated", &Object::new().with_some("uri", uri)).await;
    }

    async fn notify(&self, method: &'static str, params: &Object<'_>) {
        let Ok(params) = params.json() else { return };
        if let Err(error) = self.peer().notify(method, params).await {
            tracing::debug!(%error, method, "a client was not notified");
        }
    }

    /// Ends the event stream of the answer for now, where there is one: the client comes back for the answer after this time. Use it
    /// before long waits, so that no connection stays open meanwhile. For clients of the revision 2025-11-25.
    pub fn close_stream(&self, retry: Duration) {
        if let Some(close) = &self.0.parts.stream {
            close(retry);
        }
    }

    /// The revision of the protocol that the client speaks.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.parts.spoken.revision
    }

    /// What the client says about itself: its name and version. It is not verified.
    #[must_use]
    pub fn client(&self) -> Option<&Json> {
        self.0.parts.spoken.client.as_ref()
    }

    pub(crate) fn peer(&self) -> &Peer {
        &self.0.parts.peer
    }

    pub(crate) fn asker(&self) -> Asker {
        self.0.parts.asker.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes the call a task, if the client knows tasks: it gets an answer at once and comes back for the result. What the method
    /// asked before was part of the call; what it asks from here on is part of the task. For methods with
    /// `#[mcp(task = "manual")]`; does nothing in others.
    pub async fn background(&self) {
        if let Some(background) = &self.0.parts.background {
            background.begin().await;
        }
    }

    /// Whether the method wants to be a task. If not, this is woken when it does.
    pub(crate) fn wants_background(&self, waker: &Waker) -> bool {
        self.0.parts.background.as_ref().is_some_and(|background| background.is_wanted(waker))
    }

    /// The call has become a task.
    pub(crate) fn go_on_as(&self, task: Arc<TaskCall>) {
        *self.0.parts.asker.lock().unwrap_or_else(PoisonError::into_inner) = Asker::Task(task);
        if let Some(background) = &self.0.parts.background {
            background.confirm();
        }
    }

    pub(crate) fn wants_progress(&self) -> bool {
        self.0.parts.progress_token.is_some()
    }

    /// Begins to wait for an answer.
    pub(super) fn begin_waiting(&self) -> Waiting {
        self.0.waiting.fetch_add(1, Relaxed);
        Waiting { caller: self.clone(), since: Instant::now() }
    }

    /// How long questions waited for their answers; none while one waits.
    pub(crate) fn waited(&self) -> Option<Duration> {
        let is_waiting = self.0.waiting.load(Relaxed) > 0;
        (!is_waiting).then(|| Duration::from_millis(self.0.waited.load(Relaxed)))
    }
}

/// A question that waits for its answer.
pub(super) struct Waiting {
    caller: Caller,
    since: Instant,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let time = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.caller.0.waited.fetch_add(time, Relaxed);
        self.caller.0.waiting.fetch_sub(1, Relaxed);
    }
}

/// The caller over plain JSON-RPC.
static PLAIN: LazyLock<Caller> = LazyLock::new(|| {
    let spoken = Spoken { revision: Revision::LATEST_STATEFUL, features: Default::default(), client: None };
    Caller::new(CallerParts {
        spoken: Arc::new(spoken),
        peer: Peer::absent(),
        asker: Mutex::new(Asker::Absent),
        background: None,
        progress_token: None,
        logging: Logging::Off,
        stream: None,
    })
});

impl Caller {
    /// A caller that is not a client of MCP.
    pub(crate) fn plain() -> Caller {
        PLAIN.clone()
    }

    /// The client of a call at any time in its session, if it is a client of MCP whose session began with `initialize`.
    pub(crate) fn of_session(cx: &Context) -> Option<Caller> {
        let handshake = Handshake::of(cx.session())?;
        Some(Caller::new(CallerParts {
            spoken: Arc::clone(&handshake.spoken),
            peer: cx.session().peer().clone(),
            asker: Mutex::new(Asker::Wire),
            background: None,
            progress_token: None,
            logging: Logging::Session(handshake),
            stream: None,
        }))
    }
}

impl FromContext for Caller {
    fn from_context(cx: &Context) -> Option<&Caller> {
        Some(cx.get().unwrap_or(&PLAIN))
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("revision", &self.revision()).finish_non_exhaustive()
    }
}

/// A number that progress is counted in.
pub trait Amount {
    /// The number.
    fn amount(self) -> f64;
}

macro_rules! amounts {
    ($($number:ty),*) => {$(
        impl Amount for $number {
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "progress is approximate")]
            fn amount(self) -> f64 {
                self as f64
            }
        }
    )*};
}

amounts!(f64, f32, usize, u64, u32, u16, u8, i64, i32);
