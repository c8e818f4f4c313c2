//! Schemas of values, in words that tell what to send.

use serde_json::Value;

use super::{Member, Reader, THING};

/// How deep a schema is shown.
const DEPTH: usize = 3;
/// How many alternatives of a schema, and values of an enumeration, are shown. A mark says that there are more.
const ALTERNATIVES: usize = 8;
pub(super) const VALUES: usize = 64;
/// How many members of one value are shown, including nested ones.
const MEMBERS: usize = 64;
/// Formats that say no more than the type and its bounds.
const NUMBERS: [&str; 12] = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int", "uint", "float",
    "double",
];

impl<'a> Reader<'a> {
    /// A schema in a few words: `integer`, `string[]`, `number | null`, `"a" | "b"`, or its title.
    pub(super) fn kind(&self, schema: &'a Value, depth: usize) -> String {
        const ANY: &str = "any";
        let resolved = self.resolve(schema);
        if depth > DEPTH || !self.spend(0) {
            return ANY.to_owned();
        }
        let joined = |mut kinds: Vec<String>, has_more: bool| {
            kinds.dedup();
            kinds.extend(has_more.then(|| "…".to_owned()));
            if kinds.is_empty() { ANY.to_owned() } else { kinds.join(" | ") }
        };
        if let Some(values) = resolved.get("enum").and_then(Value::as_array) {
            let kinds = values.iter().take(VALUES).map(|value| self.json(value)).collect();
            return joined(kinds, values.len() > VALUES);
        }
        if let Some(value) = resolved.get("const") {
            return self.json(value);
        }
        for member in ["oneOf", "anyOf"] {
            if let Some(all) = resolved.get(member) {
                let some = self.list(resolved, member).take(ALTERNATIVES);
                let kinds = some.map(|one| self.kind(one, depth + 1)).collect();
                return joined(kinds, all.as_array().is_some_and(|all| all.len() > ALTERNATIVES));
            }
        }
        let title = || self.name(resolved.get("title"));
        let one = |kind: &Value| match (kind.as_str()?, resolved.get("items")) {
            ("array", Some(items)) if items.is_object() => {
                let items = self.kind(items, depth + 1);
                Some(if items.contains(' ') { format!("({items})[]") } else { format!("{items}[]") })
            }
            ("object", _) => Some(title().unwrap_or_else(|| "object".to_owned())),
            _ => self.name(Some(kind)),
        };
        match resolved.get("type") {
            Some(kind @ Value::String(_)) => one(kind).unwrap_or_else(|| ANY.to_owned()),
            Some(Value::Array(kinds)) => {
                joined(kinds.iter().take(ALTERNATIVES).filter_map(one).collect(), false)
            }
            _ => title().unwrap_or_else(|| ANY.to_owned()),
        }
    }

    /// The only values that a schema takes, as JSON; none if there are others, or too many.
    pub(super) fn values(&self, schema: &'a Value) -> Vec<String> {
        let resolved = self.resolve(schema);
        if let Some(values) = resolved.get("enum").and_then(Value::as_array) {
            let few = values.iter().take(VALUES).filter(|_| values.len() <= VALUES);
            return few.map(|value| self.json(value)).collect();
        }
        self.choices(resolved).map(|(value, _)| self.json(value)).collect()
    }

    /// The values of a choice between constants, each with its schema; none if anything else may be chosen.
    fn choices(&self, resolved: &'a Value) -> impl Iterator<Item = (&'a Value, &'a Value)> {
        let all = ["oneOf", "anyOf"].iter().find_map(|member| resolved.get(member)?.as_array());
        let all = all.map_or(&[][..], Vec::as_slice);
        let is_choice = all.len() <= VALUES && all.iter().all(|one| self.resolve(one).get("const").is_some());
        all.iter().filter(move |_| is_choice).filter_map(|one| {
            let one = self.resolve(one);
            Some((one.get("const")?, one))
        })
    }

