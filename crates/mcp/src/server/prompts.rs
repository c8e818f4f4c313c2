//! Listing and filling in prompts (MCP-PR-01, MCP-PR-02).

use std::sync::Arc;

use switchboard_core::{ErrorObject, Json, Kind, Outcome, Reply, ReplyFuture};

use super::request::{Request, plain_text};
use super::resources::{named, paged, protocol_error};
use super::running::finished;
use super::snapshot::Snapshot;
use super::tools::{asker, call_method, lacks_scope};
use crate::ask::rounds::Returned;
use crate::catalog::{Entry, PromptEntry};
use crate::model::{Mark, Revision, lower};
use crate::object::Object;

/// Answers `prompts/list`.
pub(super) fn list(request: &Request<'_>) -> Reply {
    let cursor = request.param("cursor");
    let is_shown = |prompt: &PromptEntry| request.snapshot.shows(&prompt.handler, request.cx());
    let (snapshot, revision) = (&request.snapshot, request.revision());
    paged(
        request,
        "prompts",
        snapshot.catalog.prompts.page(cursor.as_ref(), snapshot.page_size, revision, is_shown),
    )
}

/// Answers `prompts/get`.
pub(super) fn get(request: &Request<'_>) -> ReplyFuture {
    begin(request).unwrap_or_else(ReplyFuture::ready)
}

fn begin(request: &Request<'_>) -> Result<ReplyFuture, ErrorObject> {
    let name = request.text("name")?;
    let found = request.snapshot.catalog.prompts.get(&name);
    let found = found.filter(|prompt| request.snapshot.shows(&prompt.value.handler, request.cx()));
    let unknown = || {
        let shown: String = name.chars().take(128).collect();
        ErrorObject::invalid_params(format!("unknown prompt: {shown}"))
    };
    let entry = found.ok_or_else(unknown)?;
    let PromptEntry { prompt, handler, relayed } = &entry.value;
    if let Some(refused) = lacks_scope(request, handler) {
        return Ok(refused.into());
    }
    let given = request.param("arguments");
    let arguments = arguments(given.as_ref())?;
    for argument in prompt.arguments.iter().filter(|argument| argument.required) {
        if !arguments.iter().any(|(name, _)| *name == argument.name) {
            return Err(ErrorObject::invalid_params(format!("the argument {} is missing", argument.name)));
        }
    }
    let params = named(handler, arguments.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
    let returned =
        Returned { answers: request.param("inputResponses"), state: request.param("requestState") };
    let asker = asker(request, &name, given.as_ref(), &returned)?;
    let caller = request.caller(asker)?;
    let params = match relayed {
        Some(own) => Some(Object::new().with("name", own.as_str()).with_some("arguments", given).json()?),
        None => (!arguments.is_empty()).then_some(params),
    };
    let reply = call_method(request, handler, params, &caller);
    let filling = Filling {
        entry: Arc::clone(entry),
        revision: request.revision(),
        snapshot: Arc::clone(&request.snapshot),
    };
    Ok(finished(request, reply, caller, move |reply| filling.reply(reply)))
}

/// The arguments of a prompt, which are texts.
fn arguments(given: Option<&Json>) -> Result<Vec<(String, String)>, ErrorObject> {
    let Some(given) = given else { return Ok(Vec::new()) };
    if given.kind() != Kind::Object {
        return Err(ErrorObject::invalid_params("arguments must be an object"));
    }
    let text = |value: &[u8]| Json::parse(value.to_vec()).map(|value| plain_text(&value)).unwrap_or_default();
    let arguments = given.members();
    Ok(arguments.map(|(name, value)| (String::from_utf8_lossy(&name).into_owned(), text(value))).collect())
}

/// A prompt that is being filled in.
struct Filling {
    entry: Arc<Entry<PromptEntry>>,
    revision: Revision,
    snapshot: Arc<Snapshot>,
}

impl Filling {
    fn reply(&self, reply: Reply) -> Reply {
        let result = match reply.outcome {
            Outcome::Value(value) => self.messages(&value),
            Outcome::Error(error) => Err(protocol_error(&error)),
            Outcome::Stream(_) => Err(ErrorObject::internal(&"a stream was not collected")),
        };
        Reply { extra: reply.extra, ..Reply::from(result) }
    }

    /// A string is one message of the user; otherwise the method returns a message, or several.
    fn messages(&self, value: &Json) -> Result<Json, ErrorObject> {
        let result = self.snapshot.complete(self.revision);
        if self.entry.value.relayed.is_some() {
            let [description, messages] = value.pick(["description", "messages"]);
            let messages = lower::neutral_list(Mark::Message, &messages.unwrap_or(Json::NULL), self.revision);
            let messages = messages.map_err(|error| ErrorObject::internal(&error))?;
            return result.with_some("description", description).with("messages", messages).json();
        }
        let description = self.entry.value.prompt.description.as_deref();
        let result = result.with_some("description", description);
        if value.kind() == Kind::String {
            let content = Object::new().with("type", "text").with("text", value.clone());
            let message = Object::new().with("role", "user").with("content", content);
            return result.with("messages", vec![message]).json();
        }
        let lowered = match value.kind() {
            Kind::Array => lower::neutral_list(Mark::Message, value, self.revision),
            _ => lower::neutral(Mark::Message, value, self.revision),
        };
        let messages = lowered.map_err(|error| ErrorObject::internal(&error))?;
        match messages.kind() {
            Kind::Array => result.with("messages", messages).json(),
            _ => result.with("messages", vec![messages]).json(),
        }
    }
}
