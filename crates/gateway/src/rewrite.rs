//! Changing the params of a call.

use serde_json::Value;
use switchboard_core::{Call, ErrorObject, Json};

/// Changes to the params of a call, by JSON pointer. A call without changes keeps its params byte for byte.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rewrite {
    /// Members that are removed.
    drop: Vec<Box<str>>,
    /// Members that are set if they are missing.
    default: Vec<(Box<str>, Value)>,
    /// Members that are set, whatever they were.
    set: Vec<(Box<str>, Value)>,
}

impl Rewrite {
    /// Removes the value at this place, if there is one.
    #[must_use]
    pub fn remove(mut self, pointer: impl Into<Box<str>>) -> Rewrite {
        self.drop.push(pointer.into());
        self
    }

    /// Sets the value at this place if there is none.
    #[must_use]
    pub fn set_if_missing(mut self, pointer: impl Into<Box<str>>, value: Value) -> Rewrite {
        self.default.push((pointer.into(), value));
        self
    }

    /// The same with other values, which can be shown: those that are set may be secrets.
    pub(crate) fn masked(&self) -> Rewrite {
        let mask = |(pointer, _): &(Box<str>, Value)| (pointer.clone(), Value::from("***"));
        let (default, set) = (self.default.iter().map(mask).collect(), self.set.iter().map(mask).collect());
        Rewrite { drop: self.drop.clone(), default, set }
    }

    /// Sets the value at this place.
    #[must_use]
    pub fn set(mut self, pointer: impl Into<Box<str>>, value: Value) -> Rewrite {
        self.set.push((pointer.into(), value));
        self
    }

    /// Whether it changes params by their names.
    pub(crate) fn has_names(&self) -> bool {
        let values = self.default.iter().chain(&self.set).map(|(pointer, _)| pointer);
        self.drop.iter().chain(values).any(|pointer| is_name(pointer))
    }

    fn is_empty(&self) -> bool {
        self.drop.is_empty() && self.default.is_empty() && self.set.is_empty()
    }

    pub(crate) fn apply(&self, call: &mut Call) -> Result<(), ErrorObject> {
        if self.is_empty() {
            return Ok(());
        }
        let decoded = call.params.as_ref().map(Json::decode::<Value>).transpose();
        let mut params = decoded.map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
        for pointer in &self.drop {
            if let Some(params) = &mut params {
                remove(params, pointer);
            }
        }
        for (pointer, value) in &self.default {
            if params.as_ref().is_none_or(|params| params.pointer(pointer).is_none()) {
                insert(
                    params.get_or_insert_with(|| Value::Object(Default::default())),
                    pointer,
                    value.clone(),
                )?;
            }
        }
        for (pointer, value) in &self.set {
            insert(params.get_or_insert_with(|| Value::Object(Default::default())), pointer, value.clone())?;
        }
        call.params = match params {
            Some(params) => Some(Json::encode(&params).map_err(|error| ErrorObject::internal(&error))?),
            None => None,
        };
        Ok(())
    }
}

/// Whether a pointer begins with the name of a parameter, and not with a position.
fn is_name(pointer: &str) -> bool {
    let first = pointer.strip_prefix('/').and_then(|rest| rest.split('/').next());
    first.is_some_and(|first| first.parse::<usize>().is_err())
}

/// The place of a value: its parent's pointer and its own name.
fn split(pointer: &str) -> Option<(&str, String)> {
    let (parent, name) = pointer.rsplit_once('/')?;
    Some((parent, name.replace("~1", "/").replace("~0", "~")))
}

fn remove(params: &mut Value, pointer: &str) {
    let Some((parent, name)) = split(pointer) else { return };
    match params.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.remove(&name);
        }
        Some(Value::Array(list)) => {
            if let Ok(index) = name.parse::<usize>()
                && index < list.len()
            {
                list.remove(index);
            }
        }
        _ => {}
    }
}

fn insert(params: &mut Value, pointer: &str, value: Value) -> Result<(), ErrorObject> {
    let cannot = || ErrorObject::invalid_params(format!("the params have no place for {pointer}"));
    let (parent, name) = split(pointer).ok_or_else(cannot)?;
    match params.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.insert(name, value);
            Ok(())
        }
        Some(Value::Array(list)) => match name.parse::<usize>() {
            Ok(index) if index < list.len() => {
                list[index] = value;
                Ok(())
            }
            Ok(index) if index == list.len() => {
                list.push(value);
                Ok(())
            }
            _ => Err(cannot()),
        },
        _ => Err(cannot()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rewritten(rewrite: &Rewrite, params: Option<&str>) -> Result<Option<String>, ErrorObject> {
        let params = params.map(|text| Json::parse(text.to_owned()).expect(text));
        let mut call = Call::new("m", params);
        rewrite.apply(&mut call)?;
        Ok(call.params.map(|params| params.as_str().to_owned()))
    }

    #[test]
    fn params_without_changes_keep_every_byte() {
        let text = r#"{ "b" : 1.0e2, "a":[ ] }"#;
        assert_eq!(rewritten(&Rewrite::default(), Some(text)), Ok(Some(text.to_owned())));
        assert_eq!(rewritten(&Rewrite::default(), None), Ok(None));
    }

    #[test]
    fn members_are_dropped_defaulted_and_set() {
        let rewrite = Rewrite::default()
            .remove("/debug")
            .set_if_missing("/limit", json!(10))
            .set("/tenant", json!("acme"));
        let check = |params: Option<&str>, expected: &str| {
            let written = rewritten(&rewrite, params).expect("it fits").expect("there are some");
            let [written, expected] =
                [&*written, expected].map(|text| serde_json::from_str::<Value>(text).expect("JSON"));
            assert_eq!(written, expected, "{params:?}");
        };
        check(None, r#"{"limit":10,"tenant":"acme"}"#);
        check(Some(r#"{"debug":true,"limit":3,"tenant":"evil"}"#), r#"{"limit":3,"tenant":"acme"}"#);
    }

    #[test]
    fn positions_are_set_and_appended_but_never_skipped() {
        let rewrite = |pointer: &str| Rewrite::default().set(pointer, json!("x"));
        assert_eq!(rewritten(&rewrite("/1"), Some("[1,2]")), Ok(Some(r#"[1,"x"]"#.to_owned())));
        assert_eq!(rewritten(&rewrite("/2"), Some("[1,2]")), Ok(Some(r#"[1,2,"x"]"#.to_owned())));
        assert!(rewritten(&rewrite("/3"), Some("[1,2]")).is_err());
        assert!(rewritten(&rewrite("/a/b"), Some("{}")).is_err());
    }
}
