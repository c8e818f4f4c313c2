//! The layer that accepts jobs and answers questions about them.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use switchboard_core::{Arguments, Call, Code, ErrorObject, Json, Layer, Name, Reply, ReplyFuture, Service};
use tokio::time::Instant;

use super::message::owner;
use super::record::Record;
use super::{CANCEL, Job, JobState, Jobs, RESULT, STATUS, SUBMIT};

/// How long before its deadline a call is answered.
const EARLY: Duration = Duration::from_millis(50);

/// The header with the key of a durable call.
const KEY: &str = "idempotency-key";

/// What all methods of jobs begin with.
const PREFIX: &[u8] = b"rpc.job.";

/// Makes calls of their methods from submissions, see [`Jobs::submissions`].
#[derive(Clone, Debug)]
pub struct Submissions(());

/// In the context of a call that is to be stored.
struct Submission {
    key: Option<String>,
}

impl Submissions {
    pub(super) fn new() -> Submissions {
        Submissions(())
    }
}

impl Layer for Submissions {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Submitted { inner })
    }
}

/// A service behind [`Submissions`].
struct Submitted {
    inner: Arc<dyn Service>,
}

impl Service for Submitted {
    fn call(&self, call: &Call) -> ReplyFuture {
        if call.method.as_str() != SUBMIT {
            return self.inner.call(call);
        }
        match submission(call) {
            Ok(call) => self.inner.call(&call),
            Err(error) => ReplyFuture::ready(error),
        }
    }
}

/// The call that a `rpc.job.submit` is about, marked to be stored.
fn submission(call: &Call) -> Result<Call, ErrorObject> {
    let arguments = Arguments::read(call.params.as_ref(), &["method", "params", "key"])?;
    let (method, params) = (arguments.required::<String>(0)?, arguments.optional::<Json>(1)?);
    if method.starts_with("rpc.") {
        return Err(ErrorObject::invalid_params("methods that begin with `rpc.` cannot be jobs"));
    }
    if params.as_ref().is_some_and(|params| !matches!(params.as_bytes().first(), Some(b'[' | b'{'))) {
        return Err(ErrorObject::invalid_params("the params of a job are an array or an object"));
    }
    let mut submitted = call.clone();
    (submitted.method, submitted.params) = (Name::from(method.as_str()), params);
    submitted.cx.insert(Submission { key: arguments.optional(2)? });
    Ok(submitted)
}

impl Layer for Jobs {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Stored { jobs: self.clone(), inner })
    }
}

/// A service behind [`Jobs`].
struct Stored {
    jobs: Jobs,
    inner: Arc<dyn Service>,
}

impl Service for Stored {
    fn call(&self, call: &Call) -> ReplyFuture {
        if let Some(submission) = call.cx.get::<Submission>() {
            return self.submit(call, submission.key.clone());
        }
        let method = call.method.as_str();
        if method.as_bytes().starts_with(PREFIX) {
            return self.ask(call);
        }
        if self.jobs.is_durable(method) && call.cx.get::<Job>().is_none() {
            return self.durable(call);
        }
        self.inner.call(call)
    }
}

impl Stored {
    fn submit(&self, call: &Call, key: Option<String>) -> ReplyFuture {
        let (jobs, call) = (self.jobs.clone(), call.clone());
        ReplyFuture::pending(async move {
            let (job, record) = match jobs.submit(&call, key.as_deref()).await {
                Ok(submitted) => submitted,
                Err(error) => return Reply::error(error),
            };
            record.described(&job, false).into()
        })
    }

