//! One entry of a list.

use std::sync::{Arc, OnceLock};

use switchboard_core::{Json, Name, Service};

use crate::model::{At, Revision, Wire};

/// An entry of a list: what clients see of it, and what answers for it.
pub(crate) struct Entry<T> {
    /// What it is found by: its name or URI.
    pub(crate) key: String,
    pub(crate) value: T,
    /// As each revision writes it.
    written: [OnceLock<Json>; Revision::ALL.len()],
}

/// A part of an entry that clients see.
pub(crate) trait Listed {
    type Shown: Wire;

    fn shown(&self) -> &Self::Shown;
}

impl<T: Listed> Entry<T> {
    pub(crate) fn new(key: impl Into<String>, value: T) -> Entry<T> {
        Entry { key: key.into(), value, written: Default::default() }
    }

    /// Its text in lists of this revision, written once.
    pub(crate) fn written(&self, revision: Revision) -> Json {
        let index = Revision::ALL.iter().position(|known| *known == revision).unwrap_or_default();
        let write = || Json::encode_ref(&At(self.value.shown(), revision)).unwrap_or(Json::NULL);
        self.written[index].get_or_init(write).clone()
    }
}

/// The method behind an entry.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) method: Name,
    /// The parameters, with the types that texts are converted to.
    pub(crate) params: Arc<[Param]>,
    /// The scope that a caller needs.
    pub(crate) scope: Option<String>,
    /// Whether the method streams, so that a remote one has to be asked for its stream.
    pub(crate) is_stream: bool,
    /// Whether a task calls the method as a job.
    pub(crate) is_durable: bool,
}

/// A parameter of a method.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    /// The `type` of its schema, if it is one.
    pub(crate) kind: Option<String>,
}

impl Param {
    /// A text as a value of this parameter: prompt arguments and URI variables are texts on the wire.
    pub(crate) fn convert(&self, text: &str) -> Json {
        let as_text = || Json::encode(&text.to_owned()).unwrap_or(Json::NULL);
        match self.kind.as_deref() {
            Some("integer" | "number" | "boolean" | "array" | "object" | "null") => {
                Json::parse(text.to_owned()).unwrap_or_else(|_| as_text())
            }
            _ => as_text(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_converted_by_the_type_of_the_parameter() {
        let check = |kind: Option<&str>, text: &str, expected: &str| {
            let param = Param { name: "p".to_owned(), kind: kind.map(str::to_owned) };
            assert_eq!(param.convert(text).as_str(), expected);
        };
        check(Some("integer"), "3", "3");
        check(Some("integer"), "three", "\"three\"");
        check(Some("boolean"), "true", "true");
        check(Some("string"), "3", "\"3\"");
        check(None, "true", "\"true\"");
    }
}
