//! `admin/explain`: what would happen to a call.

use std::collections::BTreeMap;

use switchboard::{ErrorObject, Json, service};

use super::Admin;
use crate::explain::{Question, Report};

/// What can be asked about calls that are not made.
pub(super) struct Explaining(pub(super) Admin);

#[service]
impl Explaining {
    /// Shows what would happen to a call, and why, without sending it: caller, limits, access rules, route, policies and server.
    #[method(safe, name = "admin/explain")]
    fn explain(
        &self,
        /// Method of the call.
        method: String,
        /// Params of the call.
        params: Option<Json>,
        /// Caller: a user, role:NAME, scope:NAME, agent:NAME or anonymous; `@local` after it means on the machine of the server.
        #[arg(name = "as", default = "anonymous".to_owned())]
        who: String,
        /// Headers of the call.
        headers: Option<BTreeMap<String, String>>,
    ) -> Result<Report, ErrorObject> {
        let explainer = self.0.explainer().ok_or_else(|| {
            ErrorObject::validation_failed("the server is starting and has no configuration yet")
        })?;
        let headers = headers.unwrap_or_default().into_iter().collect();
        let explained = explainer.explain(&Question { method, params, who, headers });
        explained.map_err(|what| ErrorObject::invalid_params(format!("`as`: {what}")))
    }
}
