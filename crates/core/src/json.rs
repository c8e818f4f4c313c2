//! One well-formed JSON text, kept as it is written.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::codec;
use crate::limits::Limits;
use crate::text::{Text, TextWriter};

/// One well-formed JSON text: a slice of the frame it was received in, or a text of our own.
///
/// Cloning is cheap, and nothing is parsed until you call [`decode`](Json::decode). Two values are equal if
/// their texts are: `1.0` is not `1`.
///
/// A long text keeps the frame it came in alive; [`detached`](Json::detached) returns a copy that does not.
///
/// # Examples
///
/// ```
/// use switchboard_core::Json;
///
/// let json = Json::parse(r#"{"a": [1, 2]}"#)?;
/// assert_eq!(json.as_str(), r#"{"a": [1, 2]}"#);
/// assert!(Json::parse("{a: 1}").is_err());
/// assert_eq!(Json::encode(&[1, 2])?.decode::<(u8, u8)>()?, (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Text);

/// The kind of a JSON value, determined by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number of any length and precision.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A text that is not JSON, or that exceeds a limit. Its message says what is wrong and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NotJson {
    reason: String,
}

impl Json {
    /// `null`.
    pub const NULL: Json = Json(Text::from_static("null"));
    /// `true`.
    pub const TRUE: Json = Json(Text::from_static("true"));
    /// `false`.
    pub const FALSE: Json = Json(Text::from_static("false"));

    /// Checks that `text` is one JSON text, by the rules and [default limits](Limits) of received messages.
    ///
    /// # Errors
    ///
    /// Says what is wrong and at which byte.
    pub fn parse(text: impl Into<Bytes>) -> Result<Json, NotJson> {
        let text = text.into();
        let span = codec::validate(&text, &Limits::default())
            .map_err(|fault| NotJson { reason: fault.to_string() })?;
        Ok(Json(Text::slice(&text, span.start, span.end)))
    }

    /// Serializes a value as JSON. A `Json` is returned as it is.
    ///
    /// # Errors
    ///
    /// When the value cannot be JSON, such as a map whose keys are not strings.
    #[inline]
    pub fn encode<T: Serialize + 'static>(value: &T) -> Result<Json, serde_json::Error> {
        if let Some(text) = simple(value) {
            return Ok(Json(text));
        }
        if TypeId::of::<T>() == TypeId::of::<Json>()
            && let Some(json) = (value as &dyn Any).downcast_ref::<Json>()
        {
            return Ok(json.clone());
        }
        Json::encode_ref(value)
    }

    /// Serializes a value that may borrow.
    ///
    /// # Errors
    ///
    /// As for [`encode`](Json::encode).
    pub fn encode_ref<T: Serialize + ?Sized>(value: &T) -> Result<Json, serde_json::Error> {
        let mut writer = TextWriter::default();
        serde_json::to_writer(&mut writer, value)?;
        Ok(Json(writer.finish()))
    }

    /// Deserializes the text as a `T`. Decoding to a `Json` costs nothing.
    ///
    /// # Errors
    ///
    /// When the text does not match the type. The message may quote the text: do not send it to the peer.
    pub fn decode<T: DeserializeOwned + 'static>(&self) -> Result<T, serde_json::Error> {
        if TypeId::of::<T>() == TypeId::of::<Json>() {
            let mut same: Option<T> = None;
            if let Some(slot) = (&mut same as &mut dyn Any).downcast_mut::<Option<Json>>() {
                *slot = Some(self.clone());
            }
            if let Some(json) = same {
                return Ok(json);
            }
        }
        serde_json::from_slice(self.as_bytes())
    }

    /// The kind of value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind::of(self.as_bytes()[0])
    }

    /// The member of an object with this name, or the element of an array with this index, written as in a JSON pointer.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_core::Json;
    ///
    /// let json = Json::parse(r#"{"to": ["ann", "bob"]}"#)?;
    /// let bob = json.get("to").and_then(|to| to.get("1"));
    /// assert_eq!(bob.unwrap().as_str(), "\"bob\"");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get(&self, token: &str) -> Option<Json> {
        match self.kind() {
            Kind::Object => {
                let mut members = codec::members(self.as_bytes());
                members.find(|(name, _)| **name == *token.as_bytes()).map(|(_, value)| self.sub(value))
            }
            // `01` and `+1` are not indices.
            Kind::Array if token == "0" || token.starts_with(|first: char| matches!(first, '1'..='9')) => {
                self.element(token.parse().ok()?)
            }
            _ => None,
        }
    }

    /// The members of an object with these names, found in one walk.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_core::Json;
    ///
    /// let [a, b] = Json::parse(r#"{"b": 2, "c": 3}"#)?.pick(["a", "b"]);
    /// assert!(a.is_none() && b.unwrap().as_str() == "2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn pick<const N: usize>(&self, names: [&str; N]) -> [Option<Json>; N] {
        let mut found = [const { None }; N];
        for (name, value) in self.members() {
            if let Some(index) = names.iter().position(|wanted| *wanted.as_bytes() == *name) {
                found[index].get_or_insert_with(|| self.sub(value));
            }
        }
        found
    }

    /// The members of an object: their names without escapes, and the texts of their values, which are slices of this
    /// text. Anything but an object has none.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'_, [u8]>, &[u8])> {
        codec::members(self.as_bytes())
    }

    /// The members of an object: their names without escapes, and their values, which share this text. Anything but an
    /// object has none.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_core::Json;
    ///
    /// let json = Json::parse(r#"{"to": ["ann", "bob"], "n": 2}"#)?;
    /// let names: Vec<_> = json.entries().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["to", "n"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn entries(&self) -> impl Iterator<Item = (Cow<'_, str>, Json)> {
        self.members().map(|(name, value)| (as_text(name), self.sub(value)))
    }

    /// The elements of an array, which share this text. Anything but an array has none.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_core::Json;
    ///
    /// let json = Json::parse(r#"["ann", [1, 2]]"#)?;
    /// let last = json.elements().last();
    /// assert_eq!(last.unwrap().as_str(), "[1, 2]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn elements(&self) -> impl Iterator<Item = Json> {
        codec::elements(self.as_bytes()).map(|value| self.sub(value))
    }

    /// The element of an array at this index.
    #[must_use]
    pub fn element(&self, index: usize) -> Option<Json> {
        codec::elements(self.as_bytes()).nth(index).map(|value| self.sub(value))
    }

    /// The text as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// A copy that shares no buffer, so it can outlive the frame that the text came in.
    #[must_use]
    pub fn detached(&self) -> Json {
        Json(self.0.detached())
    }

    /// The part of this text that `part` points into. `part` must itself be one JSON text.
    pub(crate) fn sub(&self, part: &[u8]) -> Json {
        Json(self.0.sub(part))
    }

    /// Takes a text that was already checked.
    /// Writes the text at the end of `out`.
    #[inline]
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        self.0.append_to(out);
    }

    /// The text itself, to be written over.
    pub(crate) fn text(&mut self) -> &mut Text {
        &mut self.0
    }

    pub(crate) fn from_text(text: Text) -> Json {
        Json(text)
    }
}

