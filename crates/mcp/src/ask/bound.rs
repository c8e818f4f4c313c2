//! What the state of a call is bound to, so that a client cannot use it for another call (MCP-R-05).

use switchboard_core::{Json, Name};

use super::seal::digest_of;

/// A call, as far as its state belongs to it. Most calls have no state, so it is kept as it came and only read on demand.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    /// The name of the server.
    pub(crate) server: String,
    /// Who calls.
    pub(crate) owner: String,
    /// The method of MCP.
    pub(crate) method: Name,
    /// The tool, prompt or resource.
    pub(crate) name: String,
    pub(crate) arguments: Option<Json>,
}

impl Bound {
    /// A digest of the call.
    pub(crate) fn attributes(&self) -> String {
        digest_of(&[
            self.server.as_bytes(),
            self.owner.as_bytes(),
            self.method.as_bytes(),
            self.name.as_bytes(),
            &canonical(self.arguments.as_ref()),
        ])
    }
}

/// Arguments in a form that does not depend on the order of members or on white space.
fn canonical(arguments: Option<&Json>) -> Vec<u8> {
    let value = arguments.and_then(|arguments| arguments.decode::<serde_json::Value>().ok());
    value.and_then(|value| serde_json::to_vec(&value).ok()).unwrap_or_default()
}
