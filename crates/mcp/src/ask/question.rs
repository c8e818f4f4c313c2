//! A question as it is sent.

use serde_json::{Map, Value, json};
use switchboard_core::{ErrorObject, Json};

use super::error::Feature;
use crate::model::{At, Elicitation, Message, Revision, Role, Sampling, Wire as _, lower, methods};

/// A question before it is asked.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) feature: Feature,
    pub(crate) key: Option<String>,
    params: Map<String, Value>,
    messages: Vec<Message>,
    /// The question of another server, which is written instead of the rest.
    relayed: Option<Relayed>,
}

/// A question of another server.
#[derive(Clone, Debug)]
enum Relayed {
    Sampling(Box<Sampling>),
    Elicitation(Box<Elicitation>),
    Roots,
}

impl Question {
    pub(super) fn new(feature: Feature, params: Value) -> Question {
        let params = match params {
            Value::Object(params) => params,
            _ => Map::new(),
        };
        Question { feature, key: None, params, messages: Vec::new(), relayed: None }
    }

    /// A question that another server asks with this method, for the client of a call.
    pub(crate) fn relayed(method: &str, params: Option<&Json>) -> Result<Question, ErrorObject> {
        let wrong = |error: serde_json::Error| ErrorObject::invalid_params(error.to_string());
        let params = params.cloned().unwrap_or(Json::NULL);
        let (feature, relayed) = match method {
            methods::CREATE_MESSAGE => {
                let sampling: Sampling = params.decode().map_err(wrong)?;
                let feature =
                    if sampling.tools.is_empty() { Feature::Sampling } else { Feature::SamplingTools };
                (feature, Relayed::Sampling(Box::new(sampling)))
            }
            methods::ELICIT => {
                let mut elicitation: Elicitation = params.decode().map_err(wrong)?;
                let feature = match &mut elicitation {
                    Elicitation::Url(url) => {
                        url.elicitation_id.get_or_insert_with(super::seal::random_id);
                        Feature::Url
                    }
                    _ => Feature::Form,
                };
                (feature, Relayed::Elicitation(Box::new(elicitation)))
            }
            methods::LIST_ROOTS => (Feature::Roots, Relayed::Roots),
            other => return Err(ErrorObject::method_not_found(other)),
        };
        let question = Question::new(feature, Value::Null);
        Ok(Question { relayed: Some(relayed), ..question })
    }

    pub(super) fn sampling(prompt: String) -> Question {
        let mut question = Question::new(Feature::Sampling, json!({"maxTokens": 1000}));
        question.messages.push(Message::user(prompt));
        question
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.params.insert(name.to_owned(), value);
    }

    pub(super) fn set_messages(&mut self, messages: Vec<Message>) {
        self.messages = messages;
    }

    pub(super) fn add_message(&mut self, role: Role, text: String) {
        self.messages.push(match role {
            Role::User => Message::user(text),
            Role::Assistant => Message::assistant(text),
        });
    }

    pub(super) fn add_hint(&mut self, name: &str) {
        let preferences = self.params.entry("modelPreferences").or_insert_with(|| json!({"hints": []}));
        if let Some(hints) = preferences.get_mut("hints").and_then(Value::as_array_mut) {
            hints.push(json!({"name": name}));
        }
    }

    /// The method that asks it.
    pub(crate) fn method(&self) -> &'static str {
        match self.feature {
            Feature::Sampling | Feature::SamplingTools => "sampling/createMessage",
            Feature::Form | Feature::Url => "elicitation/create",
            Feature::Roots => "roots/list",
        }
    }

    /// The word that numbered keys begin with.
    pub(crate) fn word(&self) -> &'static str {
        match self.feature {
            Feature::Sampling | Feature::SamplingTools => "sampling",
            Feature::Form | Feature::Url => "elicitation",
            Feature::Roots => "roots",
        }
    }

    /// Its params in this revision.
    pub(crate) fn params(&self, revision: Revision) -> Json {
        match &self.relayed {
            Some(Relayed::Sampling(sampling)) => return sampling.to_json(revision),
            Some(Relayed::Elicitation(elicitation)) => return elicitation.to_json(revision),
            Some(Relayed::Roots) | None => {}
        }
        let mut params = self.params.clone();
        if matches!(self.feature, Feature::Sampling | Feature::SamplingTools) {
            let written = |message| serde_json::to_value(At(message, revision)).unwrap_or_default();
            params.insert("messages".to_owned(), self.messages.iter().map(written).collect());
        }
        // Older clients know fewer kinds of fields.
        if self.feature == Feature::Form
            && let Some(schema) = params.get("requestedSchema").and_then(|schema| Json::encode(schema).ok())
            && let Some(lowered) = lower::requested_schema(&schema, revision)
        {
            params.insert("requestedSchema".to_owned(), lowered.decode().unwrap_or_default());
        }
        // Only that revision identifies elicitations; before and after it the request itself does.
        if self.feature == Feature::Url && revision == Revision::V2025_11_25 {
            params.insert("elicitationId".to_owned(), super::seal::random_id().into());
        }
        Json::encode(&Value::Object(params)).unwrap_or(Json::NULL)
    }
}
