//! The methods of a service as the skills of an agent.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt as _;
use switchboard_core::{
    Call, Code, Describe, Dialect, ErrorObject, Items, Json, MethodDescription, Outcome as Replied, Service,
    StreamWanted,
};

use super::instruction::Instruction;
use crate::model::{AgentCard, AgentSkill, Artifact, Message, Part};
use crate::{Agent, Outcome, TaskHandle};

/// The methods of a service as the skills of an agent. Cheap to clone.
///
/// A message names a skill and its params in a part with data, `{"skill": "math/add", "params": [2, 3]}`. If there is only one skill, `skill` may be
/// missing. Messages with text alone are rejected, because no method is meant by them. The result of the method becomes an artifact with data, and a
/// stream becomes one part for each item. Errors fail the task.
///
/// The service sees ordinary calls of its methods by the caller of the agent, so put layers such as access rules around it. Tools of an MCP server
/// become skills through its methods, the `mcp::adapt::Methods` of Switchboard.
///
/// # Examples
///
/// ```
/// use switchboard_a2a::adapt::Skills;
/// use switchboard_a2a::model::AgentCard;
/// use switchboard_core::{ErrorObject, Router};
///
/// let router = Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b)).build()?;
/// let agent = Skills::of(router).agent(AgentCard::new("Calculator", "Adds.", "1.0.0")).build();
/// assert_eq!(agent.card().skills[0].id, "add");
/// # Ok::<(), switchboard_core::RouterError>(())
/// ```
#[derive(Clone)]
pub struct Skills {
    service: Arc<dyn Service>,
    methods: Arc<BTreeMap<String, MethodDescription>>,
}

impl Skills {
    /// The methods that this service describes.
    #[must_use]
    pub fn of(service: impl Describe) -> Skills {
        let methods = service.describe_in(Dialect::default()).methods;
        // It is about the service itself.
        let methods = methods.into_iter().filter(|method| method.name != "rpc.discover");
        let methods = methods.map(|method| (method.name.clone(), method)).collect();
        Skills { service: Arc::new(service), methods: Arc::new(methods) }
    }

    /// Leaves out methods that this function refuses.
    #[must_use]
    pub fn only(self, is_offered: impl Fn(&MethodDescription) -> bool) -> Skills {
        let offered = self.methods.values().filter(|method| is_offered(method));
        let methods = offered.map(|method| (method.name.clone(), method.clone())).collect();
        Skills { methods: Arc::new(methods), ..self }
    }

    /// Each method as a card shows it.
    pub fn skills(&self) -> impl Iterator<Item = AgentSkill> {
        self.methods.values().map(|method| {
            let title = if method.summary.is_empty() { &method.name } else { &method.summary };
            let docs = if method.description.is_empty() { title } else { &method.description };
            let skill = AgentSkill::new(&method.name, title, docs).tagged(["json-rpc"]);
            AgentSkill { input_modes: vec![DATA.to_owned()], output_modes: vec![DATA.to_owned()], ..skill }
        })
    }

    /// An agent with these skills. The card needs no skills, modes or interfaces.
    pub fn agent(&self, card: AgentCard) -> Agent {
        let card = self.skills().fold(card, AgentCard::skill).with_modes([DATA], [DATA]);
        let skills = self.clone();
        Agent::new(card, move |message, task| {
            let skills = skills.clone();
            async move { skills.answer(&message, &task).await }
        })
    }

    async fn answer(&self, message: &Message, task: &TaskHandle) -> Result<Outcome, ErrorObject> {
        let Instruction { skill, params, is_text } = Instruction::read(message);
        let names = || self.methods.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        if is_text {
            let text = "say what to do in a part with data, {\"skill\": …, \"params\": …}; the skills are";
            return Ok(Outcome::rejected(format!("{text} {}", names())));
        }
        let only = || self.methods.keys().next().filter(|_| self.methods.len() == 1).cloned();
        let Some(skill) = skill.or_else(only).filter(|skill| self.methods.contains_key(skill)) else {
            return Ok(Outcome::rejected(format!("no such skill; available skills: {}", names())));
        };
        let mut cx = task.context().clone();
        cx.insert(StreamWanted);
        let reply = self.service.call(&Call::new(skill.clone(), params).with_context(cx)).await;
        match reply.outcome {
            Replied::Value(value) => {
                task.artifact(Artifact::new(skill, vec![Part::data(value)])).await?;
                Ok(Outcome::completed())
            }
            Replied::Stream(items) => write(items, skill, task).await,
            Replied::Error(error) if error.code == Code::INVALID_PARAMS => {
                Ok(Outcome::rejected(text(&error)))
            }
            Replied::Error(error) => Ok(Outcome::failed(text(&error))),
        }
    }
}

/// The media type of messages and artifacts.
const DATA: &str = "application/json";

/// Writes the items of a stream as parts of an artifact. Each is written when it is known whether it is the last one.
async fn write(items: Items, skill: String, task: &TaskHandle) -> Result<Outcome, ErrorObject> {
    let mut items = items;
    let mut before: Option<Json> = None;
    let chunk = |item: Json| Artifact::new(&skill, vec![Part::data(item)]);
    while let Some(item) = items.next().await {
        match item {
            Ok(item) => {
                if let Some(before) = before.replace(item) {
                    task.chunk(chunk(before), false).await?;
                }
            }
            Err(error) => {
                if let Some(before) = before {
                    task.chunk(chunk(before), true).await?;
                }
                return Ok(Outcome::failed(text(&error)));
            }
        }
    }
    if let Some(last) = before {
        task.chunk(chunk(last), true).await?;
    }
    Ok(Outcome::completed())
}

/// An error as people read it.
fn text(error: &ErrorObject) -> String {
    let detail = error.data.as_ref().and_then(|data| data.get("details")?.decode::<String>().ok());
    match detail {
        Some(detail) => format!("{}: {detail}", error.message),
        None => error.message.to_string(),
    }
}

impl fmt::Debug for Skills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Skills").field("names", &self.methods.keys()).finish_non_exhaustive()
    }
}
