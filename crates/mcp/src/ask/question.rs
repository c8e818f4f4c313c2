//! A question as it is sent.

use serde_json::{Map, Value};
use switchboard_core::{ErrorObject, Json};

use super::error::Feature;
use crate::model::{Elicitation, Revision, Sampling, SamplingMessage, Wire as _, lower, methods};

/// A question before it is asked.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) feature: Feature,
    pub(crate) key: Option<String>,
    params: Params,
}

/// The params of a question, which each revision writes in its own way.
#[derive(Clone, Debug)]
enum Params {
    /// Of a form or a page, or none.
    Plain(Map<String, Value>),
    Sampling(Box<Sampling>),
    /// Of another server.
    Elicitation(Box<Elicitation>),
}

impl Question {
    pub(super) fn new(feature: Feature, params: Value) -> Question {
        let params = match params {
            Value::Object(params) => params,
            _ => Map::new(),
        };
        Question { feature, key: None, params: Params::Plain(params) }
    }

    /// A question that another server asks with this method, for the client of a call.
    pub(crate) fn relayed(method: &str, params: Option<&Json>) -> Result<Question, ErrorObject> {
        let wrong = |error: serde_json::Error| ErrorObject::invalid_params(error.to_string());
        let params = params.cloned().unwrap_or(Json::NULL);
        let (feature, params) = match method {
            methods::CREATE_MESSAGE => {
                let sampling: Sampling = params.decode().map_err(wrong)?;
                (sampling_feature(&sampling), Params::Sampling(Box::new(sampling)))
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
                (feature, Params::Elicitation(Box::new(elicitation)))
            }
            methods::LIST_ROOTS => (Feature::Roots, Params::Plain(Map::new())),
            other => return Err(ErrorObject::method_not_found(other)),
        };
        Ok(Question { feature, key: None, params })
    }

    pub(super) fn sampling(prompt: String) -> Question {
        let sampling = Sampling::new(vec![SamplingMessage::user(prompt)], 1000);
        Question { feature: Feature::Sampling, key: None, params: Params::Sampling(Box::new(sampling)) }
    }

    /// Changes what the model is asked.
    pub(super) fn change_sampling(&mut self, change: impl FnOnce(&mut Sampling)) {
        if let Params::Sampling(sampling) = &mut self.params {
            change(sampling);
            self.feature = sampling_feature(sampling);
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
        let mut params = match &self.params {
            Params::Sampling(sampling) => return sampling.to_json(revision),
            Params::Elicitation(elicitation) => return elicitation.to_json(revision),
            Params::Plain(params) => params.clone(),
        };
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

/// MCP-SA-02: tools and how they are chosen need a capability.
fn sampling_feature(sampling: &Sampling) -> Feature {
    match sampling.tools.is_empty() && sampling.tool_choice.is_none() {
        true => Feature::Sampling,
        false => Feature::SamplingTools,
    }
}
