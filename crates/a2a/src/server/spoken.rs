//! What a client says about itself: its version and its extensions (A2A-B-03).

use switchboard_core::{Call, ErrorObject};

use crate::model::error::{EXTENSION_REQUIRED, VERSION_NOT_SUPPORTED, error};
use crate::model::{AgentCard, Version};

/// The version that a client asks for in the query of a URL; among the extensions of a call's context.
#[derive(Clone)]
pub(crate) struct Spoken(pub(crate) String);

/// The metadata that names the version, and those that name extensions.
pub(crate) const VERSION: &str = "a2a-version";
const EXTENSIONS: [&str; 2] = ["a2a-extensions", "x-a2a-extensions"];

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

/// Refuses clients that do not declare the extensions that the agent requires (A2A-M-08).
pub(super) fn check_extensions(call: &Call, card: &AgentCard) -> Result<(), ErrorObject> {
    let metadata = call.cx.metadata();
    let is_declared = |uri: &str| {
        let lists = EXTENSIONS.iter().filter_map(|name| metadata.text(name));
        lists.flat_map(|list| list.split(',')).any(|declared| declared.trim() == uri)
    };
    let extensions = card.capabilities.extensions.iter();
    match extensions.filter(|extension| extension.required).find(|extension| !is_declared(&extension.uri)) {
        None => Ok(()),
        Some(extension) => {
            let text = format!("declare the extension {} in the header A2A-Extensions", extension.uri);
            Err(error(EXTENSION_REQUIRED, text, &[("extension", &extension.uri)]))
        }
    }
}
