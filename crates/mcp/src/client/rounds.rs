//! Calls of stateless servers that ask: the same request again, with the answers (MCP-R-01 to MCP-R-08).

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::join_all;
use switchboard_core::{CallError, Context, ErrorObject, Json, Outcome, Reply};

use super::clock::Clock;
use super::program::Program;
use super::{Client, ParamHeaders, complete};
use crate::ask::{Caller, Question};
use crate::model::{INPUT_REQUIRED, InputRequest, InputRequired, Revision};
use crate::object::Object;
use crate::spoken::Features;

/// How often a server may ask during one call.
const ROUNDS: usize = 10;

/// A request to a server.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: Cow<'static, str>,
    pub(crate) params: Vec<(String, Json)>,
    pub(crate) headers: ParamHeaders,
}

impl Request {
    pub(crate) fn params(&self) -> Object<'_> {
        self.params.iter().fold(Object::new(), |params, (name, value)| params.with(name, value.clone()))
    }

    /// Sends it to a server that asks by requests, if at all.
    pub(crate) fn send(&self, client: &Client, cx: &Context) -> switchboard_core::ReplyFuture {
        client.send(&self.method, self.params(), cx, self.headers.clone())
    }
}

/// Who answers the questions.
pub(crate) enum Asked {
    /// The client of the call.
    Caller(Caller),
    /// The program that the client belongs to.
    Program(Arc<Program>),
}

/// Makes a call of a stateless server, as often as it asks. Gives the reply, and the number of rounds.
pub(crate) async fn in_rounds(client: Client, request: Request, cx: Context, asked: Asked) -> (Reply, usize) {
    let mut rounds = 0;
    let told = converse(client, request, cx, asked, &mut rounds).await;
    (told.unwrap_or_else(Reply::error), rounds)
}

async fn converse(
    client: Client,
    request: Request,
    cx: Context,
    asked: Asked,
    rounds: &mut usize,
) -> Result<Reply, ErrorObject> {
    let forwarded = client.begin(&cx);
    let mut returned: Option<(Json, Option<Json>)> = None;
    while *rounds < ROUNDS {
        let told = async {
            let mut params = request.params();
            if let Some((answers, state)) = &returned {
                params = params.with("inputResponses", answers.clone());
                params = params.with_some("requestState", state.clone());
            }
            let headers = request.headers.clone();
            let reply =
                client.forward(&request.method, params, headers, &forwarded, &cx, asked.features()).await;
            match reply.outcome {
                Outcome::Value(value) => Ok(value.detached()),
                Outcome::Error(error) => Err(error),
                Outcome::Stream(_) => Err(ErrorObject::internal(&"the answer is a stream")),
            }
        };
        let told: Json = asked.once(*rounds, told).await?;
        *rounds += 1;
        let Some(questions) = input_required(&told) else { return Ok(complete(Reply::value(told))) };
        // The state is opaque: it goes back byte for byte, escapes included (MCP-R-03).
        let state = told.get("requestState").filter(|_| questions.request_state.is_some());
        if questions.input_requests.is_empty() && state.is_none() {
            let text = "the server asks for nothing and names no state to continue from";
            return Err(CallError::Protocol(text.into()).into());
        }
        returned = Some((asked.all(&questions, &cx).await?, state));
    }
    Err(CallError::Protocol(format!("the server asked more than {ROUNDS} times").into()).into())
}

/// What a result asks for, if it does.
fn input_required(result: &Json) -> Option<InputRequired> {
    let asked: InputRequired = result.decode().ok()?;
    (asked.result_type == INPUT_REQUIRED).then_some(asked)
}

impl Asked {
    fn features(&self) -> Features {
        match self {
            Asked::Caller(caller) => caller.features(),
            Asked::Program(program) => program.features(),
        }
    }

    /// Calls the server. A client that is asked in rounds comes back with the answers to this one: the server is not called again for it.
    async fn once(
        &self,
        round: usize,
        told: impl Future<Output = Result<Json, ErrorObject>> + Send,
    ) -> Result<Json, ErrorObject> {
        match self {
            Asked::Caller(caller) => caller.once(&format!("round-{round}"), told).await,
            Asked::Program(_) => told.await,
        }
    }

    /// Asks everything at once.
    async fn all(&self, asked: &InputRequired, cx: &Context) -> Result<Json, ErrorObject> {
        let _paused = cx.get::<Arc<Clock>>().map(Clock::pause);
        let asks = asked
            .input_requests
            .iter()
            .map(async |(key, request)| Ok::<_, ErrorObject>((key.as_str(), self.one(key, request).await?)));
        let answers: Vec<(&str, Json)> = join_all(asks).await.into_iter().collect::<Result<_, _>>()?;
        let object =
            answers.iter().fold(Object::new(), |object, (key, answer)| object.with(key, answer.clone()));
        object.json()
    }

    async fn one(&self, key: &str, request: &InputRequest) -> Result<Json, ErrorObject> {
        match self {
            Asked::Caller(caller) => {
                let mut question = Question::relayed(&request.method, request.params.as_ref())?;
                question.key = Some(key.to_owned());
                Ok(caller.relay(question).await?)
            }
            Asked::Program(program) => {
                let answer = program.answer(&request.method, request.params.as_ref(), Revision::LATEST).await;
                match answer.outcome {
                    Outcome::Value(value) => Ok(value),
                    Outcome::Error(error) => Err(error),
                    Outcome::Stream(_) => Err(ErrorObject::internal(&"the answer is a stream")),
                }
            }
        }
    }
}
