//! Arguments by name and by position.

use switchboard_core::{ErrorObject, Json, Kind};

/// A parameter, as far as its position matters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slot {
    /// Its name.
    pub name: String,
    /// Whether it takes all positions that are left. By name it is an array.
    pub is_variadic: bool,
}

impl Slot {
    /// A parameter that takes one position.
    pub fn new(name: impl Into<String>) -> Slot {
        Slot { name: name.into(), is_variadic: false }
    }
}

/// Named arguments as a list: `null` stands for an argument that is missing before another one.
///
/// # Errors
///
/// When there is no parameter with such a name, or one that takes many positions is not an array.
pub fn by_position(arguments: &Json, slots: &[Slot]) -> Result<Option<Json>, ErrorObject> {
    if arguments.kind() != Kind::Object {
        return Ok(Some(arguments.clone()));
    }
    let given: Vec<(String, Json)> =
        arguments.entries().map(|(name, value)| (name.into_owned(), value)).collect();
    if let Some((name, _)) = given.iter().find(|(name, _)| slots.iter().all(|slot| slot.name != *name)) {
        return Err(ErrorObject::invalid_params(format!("there is no parameter {name:?}")));
    }
    let mut list = Vec::with_capacity(slots.len());
    let mut count = 0;
    for slot in slots {
        let value = given.iter().find(|(name, _)| *name == slot.name).map(|(_, value)| value);
        match value {
            Some(value) if slot.is_variadic => list.extend(value.elements()),
            Some(value) => list.push(value.clone()),
            None => list.push(Json::NULL),
        }
        if value.is_some() {
            count = list.len();
        }
    }
    list.truncate(count);
    if list.is_empty() {
        return Ok(None);
    }
    Json::encode(&list).map(Some).map_err(|error| ErrorObject::internal(&error))
}

/// A list of arguments as an object. Objects stay as they are.
///
/// # Errors
///
/// When there are more params than names.
pub fn by_name(params: Option<&Json>, slots: &[Slot]) -> Result<Json, ErrorObject> {
    let empty = || Json::parse("{}").map_err(|error| ErrorObject::internal(&error));
    let Some(params) = params else { return empty() };
    if params.kind() == Kind::Object {
        return Ok(params.clone());
    }
    let values: Vec<Json> = params.elements().collect();
    if values.len() > slots.len() {
        let detail = format!("{} arguments are too many; it takes {}", values.len(), slots.len());
        return Err(ErrorObject::invalid_params(detail));
    }
    let object: std::collections::BTreeMap<String, Json> =
        slots.iter().map(|slot| slot.name.clone()).zip(values).collect();
    Json::encode(&object).map_err(|error| ErrorObject::internal(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots() -> Vec<Slot> {
        let rest = Slot { is_variadic: true, ..Slot::new("rest") };
        vec![Slot::new("a"), Slot::new("b"), rest]
    }

    #[test]
    fn named_arguments_take_the_positions_of_their_parameters() {
        let check = |arguments: &'static str, expected: Option<&str>| {
            let list = by_position(&Json::parse(arguments).unwrap(), &slots()).unwrap();
            assert_eq!(list.as_ref().map(Json::as_str), expected, "{arguments}");
        };
        check(r#"{"b":2.50,"a":"x"}"#, Some(r#"["x",2.50]"#));
        check(r#"{"b":2}"#, Some("[null,2]"));
        check(r#"{"a":1}"#, Some("[1]"));
        check(r#"{"a":1,"b":2,"rest":[3,4]}"#, Some("[1,2,3,4]"));
        check("{}", None);
        check("[5]", Some("[5]"));
        assert!(by_position(&Json::parse(r#"{"c":1}"#).unwrap(), &slots()).is_err());
    }

    #[test]
    fn lists_get_the_names_of_the_parameters() {
        let check = |params: Option<&'static str>, expected: &str| {
            let params = params.map(|params| Json::parse(params).unwrap());
            assert_eq!(by_name(params.as_ref(), &slots()).unwrap().as_str(), expected);
        };
        check(None, "{}");
        check(Some("[1,2]"), r#"{"a":1,"b":2}"#);
        check(Some(r#"{"z":1}"#), r#"{"z":1}"#);
        assert!(by_name(Some(&Json::parse("[1,2,3,4]").unwrap()), &slots()).is_err());
    }
}
