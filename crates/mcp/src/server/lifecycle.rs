//! The handshake of sessions (MCP-L-01 to MCP-L-11).

use std::sync::Arc;

use switchboard_core::{Call, Cancel, ErrorObject, Json, Kind, Name, Profile, Reply, Session, Versions};

use super::Shared;
use super::request::Request;
use crate::model::{Revision, Wire as _, methods};
use crate::object::Object;
use crate::spoken::{Features, Handshake, Spoken};

/// The dialect of MCP.
pub(super) fn profile() -> Profile {
    let default = Profile::default();
    let cancel = Cancel::clone(&default.cancel)
        .with_method(Name::from_static(methods::CANCELLED))
        .with_member("requestId")
        .with_answer(None);
    default
        .with_versions(Versions::V2)
        .with_batches_if(Some(takes_batches))
        .with_cancel(cancel)
        .with_call_options(false)
}

/// Only one revision has batches (MCP-S-03).
fn takes_batches(session: &Session) -> bool {
    Handshake::of(session).is_some_and(|handshake| handshake.spoken.revision == Revision::V2025_03_26)
}

/// Answers `initialize`.
pub(super) fn initialize(call: &Call, shared: &Arc<Shared>) -> Reply {
    begin(call, shared).unwrap_or_else(Reply::error)
}

fn begin(call: &Call, shared: &Arc<Shared>) -> Result<Reply, ErrorObject> {
    let session = call.cx.session();
    if Handshake::of(session).is_some() {
        return Err(ErrorObject::invalid_request("the session has begun already"));
    }
    let params = call.params.as_ref().filter(|params| params.kind() == Kind::Object);
    let params = params.ok_or_else(|| ErrorObject::invalid_params("initialize needs params"))?;
    let [version, capabilities, client] = params.pick(["protocolVersion", "capabilities", "clientInfo"]);
    let requested: Option<String> = version.and_then(|version| version.decode().ok());
    let requested =
        requested.ok_or_else(|| ErrorObject::invalid_params("protocolVersion must be a string"))?;
    // A version that is not known, or has no sessions, gets the newest that has (MCP-L-03).
    let known = requested.parse().ok().filter(|revision: &Revision| !revision.is_stateless());
    let revision = known.unwrap_or(Revision::LATEST_STATEFUL);
    let features =
        capabilities.map(|capabilities| Features::read(&capabilities, revision)).unwrap_or_default();
    let client = client.as_ref().map(Json::detached);
    let snapshot = shared.snapshot.load();
    let declared = Arc::clone(&snapshot.capabilities);
    session.set(Handshake::new(Spoken { revision, features, client }, declared));
    let capabilities = snapshot.capabilities.to_json(revision);
    Ok(Object::new()
        .with("protocolVersion", revision.as_str())
        .with("capabilities", capabilities)
        .with("serverInfo", snapshot.server.to_json(revision))
        .with_some("instructions", snapshot.instructions.as_deref())
        .reply())
}

/// The client is ready for notifications.
pub(super) fn initialized(request: &Request<'_>) -> Reply {
    if let Some(handshake) = &request.handshake {
        request.subscribers().add(request.cx().session(), handshake);
    }
    Reply::value(Json::NULL)
}

/// Answers `ping`.
pub(super) fn pong() -> Reply {
    Object::new().reply()
}
