//! Listing and reading resources (MCP-RES-01 to MCP-RES-06).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use switchboard_core::{Code, ErrorObject, Json, Kind, Outcome, Reply, ReplyFuture};

use super::request::Request;
use super::running::finished;
use super::snapshot::Snapshot;
use super::tools::{asker, call_method, empty, lacks_scope};
use crate::ask::Asker;
use crate::ask::rounds::Returned;
use crate::catalog::{Handler, Page, ResourceEntry, Source, TemplateEntry};
use crate::model::{Mark, Revision, Wire as _, error, lower, methods};
use crate::object::{Object, Part};

/// Answers `resources/list`.
pub(super) fn list(request: &Request<'_>) -> Reply {
    let cursor = request.param("cursor");
    let is_shown = |resource: &ResourceEntry| match &resource.source {
        Source::Fixed(_) => true,
        Source::Method(handler) | Source::Relayed(handler) => request.snapshot.shows(handler, request.cx()),
    };
    let (snapshot, revision) = (&request.snapshot, request.revision());
    paged(
        request,
        "resources",
        snapshot.catalog.resources.page(cursor.as_ref(), snapshot.page_size, revision, is_shown),
    )
}

/// Answers `resources/templates/list`.
pub(super) fn templates(request: &Request<'_>) -> Reply {
    let cursor = request.param("cursor");
    let is_shown = |template: &TemplateEntry| request.snapshot.shows(&template.handler, request.cx());
    let (snapshot, revision) = (&request.snapshot, request.revision());
    let page = snapshot.catalog.templates.page(cursor.as_ref(), snapshot.page_size, revision, is_shown);
    paged(request, "resourceTemplates", page)
}

/// A page of a list as a result.
pub(super) fn paged(request: &Request<'_>, name: &'static str, page: Result<Page, ErrorObject>) -> Reply {
    match page {
        Ok(page) => {
            let result = request.snapshot.cacheable(request.revision()).with(name, page.entries);
            result.with_some("nextCursor", page.next.as_deref()).reply()
        }
        Err(error) => error.into(),
    }
}

/// Answers `resources/read`.
pub(super) fn read(request: &Request<'_>) -> ReplyFuture {
    begin(request).unwrap_or_else(ReplyFuture::ready)
}

fn begin(request: &Request<'_>) -> Result<ReplyFuture, ErrorObject> {
    let uri = request.text("uri")?;
    let snapshot = &request.snapshot;
    let (handler, params, form) = match find(snapshot, &uri, request)? {
        Found::Fixed(contents) => {
            let result = snapshot.cacheable(request.revision());
            return Ok(result.with("contents", vec![contents]).reply().into());
        }
        Found::Method { handler, params, form } => (handler, params, form),
    };
    if let Some(refused) = lacks_scope(request, &handler) {
        return Ok(refused.into());
    }
    let returned =
        Returned { answers: request.param("inputResponses"), state: request.param("requestState") };
    let asker = asker(request, &uri, None, &returned)?;
    let caller = request.caller(asker)?;
    let reply = call_method(request, &handler, params, &caller);
    let reading = Reading { uri, form, revision: request.revision(), snapshot: Arc::clone(snapshot) };
    Ok(finished(request, reply, caller, move |reply| reading.reply(reply)))
}

enum Found {
    Fixed(Json),
    Method { handler: Handler, params: Option<Json>, form: Form },
}

/// What the result of a method is.
enum Form {
    /// What a handler returned, of this media type.
    Own(Option<String>),
    /// The result of another server.
    Relayed,
}

impl Found {
    /// A resource of another server, which this method reads.
    fn relayed(handler: &Handler, uri: &str) -> Result<Found, ErrorObject> {
        let params = Object::new().with("uri", uri).json()?;
        Ok(Found::Method { handler: handler.clone(), params: Some(params), form: Form::Relayed })
    }
}

