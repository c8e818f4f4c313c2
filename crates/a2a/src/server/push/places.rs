//! The places for notifications about a task: kept in the store beside it, and managed by its owner.

use std::sync::Arc;

use http::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_core::{Call, Context, ErrorObject, Reply, ReplyFuture};
use switchboard_layers::store::StoreError;

use super::super::owner::owner;
use super::super::service::params;
use super::super::shared::Shared;
use super::super::turn::unavailable;
use crate::model::error::{PUSH_NOT_SUPPORTED, TASK_NOT_FOUND, conform, error, invalid_field, unsupported};
use crate::model::methods::Method;
use crate::model::{GetPush, ListPush, PushConfig, PushPage, Version, v03};

/// A place as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in super::super) struct Place {
    pub(super) config: PushConfig,
    /// Whether it gets notifications as 0.3 writes them.
    is_old: bool,
}

impl Place {
    pub(super) fn version(&self) -> Version {
        if self.is_old { Version::V0_3 } else { Version::V1_0 }
    }
}

/// How often a change is made again if others change the same list.
const ATTEMPTS: usize = 8;

/// The places of a task.
pub(super) async fn of(shared: &Shared, task: &str) -> Result<Vec<Place>, StoreError> {
    Ok(shared.records.places(task).await?.0)
}

/// Keeps the places of a task, which are stored like this, as long as the task.
pub(super) async fn renew(shared: &Shared, task: &str, known: &[u8]) {
    if let Err(error) = shared.records.renew_places(task, known).await {
        tracing::warn!(%error, "the places for notifications may be forgotten before their task");
    }
}

/// The same of places that are not known.
pub(in super::super) async fn keep(shared: &Shared, task: &str) {
    if shared.pusher.is_some()
        && let Ok((_, Some(known))) = shared.records.places(task).await
    {
        renew(shared, task, &known).await;
    }
}

/// Adds a place to a task that belongs to the caller, or is about to begin.
pub(in super::super) async fn add(
    shared: &Shared,
    task: &str,
    mut config: PushConfig,
    version: Version,
) -> Result<PushConfig, ErrorObject> {
    let Some(pusher) = &shared.pusher else { return Err(not_supported()) };
    if let Some(why) = pusher.options.refusal(&config.url) {
        return Err(invalid_field("url", why));
    }
    check_headers(&config)?;
    task.clone_into(&mut config.task_id);
    if config.id.is_empty() {
        // A client of 0.3 that names none gets the one of the task back.
        config.id = if version == Version::V0_3 { task.to_owned() } else { crate::ids::random() };
    }
    if config.id.len() > 128 {
        return Err(invalid_field("id", "use at most 128 bytes"));
    }
    let place = Place { config: config.clone(), is_old: version == Version::V0_3 };
    change(shared, task, |places| {
        let count = places.len();
        match places.iter_mut().find(|known| known.config.id == place.config.id) {
            Some(known) => *known = place.clone(),
            None if count >= pusher.options.places => {
                let text = format!("the task already has {count} push notification configurations");
                return Err(conform(ErrorObject::over_limit("places", text)));
            }
            None => places.push(place.clone()),
        }
        Ok(())
    })
    .await?;
    Ok(config)
}

/// Removes a place.
pub(in super::super) async fn forget(shared: &Shared, task: &str, id: &str) -> Result<(), ErrorObject> {
    change(shared, task, |places| {
        places.retain(|place| place.config.id != id);
        Ok(())
    })
    .await
}

/// What a request would be sent with must be headers.
fn check_headers(config: &PushConfig) -> Result<(), ErrorObject> {
    let check = |field: &str, text: &str| match HeaderValue::from_str(text) {
        Ok(_) if text.len() <= 4096 => Ok(()),
        _ => Err(invalid_field(field, "it must be visible text of at most 4096 bytes")),
    };
    check("token", &config.token)?;
    match &config.authentication {
        Some(own) if !own.scheme.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(invalid_field("authentication.scheme", "it must be one word"))
        }
        Some(own) => check("authentication.credentials", &own.credentials),
        None => Ok(()),
    }
}

async fn change(
    shared: &Shared,
    task: &str,
    change: impl Fn(&mut Vec<Place>) -> Result<(), ErrorObject>,
) -> Result<(), ErrorObject> {
    let fault = |error| unavailable(&error);
    for _ in 0..ATTEMPTS {
        let (mut places, known) = shared.records.places(task).await.map_err(fault)?;
        change(&mut places)?;
        if shared.records.write_places(task, &places, known.as_deref()).await.map_err(fault)? {
            return Ok(());
        }
    }
    Err(unsupported("the push notification configurations of this task keep changing; try again"))
}

