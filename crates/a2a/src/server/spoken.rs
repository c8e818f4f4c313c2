//! What a client says about itself: its version and its extensions (A2A-B-03).

use std::sync::{Arc, OnceLock};

use switchboard_core::{Call, Context, ErrorObject};

use crate::model::error::{EXTENSION_REQUIRED, VERSION_NOT_SUPPORTED, error};
use crate::model::{AgentCard, Version};

/// The version that a client asks for in the query of a URL; among the extensions of a call's context.
#[derive(Clone)]
pub(crate) struct Spoken(pub(crate) String);

/// The metadata that names the version, and those that name extensions.
pub(crate) const VERSION: &str = "a2a-version";
pub(crate) const EXTENSION: &str = "a2a-extensions";
const EXTENSIONS: [&str; 2] = [EXTENSION, "x-a2a-extensions"];

/// The version of a call: without one, 0.3 (A2A-B-04).
pub(super) fn version(call: &Call) -> Result<Version, ErrorObject> {
    let given = call.cx.metadata().text(VERSION).filter(|text| !text.trim().is_empty());
    let given = given.or_else(|| call.cx.get::<Spoken>().map(|spoken| spoken.0.as_str())).unwrap_or_default();
    if given.trim().is_empty() {
        return Ok(Version::V0_3);
    }
    Version::parse(given).ok_or_else(|| {
        let given: String = given.chars().take(32).collect();
        let text = format!("A2A {given:?} is not supported; use 1.0 or 0.3");
        error(VERSION_NOT_SUPPORTED, text, &[("supportedVersions", "1.0,0.3")])
    })
}

/// The extensions that a call has activated, for the header of its answer; among the extensions of its context.
#[derive(Clone, Default)]
pub(crate) struct Activated(pub(crate) Arc<OnceLock<String>>);

/// The extensions of the card that a client declares (A2A-B-03).
pub(super) fn activated(cx: &Context, card: &AgentCard) -> Vec<String> {
    let names = card.capabilities.extensions.iter().map(|extension| &extension.uri);
    names.filter(|uri| is_declared(cx, uri)).cloned().collect()
}

fn is_declared(cx: &Context, uri: &str) -> bool {
    let lists = EXTENSIONS.iter().filter_map(|name| cx.metadata().text(name));
    lists.flat_map(|list| list.split(',')).any(|declared| declared.trim() == uri)
}

/// Refuses clients that do not declare the extensions that the agent requires (A2A-M-08). Notes which ones are activated.
pub(super) fn check_extensions(call: &Call, card: &AgentCard) -> Result<(), ErrorObject> {
    let mut required = card.capabilities.extensions.iter().filter(|extension| extension.required);
    if let Some(missing) = required.find(|extension| !is_declared(&call.cx, &extension.uri)) {
        let text = format!("declare the extension {} in the header A2A-Extensions", missing.uri);
        return Err(error(EXTENSION_REQUIRED, text, &[("extension", &missing.uri)]));
    }
    if let Some(Activated(list)) = call.cx.get() {
        // A call passes here once.
        let _ = list.set(activated(&call.cx, card).join(", "));
    }
    Ok(())
}
