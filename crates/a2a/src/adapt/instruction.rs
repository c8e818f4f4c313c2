//! How a message names a skill and its params.

use serde_json::{Value, json};
use switchboard_core::Json;

use crate::model::{Content, Message, Part, Role};

/// What a message asks for: a part with `{"skill": …, "params": …}`, or a text or other data for the skill in its metadata.
pub(super) struct Instruction {
    pub(super) skill: Option<String>,
    pub(super) params: Option<Json>,
    /// Whether it has only text, which no method takes.
    pub(super) is_text: bool,
}

impl Instruction {
    pub(super) fn read(message: &Message) -> Instruction {
        let named = |json: &Json| json.get("skill")?.decode::<String>().ok();
        let of_message = message.metadata.as_ref().and_then(named);
        let data = message.parts.iter().find_map(|part| match &part.content {
            Content::Data(data) => Some(data),
            _ => None,
        });
        match data {
            Some(data) => Instruction {
                skill: named(data).or(of_message),
                params: data.get("params").map(|params| params.detached()),
                is_text: false,
            },
            None => Instruction { skill: of_message, params: None, is_text: true },
        }
    }

    /// A message for a skill, with params, or with a text for agents that read it.
    pub(super) fn write(skill: &str, text: Option<String>, params: Option<Value>) -> Message {
        let mut parts: Vec<Part> = text.map(Part::text).into_iter().collect();
        if params.is_some() || parts.is_empty() {
            let mut data = json!({"skill": skill});
            if let Some(params) = params {
                data["params"] = params;
            }
            parts.extend(Json::encode(&data).map(Part::data));
        }
        let mut message = Message::new(Role::User, parts);
        message.metadata = Json::encode(&json!({"skill": skill})).ok();
        message
    }
}