/// What a URI is read from.
fn find(snapshot: &Snapshot, uri: &str, request: &Request<'_>) -> Result<Found, ErrorObject> {
    let not_found = || error::resource_not_found(uri, request.revision());
    if let Some(entry) = snapshot.catalog.resources.get(uri) {
        return match &entry.value.source {
            Source::Fixed(contents) => Ok(Found::Fixed(contents.to_json(request.revision()))),
            Source::Method(handler) if snapshot.shows(handler, request.cx()) => Ok(Found::Method {
                handler: handler.clone(),
                params: None,
                form: Form::Own(entry.value.resource.mime_type.clone()),
            }),
            Source::Relayed(handler) if snapshot.shows(handler, request.cx()) => Found::relayed(handler, uri),
            Source::Method(_) | Source::Relayed(_) => Err(not_found()),
        };
    }
    for entry in snapshot.catalog.templates.iter() {
        let TemplateEntry { shown, template, handler, is_relayed } = &entry.value;
        if let Some(values) = template.matches(uri)
            && snapshot.shows(handler, request.cx())
        {
            if *is_relayed {
                return Found::relayed(handler, uri);
            }
            let params = named(handler, values.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
            return Ok(Found::Method {
                handler: handler.clone(),
                params: Some(params),
                form: Form::Own(shown.mime_type.clone()),
            });
        }
    }
    // Tool results may link to resources that a server does not list. With several servers, none must see the URIs of another.
    match snapshot.catalog.readers.as_slice() {
        [only] if snapshot.shows(only, request.cx()) => Found::relayed(only, uri),
        _ => Err(not_found()),
    }
}

/// Texts as the named parameters of a method.
pub(super) fn named<'a>(
    handler: &Handler,
    values: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Json, ErrorObject> {
    let mut params = Object::new();
    for (name, value) in values {
        let param = handler.params.iter().find(|param| param.name == name);
        let text = || Json::encode(&value.to_owned()).unwrap_or(Json::NULL);
        params = params.with(name, param.map_or_else(text, |param| param.convert(value)));
    }
    params.json()
}

/// A resource that a method is read for.
struct Reading {
    uri: String,
    form: Form,
    revision: Revision,
    snapshot: Arc<Snapshot>,
}

impl Reading {
    fn reply(&self, reply: Reply) -> Reply {
        let result = match reply.outcome {
            Outcome::Value(value) => match &self.form {
                Form::Own(mime) => self.contents(&value, mime.as_deref()),
                Form::Relayed => self.relayed(&value),
            },
            Outcome::Error(error) => Err(protocol_error(&error)),
            Outcome::Stream(_) => Err(ErrorObject::internal(&"a stream was not collected")),
        };
        Reply { extra: reply.extra, ..Reply::from(result) }
    }

    fn lower(&self, contents: &Json) -> Result<Json, ErrorObject> {
        lower::neutral(Mark::Contents, contents, self.revision).map_err(|error| ErrorObject::internal(&error))
    }

    /// The contents in the result of another server.
    fn relayed(&self, value: &Json) -> Result<Json, ErrorObject> {
        let contents = value.get("contents");
        let contents = contents.iter().flat_map(Json::elements).map(|contents| self.lower(&contents));
        let contents = contents.collect::<Result<Vec<_>, _>>()?;
        self.snapshot.cacheable(self.revision).with("contents", contents).json()
    }

    /// A string is a text, an array of bytes a blob, contents are themselves, and anything else is JSON.
    fn contents(&self, value: &Json, mime: Option<&str>) -> Result<Json, ErrorObject> {
        let is_contents = |value: &Json| {
            value.kind() == Kind::Object
                && value.get("uri").is_some()
                && (value.get("text").is_some() || value.get("blob").is_some())
        };
        let list: Vec<Json> = match value.kind() {
            Kind::Array => value.decode().unwrap_or_default(),
            _ => Vec::new(),
        };
        let result = self.snapshot.cacheable(self.revision);
        if is_contents(value) {
            return result.with("contents", vec![self.lower(value)?]).json();
        }
        if !list.is_empty() && list.iter().all(is_contents) {
            let list = list.iter().map(|contents| self.lower(contents)).collect::<Result<Vec<_>, _>>()?;
            return result.with("contents", list).json();
        }
        let one = Object::new().with("uri", self.uri.as_str());
        let bytes: Option<Vec<u8>> = (!list.is_empty()).then(|| value.decode().ok()).flatten();
        let blob = bytes.map(|bytes| STANDARD.encode(bytes));
        let one = match (value.kind(), &blob) {
            (Kind::String, _) => one.with_some("mimeType", mime).with("text", value.clone()),
            (_, Some(blob)) => one.with_some("mimeType", mime).with("blob", blob.as_str()),
            _ => {
                let mime = mime.unwrap_or("application/json");
                one.with("mimeType", mime).with("text", Part::Text(value.as_str()))
            }
        };
        result.with("contents", vec![one]).json()
    }
}

/// An error of a method that is not a tool: codes that MCP uses for something else become internal errors with the code as data.
pub(super) fn protocol_error(error: &ErrorObject) -> ErrorObject {
    match error.code {
        Code::INVALID_PARAMS | Code::INTERNAL_ERROR | Code::INVALID_REQUEST | error::MISSING_CAPABILITY => {
            error.clone()
        }
        Code(code) if (-32768..=-32000).contains(&code) => {
            let text = super::result::describe(error);
            ErrorObject::new(Code::INTERNAL_ERROR, text).with_data(&serde_json::json!({"code": code}))
        }
        _ => error.clone(),
    }
}

/// Answers `resources/subscribe` and `resources/unsubscribe`.
pub(super) fn subscribe(request: &Request<'_>, is_on: bool) -> ReplyFuture {
    let uri = match request.text("uri") {
        Ok(uri) => uri,
        Err(error) => return ReplyFuture::ready(error),
    };
    let Some(handshake) = &request.handshake else { return empty(request).into() };
    let found = match find(&request.snapshot, &uri, request) {
        Ok(found) => Some(found),
        Err(error) if is_on => return ReplyFuture::ready(error),
        Err(_) => None,
    };
    let is_full = handshake.subscriptions(|uris| {
        if !is_on {
            uris.remove(&uri);
            return false;
        }
        let is_full = uris.len() >= SUBSCRIPTIONS;
        if !is_full {
            uris.insert(uri);
        }
        is_full
    });
    if is_full {
        let detail = format!("a session has at most {SUBSCRIPTIONS} subscriptions");
        return ReplyFuture::ready(ErrorObject::over_limit("subscriptions", detail));
    }
    request.subscribers().add(request.cx().session(), handshake);
    match found {
        Some(Found::Method { handler, params, form: Form::Relayed }) => relay(request, handler, params),
        _ => empty(request).into(),
    }
}

/// Passes a subscription on to the server that has the resource.
fn relay(request: &Request<'_>, mut handler: Handler, params: Option<Json>) -> ReplyFuture {
    let prefix = handler.method.as_str().strip_suffix(methods::READ_RESOURCE).unwrap_or_default();
    handler.method = format!("{prefix}{}", request.call.method).as_str().into();
    let caller = match request.caller(Asker::Wire) {
        Ok(caller) => caller,
        Err(error) => return ReplyFuture::ready(error),
    };
    let done = empty(request);
    call_method(request, &handler, params, &caller).map(move |reply| match reply.outcome {
        // A server without subscriptions is one whose resources do not change.
        Outcome::Error(error) if error.code != Code::METHOD_NOT_FOUND => protocol_error(&error).into(),
        _ => done,
    })
}

/// How many resources a session may subscribe to.
const SUBSCRIPTIONS: usize = 1024;