    /// Answers a method of jobs.
    fn ask(&self, call: &Call) -> ReplyFuture {
        let method = call.method.as_str();
        if method == SUBMIT {
            return match submission(call) {
                Ok(call) => self.call(&call),
                Err(error) => ReplyFuture::ready(error),
            };
        }
        let asked = match method {
            STATUS | CANCEL => Arguments::read(call.params.as_ref(), &["job"])
                .and_then(|arguments| Ok((arguments.required::<String>(0)?, None))),
            RESULT => Arguments::read(call.params.as_ref(), &["job", "waitMs"])
                .and_then(|arguments| Ok((arguments.required::<String>(0)?, arguments.optional::<u64>(1)?))),
            _ => return self.inner.call(call),
        };
        let (job, wait) = match asked {
            Ok(asked) => asked,
            Err(error) => return ReplyFuture::ready(error),
        };
        let until = self.until(call, Duration::from_millis(wait.unwrap_or(0)));
        let (jobs, call) = (self.jobs.clone(), call.clone());
        ReplyFuture::untimed(async move {
            let (owner, method) = (owner(&call.cx), call.method.as_str());
            let record = match method {
                STATUS => jobs.owned(&job, owner).await,
                CANCEL => jobs.cancel(&job, owner).await,
                _ => jobs.result(&job, owner, until).await,
            };
            record.and_then(|record| record.described(&job, method == RESULT)).into()
        })
    }

    /// Until when this call waits, if it wants to wait for so long.
    fn until(&self, call: &Call, wait: Duration) -> Instant {
        let until = Instant::now() + wait.min(self.jobs.0.options.wait);
        call.cx
            .deadline
            .and_then(|deadline| deadline.checked_sub(EARLY))
            .map_or(until, |early| early.min(until))
    }

    /// Stores a call of a durable method, and waits for its result unless it is a notification.
    fn durable(&self, call: &Call) -> ReplyFuture {
        let key = match call.cx.metadata().single(KEY) {
            Ok(key) => key.map(|key| String::from_utf8_lossy(key).into_owned()),
            Err(_) => {
                return ReplyFuture::ready(ErrorObject::invalid_request(
                    "the idempotency key must be given once",
                ));
            }
        };
        let until = self.until(call, self.jobs.0.options.wait);
        let (jobs, call) = (self.jobs.clone(), call.clone());
        ReplyFuture::untimed(async move {
            let job = match jobs.submit(&call, key.as_deref()).await {
                Ok((job, _)) => job,
                Err(error) => {
                    if call.is_notification() {
                        tracing::error!(method = %call.method.as_str().escape_debug(), %error, "a durable notification was lost");
                    }
                    return Reply::error(error);
                }
            };
            if call.is_notification() {
                return Reply::value(Json::NULL);
            }
            match jobs.result(&job, owner(&call.cx), until).await {
                Ok(record) => answer(&job, record),
                // It is stored, whatever can be read of it now.
                Err(_) => goes_on(&job),
            }
        })
    }
}

/// The answer to a durable call whose job is in this state.
fn answer(job: &str, record: Record) -> Reply {
    match (record.state, record.result, record.error) {
        (JobState::Done, Some(result), _) => Reply::value(result),
        (JobState::Failed | JobState::Dead, _, Some(error)) => Reply::error(error_of(&error)),
        (JobState::Cancelled, ..) => Reply::error(ErrorObject::from_code(Code::CANCELLED)),
        (state, ..) if state.is_final() => {
            Reply::error(ErrorObject::internal(&"a job ended without a result"))
        }
        _ => goes_on(job),
    }
}

/// The answer to a durable call that is not done in time.
fn goes_on(job: &str) -> Reply {
    #[derive(Serialize)]
    struct Data<'a> {
        details: &'static str,
        job: &'a str,
    }
    let data = Data { details: "the call goes on as a job; ask for it with rpc.job.result", job };
    let mut error = ErrorObject::timed_out();
    error.data = Json::encode_ref(&data).ok();
    Reply::error(error)
}

/// An error as it was recorded.
fn error_of(json: &Json) -> ErrorObject {
    let [code, message, data] = json.pick(["code", "message", "data"]);
    let code = code.and_then(|code| code.decode::<i64>().ok()).unwrap_or(Code::INTERNAL_ERROR.0);
    let message = message.and_then(|message| message.decode::<String>().ok()).unwrap_or_default();
    let mut error = ErrorObject::new(code, message);
    error.data = data;
    error
}
