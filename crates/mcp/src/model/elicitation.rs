//! Elicitation: asking the user of a client.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use switchboard_core::Json;

use super::meta::{META, Meta};
use super::wire::{tokens, wire};
use super::{Revision, Wire, lower};

/// The params of `elicitation/create`: a question to the user, since 2025-06-18 (MCP-EL-01, MCP-EL-04).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Elicitation {
    /// A form to fill in.
    Form(ElicitForm),
    /// A URL to open, since 2025-11-25.
    Url(ElicitUrl),
}

/// A form for the user to fill in.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElicitForm {
    /// What the server asks for and why.
    pub message: String,
    /// The schema of the form: a flat object of strings, numbers, booleans and enums.
    pub requested_schema: Json,
    /// Request metadata, written only in 2025-11-25.
    pub meta: Meta,
}

/// A URL for the user to open.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElicitUrl {
    /// Why the user should open it.
    pub message: String,
    /// The URL.
    pub url: String,
    /// The id of the elicitation. Required in 2025-11-25; other revisions lack it.
    pub elicitation_id: Option<String>,
    /// Request metadata, written only in 2025-11-25.
    pub meta: Meta,
}

impl ElicitForm {
    /// The fields of the form that have a default, with it: what a user starts from.
    #[must_use]
    pub fn defaults(&self) -> BTreeMap<String, Json> {
        let properties = self.requested_schema.get("properties");
        let fields = properties.iter().flat_map(Json::entries);
        fields.filter_map(|(name, field)| Some((name.into_owned(), field.get("default")?))).collect()
    }
}

impl Elicitation {
    /// A form with this schema.
    #[must_use]
    pub fn form(message: impl Into<String>, requested_schema: Json) -> Elicitation {
        Elicitation::Form(ElicitForm { message: message.into(), requested_schema, meta: Meta::new() })
    }

    /// A URL to open. The id must be hard to guess.
    #[must_use]
    pub fn url(
        message: impl Into<String>,
        url: impl Into<String>,
        elicitation_id: impl Into<String>,
    ) -> Elicitation {
        Elicitation::Url(ElicitUrl {
            message: message.into(),
            url: url.into(),
            elicitation_id: Some(elicitation_id.into()),
            meta: Meta::new(),
        })
    }

    /// What the server asks for and why.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Elicitation::Form(form) => &form.message,
            Elicitation::Url(url) => &url.message,
        }
    }

    /// Whether the revision supports this question. URLs and multi-select fields exist since 2025-11-25.
    #[must_use]
    pub fn is_in(&self, revision: Revision) -> bool {
        match self {
            _ if revision < Revision::V2025_06_18 => false,
            Elicitation::Form(form) => lower::requested_schema(&form.requested_schema, revision).is_some(),
            Elicitation::Url(_) => revision >= Revision::V2025_11_25,
        }
    }
}

impl Wire for Elicitation {
    /// Writes the params. Check [`is_in`](Elicitation::is_in) first: unsupported questions are written as they are.
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let has_modes = revision >= Revision::V2025_11_25;
        let mut map = serializer.serialize_map(None)?;
        let meta = match self {
            Elicitation::Form(ElicitForm { message, requested_schema, meta }) => {
                if has_modes {
                    map.serialize_entry("mode", "form")?;
                }
                map.serialize_entry("message", message)?;
                let lowered = lower::requested_schema(requested_schema, revision);
                map.serialize_entry("requestedSchema", lowered.as_ref().unwrap_or(requested_schema))?;
                meta
            }
            Elicitation::Url(ElicitUrl { message, url, elicitation_id, meta }) => {
                map.serialize_entry("mode", "url")?;
                map.serialize_entry("message", message)?;
                map.serialize_entry("url", url)?;
                if revision == Revision::V2025_11_25 {
                    map.serialize_entry("elicitationId", elicitation_id.as_deref().unwrap_or_default())?;
                }
                meta
            }
        };
        if !meta.is_empty() && revision == Revision::V2025_11_25 {
            map.serialize_entry(META, meta)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Elicitation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Elicitation, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Parts {
            mode: Option<String>,
            message: String,
            requested_schema: Option<Json>,
            url: Option<String>,
            elicitation_id: Option<String>,
            #[serde(rename = "_meta")]
            meta: Option<Meta>,
        }
        let missing = |name| move || D::Error::missing_field(name);
        let Parts { mode, message, requested_schema, url, elicitation_id, meta } =
            Parts::deserialize(deserializer)?;
        let meta = meta.unwrap_or_default();
        match mode.as_deref() {
            None | Some("form") => {
                let requested_schema = requested_schema.ok_or_else(missing("requestedSchema"))?;
                Ok(Elicitation::Form(ElicitForm { message, requested_schema, meta }))
            }
            Some("url") => {
                let url = url.ok_or_else(missing("url"))?;
                Ok(Elicitation::Url(ElicitUrl { message, url, elicitation_id, meta }))
            }
            Some(_) => Err(D::Error::custom("the mode is unknown; expected `form` or `url`")),
        }
    }
}

