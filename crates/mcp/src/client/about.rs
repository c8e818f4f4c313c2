//! What a client says about itself to servers.

use std::collections::BTreeMap;

use switchboard_core::{Call, ErrorObject, Json};

use crate::model::{Implementation, LogLevel, Revision, Wire as _, meta, methods};
use crate::object::Object;
use crate::spoken::Features;

/// What a client says about itself: in the handshake of a session, or with each request.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) implementation: Implementation,
    /// What the client can be asked for, as far as that does not depend on the call.
    pub(super) features: Features,
    /// Whether it says when its folders change.
    pub(super) changes_roots: bool,
    pub(super) extensions: BTreeMap<String, Json>,
    /// The log messages that it wants with each call.
    pub(super) level: Option<LogLevel>,
}

impl About {
    /// A client that passes questions on.
    pub(super) fn relay() -> About {
        let implementation = Implementation::new("switchboard", env!("CARGO_PKG_VERSION"));
        About { features: Features::to_relay(), ..About::new(implementation) }
    }

    pub(super) fn new(implementation: Implementation) -> About {
        let (features, extensions) = (Features::default(), BTreeMap::new());
        About { implementation, features, changes_roots: false, extensions, level: None }
    }

    fn capabilities(&self, features: Features, revision: Revision) -> Json {
        let mut capabilities = features.capabilities();
        capabilities.extensions.clone_from(&self.extensions);
        if let Some(roots) = &mut capabilities.roots {
            roots.list_changed = self.changes_roots;
        }
        capabilities.to_json(revision)
    }

    /// The request that begins a session (MCP-L-01).
    pub(super) fn initialization(&self, revision: Revision) -> Result<Call, ErrorObject> {
        let params = Object::new()
            .with("protocolVersion", revision.as_str())
            .with("capabilities", self.capabilities(self.features, revision))
            .with("clientInfo", self.implementation.to_json(revision));
        Ok(Call::new(methods::INITIALIZE, Some(params.json()?)))
    }

    /// A request of this revision.
    pub(super) fn request(
        &self,
        method: &str,
        params: Object<'_>,
        revision: Revision,
        claim: Claim,
    ) -> Result<Call, ErrorObject> {
        let (params, given) = params.without(meta::META);
        let given: Vec<_> = given.iter().flat_map(Json::entries).collect();
        let meta = match (revision.is_stateless(), claim.token) {
            (false, None) if given.is_empty() => None,
            (false, None) => Some(Object::new()),
            (false, Some(_)) => Some(Object::new()),
            (true, _) => Some(self.meta(revision, claim)),
        };
        let meta = meta.map(|meta| meta.with_some(meta::PROGRESS_TOKEN, claim.token));
        let meta = meta.map(|meta| {
            given.iter().fold(meta, |meta, (name, value)| match meta.has(name) {
                true => meta,
                false => meta.with(name, value.clone()),
            })
        });
        Ok(Call::new(method.to_owned(), Some(params.with_some(meta::META, meta).json()?)))
    }

    /// What a stateless request says about its client (MCP-M-02).
    fn meta<'a>(&self, revision: Revision, claim: Claim) -> Object<'a> {
        Object::new()
            .with(meta::PROTOCOL_VERSION, revision.as_str())
            .with(meta::CLIENT_CAPABILITIES, self.capabilities(claim.features, revision))
            .with(meta::CLIENT_INFO, self.implementation.to_json(revision))
            .with_some(meta::LOG_LEVEL, claim.level.or(self.level).map(LogLevel::as_str))
    }
}

/// What a request says about the caller behind a client.
#[derive(Clone, Copy, Default)]
pub(super) struct Claim {
    /// Names its progress.
    pub(super) token: Option<u64>,
    /// What it can be asked for.
    pub(super) features: Features,
    /// The log messages that it wants.
    pub(super) level: Option<LogLevel>,
}
