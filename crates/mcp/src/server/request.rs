//! A request, with what is known about its client.

use std::sync::{Arc, Mutex};

use switchboard_core::{Call, Context, ErrorObject, Json, Kind, Peer, ProgressSink};
pub(crate) use switchboard_layers::identity::principal;

use super::snapshot::Snapshot;
use super::{Shared, Subscribers};
use crate::ask::{Asker, Background, Caller, CallerParts, Logging};
use crate::http::CloseStream;
use crate::model::{RequestMeta, Revision, meta};
use crate::spoken::{Features, Handshake, Spoken};

/// The revisions whose requests stand alone.
pub(crate) const SUPPORTED: [Revision; 1] = [Revision::V2026_07_28];

/// A request that is being answered.
pub(super) struct Request<'a> {
    pub(super) call: &'a Call,
    pub(super) shared: &'a Arc<Shared>,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) spoken: Arc<Spoken>,
    pub(super) meta: RequestMeta,
    /// Its session, unless it stands alone.
    pub(super) handshake: Option<Arc<Handshake>>,
}

impl<'a> Request<'a> {
    /// Finds out which revision the client speaks.
    pub(super) fn read(call: &'a Call, shared: &'a Arc<Shared>) -> Result<Request<'a>, ErrorObject> {
        let snapshot = shared.snapshot.load_full();
        if let Some(params) = &call.params
            && params.kind() != Kind::Object
        {
            // MCP-B-01
            return Err(ErrorObject::invalid_request("params must be an object"));
        }
        let meta = call.params.as_ref().map(RequestMeta::of).unwrap_or_default();
        if meta.is_modern() {
            let spoken = Arc::new(alone(&meta)?);
            return Ok(Request { call, shared, snapshot, spoken, meta, handshake: None });
        }
        let Some(handshake) = Handshake::of(call.cx.session()) else {
            return Err(ErrorObject::invalid_request(
                "the session has not begun: send initialize first, or a request with _meta[\"io.modelcontextprotocol/protocolVersion\"]",
            ));
        };
        let spoken = Arc::clone(&handshake.spoken);
        Ok(Request { call, shared, snapshot, spoken, meta, handshake: Some(handshake) })
    }

    pub(super) fn revision(&self) -> Revision {
        self.spoken.revision
    }

    pub(super) fn cx(&self) -> &Context {
        &self.call.cx
    }

    pub(super) fn subscribers(&self) -> &Subscribers {
        &self.shared.subscribers
    }

    /// The member of the params with this name.
    pub(super) fn param(&self, name: &str) -> Option<Json> {
        self.call.params.as_ref()?.get(name)
    }

    /// The member of the params with this name, which has to be a string.
    pub(super) fn text(&self, name: &'static str) -> Result<String, ErrorObject> {
        let text = self.param(name).and_then(|text| text.decode().ok());
        text.ok_or_else(|| ErrorObject::invalid_params(format!("{name} must be a string")))
    }

    /// The client, for a handler that goes on after the request was answered.
    pub(super) fn session_caller(&self, asker: Asker) -> Result<Caller, ErrorObject> {
        let peer = self.cx().session().peer().clone();
        let is_session = self.handshake.is_some();
        self.caller_with(asker, peer, is_session, None)
    }

    /// The client, for a handler.
    pub(super) fn caller(&self, asker: Asker) -> Result<Caller, ErrorObject> {
        self.caller_with(asker, self.cx().peer().clone(), true, None)
    }

    /// The client, for a handler that may become a task.
    pub(super) fn background_caller(&self, asker: Asker) -> Result<Caller, ErrorObject> {
        self.caller_with(asker, self.cx().peer().clone(), true, Some(Background::default()))
    }

    fn caller_with(
        &self,
        asker: Asker,
        peer: Peer,
        has_progress: bool,
        background: Option<Background>,
    ) -> Result<Caller, ErrorObject> {
        let logging = match &self.handshake {
            Some(handshake) => Logging::Session(Arc::clone(handshake)),
            None => self.meta.log_level()?.map_or(Logging::Off, Logging::From),
        };
        Ok(Caller::new(CallerParts {
            spoken: Arc::clone(&self.spoken),
            peer,
            asker: Mutex::new(asker),
            background,
            progress_token: self.meta.progress_token.as_ref().filter(|_| has_progress).map(Json::detached),
            logging,
            stream: self.cx().get::<CloseStream>().map(|close| close.0.clone()),
        }))
    }

    /// The context of the method that is called for it.
    pub(super) fn context_with(&self, caller: &Caller) -> Context {
        let mut cx = self.cx().clone();
        if caller.wants_progress() {
            cx.insert(sink(caller));
        }
        cx.insert(caller.clone());
        cx
    }
}

/// Numbers what a method reports as its progress.
fn sink(caller: &Caller) -> ProgressSink {
    let (caller, count) = (caller.clone(), std::sync::atomic::AtomicU32::new(0));
    ProgressSink::new(move |value: Json| {
        let caller = caller.clone();
        let count = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        async move {
            caller.report(f64::from(count), None, Some(&plain_text(&value))).await;
        }
    })
}

/// A value as a text for people: a string without its quotes, anything else as JSON.
pub(super) fn plain_text(value: &Json) -> String {
    match value.kind() {
        Kind::String => value.decode().unwrap_or_default(),
        _ => value.as_str().to_owned(),
    }
}

/// What a request that stands alone says about its client (MCP-M-02 to MCP-M-05).
fn alone(request: &RequestMeta) -> Result<Spoken, ErrorObject> {
    let capabilities = request.client_capabilities.as_ref();
    let missing = || {
        ErrorObject::invalid_params(format!("the request has no _meta[\"{}\"]", meta::CLIENT_CAPABILITIES))
    };
    let capabilities = capabilities.filter(|json| json.kind() == Kind::Object).ok_or_else(missing)?;
    let revision = request.revision(&SUPPORTED)?;
    let client = request.client_info.as_ref().map(Json::detached);
    Ok(Spoken { revision, features: Features::read(capabilities, revision), client })
}