/// The text of a number or string, written without a detour through a serializer: most results of most calls are that.
#[inline]
fn simple<T: 'static>(value: &T) -> Option<Text> {
    let any = value as &dyn Any;
    if TypeId::of::<T>() == TypeId::of::<u64>() {
        return any.downcast_ref().map(|number: &u64| Text::from_number(*number, false));
    }
    if TypeId::of::<T>() == TypeId::of::<i64>() {
        return any.downcast_ref().map(|number: &i64| Text::from_number(number.unsigned_abs(), *number < 0));
    }
    if TypeId::of::<T>() == TypeId::of::<String>() {
        return any.downcast_ref().map(|text: &String| Text::from_vec(codec::quote(text)));
    }
    None
}

/// The text of a name, which is UTF-8 because the whole text was checked.
fn as_text(name: Cow<'_, [u8]>) -> Cow<'_, str> {
    match name {
        Cow::Borrowed(name) => String::from_utf8_lossy(name),
        Cow::Owned(name) => String::from_utf8_lossy(&name).into_owned().into(),
    }
}

impl Kind {
    pub(crate) fn of(first: u8) -> Kind {
        match first {
            b'n' => Kind::Null,
            b't' | b'f' => Kind::Bool,
            b'"' => Kind::String,
            b'[' => Kind::Array,
            b'{' => Kind::Object,
            _ => Kind::Number,
        }
    }

    /// The kind with its article, for messages: "an array".
    #[must_use]
    pub fn with_article(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "a boolean",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The name by which serde_json's serializer takes a text as it is, see its `RawValue`.
const RAW: &str = "$serde_json::private::RawValue";

impl Serialize for Json {
    /// Into JSON the text goes as it is, without being parsed again.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(RAW, 1)?;
        raw.serialize_field(RAW, self.as_str())?;
        raw.end()
    }
}

impl<'de> Deserialize<'de> for Json {
    /// Takes the text of a value as it stands, from serde_json only.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Json(Text::from_vec(Box::<str>::from(raw).into_string().into_bytes())))
    }
}

impl JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AnyJson".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::from(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_inside_a_value_is_written_and_read_as_it_is() {
        #[derive(Serialize, Deserialize)]
        struct Wrap {
            inner: Json,
        }
        let text = r#"{"inner":{"n":12345678901234567890123,"f":1.50}}"#;
        let wrap: Wrap = serde_json::from_str(text).unwrap();
        assert_eq!(wrap.inner.as_str(), r#"{"n":12345678901234567890123,"f":1.50}"#);
        assert_eq!(Json::encode(&wrap).unwrap().as_str(), text);
    }

    #[test]
    fn encoding_and_decoding_a_json_shares_its_text() {
        let json = Json::parse("\"a text that is much too long to be kept inside the value\"").unwrap();
        let again: Json = Json::encode(&json).unwrap().decode().unwrap();
        assert_eq!(json.as_bytes().as_ptr(), again.as_bytes().as_ptr());
        assert_ne!(json.as_bytes().as_ptr(), json.detached().as_bytes().as_ptr());
    }

    #[test]
    fn members_and_elements_are_walked_in_order_and_only_where_they_are() {
        let json = Json::parse(r#"{"b\u0062": [1 , {"c": "]"}], "a": {}, "a": null}"#).unwrap();
        let entries: Vec<_> =
            json.entries().map(|(name, value)| (name.into_owned(), value.to_string())).collect();
        let expected = [("bb", r#"[1 , {"c": "]"}]"#), ("a", "{}"), ("a", "null")];
        assert_eq!(entries, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let elements: Vec<_> =
            json.get("bb").unwrap().elements().map(|element| element.to_string()).collect();
        assert_eq!(elements, ["1", r#"{"c": "]"}"#]);
        assert_eq!(json.elements().count(), 0);
        assert_eq!(Json::NULL.entries().count(), 0);
    }

    #[test]
    fn whitespace_around_the_text_is_not_part_of_it() {
        assert_eq!(Json::parse(" \n[1] ").unwrap().as_str(), "[1]");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let error = Json::parse("[1,]").unwrap_err();
        assert_eq!(error.to_string(), "expected a value at byte 3");
    }
}
