//! Completing arguments (MCP-O-01).

use switchboard_core::{ErrorObject, Json, Outcome, Reply, ReplyFuture};

use super::request::Request;
use super::tools::call_method;
use crate::ask::Asker;
use crate::catalog::{Catalog, Handler};
use crate::model::methods;
use crate::object::{Object, Part};

/// The most values that an answer has.
const VALUES: usize = 100;

/// Answers `completion/complete`.
pub(super) fn complete(request: &Request<'_>) -> ReplyFuture {
    begin(request).unwrap_or_else(ReplyFuture::ready)
}

fn begin(request: &Request<'_>) -> Result<ReplyFuture, ErrorObject> {
    let wrong = |detail: &'static str| ErrorObject::invalid_params(detail);
    let text = |json: Option<Json>| json.and_then(|json| json.decode::<String>().ok());
    let reference = request.param("ref").ok_or_else(|| wrong("ref is missing"))?;
    let [kind, name, uri] = reference.pick(["type", "name", "uri"]);
    let argument = request.param("argument").ok_or_else(|| wrong("argument is missing"))?;
    let [argument, value] = argument.pick(["name", "value"]);
    let argument = text(argument).ok_or_else(|| wrong("argument.name must be a string"))?;
    let value = text(value).ok_or_else(|| wrong("argument.value must be a string"))?;
    let catalog = &request.snapshot.catalog;
    let key = match text(kind).as_deref() {
        Some("ref/prompt") => text(name).filter(|name| catalog.prompts.get(name).is_some()),
        Some("ref/resource") => text(uri)
            .filter(|uri| catalog.templates.get(uri).is_some() || catalog.resources.get(uri).is_some()),
        _ => return Err(wrong("ref.type must be ref/prompt or ref/resource")),
    };
    let key = key.ok_or_else(|| wrong("ref names nothing that is offered"))?;
    let snapshot = request.snapshot.clone();
    let revision = request.revision();
    if let Some((completer, reference)) = relayed(catalog, &key, &reference)? {
        return pass_on(request, completer, reference);
    }
    let finish = move |reply: Reply| match reply.outcome {
        Outcome::Value(values) => {
            let values: Vec<String> = values.decode().unwrap_or_default();
            completed(&values, snapshot.complete(revision))
        }
        Outcome::Error(error) => super::resources::protocol_error(&error).into(),
        Outcome::Stream(_) => completed(&[], snapshot.complete(revision)),
    };
    let Some(handler) = catalog.completions.get(&(key, argument)) else {
        return Ok(finish(Reply::value(Json::NULL)).into());
    };
    if !request.snapshot.shows(handler, request.cx()) {
        return Ok(finish(Reply::value(Json::NULL)).into());
    }
    let mut params = Object::new();
    // The first parameter is what was typed; others get the arguments that are known already, by their names.
    let known = request.param("context").and_then(|context| context.get("arguments"));
    for (index, param) in handler.params.iter().enumerate() {
        if index == 0 {
            params = params.with(param.name.as_str(), param.convert(&value));
        } else if let Some(known) = known.as_ref().and_then(|known| known.get(&param.name)) {
            let known: Option<String> = known.decode().ok();
            params = params.with_some(param.name.as_str(), known.map(|known| param.convert(&known)));
        }
    }
    let caller = request.caller(Asker::Absent)?;
    Ok(call_method(request, handler, Some(params.json()?), &caller).map(finish))
}

/// The method that completes arguments at the server behind this prompt or template, and what that server calls it.
fn relayed<'a>(
    catalog: &'a Catalog,
    key: &str,
    reference: &Json,
) -> Result<Option<(&'a Handler, Json)>, ErrorObject> {
    if let Some(entry) = catalog.prompts.get(key)
        && let Some(own) = &entry.value.relayed
    {
        let reference = Object::new().with("type", "ref/prompt").with("name", own.as_str()).json()?;
        let completer = catalog.completer(&entry.value.handler, methods::GET_PROMPT);
        return Ok(completer.map(|completer| (completer, reference)));
    }
    let template = catalog.templates.get(key).filter(|template| template.value.is_relayed);
    let completer =
        template.and_then(|template| catalog.completer(&template.value.handler, methods::READ_RESOURCE));
    Ok(completer.map(|completer| (completer, reference.clone())))
}

/// Lets another server complete the argument.
fn pass_on(request: &Request<'_>, completer: &Handler, reference: Json) -> Result<ReplyFuture, ErrorObject> {
    let (snapshot, revision) = (request.snapshot.clone(), request.revision());
    if !snapshot.shows(completer, request.cx()) {
        return Ok(completed(&[], snapshot.complete(revision)).into());
    }
    let params = Object::new()
        .with("ref", reference)
        .with_some("argument", request.param("argument"))
        .with_some("context", request.param("context"));
    let caller = request.caller(Asker::Absent)?;
    let reply = call_method(request, completer, Some(params.json()?), &caller);
    Ok(reply.map(move |reply| match reply.outcome {
        Outcome::Value(told) => {
            snapshot.complete(revision).with_some("completion", told.get("completion")).reply()
        }
        Outcome::Error(error) => super::resources::protocol_error(&error).into(),
        Outcome::Stream(_) => completed(&[], snapshot.complete(revision)),
    }))
}

fn completed(values: &[String], result: Object<'_>) -> Reply {
    let shown: Vec<Part<'_>> = values.iter().take(VALUES).map(|value| Part::Text(value)).collect();
    let completion = Object::new().with("values", Part::List(shown));
    let completion = match values.len() > VALUES {
        true => completion.with("total", values.len() as u64).with("hasMore", Part::True),
        false => completion,
    };
    result.with("completion", completion).reply()
}
