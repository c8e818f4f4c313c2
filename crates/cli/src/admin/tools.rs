//! The methods of the admin listener about pinned tools.

use std::collections::BTreeMap;

use switchboard::{Context, ErrorObject, service};

use crate::gateway::{Gated, ToolRecord};

/// What can be asked about tools.
pub(super) struct ToolMethods(pub(super) Gated);

#[service]
impl ToolMethods {
    /// Lists the tools of MCP servers, with what they said when they were approved, what they say now, and its digest.
    #[method(safe, name = "admin/tools")]
    fn tools(
        &self,
        /// Only tools in this state: approved, new, changed or gone.
        state: Option<String>,
    ) -> Vec<ToolRecord> {
        self.0.tools(state.as_deref())
    }

    /// Approves tools as they were listed; returns those that were not approved before. If one of them has changed meanwhile, none is approved.
    #[method(name = "admin/approve")]
    fn approve(
        &self,
        _cx: &Context,
        /// The digest of each tool as in `admin/tools`, by the name of its method, such as `github/create_issue`.
        tools: BTreeMap<String, String>,
    ) -> Result<Vec<String>, ErrorObject> {
        self.0.approve(&tools).map_err(ErrorObject::validation_failed)
    }
}
