//! The card of an agent: what it can do, and where (A2A-C-02).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_core::Json;

use super::wire::{nullable, text};

/// What an agent says about itself.
///
/// # Examples
///
/// ```
/// use switchboard_a2a::model::{AgentCard, AgentSkill};
///
/// let card = AgentCard::new("Weather", "Forecasts for any city.", "1.0.0")
///     .skill(AgentSkill::new("forecast", "Forecast", "The weather of the next days.").tagged(["weather"]));
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentCard {
    /// Its name.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// What it does.
    pub description: String,
    /// Where it can be called, the best place first. A server adds its own.
    pub supported_interfaces: Vec<AgentInterface>,
    /// Who runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    /// Its version.
    pub version: String,
    /// Where it is documented.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    /// What of the protocol it supports. A server fills it in.
    pub capabilities: AgentCapabilities,
    /// How clients may prove who they are, by name: objects as the protocol defines them (A2A-C-06).
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub security_schemes: BTreeMap<String, Json>,
    /// Which of them are needed: each entry is one way, `{"schemes": {name: {"list": [scopes]}}}`.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<Json>,
    /// The media types that it takes.
    pub default_input_modes: Vec<String>,
    /// The media types that it answers with.
    pub default_output_modes: Vec<String>,
    /// What it can do.
    pub skills: Vec<AgentSkill>,
    /// Signatures of the card.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<Json>,
    /// A picture for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
}

/// A place where an agent can be called.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentInterface {
    /// The URL.
    #[serde(deserialize_with = "text")]
    pub url: String,
    /// `JSONRPC`, `GRPC`, `HTTP+JSON`, or a URI.
    pub protocol_binding: String,
    /// Which of several agents at the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The version of the protocol, such as `1.0`.
    pub protocol_version: String,
}

/// Who runs an agent.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct AgentProvider {
    /// A URL about them.
    pub url: String,
    /// Their name.
    pub organization: String,
}

/// What of the protocol an agent supports.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct AgentCapabilities {
    /// Answers in parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// Notifications to a URL of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_notifications: Option<bool>,
    /// Extensions of the protocol.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<AgentExtension>,
    /// A card that says more to authenticated clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_agent_card: Option<bool>,
}

/// An extension of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AgentExtension {
    /// What it is known by.
    pub uri: String,
    /// How the agent uses it.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether clients have to understand it.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "super::wire::is_false")]
    pub required: bool,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Json>,
}

/// Something that an agent can do.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentSkill {
    /// Unique within the card.
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// A name for people.
    pub name: String,
    /// What it does, for people and models.
    pub description: String,
    /// Keywords.
    pub tags: Vec<String>,
    /// Messages to try it with.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// The media types that it takes, if not those of the card.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// The media types that it answers with, if not those of the card.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// What it needs in addition to the card.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<Json>,
}

impl AgentCard {
    /// A card with this name, description and version. Modes are `text/plain` and `application/json`.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        version: impl Into<String>,
    ) -> AgentCard {
        let modes = ["text/plain", "application/json"].map(str::to_owned).to_vec();
        AgentCard {
            name: name.into(),
            description: description.into(),
            supported_interfaces: Vec::new(),
            provider: None,
            version: version.into(),
            documentation_url: None,
            capabilities: AgentCapabilities::default(),
            security_schemes: BTreeMap::new(),
            security_requirements: Vec::new(),
            default_input_modes: modes.clone(),
            default_output_modes: modes,
            skills: Vec::new(),
            signatures: Vec::new(),
            icon_url: None,
        }
    }

    /// Adds a skill.
    #[must_use]
    pub fn skill(mut self, skill: AgentSkill) -> AgentCard {
        self.skills.push(skill);
        self
    }

    /// Replaces the media types that it takes and answers with.
    #[must_use]
    pub fn with_modes<S: Into<String>>(
        mut self,
        input: impl IntoIterator<Item = S>,
        output: impl IntoIterator<Item = S>,
    ) -> AgentCard {
        self.default_input_modes = input.into_iter().map(Into::into).collect();
        self.default_output_modes = output.into_iter().map(Into::into).collect();
        self
    }

    /// Adds an extension of the protocol.
    #[must_use]
    pub fn extension(mut self, uri: impl Into<String>, required: bool) -> AgentCard {
        let extension = AgentExtension { uri: uri.into(), required, ..AgentExtension::default() };
        self.capabilities.extensions.push(extension);
        self
    }

    /// Adds a place where the agent can be called, after those that are there.
    #[must_use]
    pub fn interface(mut self, interface: AgentInterface) -> AgentCard {
        self.supported_interfaces.push(interface);
        self
    }

    /// Requires a bearer token.
    #[must_use]
    pub fn with_bearer(mut self) -> AgentCard {
        let scheme = r#"{"httpAuthSecurityScheme":{"scheme":"Bearer"}}"#;
        let needed = r#"{"schemes":{"bearer":{"list":[]}}}"#;
        let json = |text: &'static str| Json::parse(text).expect("it is JSON");
        self.security_schemes.insert("bearer".to_owned(), json(scheme));
        self.security_requirements.push(json(needed));
        self
    }
}

impl AgentSkill {
    /// A skill with this identifier, name and description.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, description: impl Into<String>) -> AgentSkill {
        AgentSkill {
            id: id.into(),
            name: name.into(),
            description: description.into(),
            tags: Vec::new(),
            examples: Vec::new(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
            security_requirements: Vec::new(),
        }
    }

    /// Adds keywords.
    #[must_use]
    pub fn tagged<S: Into<String>>(mut self, tags: impl IntoIterator<Item = S>) -> AgentSkill {
        self.tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// Adds a message to try it with.
    #[must_use]
    pub fn example(mut self, message: impl Into<String>) -> AgentSkill {
        self.examples.push(message.into());
        self
    }
}

impl AgentInterface {
    /// A place for JSON-RPC. Over other transports than HTTP, such as `ws://` and `nats://`, the binding is one that only Switchboard's client knows.
    #[must_use]
    pub fn json_rpc(url: impl Into<String>, version: super::Version) -> AgentInterface {
        let url = url.into();
        let binding = if url.starts_with("http") { JSON_RPC } else { OTHER_TRANSPORTS };
        AgentInterface {
            url,
            protocol_binding: binding.to_owned(),
            tenant: None,
            protocol_version: version.as_str().to_owned(),
        }
    }

    /// Says which of several agents at the URL it is; see [`Tenants`](crate::Tenants).
    #[must_use]
    pub fn with_tenant(self, tenant: impl Into<String>) -> AgentInterface {
        AgentInterface { tenant: Some(tenant.into()), ..self }
    }
}

/// The binding of JSON-RPC over HTTP.
pub(crate) const JSON_RPC: &str = "JSONRPC";

/// The binding of JSON-RPC over other transports, which the scheme of the URL names.
pub(crate) const OTHER_TRANSPORTS: &str = "urn:switchboard:jsonrpc";