/// Answers a method about places.
pub(in super::super) fn answer(
    shared: Arc<Shared>,
    method: Method,
    call: &Call,
    version: Version,
) -> Result<ReplyFuture, ErrorObject> {
    if shared.pusher.is_none() {
        return Err(not_supported());
    }
    let cx = call.cx.clone();
    let raise = |raise: fn(&mut Value)| move |value: &mut Value| raise(value);
    match method {
        Method::CreatePush => {
            let config: PushConfig = params(call, raise(v03::push::raise), version)?;
            if config.task_id.is_empty() {
                return Err(invalid_field("taskId", "it must not be empty"));
            }
            Ok(ReplyFuture::pending(async move {
                let task = config.task_id.clone();
                let created = async {
                    is_owned(&shared, &task, config.tenant.as_deref(), &cx).await?;
                    add(&shared, &task, config, version).await
                };
                created.await.map_or_else(Reply::error, |config| written(&config, version))
            }))
        }
        Method::ListPush => {
            let request: ListPush = params(call, raise(v03::push::raise_params), version)?;
            Ok(ReplyFuture::pending(async move {
                list(&shared, &request, &cx, version).await.unwrap_or_else(Reply::error)
            }))
        }
        Method::DeletePush => {
            let request: GetPush = params(call, raise(v03::push::raise_params), version)?;
            Ok(ReplyFuture::pending(async move {
                let deleted = async {
                    is_owned(&shared, &request.task_id, request.tenant.as_deref(), &cx).await?;
                    forget(&shared, &request.task_id, &request.id).await
                };
                let nothing = if version == Version::V0_3 { Value::Null } else { json!({}) };
                deleted.await.map_or_else(Reply::error, |()| Reply::of(&nothing))
            }))
        }
        _ => {
            let request: GetPush = params(call, raise(name_first), version)?;
            Ok(ReplyFuture::pending(async move {
                read(&shared, &request, &cx, version).await.unwrap_or_else(Reply::error)
            }))
        }
    }
}

/// Stands for the first place of a task: in 0.3 a client may leave out which one it wants.
const FIRST: &str = "\u{0}";

fn name_first(params: &mut Value) {
    v03::push::raise_params(params);
    if let Some(object) = params.as_object_mut() {
        object.entry("id").or_insert_with(|| FIRST.into());
    }
}

async fn read(
    shared: &Arc<Shared>,
    request: &GetPush,
    cx: &Context,
    version: Version,
) -> Result<Reply, ErrorObject> {
    is_owned(shared, &request.task_id, request.tenant.as_deref(), cx).await?;
    let places = of(shared, &request.task_id).await.map_err(|error| unavailable(&error))?;
    let is_wanted = |place: &&Place| request.id == FIRST || place.config.id == request.id;
    match places.iter().find(is_wanted) {
        Some(place) => Ok(written(&place.config, version)),
        None => Err(error(
            TASK_NOT_FOUND,
            "the task has no such push notification configuration",
            &[("taskId", &request.task_id)],
        )),
    }
}

async fn list(
    shared: &Arc<Shared>,
    request: &ListPush,
    cx: &Context,
    version: Version,
) -> Result<Reply, ErrorObject> {
    is_owned(shared, &request.task_id, request.tenant.as_deref(), cx).await?;
    let places = of(shared, &request.task_id).await.map_err(|error| unavailable(&error))?;
    let mut configs: Vec<PushConfig> = places.into_iter().map(|place| place.config).collect();
    if version == Version::V0_3 {
        let configs: Result<Vec<Value>, _> = configs.iter().map(lowered).collect();
        return configs.map(|configs| Reply::of(&configs)).map_err(|error| ErrorObject::internal(&error));
    }
    if let Some(last) = request.page_token.as_deref().filter(|token| !token.is_empty()) {
        let start = configs.iter().position(|config| config.id == last);
        let start =
            start.ok_or_else(|| invalid_field("pageToken", "use the nextPageToken of the page before"))?;
        configs.drain(..=start);
    }
    let size = request.page_size.filter(|size| *size > 0).map_or(usize::MAX, |size| size as usize);
    let is_more = configs.len() > size;
    configs.truncate(size);
    let next_page_token = configs.last().filter(|_| is_more).map(|last| last.id.clone()).unwrap_or_default();
    Ok(Reply::of(&PushPage { configs, next_page_token }))
}

/// Whether the task belongs to the caller (A2A-E-02).
async fn is_owned(
    shared: &Arc<Shared>,
    task: &str,
    tenant: Option<&str>,
    cx: &Context,
) -> Result<(), ErrorObject> {
    shared.find(task, &owner(cx, tenant), cx).await.map(drop)
}

fn written(config: &PushConfig, version: Version) -> Reply {
    match version {
        Version::V1_0 => Reply::of(config),
        Version::V0_3 => match lowered(config) {
            Ok(config) => Reply::of(&config),
            Err(error) => ErrorObject::internal(&error).into(),
        },
    }
}

fn lowered(config: &PushConfig) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(config)?;
    v03::push::lower(&mut value);
    Ok(value)
}

fn not_supported() -> ErrorObject {
    error(PUSH_NOT_SUPPORTED, "the agent sends no notifications", &[])
}
