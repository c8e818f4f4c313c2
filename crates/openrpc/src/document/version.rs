//! The versions of OpenRPC, and converting a document to another (OR-03).

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use super::extensions::{DATA_SCHEMA, NOTIFICATION, STREAM, SUBSCRIPTION};
use super::plain::{self, Formats};
use super::{Components, ContentDescriptor, Document, MethodEntry, Referable, Schema};

/// The versions of OpenRPC that can be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecVersion {
    /// 1.2.6, for older tools. It has no notifications, so they are described as returning null, and marked with
    /// `x-notification`; and formats that JSON Schema does not define are left out, because the validators of such tools fail on them.
    V1_2,
    /// 1.3.2.
    #[default]
    V1_3,
    /// 1.4.1.
    V1_4,
}

impl SpecVersion {
    /// The version as written in a document.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SpecVersion::V1_2 => "1.2.6",
            SpecVersion::V1_3 => "1.3.2",
            SpecVersion::V1_4 => "1.4.1",
        }
    }
}

/// Shows the version as written in a document.
impl fmt::Display for SpecVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A version that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unsupported OpenRPC version; use 1.2, 1.3 or 1.4")]
#[non_exhaustive]
pub struct UnknownVersion;

/// Reads `1.3`, or with its last number, `1.3.2`.
impl FromStr for SpecVersion {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<SpecVersion, UnknownVersion> {
        let all = [SpecVersion::V1_2, SpecVersion::V1_3, SpecVersion::V1_4];
        let is_meant = |version: &SpecVersion| {
            let whole = version.as_str();
            text == whole || whole.rsplit_once('.').is_some_and(|(short, _)| text == short)
        };
        all.into_iter().find(is_meant).ok_or(UnknownVersion)
    }
}

impl Document {
    /// Converts the document to this version. Nothing is lost in 1.3 and 1.4; for 1.2, see [`SpecVersion::V1_2`].
    #[must_use]
    pub fn written_in(mut self, version: SpecVersion) -> Document {
        version.as_str().clone_into(&mut self.openrpc);
        let is_old = version == SpecVersion::V1_2;
        for method in self.methods.iter_mut().filter_map(Referable::here_mut) {
            if is_old {
                answer_null(method);
            } else {
                answer_nothing(method);
            }
        }
        if is_old {
            self.write_schemas_plainly(Formats::Defined);
        }
        self
    }

    /// Writes every schema as [`plain`] has it.
    pub(crate) fn write_schemas_plainly(&mut self, formats: Formats) {
        for method in self.methods.iter_mut().filter_map(Referable::here_mut) {
            for content in method.params.iter_mut().chain(&mut method.result) {
                content.here_mut().into_iter().for_each(|content| rewrite(&mut content.schema, formats));
            }
            let item = |name: &str| format!("/{name}/item");
            let mut others = Value::Object(std::mem::take(&mut method.others));
            for pointer in [item(STREAM), item(SUBSCRIPTION)] {
                others.pointer_mut(&pointer).into_iter().for_each(|schema| plain::write(schema, formats));
            }
            let details = others.get_mut(DATA_SCHEMA).and_then(Value::as_object_mut);
            details
                .into_iter()
                .flat_map(serde_json::Map::values_mut)
                .for_each(|schema| plain::write(schema, formats));
            if let Value::Object(others) = others {
                method.others = others;
            }
        }
        let Some(Components { schemas, content_descriptors, .. }) = &mut self.components else { return };
        schemas.values_mut().for_each(|schema| rewrite(schema, formats));
        for content in content_descriptors.values_mut().filter_map(Referable::here_mut) {
            rewrite(&mut content.schema, formats);
        }
    }
}

fn rewrite(schema: &mut Schema, formats: Formats) {
    let mut value = std::mem::take(schema).into_value();
    plain::write(&mut value, formats);
    *schema = Schema::new(value).unwrap_or_default();
}

/// What can only be notified answers null, if it is called nevertheless.
fn answer_null(method: &mut MethodEntry) {
    if method.result.is_none() {
        let null = Schema::new(json!({"type": "null"})).unwrap_or_default();
        method.result = Some(ContentDescriptor::new("result", null).into());
        method.others.insert(NOTIFICATION.to_owned(), Value::Bool(true));
    }
}

fn answer_nothing(method: &mut MethodEntry) {
    if method.others.get(NOTIFICATION) == Some(&Value::Bool(true)) {
        method.others.remove(NOTIFICATION);
        method.result = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_with_and_without_its_last_number() {
        for (text, expected) in [
            ("1.2", Some(SpecVersion::V1_2)),
            ("1.3.2", Some(SpecVersion::V1_3)),
            ("1.4", Some(SpecVersion::V1_4)),
            ("1.4.1", Some(SpecVersion::V1_4)),
            ("1.4.0", None),
            ("1", None),
            ("", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }

    // OR-03, OR-12
    #[test]
    fn a_notification_answers_null_in_the_version_that_has_none() {
        let text = r#"{"openrpc": "1.3.2", "info": {"title": "T", "version": "1"}, "methods": [
            {"name": "told", "params": [{"name": "a", "schema": {"type": "integer", "format": "uint8"}}], "x-safe": true},
            {"name": "asked", "params": [], "result": {"name": "b", "schema": true}, "x-stream": {"item": {"items": true}}}
        ]}"#;
        let new = Document::parse(text).unwrap();
        let old = new.clone().written_in(SpecVersion::V1_2);
        let written = serde_json::to_value(&old).unwrap();
        assert_eq!(written["openrpc"], "1.2.6");
        assert_eq!(written["methods"][0]["result"], json!({"name": "result", "schema": {"type": "null"}}));
        assert_eq!(written["methods"][0]["params"][0]["schema"], json!({"type": "integer"}));
        assert_eq!(written["methods"][1]["result"]["schema"], json!({}));
        assert_eq!(written["methods"][1]["x-stream"], json!({"item": {"items": {}}}));
        assert!(old.method("told").unwrap().is_notification() && old.method("told").unwrap().is_safe());
        assert!(!old.method("asked").unwrap().is_notification());
        let again = old.written_in(SpecVersion::V1_4);
        assert_eq!(again.openrpc, "1.4.1");
        assert_eq!(again.method("told").unwrap().result, None);
        assert_eq!(again.method("told").unwrap().others, new.method("told").unwrap().others);
    }
}
