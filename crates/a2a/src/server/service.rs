//! The methods of A2A.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_core::{Call, ErrorObject, Json, Kind, Reply, ReplyFuture, Service};
use switchboard_layers::identity::Identity;

use super::push;
use super::send::{self, Mode};
use super::shared::Shared;
use super::spoken::{check_extensions, version};
use super::tasks;
use crate::model::error::{
    EXTENDED_CARD_NOT_CONFIGURED, SERVER_ERROR, conform, error, invalid_field, unsupported,
};
use crate::model::methods::Method;
use crate::model::{GetTask, ListTasks, SendMessage, Version, v03};

/// Answers the methods of A2A.
pub(super) struct A2aService(pub(super) Arc<Shared>);

impl Service for A2aService {
    fn call(&self, call: &Call) -> ReplyFuture {
        match begin(&self.0, call) {
            Ok(reply) => reply,
            Err(error) => ReplyFuture::ready(conform(error)),
        }
    }
}

fn begin(shared: &Arc<Shared>, call: &Call) -> Result<ReplyFuture, ErrorObject> {
    let version = version(call)?;
    let name = call.method.as_str();
    let method = Method::find(name, version).ok_or_else(|| unknown(name, version))?;
    if call.is_notification() {
        return Err(ErrorObject::invalid_request("A2A has no notifications"));
    }
    check_extensions(call, &shared.card)?;
    if method.is_stream() && shared.card.capabilities.streaming != Some(true) {
        return Err(unsupported("the agent has no streams; use SendMessage and GetTask"));
    }
    let (shared, cx) = (Arc::clone(shared), call.cx.clone());
    match method {
        Method::Send | Method::Stream => {
            let request: SendMessage = params(
                call,
                |params| match version {
                    Version::V1_0 => {}
                    Version::V0_3 => v03::raise::send(params),
                },
                version,
            )?;
            let immediately = request.configuration.as_ref().is_some_and(|how| how.return_immediately);
            let mode = match method {
                Method::Stream => Mode::Stream,
                _ if immediately => Mode::Immediate,
                _ => Mode::Blocking,
            };
            Ok(ReplyFuture::untimed(send::answer(shared, request, cx, mode, version)))
        }
        Method::Get => {
            let request: GetTask = same_params(call)?;
            Ok(ReplyFuture::pending(async move { task(tasks::get(&shared, &request, &cx).await, version) }))
        }
        Method::List => {
            let request: ListTasks = same_params(call)?;
            Ok(ReplyFuture::pending(async move { reply(tasks::list(&shared, &request, &cx).await) }))
        }
        Method::Cancel => {
            let request: GetTask = same_params(call)?;
            Ok(ReplyFuture::pending(
                async move { task(tasks::cancel(&shared, &request, &cx).await, version) },
            ))
        }
        Method::Subscribe => {
            let request: GetTask = same_params(call)?;
            Ok(ReplyFuture::pending(async move {
                tasks::subscribe(&shared, &request, &cx, version).await.unwrap_or_else(Reply::error)
            }))
        }
        Method::ExtendedCard => Ok(extended_card(&shared, call, version)?.into()),
        Method::CreatePush | Method::GetPush | Method::ListPush | Method::DeletePush => {
            push::answer(shared, method, call, version)
        }
    }
}

/// There is no such method, or it belongs to the other version.
fn unknown(name: &str, version: Version) -> ErrorObject {
    let other = if version == Version::V1_0 { Version::V0_3 } else { Version::V1_0 };
    let unknown = ErrorObject::method_not_found(name);
    match Method::find(name, other) {
        None => unknown,
        Some(_) => unknown.with_detail(format!(
            "{name} is a method of A2A {}; send the header A2A-Version: {}",
            other.as_str(),
            other.as_str()
        )),
    }
}

/// The params of a call, which are the same in both versions.
fn same_params<T: DeserializeOwned>(call: &Call) -> Result<T, ErrorObject> {
    params(call, |_| {}, Version::V1_0)
}

/// The params of a call, raised to 1.0.
pub(super) fn params<T: DeserializeOwned>(
    call: &Call,
    raise: impl FnOnce(&mut Value),
    version: Version,
) -> Result<T, ErrorObject> {
    let params = match &call.params {
        Some(params) => params.clone(),
        None => Json::parse("{}").map_err(|error| ErrorObject::internal(&error))?,
    };
    if params.kind() != Kind::Object {
        return Err(invalid_field("params", "it must be an object"));
    }
    let wrong = |path: String, error: &dyn std::fmt::Display| {
        let field = if path == "." { "params" } else { &path };
        let text = error.to_string();
        invalid_field(field, text.split(" at line ").next().unwrap_or_default())
    };
    if version == Version::V0_3 {
        let mut value: Value = params.decode().map_err(|error| wrong(".".to_owned(), &error))?;
        raise(&mut value);
        return serde_path_to_error::deserialize(value)
            .map_err(|error| wrong(error.path().to_string(), error.inner()));
    }
    let mut reader = serde_json::Deserializer::from_slice(params.as_bytes());
    serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| wrong(error.path().to_string(), error.inner()))
}

fn reply<T: Serialize + 'static>(result: Result<T, ErrorObject>) -> Reply {
    match result {
        Ok(value) => Reply::of(&value),
        Err(error) => Reply::error(error),
    }
}

fn task(result: Result<crate::model::Task, ErrorObject>, version: Version) -> Reply {
    match (result, version) {
        (Ok(task), Version::V0_3) => {
            let value = serde_json::to_value(&task).map(|mut value| {
                v03::lower::task(&mut value);
                value
            });
            value.map_or_else(|error| ErrorObject::internal(&error).into(), |value| Reply::of(&value))
        }
        (result, _) => reply(result),
    }
}

/// The card for authenticated clients (A2A-C-05).
fn extended_card(shared: &Shared, call: &Call, version: Version) -> Result<Reply, ErrorObject> {
    if shared.card.capabilities.extended_agent_card != Some(true) {
        return Err(unsupported("the agent has no extended card"));
    }
    if call.cx.caller::<Identity>().is_none() {
        let error = ErrorObject::new(SERVER_ERROR, "the extended card needs authentication");
        return Ok(Reply::error(error).with_status(401).with_metadata("www-authenticate", "Bearer"));
    }
    let base = crate::http::Base::of(&call.cx);
    let card = shared.extended_document(base.as_ref(), version == Version::V0_3);
    let card = card.ok_or_else(|| error(EXTENDED_CARD_NOT_CONFIGURED, "there is no extended card", &[]))?;
    Ok(Json::encode(&card).map_err(|error| ErrorObject::internal(&error)).into())
}
