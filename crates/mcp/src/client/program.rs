//! The program that a client belongs to: what it answers when a server asks (MCP-RO-01, MCP-SA-01, MCP-EL-01).

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_core::{ErrorObject, Json, Reply, ReplyFuture};

use crate::model::{
    ElicitForm, ElicitUrl, Elicitation, Elicited, LogParams, Revision, Root, Roots, Sampled, Sampling,
    Wire as _, methods,
};
use crate::spoken::Features;

type Answering<Q, A> = dyn Fn(Q) -> Pin<Box<dyn Future<Output = A> + Send>> + Send + Sync;

/// The callbacks of a program. What has none is not declared, and refused.
#[derive(Default)]
pub(crate) struct Program {
    form: Option<Arc<Answering<ElicitForm, Elicited>>>,
    url: Option<Arc<Answering<ElicitUrl, Elicited>>>,
    sampling: Option<Arc<Answering<Sampling, Result<Sampled, ErrorObject>>>>,
    has_tools: bool,
    roots: Mutex<Option<Vec<Root>>>,
    log: Option<Box<dyn Fn(LogParams) + Send + Sync>>,
}

fn boxed<Q, A, R>(ask: impl Fn(Q) -> R + Send + Sync + 'static) -> Option<Arc<Answering<Q, A>>>
where
    R: Future<Output = A> + Send + 'static,
{
    Some(Arc::new(move |question| Box::pin(ask(question))))
}

impl Program {
    pub(super) fn on_form<R>(&mut self, ask: impl Fn(ElicitForm) -> R + Send + Sync + 'static)
    where
        R: Future<Output = Elicited> + Send + 'static,
    {
        self.form = boxed(ask);
    }

    pub(super) fn on_url<R>(&mut self, ask: impl Fn(ElicitUrl) -> R + Send + Sync + 'static)
    where
        R: Future<Output = Elicited> + Send + 'static,
    {
        self.url = boxed(ask);
    }

    pub(super) fn on_sample<R>(&mut self, ask: impl Fn(Sampling) -> R + Send + Sync + 'static)
    where
        R: Future<Output = Result<Sampled, ErrorObject>> + Send + 'static,
    {
        self.sampling = boxed(ask);
    }

    pub(super) fn allow_tools(&mut self) {
        self.has_tools = true;
    }

    pub(super) fn on_log(&mut self, log: impl Fn(LogParams) + Send + Sync + 'static) {
        self.log = Some(Box::new(log));
    }

    /// Sets the folders.
    pub(super) fn set_roots(&self, roots: Vec<Root>) {
        *self.roots.lock().unwrap_or_else(PoisonError::into_inner) = Some(roots);
    }

    fn roots(&self) -> Option<Vec<Root>> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it can be asked for.
    pub(super) fn features(&self) -> Features {
        Features {
            roots: self.roots().is_some(),
            sampling: self.sampling.is_some(),
            sampling_tools: self.sampling.is_some() && self.has_tools,
            form: self.form.is_some(),
            url: self.url.is_some(),
            tasks: false,
        }
    }

    pub(super) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// Takes a log message. False if it does not take any.
    pub(super) fn log(&self, params: Option<&Json>) -> bool {
        let Some(log) = &self.log else { return false };
        match params.map(Json::decode) {
            Some(Ok(message)) => log(message),
            _ => tracing::debug!("dropped a malformed log message of an MCP server"),
        }
        true
    }

    /// Answers a question of a server that speaks this revision.
    pub(super) fn answer(&self, method: &str, params: Option<&Json>, revision: Revision) -> ReplyFuture {
        let answer = match method {
            methods::LIST_ROOTS => {
                self.roots().map(|roots| Ok(Reply::value(Roots::new(roots).to_json(revision)).into()))
            }
            methods::CREATE_MESSAGE => self.sampling.as_ref().map(|ask| {
                let question = self.sampling_question(params)?;
                let answer = ask(question);
                Ok(ReplyFuture::untimed(
                    async move { answer.await.map(|answer| answer.to_json(revision)).into() },
                ))
            }),
            methods::ELICIT => match read::<Elicitation>(params) {
                Err(error) => Some(Err(error)),
                Ok(Elicitation::Form(form)) => {
                    self.form.as_ref().map(|ask| Ok(elicited(ask(form), revision)))
                }
                Ok(Elicitation::Url(url)) => self.url.as_ref().map(|ask| Ok(elicited(ask(url), revision))),
            },
            _ => None,
        };
        match answer {
            Some(answer) => answer.unwrap_or_else(ReplyFuture::ready),
            // MCP-EL-05: a mode that was not declared.
            None if method == methods::ELICIT && (self.form.is_some() || self.url.is_some()) => {
                ReplyFuture::ready(ErrorObject::invalid_params(
                    "this client did not declare that mode of elicitation",
                ))
            }
            None => ReplyFuture::ready(ErrorObject::method_not_found(method)),
        }
    }

    /// MCP-SA-02: tools only if they were declared.
    fn sampling_question(&self, params: Option<&Json>) -> Result<Sampling, ErrorObject> {
        let question: Sampling = read(params)?;
        match (question.tools.is_empty() && question.tool_choice.is_none()) || self.has_tools {
            true => Ok(question),
            false => Err(ErrorObject::invalid_params("this client did not declare sampling with tools")),
        }
    }
}

fn read<T: serde::de::DeserializeOwned + 'static>(params: Option<&Json>) -> Result<T, ErrorObject> {
    let params = params.ok_or_else(|| ErrorObject::invalid_params("the question has no params"))?;
    params.decode().map_err(|error| ErrorObject::invalid_params(error.to_string()))
}

fn elicited(answer: Pin<Box<dyn Future<Output = Elicited> + Send>>, revision: Revision) -> ReplyFuture {
    ReplyFuture::untimed(async move { Reply::value(answer.await.to_json(revision)) })
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("features", &self.features()).finish_non_exhaustive()
    }
}
