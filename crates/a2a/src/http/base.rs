//! Where an agent is served, as the client sees it, and what its card says about that.

use serde_json::Value;
use switchboard_core::Context;

use crate::model::{AgentCard, AgentInterface, Version, v03};

/// The URL that the client has used, without the path, or the configured one, and the path of the agent and its tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Base {
    origin: String,
    path: String,
    tenant: Option<String>,
}

impl Base {
    pub(super) fn new(cx: &Context, host: Option<&str>, path: &str, tenant: Option<String>) -> Option<Base> {
        let scheme = if cx.origin().transport == "https" { "https" } else { "http" };
        Some(Base { origin: format!("{scheme}://{}", host?), path: path.to_owned(), tenant })
    }

    /// The same at another origin.
    pub(super) fn at(&self, origin: &str) -> Base {
        Base { origin: origin.to_owned(), ..self.clone() }
    }

    /// That of a call, if it came over HTTP.
    pub(crate) fn of(cx: &Context) -> Option<Base> {
        cx.get::<Base>().cloned()
    }
}

/// A card with the capabilities of the agent and the places where it is served, for clients of both versions.
pub(super) fn complete(card: &AgentCard, agent: &AgentCard, base: Option<&Base>, is_for_old: bool) -> Value {
    let mut card = card.clone();
    card.capabilities = agent.capabilities.clone();
    if card.supported_interfaces.is_empty() {
        card.supported_interfaces.clone_from(&agent.supported_interfaces);
    }
    if card.supported_interfaces.is_empty()
        && let Some(base) = base
    {
        let url = format!("{}{}", base.origin, base.path);
        let places = [Version::V1_0, Version::V0_3];
        let interface = |version| AgentInterface {
            tenant: base.tenant.clone(),
            ..AgentInterface::json_rpc(url.clone(), version)
        };
        card.supported_interfaces = places.map(interface).to_vec();
    }
    let mut card = serde_json::to_value(&card).unwrap_or_default();
    if is_for_old && card.is_object() {
        v03::lower::add_to_card(&mut card);
    }
    card
}
