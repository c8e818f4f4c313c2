//! The methods of the admin listener about pinned tools.

use switchboard::access::Pattern;
use switchboard::{Context, ErrorObject, service};

use crate::gateway::{Pins, ToolRecord};

/// What can be asked about tools.
pub(super) struct ToolMethods(pub(super) Pins);

#[service]
impl ToolMethods {
    /// Lists the tools of MCP servers, with what they said when they were approved and what they say now.
    #[method(safe, name = "admin/tools")]
    fn tools(
        &self,
        /// Only tools in this state: approved, new, changed or gone.
        state: Option<String>,
    ) -> Vec<ToolRecord> {
        self.0.tools(state.as_deref())
    }

    /// Approves tools as they are now; returns those that were not approved before.
    #[method(name = "admin/approve")]
    fn approve(
        &self,
        _cx: &Context,
        /// Names of methods such as `github/create_issue`, or patterns such as `github/*`.
        tools: Vec<String>,
    ) -> Result<Vec<String>, ErrorObject> {
        let read = |text: &String| {
            text.parse::<Pattern>().map_err(|error| ErrorObject::invalid_params(format!("`tools`: {error}")))
        };
        let patterns: Vec<Pattern> = tools.iter().map(read).collect::<Result<_, _>>()?;
        Ok(self.0.approve(&patterns))
    }
}
