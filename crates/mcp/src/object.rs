//! Results as objects whose members are decided one by one, written without building values.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use switchboard_core::{ErrorObject, Json, Reply};

use crate::model::Revision;

/// An object to be written.
#[derive(Default)]
pub(crate) struct Object<'a>(Vec<(&'a str, Part<'a>)>);

/// The value of a member.
pub(crate) enum Part<'a> {
    Json(Json),
    Text(&'a str),
    Number(u64),
    True,
    List(Vec<Part<'a>>),
    Object(Object<'a>),
}

impl<'a> Object<'a> {
    pub(crate) fn new() -> Object<'a> {
        Object(Vec::with_capacity(6))
    }

    /// Adds a member.
    pub(crate) fn with(mut self, name: &'a str, value: impl Into<Part<'a>>) -> Object<'a> {
        self.0.push((name, value.into()));
        self
    }

    /// Adds a member, if there is a value.
    pub(crate) fn with_some(self, name: &'a str, value: Option<impl Into<Part<'a>>>) -> Object<'a> {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The object without this member, and the member.
    pub(crate) fn without(mut self, name: &str) -> (Object<'a>, Option<Json>) {
        let found = self.0.extract_if(.., |(member, _)| *member == name).last();
        let value = found.and_then(|(_, value)| Json::encode_ref(&value).ok());
        (self, value)
    }

    /// Whether it has this member.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(member, _)| *member == name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of the object.
    pub(crate) fn json(&self) -> Result<Json, ErrorObject> {
        Json::encode_ref(self).map_err(|error| ErrorObject::internal(&error))
    }

    /// The object as the result of a call.
    pub(crate) fn reply(&self) -> Reply {
        self.json().into()
    }

    /// Begins a result that is complete: revisions without sessions say that, and who answers.
    pub(crate) fn complete(revision: Revision, server: &Json) -> Object<'a> {
        let result = Object::new();
        if !revision.is_stateless() {
            return result;
        }
        let meta = Object::new().with(crate::model::meta::SERVER_INFO, server.clone());
        result.with("resultType", "complete").with("_meta", meta)
    }
}

impl<'a> From<&'a str> for Part<'a> {
    fn from(text: &'a str) -> Part<'a> {
        Part::Text(text)
    }
}

impl From<Json> for Part<'_> {
    fn from(json: Json) -> Self {
        Part::Json(json)
    }
}

impl From<u64> for Part<'_> {
    fn from(number: u64) -> Self {
        Part::Number(number)
    }
}

impl<'a> From<Object<'a>> for Part<'a> {
    fn from(object: Object<'a>) -> Part<'a> {
        Part::Object(object)
    }
}

impl<'a, T: Into<Part<'a>>> From<Vec<T>> for Part<'a> {
    fn from(list: Vec<T>) -> Part<'a> {
        Part::List(list.into_iter().map(Into::into).collect())
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Part::Json(json) => json.serialize(serializer),
            Part::Text(text) => serializer.serialize_str(text),
            Part::Number(number) => serializer.serialize_u64(*number),
            Part::True => serializer.serialize_bool(true),
            Part::Object(object) => object.serialize(serializer),
            Part::List(list) => {
                let mut seq = serializer.serialize_seq(Some(list.len()))?;
                for value in list {
                    seq.serialize_element(value)?;
                }
                seq.end()
            }
        }
    }
}
