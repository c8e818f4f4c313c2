//! Schemas that move from one document to another.

use serde_json::{Map, Value, json};

/// Where the definitions of an OpenRPC document are.
pub(super) const COMPONENTS: &str = "#/components/schemas/";

/// How many values a schema may have after its references are replaced. Further references accept any value.
const MOST: usize = 20_000;

/// A schema of draft 7 from an OpenRPC document as one of 2020-12, with its definitions under `$defs`. References to anything else
/// than a definition accept any value: nothing is fetched.
pub(super) fn modern(schema: &Value, is_defined: &dyn Fn(&str) -> bool) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let mut modern = Map::new();
    for (keyword, value) in members {
        let (keyword, value) = match (keyword.as_str(), value) {
            ("enum" | "const" | "default" | "examples", value) => (keyword.as_str(), value.clone()),
            ("$ref", Value::String(to)) => match defined(to, COMPONENTS).filter(|name| is_defined(name)) {
                Some(name) => ("$ref", json!(format!("#/$defs/{}", plain(&name)))),
                None => continue,
            },
            ("items", Value::Array(items)) => {
                ("prefixItems", items.iter().map(|item| self::modern(item, is_defined)).collect())
            }
            ("additionalItems", rest) if members.get("items").is_some_and(Value::is_array) => {
                ("items", self::modern(rest, is_defined))
            }
            ("additionalItems", _) => continue,
            ("definitions", Value::Object(inner)) => ("$defs", modern_each(inner, is_defined)),
            ("properties" | "patternProperties" | "$defs", Value::Object(inner)) => {
                (keyword.as_str(), modern_each(inner, is_defined))
            }
            ("dependencies", Value::Object(inner)) => {
                let (required, schemas): (Vec<_>, Vec<_>) =
                    inner.iter().partition(|(_, value)| value.is_array());
                if !required.is_empty() {
                    let required = required.into_iter().map(|(name, names)| (name.clone(), names.clone()));
                    modern.insert("dependentRequired".to_owned(), required.collect());
                }
                let schemas: Map<String, Value> =
                    schemas.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                ("dependentSchemas", modern_each(&schemas, is_defined))
            }
            (_, Value::Array(all)) => {
                (keyword.as_str(), all.iter().map(|value| self::modern(value, is_defined)).collect())
            }
            (_, value) => (keyword.as_str(), self::modern(value, is_defined)),
        };
        modern.insert(keyword.to_owned(), value);
    }
    Value::Object(modern)
}

fn modern_each(schemas: &Map<String, Value>, is_defined: &dyn Fn(&str) -> bool) -> Value {
    schemas.iter().map(|(name, schema)| (name.clone(), modern(schema, is_defined))).collect()
}

/// The name of the definition that a reference points to.
fn defined(reference: &str, prefix: &str) -> Option<String> {
    let name = reference.strip_prefix(prefix)?;
    // A longer path points into a definition.
    (!name.contains('/')).then(|| name.replace("%20", " ").replace("~1", "/").replace("~0", "~"))
}

/// A name that needs no escapes in a reference.
pub(super) fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// A schema without references, for documents that cannot have its definitions: they are put in place. A definition that contains
/// itself accepts any value there.
pub fn inlined(schema: &Value, prefixes: &[&str], definitions: &Map<String, Value>) -> Value {
    let mut inlining = Inlining { prefixes, definitions, inside: Vec::new(), left: MOST };
    inlining.schema(schema)
}

struct Inlining<'a> {
    prefixes: &'a [&'a str],
    definitions: &'a Map<String, Value>,
    inside: Vec<String>,
    left: usize,
}

impl Inlining<'_> {
    fn schema(&mut self, schema: &Value) -> Value {
        self.left = self.left.saturating_sub(1);
        match schema {
            Value::Array(items) => items.iter().map(|item| self.schema(item)).collect(),
            Value::Object(members) => self.object(members),
            other => other.clone(),
        }
    }

    fn object(&mut self, members: &Map<String, Value>) -> Value {
        let mut whole = Map::new();
        if let Some(Value::String(reference)) = members.get("$ref") {
            let name = self.prefixes.iter().find_map(|prefix| defined(reference, prefix));
            let found = name.and_then(|name| Some((self.definitions.get(&name)?, name)));
            if let Some((definition, name)) = found
                && !self.inside.contains(&name)
                && self.left > 0
            {
                self.inside.push(name);
                if let Value::Object(inner) = self.schema(definition) {
                    whole = inner;
                }
                self.inside.pop();
            }
        }
        let beside = members.iter().filter(|(name, _)| *name != "$ref");
        for (name, value) in beside {
            let is_data = matches!(name.as_str(), "enum" | "const" | "default" | "examples");
            let value = if is_data { value.clone() } else { self.schema(value) };
            whole.insert(name.clone(), value);
        }
        Value::Object(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_of_openrpc_are_written_in_the_dialect_of_mcp() {
        let check = |schema: Value, expected: Value| {
            assert_eq!(modern(&schema, &|name| matches!(name, "User" | "a/b")), expected);
        };
        check(
            json!({"properties": {"user": {"$ref": "#/components/schemas/User"}}}),
            json!({"properties": {"user": {"$ref": "#/$defs/User"}}}),
        );
        check(json!({"$ref": "#/components/schemas/a~1b"}), json!({"$ref": "#/$defs/a_b"}));
        check(json!({"$ref": "#/components/schemas/Other", "title": "x"}), json!({"title": "x"}));
        check(json!({"$ref": "https://example.com/schema.json"}), json!({}));
        check(
            json!({"items": [{"type": "string"}], "additionalItems": false}),
            json!({"prefixItems": [{"type": "string"}], "items": false}),
        );
        check(
            json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
            json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}}),
        );
        check(json!({"definitions": {"X": {}}}), json!({"$defs": {"X": {}}}));
        let data = json!({"enum": [{"$ref": "#/components/schemas/User", "items": [1]}]});
        check(data.clone(), data);
    }

    #[test]
    fn definitions_that_contain_themselves_end() {
        let definitions = json!({
            "Tree": {"properties": {"left": {"$ref": "#/$defs/Tree"}, "at": {"$ref": "#/$defs/Point"}}},
            "Point": {"type": "array"},
        });
        let definitions = definitions.as_object().unwrap();
        let check = |schema: Value, expected: Value| {
            assert_eq!(inlined(&schema, &["#/$defs/", "#/definitions/"], definitions), expected);
        };
        check(json!({"$ref": "#/$defs/Point", "title": "p"}), json!({"type": "array", "title": "p"}));
        check(
            json!({"items": {"$ref": "#/definitions/Tree"}}),
            json!({"items": {"properties": {"left": {}, "at": {"type": "array"}}}}),
        );
    }

    #[test]
    fn references_that_multiply_are_bounded() {
        let definition = |next: usize| {
            let to = json!({"$ref": format!("#/$defs/{next}")});
            json!({"properties": {"a": to, "b": to, "c": to, "d": to}})
        };
        let definitions = (0..30).map(|level| (level.to_string(), definition(level + 1))).collect();
        let whole = inlined(&json!({"$ref": "#/$defs/0"}), &["#/$defs/"], &definitions);
        assert!(whole.to_string().len() < 4 << 20);
    }
}
