//! Several agents at one URL.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use switchboard_core::{Call, Json, ReplyFuture, Service};

use super::Server;
use super::service::A2aService;
use crate::model::error::invalid_field;

/// Several agents at one URL: the member `tenant` of a request says which one it is for. Cheap to clone.
///
/// Tasks of one tenant do not exist for another, also if the agents share a store. An agent that is served alone takes any tenant, and keeps their
/// tasks apart as well; [`RequestDetails::tenant`](super::RequestDetails::tenant) names it.
///
/// # Examples
///
/// ```
/// use switchboard_a2a::model::{AgentCard, Message};
/// use switchboard_a2a::{A2aRoute, Agent, TaskHandle, Tenants};
/// use switchboard_core::{ErrorObject, Settings};
///
/// let agent = |name: &'static str| {
///     let greet = move |_: Message, _: TaskHandle| async move { Ok::<_, ErrorObject>(format!("{name} here")) };
///     Agent::new(AgentCard::new(name, "Greets.", "1.0.0"), greet).build()
/// };
/// let tenants = Tenants::default().with("acme", agent("Acme")).with("globex", agent("Globex"));
/// let route = A2aRoute::tenants(&tenants, Settings::default());
/// ```
#[derive(Clone, Default)]
pub struct Tenants {
    agents: Arc<HashMap<String, Server>>,
    default: Option<Server>,
}

impl Tenants {
    /// Adds the agent of a tenant.
    #[must_use]
    pub fn with(mut self, tenant: impl Into<String>, agent: Server) -> Tenants {
        Arc::make_mut(&mut self.agents).insert(tenant.into(), agent);
        self
    }

    /// Sets the agent for requests without a tenant. By default they are refused.
    #[must_use]
    pub fn with_default(self, agent: Server) -> Tenants {
        Tenants { default: Some(agent), ..self }
    }

    fn find(&self, tenant: &str) -> Option<&Server> {
        if tenant.is_empty() { self.default.as_ref() } else { self.agents.get(tenant) }
    }
}

impl Service for Tenants {
    fn call(&self, call: &Call) -> ReplyFuture {
        let tenant = call.params.as_ref().and_then(|params| params.get("tenant"));
        let tenant = tenant.map_or_else(|| Ok(None), |tenant: Json| tenant.decode::<Option<String>>());
        match tenant.ok().and_then(|tenant| self.find(&tenant.unwrap_or_default())) {
            Some(agent) => A2aService(Arc::clone(&agent.0)).call(call),
            None => ReplyFuture::ready(invalid_field("tenant", "there is no agent for this tenant")),
        }
    }
}

impl fmt::Debug for Tenants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenants").field("names", &self.agents.keys()).finish_non_exhaustive()
    }
}