tokens! {
    /// The user's reaction to a question.
    pub enum ElicitAction {
        /// Submitted the form, or agreed to open the URL.
        Accept = "accept",
        /// Declined.
        Decline = "decline",
        /// Dismissed the question without a choice.
        Cancel = "cancel",
    }
}

wire! {
    /// The result of `elicitation/create` (MCP-EL-02).
    pub struct Elicited {
        required {
            /// The user's reaction.
            action: ElicitAction = "action",
        }
        optional {
            /// The submitted form, an object.
            content: Option<Json> = "content",
            /// Metadata, until 2025-11-25.
            meta: Meta = "_meta" until V2025_11_25,
        }
    }
}

impl Elicited {
    /// The user submitted the form.
    ///
    /// # Errors
    ///
    /// When the fields cannot be serialized as JSON.
    pub fn accept<T: Serialize + ?Sized>(fields: &T) -> Result<Elicited, serde_json::Error> {
        let content = Some(Json::encode_ref(fields)?);
        Ok(Elicited { action: ElicitAction::Accept, content, meta: Meta::new() })
    }

    /// The user agreed to open the URL.
    #[must_use]
    pub fn consent() -> Elicited {
        Elicited { action: ElicitAction::Accept, content: None, meta: Meta::new() }
    }

    /// The user declined.
    #[must_use]
    pub fn decline() -> Elicited {
        Elicited { action: ElicitAction::Decline, content: None, meta: Meta::new() }
    }

    /// The user dismissed the question.
    #[must_use]
    pub fn cancel() -> Elicited {
        Elicited { action: ElicitAction::Cancel, content: None, meta: Meta::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ask: &Elicitation, revision: Revision, expected: &str) {
        let written = ask.to_json(revision);
        assert_eq!(written.as_str(), expected);
        assert!(ask.is_in(revision));
    }

    // MCP-EL-01, MCP-EL-04
    #[test]
    fn modes_and_identifiers_are_written_where_the_revision_has_them() {
        let form = Elicitation::form("Seat?", Json::parse(r#"{"type":"object","properties":{}}"#).unwrap());
        let schema = r#""requestedSchema":{"type":"object","properties":{}}"#;
        check(&form, Revision::V2025_06_18, &format!(r#"{{"message":"Seat?",{schema}}}"#));
        check(&form, Revision::V2026_07_28, &format!(r#"{{"mode":"form","message":"Seat?",{schema}}}"#));
        assert!(!form.is_in(Revision::V2025_03_26));

        let url = Elicitation::url("Pay.", "https://pay.example", "e1");
        let members = r#""mode":"url","message":"Pay.","url":"https://pay.example""#;
        check(&url, Revision::V2025_11_25, &format!(r#"{{{members},"elicitationId":"e1"}}"#));
        check(&url, Revision::V2026_07_28, &format!("{{{members}}}"));
        assert!(!url.is_in(Revision::V2025_06_18));
    }

    // MCP-EL-01
    #[test]
    fn a_question_without_a_mode_is_a_form() {
        let read = |text| serde_json::from_str::<Elicitation>(text);
        assert!(matches!(read(r#"{"message":"a","requestedSchema":{}}"#), Ok(Elicitation::Form(_))));
        assert!(read(r#"{"mode":"url","message":"a","requestedSchema":{}}"#).is_err());
        assert!(read(r#"{"mode":"voice","message":"a"}"#).is_err());
    }
}
