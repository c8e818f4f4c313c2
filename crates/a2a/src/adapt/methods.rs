//! The skills of a remote agent as methods.

use std::fmt;

use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_core::{
    Call, CallError, Context, Describe, ErrorObject, Json, Kind, MethodDescription, ParamDescription, Reply,
    ReplyFuture, ResultDescription, Schemas, Service,
};

use super::instruction::Instruction;
use super::outcome::Answer;
use crate::Client;
use crate::model::{AgentSkill, SendMessage, StreamEvent};

/// The skills of a remote agent as methods of JSON-RPC, under their identifiers. Cheap to clone.
///
/// A method takes a `text`, or `params` for agents whose skills are methods, such as those of [`Skills`](super::Skills). Its result has the `text`, `data`
/// and `files` of the answer, and the `state` of the task. If that is `TASK_STATE_INPUT_REQUIRED`, the text is a question; call again with its `taskId`
/// and the answer. A task that fails is an error with the code -32000. Statuses and chunks are progress of the call, and the task is cancelled with it.
///
/// # Examples
///
/// ```no_run
/// use switchboard_a2a::{Client, adapt::Methods};
/// use switchboard_core::Router;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect("http://127.0.0.1:8000").await?;
/// let router = Router::builder().mount_described("weather/", Methods::of(&client)).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Methods(Client);

/// The params of a method. The first two can be given by position.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Params {
    text: Option<String>,
    params: Option<Value>,
    task_id: Option<String>,
    context_id: Option<String>,
}

impl Methods {
    /// The skills of this agent, as its card lists them.
    #[must_use]
    pub fn of(client: &Client) -> Methods {
        Methods(client.clone())
    }

    /// The client of the agent.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.0
    }

    fn skill(&self, name: &str) -> Option<&AgentSkill> {
        self.0.card().skills.iter().find(|skill| skill.id == name)
    }
}

impl Service for Methods {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some(skill) = self.skill(call.method.as_str()) else {
            return ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()));
        };
        let params = match read(call.params.as_ref()) {
            Ok(params) => params,
            Err(error) => return ReplyFuture::ready(error),
        };
        let mut message = Instruction::write(&skill.id, params.text, params.params);
        (message.task_id, message.context_id) = (params.task_id, params.context_id);
        let (client, cx) = (self.0.within(&call.cx), call.cx.clone());
        ReplyFuture::pending(async move {
            work(client, SendMessage::new(message), &cx)
                .await
                .unwrap_or_else(|error| ErrorObject::from(error).into())
        })
    }
}

/// Has the agent work, and tells the progress.
async fn work(client: Client, request: SendMessage, cx: &Context) -> Result<Reply, CallError> {
    let mut events = client.stream(request).await?;
    let mut working = Working { client, answer: Answer::default() };
    while let Some(event) = events.next().await {
        let event = event?;
        if cx.wants_progress()
            && matches!(event, StreamEvent::StatusUpdate(_) | StreamEvent::ArtifactUpdate(_))
        {
            cx.progress(&event).await;
        }
        working.answer.note(event);
    }
    let answer = std::mem::take(&mut working.answer);
    Ok(answer.reply())
}

/// Cancels the task when its call ends first.
struct Working {
    client: Client,
    answer: Answer,
}

impl Drop for Working {
    fn drop(&mut self) {
        let task = self.answer.open_task().map(str::to_owned);
        if let (Some(task), Ok(runtime)) = (task, tokio::runtime::Handle::try_current()) {
            let client = self.client.clone();
            runtime.spawn(async move {
                if let Err(error) = client.cancel(&task).await {
                    tracing::debug!(%error, "a task whose call has ended could not be cancelled");
                }
            });
        }
    }
}

fn read(params: Option<&Json>) -> Result<Params, ErrorObject> {
    let invalid = |error: serde_json::Error| ErrorObject::invalid_params(error.to_string());
    match params {
        None => Ok(Params::default()),
        Some(params) if params.kind() == Kind::Object => params.decode().map_err(invalid),
        Some(params) => {
            let mut values = params.elements();
            let text = values.next().map(|text| text.decode()).transpose().map_err(invalid)?;
            let params = values.next().map(|params| params.decode()).transpose().map_err(invalid)?;
            match values.next() {
                None => Ok(Params { text, params, ..Params::default() }),
                Some(_) => Err(ErrorObject::invalid_params("by position it takes text and params")),
            }
        }
    }
}

impl Describe for Methods {
    fn describe_methods(&self, _: &mut Schemas) -> Vec<MethodDescription> {
        let mut described: Vec<_> = self.0.card().skills.iter().map(described).collect();
        described.sort_by(|one, other| one.name.cmp(&other.name));
        described.dedup_by(|one, other| one.name == other.name);
        described
    }
}

fn described(skill: &AgentSkill) -> MethodDescription {
    let text = || json!({"type": "string"});
    let optional =
        |name: &str, schema: Value, docs: &str| ParamDescription::optional(name, schema).documented(docs);
    let docs = if skill.description.is_empty() { &skill.name } else { &skill.description };
    let mut method = MethodDescription::documented(docs)
        .param(optional("text", text(), "What the agent should do."))
        .param(optional("params", json!(true), "The params of the skill, if the agent defines any."))
        .param(optional("taskId", text(), "The task that asked for this."))
        .param(optional("contextId", text(), "The conversation to go on with."))
        .no_more_params();
    method.name.clone_from(&skill.id);
    method.result = ResultDescription::Value(json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"}, "data": {"type": "array"}, "files": {"type": "array"},
            "state": {"type": "string"}, "taskId": {"type": "string"}, "contextId": {"type": "string"},
        },
        "required": ["text", "state"],
    }));
    skill.tags.iter().fold(method, MethodDescription::tag)
}

impl fmt::Debug for Methods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Methods").field(&self.0).finish()
    }
}
