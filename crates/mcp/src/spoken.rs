//! What a client said about itself: once, in the handshake of its session, or with each request.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use switchboard_core::{Json, Kind, Session};

use crate::model::{
    ClientCapabilities, ElicitationCapability, LogLevel, Revision, SamplingCapability, ServerCapabilities,
    TASKS_EXTENSION,
};

/// The revision in use and the client's capabilities.
#[derive(Clone, Debug)]
pub(crate) struct Spoken {
    pub(crate) revision: Revision,
    pub(crate) features: Features,
    /// The client's description of itself, as it sent it.
    pub(crate) client: Option<Json>,
}

/// What the client can be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Features {
    pub(crate) roots: bool,
    pub(crate) sampling: bool,
    pub(crate) sampling_tools: bool,
    pub(crate) form: bool,
    pub(crate) url: bool,
    /// The extension for tasks.
    pub(crate) tasks: bool,
}

impl Features {
    /// Whether the client can be asked for anything.
    pub(crate) fn can_be_asked(self) -> bool {
        self.roots || self.sampling || self.form || self.url
    }

    /// Everything that a client can be asked for, except what needs more than to pass a question on.
    pub(crate) fn to_relay() -> Features {
        Features { roots: true, sampling: true, form: true, url: true, ..Features::default() }
    }

    /// The capabilities of a client with these features.
    pub(crate) fn capabilities(self) -> ClientCapabilities {
        let mut capabilities =
            ClientCapabilities { roots: self.roots.then(Default::default), ..ClientCapabilities::default() };
        if self.sampling {
            let sampling = capabilities.sampling.insert(SamplingCapability::default());
            sampling.tools = self.sampling_tools.then(Default::default);
        }
        if self.form || self.url {
            let elicitation = capabilities.elicitation.insert(ElicitationCapability::default());
            (elicitation.form, elicitation.url) =
                (self.form.then(Default::default), self.url.then(Default::default));
        }
        capabilities
    }

    /// Reads the capabilities of a client. It may declare more than the revision has, if it knows newer ones too.
    pub(crate) fn read(capabilities: &Json, revision: Revision) -> Features {
        let [roots, sampling, elicitation, extensions] =
            capabilities.pick(["roots", "sampling", "elicitation", "extensions"]);
        let is_object = |json: &Json| json.kind() == Kind::Object;
        let sampling = sampling.filter(is_object);
        let elicitation = elicitation.filter(is_object).filter(|_| revision >= Revision::V2025_06_18);
        let has_modes = revision >= Revision::V2025_11_25;
        let url =
            elicitation.as_ref().is_some_and(|elicitation| has_modes && elicitation.get("url").is_some());
        let form = elicitation.is_some_and(|elicitation| !url || elicitation.get("form").is_some());
        Features {
            roots: roots.is_some_and(|roots| is_object(&roots)),
            sampling_tools: sampling
                .as_ref()
                .is_some_and(|sampling| has_modes && sampling.get("tools").is_some()),
            sampling: sampling.is_some(),
            form,
            url,
            tasks: extensions.is_some_and(|extensions| extensions.get(TASKS_EXTENSION).is_some()),
        }
    }
}

/// The state of a session that began with `initialize`: a slot of its [`Session`].
pub(crate) struct Handshake {
    pub(crate) spoken: Arc<Spoken>,
    /// The capabilities that the client was told of. It hears of no others.
    pub(crate) declared: Arc<ServerCapabilities>,
    level: AtomicU8,
    is_ready: AtomicBool,
    subscriptions: Mutex<HashSet<String>>,
}

impl Handshake {
    pub(crate) fn new(spoken: Spoken, declared: Arc<ServerCapabilities>) -> Handshake {
        let level = AtomicU8::new(LogLevel::Info as u8);
        let (is_ready, subscriptions) = (AtomicBool::new(false), Mutex::default());
        Handshake { spoken: Arc::new(spoken), declared, level, is_ready, subscriptions }
    }

    /// The handshake of a session, if it took place.
    pub(crate) fn of(session: &Session) -> Option<Arc<Handshake>> {
        session.get()
    }

    /// The least severe messages that are logged.
    pub(crate) fn level(&self) -> LogLevel {
        let level = usize::from(self.level.load(Ordering::Relaxed));
        LogLevel::ALL.get(level).copied().unwrap_or(LogLevel::Info)
    }

    pub(crate) fn set_level(&self, level: LogLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    /// Whether the client has said that it is ready for notifications, or has asked for some.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed)
    }

    pub(crate) fn set_ready(&self) {
        self.is_ready.store(true, Ordering::Relaxed);
    }

    /// The resources whose updates the client wants to hear of.
    pub(crate) fn subscriptions<T>(&self, act: impl FnOnce(&mut HashSet<String>) -> T) -> T {
        act(&mut self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-L-07, MCP-M-09
    #[test]
    fn an_empty_elicitation_capability_means_forms() {
        let check_at = |revision, text: &'static str, form: bool, url: bool| {
            let features = Features::read(&Json::parse(text).unwrap(), revision);
            assert_eq!((features.form, features.url), (form, url), "{text}");
        };
        check_at(Revision::V2025_03_26, r#"{"elicitation":{"form":{},"url":{}}}"#, false, false);
        check_at(Revision::V2025_06_18, r#"{"elicitation":{"form":{},"url":{}}}"#, true, false);
        check_at(Revision::V2025_06_18, r#"{"elicitation":{}}"#, true, false);
        let check = |text, form, url| check_at(Revision::V2026_07_28, text, form, url);
        check("{}", false, false);
        check(r#"{"elicitation":{}}"#, true, false);
        check(r#"{"elicitation":{"form":{}}}"#, true, false);
        check(r#"{"elicitation":{"url":{}}}"#, false, true);
        check(r#"{"elicitation":{"form":{},"url":{}}}"#, true, true);
        check(r#"{"elicitation":true}"#, false, false);
    }
}
