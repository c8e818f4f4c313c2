//! The identifier of a call, as raw text.

use std::fmt;

use crate::json::{Json, Kind};
use crate::text::{Text, TextWriter};

/// The identifier of a call: the JSON text that the caller wrote, echoed byte for byte.
///
/// In JSON-RPC 2.0 a string, a number or `null`; in 1.0 any JSON value. Equality is equality of the text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Id(Text);

impl Id {
    /// `null`.
    pub const NULL: Id = Id(Text::from_static("null"));

    /// Takes an identifier from a JSON text.
    #[must_use]
    pub fn from_json(json: &Json) -> Id {
        Id(Text::copy_from(json.as_bytes()))
    }

    /// The text as it goes over the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The text as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// A copy that shares no buffer, so it can outlive the frame that the identifier came in.
    #[must_use]
    pub fn detached(&self) -> Id {
        Id(self.0.detached())
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.as_bytes() == b"null"
    }

    /// The identifier as a whole number, if its *value* is one: `7`, but also `7.0` and `70e-1`, which peers
    /// that read numbers as floats may make of it. The string `"7"` is not the number 7.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        let text = self.as_str();
        if let Ok(number) = text.parse() {
            return (!text.starts_with('+')).then_some(number);
        }
        let float =
            (Kind::of(text.as_bytes()[0]) == Kind::Number).then(|| text.parse::<f64>().ok()).flatten()?;
        let whole = float >= 0.0 && float.fract() == 0.0 && float < 9_007_199_254_740_992.0;
        whole.then_some(float as u64)
    }

    /// Writes the text at the end of `out`.
    #[inline]
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        self.0.append_to(out);
    }

    /// The text itself, to be written over.
    pub(crate) fn text(&mut self) -> &mut Text {
        &mut self.0
    }

    pub(crate) fn from_text(text: Text) -> Id {
        Id(text)
    }
}

impl From<u64> for Id {
    fn from(number: u64) -> Id {
        Id(Text::from_number(number, false))
    }
}

impl From<&str> for Id {
    /// A string identifier with this content: `abc` becomes `"abc"`.
    fn from(content: &str) -> Id {
        let mut writer = TextWriter::default();
        serde_json::to_writer(&mut writer, content).expect("a string can be written");
        Id(writer.finish())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_match_by_value_and_strings_never_do() {
        let check = |text: &'static str, expected: Option<u64>| {
            assert_eq!(Id(Text::from_static(text)).as_u64(), expected, "{text}");
        };
        check("7", Some(7));
        check("7.0", Some(7));
        check("70e-1", Some(7));
        check("18446744073709551615", Some(u64::MAX));
        check("-7", None);
        check("7.5", None);
        check("1e400", None);
        check("\"7\"", None);
        check("null", None);
        check("[7]", None);
    }
}
