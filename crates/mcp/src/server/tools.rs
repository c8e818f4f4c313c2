//! Listing and calling tools.

use std::sync::Arc;

use switchboard_core::{
    Call, Code, ErrorObject, Json, Kind, Name, Outcome, Reply, ReplyFuture, StreamWanted,
};
use switchboard_layers::identity::Identity;

use super::request::{Request, principal};
use super::result::{Shape, tool_reply};
use super::running::{Ran, Run, run};
use super::tasks;
use crate::ask::bound::Bound;
use crate::ask::rounds::{Returned, Rounds};
use crate::ask::{Asker, Caller};
use crate::catalog::{Entry, Handler, TaskMode, ToolEntry};
use crate::http::{Protected, challenge};
use crate::object::Object;

/// Answers `tools/list`.
pub(super) fn list(request: &Request<'_>) -> Reply {
    let (snapshot, cx) = (&request.snapshot, request.cx());
    let cursor = request.param("cursor");
    let is_shown = |tool: &ToolEntry| snapshot.shows_tool(tool, cx);
    let page = snapshot.catalog.tools.page(cursor.as_ref(), snapshot.page_size, request.revision(), is_shown);
    match page {
        Ok(page) => {
            let result = snapshot.cacheable(request.revision()).with("tools", page.entries);
            result.with_some("nextCursor", page.next.as_deref()).reply()
        }
        Err(error) => error.into(),
    }
}

/// Answers `tools/call`.
pub(super) fn call(request: &Request<'_>) -> ReplyFuture {
    let read = ToolCall::read(request);
    match read.and_then(|call| begin(request, call)) {
        Ok(reply) => reply,
        Err(error) => ReplyFuture::ready(error),
    }
}

/// A call of a tool.
pub(super) struct ToolCall {
    pub(super) tool: Arc<Entry<ToolEntry>>,
    pub(super) arguments: Option<Json>,
    pub(super) returned: Returned,
    /// The member `task` of 2025-11-25.
    pub(super) task: Option<Json>,
}

impl ToolCall {
    fn read(request: &Request<'_>) -> Result<ToolCall, ErrorObject> {
        let params = request.call.params.as_ref();
        let params =
            params.ok_or_else(|| ErrorObject::invalid_params("tools/call needs the name of a tool"))?;
        let [name, arguments, answers, state, task] =
            params.pick(["name", "arguments", "inputResponses", "requestState", "task"]);
        let name: Option<String> = name.and_then(|name| name.decode().ok());
        let name = name.ok_or_else(|| ErrorObject::invalid_params("name must be a string"))?;
        let found = request.snapshot.catalog.tools.get(&name);
        let found = found.filter(|tool| request.snapshot.shows_tool(&tool.value, request.cx()));
        let tool = Arc::clone(found.ok_or_else(|| unknown(&name, request))?);
        if arguments.as_ref().is_some_and(|arguments| arguments.kind() != Kind::Object) {
            return Err(ErrorObject::invalid_params("arguments must be an object"));
        }
        Ok(ToolCall { tool, arguments, returned: Returned { answers, state }, task })
    }
}

/// There is no such tool, or the caller may not know of it (MCP-T-07).
fn unknown(name: &str, request: &Request<'_>) -> ErrorObject {
    if let Some(reason) = request.snapshot.missing.as_ref().and_then(|missing| missing(name, request.cx())) {
        return ErrorObject::new(Code::INVALID_PARAMS, reason);
    }
    let shown: String = name.chars().take(128).collect();
    ErrorObject::new(Code::INVALID_PARAMS, format!("Unknown tool: {shown}"))
}

fn begin(request: &Request<'_>, call: ToolCall) -> Result<ReplyFuture, ErrorObject> {
    let entry = &call.tool.value;
    if let Some(refused) = lacks_scope(request, &entry.handler) {
        return Ok(refused.into());
    }
    if (entry.task != TaskMode::Never || call.task.is_some())
        && let Some(reply) = tasks::begin(request, &call)?
    {
        return Ok(reply);
    }
    let asker = asker(request, &call.tool.key, call.arguments.as_ref(), &call.returned)?;
    let may_be_task =
        entry.task == TaskMode::Manual && request.handshake.is_none() && request.spoken.features.tasks;
    let caller = if may_be_task { request.background_caller(asker)? } else { request.caller(asker)? };
    let reply = call_method(request, &entry.handler, call.arguments, &caller);
    let shape = Shape::new(&call.tool, request);
    match reply.into_ready() {
        Ok(reply) if !matches!(reply.outcome, Outcome::Stream(_)) => Ok(tool_reply(reply, &shape).into()),
        reply => {
            let reply = reply.map_or_else(|pending| pending, ReplyFuture::ready);
            let run_it = Run::new(request, reply, caller.clone());
            let (shared, owner) = (Arc::clone(request.shared), principal(request.cx()));
            Ok(ReplyFuture::untimed(async move {
                match run(run_it).await {
                    Ran::Replied(reply) => tool_reply(reply, &shape),
                    Ran::Asked(asked) => asked,
                    Ran::Background(work) => tasks::go_on(&shared, owner, work, &caller, shape),
                }
            }))
        }
    }
}

/// Calls the method behind an entry.
pub(super) fn call_method(
    request: &Request<'_>,
    handler: &Handler,
    params: Option<Json>,
    caller: &Caller,
) -> ReplyFuture {
    let mut cx = request.context_with(caller);
    if handler.is_stream {
        cx.insert(StreamWanted);
    }
    // Logs, metrics and traces are about the tool, and not about `tools/call`.
    request.cx().observe_as(handler.method.clone());
    let call = Call::new(Name::clone(&handler.method), params).with_context(cx);
    handler.service.call(&call)
}

/// How a call asks its client.
pub(super) fn asker(
    request: &Request<'_>,
    name: &str,
    arguments: Option<&Json>,
    returned: &Returned,
) -> Result<Asker, ErrorObject> {
    if request.handshake.is_some() {
        return Ok(Asker::Wire);
    }
    let bound = Bound {
        server: request.snapshot.server.name.clone(),
        owner: principal(request.cx()),
        method: request.call.method.clone(),
        name: name.to_owned(),
        arguments: arguments.cloned(),
    };
    let rounds = Rounds::resume(returned, &request.snapshot.keys, bound)?;
    Ok(Asker::Rounds(Arc::new(rounds)))
}

/// The refusal of a call whose caller lacks one of the scopes that the method needs (MCP-A-03).
pub(super) fn lacks_scope(request: &Request<'_>, handler: &Handler) -> Option<Reply> {
    let needed = handler.scope.as_ref()?;
    let identity = request.cx().caller::<Identity>();
    let has =
        |scope: &str| identity.is_some_and(|identity| identity.scopes.iter().any(|known| known == scope));
    if needed.split(' ').all(has) {
        return None;
    }
    let error = ErrorObject::new(Code::INVALID_REQUEST, format!("insufficient scope: {needed} is needed"));
    // Callers who gave no credentials did nothing wrong yet (RFC 6750).
    let (status, fault) = match identity {
        Some(_) => (403, Some("insufficient_scope")),
        None => (401, None),
    };
    let challenge = challenge(request.cx().get::<Protected>(), fault, Some(needed));
    Some(Reply::error(error).with_status(status).with_metadata("www-authenticate", challenge))
}

/// An empty result.
pub(super) fn empty(request: &Request<'_>) -> Reply {
    let result: Object<'_> = request.snapshot.complete(request.revision());
    result.reply()
}