    /// What a value must be besides its type, and what it is if it is left out.
    pub(super) fn rules(&self, schema: &'a Value) -> Vec<String> {
        let schema = self.resolve(schema);
        let told =
            |member: &str| schema.get(member).filter(|value| !value.is_null()).map(|value| self.json(value));
        let mut rules = Vec::new();
        rules.extend(range(told("minimum"), told("maximum")));
        rules.extend(
            told("exclusiveMinimum")
                .filter(|_| is_number(schema, "exclusiveMinimum"))
                .map(|least| format!("above {least}")),
        );
        rules.extend(
            told("exclusiveMaximum")
                .filter(|_| is_number(schema, "exclusiveMaximum"))
                .map(|most| format!("below {most}")),
        );
        rules.extend(told("multipleOf").map(|of| format!("a multiple of {of}")));
        rules.extend(count(told("minLength"), told("maxLength"), "characters"));
        rules.extend(count(told("minItems"), told("maxItems"), "elements"));
        rules.extend(count(told("minProperties"), told("maxProperties"), "members"));
        rules.extend(self.name(schema.get("pattern")).map(|pattern| format!("matches {pattern}")));
        let format = self.name(schema.get("format")).filter(|format| !NUMBERS.contains(&format.as_str()));
        rules.extend(format.map(|format| format!("format {format}")));
        let is = |member: &str, value: bool| schema.get(member) == Some(&Value::Bool(value));
        rules.extend(is("uniqueItems", true).then(|| "unique elements".to_owned()));
        rules.extend(is("additionalProperties", false).then(|| "no other members".to_owned()));
        rules.extend(is("deprecated", true).then(|| "deprecated".to_owned()));
        rules.extend(told("default").map(|value| format!("default {value}")));
        rules
    }

    /// What a value holds: the members of objects, also of those in lists, and what each of a choice means.
    pub(super) fn members(&self, schema: &'a Value) -> Vec<Member> {
        let mut members = Vec::new();
        self.collect(schema, "", DEPTH, &mut members);
        members
    }

    fn collect(&self, schema: &'a Value, path: &str, left: usize, members: &mut Vec<Member>) {
        let resolved = self.resolve(schema);
        if !self.spend(0) {
            return;
        }
        for (value, one) in self.choices(resolved).filter(|_| left == DEPTH) {
            let text = self.text(one.get("description"));
            if !text.is_empty() && self.spend(THING) {
                let (path, kind) = (self.json(value), String::new());
                members.push(Member { path, is_required: true, kind, text, rules: Vec::new() });
            }
        }
        let Some(left) = left.checked_sub(1) else { return };
        if let Some(items) = resolved.get("items").filter(|items| items.is_object()) {
            self.collect(items, &format!("{path}[]"), left, members);
        }
        let parts = ["allOf", "oneOf", "anyOf"].iter().flat_map(|part| self.list(resolved, part));
        for part in parts.take(ALTERNATIVES) {
            self.collect(part, path, left, members);
        }
        let Some(properties) = resolved.get("properties").and_then(Value::as_object) else { return };
        let required = resolved.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (name, schema) in properties {
            if members.len() >= MEMBERS || !self.spend(THING) {
                return;
            }
            let Some(shown) = self.name(Some(&Value::String(name.clone()))) else { return };
            let path = format!("{path}.{shown}");
            if !self.spend(path.len()) {
                return;
            }
            let text = self.text(self.resolve(schema).get("description"));
            let is_required = required.iter().any(|required| required.as_str() == Some(name));
            let (kind, rules) = (self.kind(schema, 0), self.rules(schema));
            members.push(Member { path: path.clone(), is_required, kind, text, rules });
            self.collect(schema, &path, left, members);
        }
    }
}

/// Whether a member is a number. In old drafts some are true or false.
fn is_number(schema: &Value, member: &str) -> bool {
    schema.get(member).is_some_and(Value::is_number)
}

