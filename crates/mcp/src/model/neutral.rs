//! The revision-neutral form of content, which handlers return.
//!
//! A handler does not know the revision of its client. The types that handlers return are therefore the only wire types that
//! implement `Serialize` and `JsonSchema`. The neutral form is the shape of the latest revision, and the schema carries a
//! [`Mark`]. The server finds the mark in the result schema of a method and converts results with [`lower`](super::lower).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{Audio, Content, Contents, Image, Message, Revision, ToolResult, Wire as _};

/// A mark in a schema: the method returns content instead of plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mark {
    /// [`Content`], [`Image`] or [`Audio`], or a list of them.
    Content,
    /// [`Contents`], or a list of them.
    Contents,
    /// [`Message`], or a list of them.
    Message,
    /// [`ToolResult`].
    Result,
}

impl Mark {
    /// The schema keyword that holds the mark.
    pub const KEYWORD: &'static str = "x-mcp";

    /// The mark of a schema or of its `items`. None for plain data.
    ///
    /// # Examples
    ///
    /// ```
    /// use schemars::schema_for;
    /// use switchboard_mcp::model::{Content, Mark};
    ///
    /// assert_eq!(Mark::of(schema_for!(Vec<Content>).as_value()), Some(Mark::Content));
    /// assert_eq!(Mark::of(schema_for!(Vec<u8>).as_value()), None);
    /// ```
    #[must_use]
    pub fn of(schema: &Value) -> Option<Mark> {
        let marked = schema.get(Mark::KEYWORD).or_else(|| schema.get("items")?.get(Mark::KEYWORD))?;
        Mark::ALL.into_iter().find(|mark| marked == mark.as_str())
    }

    const ALL: [Mark; 4] = [Mark::Content, Mark::Contents, Mark::Message, Mark::Result];

    /// The value of the keyword.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Mark::Content => "content",
            Mark::Contents => "contents",
            Mark::Message => "message",
            Mark::Result => "result",
        }
    }

    /// The schema of an object with this mark.
    fn schema(self, properties: &Value, required: &[&str]) -> Schema {
        let mut schema = Schema::default();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), properties.clone());
        schema.insert("required".to_owned(), required.into());
        schema.insert(Mark::KEYWORD.to_owned(), self.as_str().into());
        schema
    }
}

macro_rules! neutral {
    ($( $name:ident: $mark:ident, $properties:tt, $required:expr; )+) => { $(
        impl Serialize for $name {
            /// Writes the neutral form, which is the shape of the latest revision.
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.write(Revision::LATEST, serializer)
            }
        }

        impl JsonSchema for $name {
            // The mark must not hide behind a `$ref`.
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn schema_id() -> Cow<'static, str> {
                concat!("mcp::", stringify!($name)).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                Mark::$mark.schema(&json!($properties), &$required)
            }
        }
    )+ };
}

neutral! {
    Content: Content, {"type": {"enum": ["text", "image", "audio", "resource", "resource_link"]}}, ["type"];
    Image: Content,
        {"type": {"const": "image"}, "data": {"type": "string"}, "mimeType": {"type": "string"}},
        ["type", "data", "mimeType"];
    Audio: Content,
        {"type": {"const": "audio"}, "data": {"type": "string"}, "mimeType": {"type": "string"}},
        ["type", "data", "mimeType"];
    Contents: Contents,
        {"uri": {"type": "string"}, "mimeType": {"type": "string"}, "text": {"type": "string"}, "blob": {"type": "string"}},
        ["uri"];
    Message: Message, {"role": {"enum": ["user", "assistant"]}, "content": {"type": "object"}}, ["role", "content"];
    ToolResult: Result,
        {"content": {"type": "array"}, "structuredContent": {}, "isError": {"type": "boolean"}},
        ["content"];
}

#[cfg(test)]
mod tests {
    use schemars::schema_for;

    use super::*;

    fn check<T: JsonSchema>(expected: Option<Mark>) {
        assert_eq!(Mark::of(schema_for!(T).as_value()), expected, "{}", T::schema_name());
    }

    #[test]
    fn schemas_of_returned_content_are_marked() {
        check::<Content>(Some(Mark::Content));
        check::<Vec<Content>>(Some(Mark::Content));
        check::<Image>(Some(Mark::Content));
        check::<Vec<Audio>>(Some(Mark::Content));
        check::<Option<Image>>(Some(Mark::Content));
        check::<Vec<Contents>>(Some(Mark::Contents));
        check::<Vec<Message>>(Some(Mark::Message));
        check::<ToolResult>(Some(Mark::Result));
        check::<Vec<String>>(None);
    }
}
