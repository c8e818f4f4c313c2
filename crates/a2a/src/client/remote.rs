//! A remote agent as a service.

use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt as _;
use serde_json::Value;
use switchboard_core::{
    AllowedNames, Call, ErrorObject, Json, Kind, Outcome, Reply, ReplyFuture, Service, StreamWanted,
};

use super::ClientOptions;
use crate::model::methods::Method;
use crate::model::{AgentInterface, Version, v03};

/// A remote agent: a service that answers the methods of 1.0, whichever version the agent speaks. Cheap to clone.
#[derive(Clone)]
pub struct Remote(Arc<Inner>);

struct Inner {
    service: Arc<dyn Service>,
    url: String,
    version: Version,
    tenant: Option<String>,
    extensions: String,
    /// The metadata of a call that goes on to the agent.
    inherit: AllowedNames,
}

impl Remote {
    pub(super) fn new(
        service: Arc<dyn Service>,
        interface: &AgentInterface,
        version: Version,
        options: &ClientOptions,
    ) -> Remote {
        let (url, tenant) = (interface.url.clone(), interface.tenant.clone());
        let (extensions, inherit) = (options.extensions.join(", "), options.http.inherit.clone());
        Remote(Arc::new(Inner { service, url, version, tenant, extensions, inherit }))
    }

    /// Where the agent is called.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// The version that it speaks.
    #[must_use]
    pub fn version(&self) -> Version {
        self.0.version
    }

    /// A call as the agent gets it.
    fn outgoing(&self, call: &Call, method: Method) -> Result<Call, ErrorObject> {
        let Inner { version, tenant, extensions, .. } = &*self.0;
        let name =
            method.name(*version).ok_or_else(|| ErrorObject::method_not_found(call.method.as_str()))?;
        let mut params = call.params.clone();
        let lower = lowering(method).filter(|_| *version == Version::V0_3);
        // A2A-C-03: the tenant of the interface goes into every request.
        if tenant.is_some() || lower.is_some() {
            let mut value = match &params {
                Some(params) if params.kind() == Kind::Object => params.decode().unwrap_or(Value::Null),
                None => Value::Object(serde_json::Map::new()),
                Some(_) => return Err(ErrorObject::invalid_params("params must be an object")),
            };
            if let (Some(tenant), Some(object)) = (tenant, value.as_object_mut()) {
                object.insert("tenant".to_owned(), tenant.as_str().into());
            }
            if let Some(lower) = lower {
                lower(&mut value);
            }
            params = Some(Json::encode(&value).map_err(|error| ErrorObject::internal(&error))?);
        }
        let mut cx = call.cx.clone();
        if cx.outgoing_metadata(&self.0.inherit).is_empty() {
            // What a peer in this process was to send has arrived here.
            for (name, value) in call.cx.metadata().select(&self.0.inherit).entries() {
                cx.send_metadata(name, value.to_vec());
            }
        }
        cx.send_metadata(crate::server::VERSION, version.as_str());
        if !extensions.is_empty() {
            cx.send_metadata(crate::server::EXTENSION, extensions.clone());
        }
        if method.is_stream() {
            cx.insert(StreamWanted);
        }
        Ok(Call::new(switchboard_core::Name::from_static(name), params).with_context(cx))
    }
}

impl Service for Remote {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some(method) = Method::find(call.method.as_str(), Version::V1_0) else {
            return ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()));
        };
        let reply = match self.outgoing(call, method) {
            Ok(outgoing) => self.0.service.call(&outgoing),
            Err(error) => return ReplyFuture::ready(error),
        };
        match self.0.version {
            Version::V1_0 => reply,
            Version::V0_3 => reply.map(move |reply| raised(reply, method)),
        }
    }
}

/// How params become those of 0.3, if they differ.
fn lowering(method: Method) -> Option<fn(&mut Value)> {
    match method {
        Method::Send | Method::Stream => Some(v03::lower::send),
        Method::CreatePush => Some(v03::push::lower),
        Method::GetPush | Method::ListPush | Method::DeletePush => Some(v03::push::lower_params),
        _ => None,
    }
}

/// A reply of 0.3 as one of 1.0.
fn raised(mut reply: Reply, method: Method) -> Reply {
    let raise: fn(&mut Value) = match method {
        Method::Send | Method::Stream | Method::Subscribe => v03::raise::event,
        Method::Get | Method::Cancel => v03::raise::task,
        Method::ExtendedCard => v03::raise::card,
        Method::CreatePush | Method::GetPush => v03::push::raise,
        Method::ListPush => v03::push::raise_list,
        _ => return reply,
    };
    let change = move |json: Json| -> Result<Json, ErrorObject> {
        let mut value: Value = json.decode().map_err(|error| ErrorObject::internal(&error))?;
        raise(&mut value);
        Json::encode(&value).map_err(|error| ErrorObject::internal(&error))
    };
    reply.outcome = match reply.outcome {
        Outcome::Value(json) => match change(json) {
            Ok(json) => Outcome::Value(json),
            Err(error) => Outcome::Error(error),
        },
        Outcome::Stream(items) => {
            Outcome::Stream(items.through(|items| items.map(move |item| item.and_then(change))))
        }
        error @ Outcome::Error(_) => error,
    };
    reply
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("url", &self.0.url)
            .field("version", &self.0.version)
            .finish_non_exhaustive()
    }
}
