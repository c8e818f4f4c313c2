//! Places in params.

use std::fmt;
use std::str::FromStr;

use switchboard_core::Json;

/// A place in params: a JSON pointer such as `/amount` or `/to/0/name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    text: Box<str>,
    /// Its parts, without escapes.
    tokens: Vec<Box<str>>,
}

/// A text that is not a JSON pointer into params.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a JSON pointer; write `/amount`, or `/to/0` for parts of a parameter")]
pub struct PointerError(String);

impl Pointer {
    /// The value at this place, if there is one. `names` are those of positional params.
    pub(super) fn find(&self, params: Option<&Json>, names: &[String]) -> Option<Json> {
        let (first, rest) = self.tokens.split_first()?;
        let params = params?;
        let position = names.iter().position(|name| **name == **first);
        let mut value = match (params.get(first), position) {
            (Some(value), _) => value,
            (None, Some(position)) => params.element(position)?,
            (None, None) => return None,
        };
        for token in rest {
            value = value.get(token)?;
        }
        Some(value)
    }
}

impl FromStr for Pointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Pointer, PointerError> {
        let wrong = || PointerError(text.to_owned());
        let tokens = text.strip_prefix('/').ok_or_else(wrong)?.split('/');
        let tokens = tokens.map(|token| {
            let is_escaped = token.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
            is_escaped.then(|| token.replace("~1", "/").replace("~0", "~").into()).ok_or_else(wrong)
        });
        Ok(Pointer { text: text.into(), tokens: tokens.collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(pointer: &str, params: &str, names: &[&str]) -> Option<String> {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = Json::parse(params.to_owned()).unwrap();
        pointer.parse::<Pointer>().unwrap().find(Some(&params), &names).map(|json| json.to_string())
    }

    #[test]
    fn named_and_positional_params_are_found_alike() {
        let found = Some("100".to_owned());
        assert_eq!(find("/amount", r#"{"to": "bob", "amount": 100}"#, &[]), found);
        assert_eq!(find("/amount", r#"["bob", 100]"#, &["to", "amount"]), found);
        assert_eq!(find("/1", r#"["bob", 100]"#, &["to", "amount"]), found);
        assert_eq!(find("/amount", r#"["bob", 100]"#, &[]), None);
        assert_eq!(find("/a~1b/~0/1", r#"{"a\/b": {"~": [7, 100]}}"#, &[]), found);
        assert_eq!(find("/a/01", r#"{"a": [1, 2]}"#, &[]), None);
    }

    #[test]
    fn other_texts_are_not_pointers() {
        for text in ["", "amount", "/a~", "/a~2"] {
            assert_eq!(text.parse::<Pointer>(), Err(PointerError(text.to_owned())));
        }
    }
}