fn range(least: Option<String>, most: Option<String>) -> Option<String> {
    match (least, most) {
        (Some(least), Some(most)) => Some(format!("from {least} to {most}")),
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (None, None) => None,
    }
}

fn count(least: Option<String>, most: Option<String>, what: &str) -> Option<String> {
    match (least, most) {
        (Some(least), Some(most)) if least == most => Some(format!("{least} {what}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most} {what}")),
        (Some(least), None) => Some(format!("at least {least} {what}")),
        (None, Some(most)) => Some(format!("at most {most} {what}")),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::discovery::{self, Described};
    use switchboard::Json;

    fn described(schema: &str) -> Described {
        let document = format!(
            r#"{{"methods":[{{"name":"m","params":[{{"name":"p","required":true,"schema":{schema}}}]}}],
                "components":{{"schemas":{{"Node":{{"type":"object","properties":{{"next":{{"$ref":"\u0023/components/schemas/Node"}}}}}}}}}}}}"#
        );
        let mut found = discovery::read(&Json::parse(document).unwrap()).unwrap();
        found.methods.remove(0).params.remove(0).value
    }

    #[test]
    fn the_rules_of_a_value_are_told() {
        let check =
            |schema: &str, expected: &str| assert_eq!(described(schema).words(true), expected, "{schema}");
        check(r#"{"type":"integer","format":"uint8","minimum":0,"maximum":255}"#, "from 0 to 255");
        check(r#"{"exclusiveMinimum":0,"maximum":1.5}"#, "at most 1.5; above 0");
        check(r#"{"exclusiveMinimum":true,"minimum":1}"#, "at least 1");
        check(r#"{"maxLength":4000,"description":"It."}"#, "at most 4000 characters; It.");
        check(
            r#"{"minLength":2,"maxLength":2,"pattern":"^[a-z]+$","format":"uuid"}"#,
            "2 characters; matches ^[a-z]+$; format uuid",
        );
        check(r#"{"minItems":1,"uniqueItems":true}"#, "at least 1 elements; unique elements");
        check(
            r#"{"default":{"a":1},"deprecated":true,"additionalProperties":false}"#,
            "no other members; deprecated; default {\"a\":1}",
        );
        check("true", "");
    }

    #[test]
    fn members_are_told_by_their_paths() {
        let paths = |schema: &str| -> Vec<String> {
            let one =
                |member: &discovery::Member| format!("{} {} {}", member.path, member.kind, member.words());
            described(schema).members.iter().map(one).collect()
        };
        assert_eq!(
            paths(
                r#"{"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":1},
                "list":{"type":"array","items":{"properties":{"b":{"enum":[1,2],"description":"Which."}}}}}}"#
            ),
            [".a integer at least 1", ".list any[] optional", ".list[].b 1 | 2 optional; Which."]
        );
        assert_eq!(
            paths(
                r#"{"oneOf":[{"const":"x","description":"The one."},{"const":"y","description":"The other."}]}"#
            ),
            ["\"x\"  The one.", "\"y\"  The other."]
        );
        // What refers to itself has an end.
        let node = paths(r##"{"$ref":"#/components/schemas/Node"}"##);
        assert_eq!(node.first().map(String::as_str), Some(".next object optional"));
        assert!(node.len() <= 8, "{node:?}");
    }

    #[test]
    fn the_values_of_a_choice_are_known() {
        assert_eq!(described(r#"{"enum":["a",1]}"#).values, ["\"a\"", "1"]);
        assert_eq!(described(r#"{"oneOf":[{"const":"a"},{"const":"b"}]}"#).values, ["\"a\"", "\"b\""]);
        assert!(described(r#"{"oneOf":[{"const":"a"},{"type":"string"}]}"#).values.is_empty());
        assert!(described(r#"{"type":"string"}"#).values.is_empty());
    }
}
