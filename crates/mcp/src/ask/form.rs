//! The schemas of forms: flat objects of strings, numbers, booleans and enums (MCP-EL-01).

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a form with the fields of `T`. A type that is not an object becomes a form with the one field `value`, which
/// answers then hold.
pub(crate) fn form_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let Value::Object(schema) = settings.into_generator().into_root_schema_for::<T>().to_value() else {
        return json!({"type": "object", "properties": {}});
    };
    if schema.get("type").is_none_or(|kind| kind != "object") {
        let field = field_schema(Value::Object(schema));
        return json!({"type": "object", "properties": {"value": field}, "required": ["value"]});
    }
    let required = schema.get("required").cloned();
    let properties = match schema.get("properties") {
        Some(Value::Object(properties)) => properties.clone(),
        _ => Map::new(),
    };
    let properties: Map<String, Value> =
        properties.into_iter().map(|(name, field)| (name, Value::Object(field_schema(field)))).collect();
    let mut form = json!({"type": "object", "properties": properties});
    if let Some(required) = required {
        form["required"] = required;
    }
    form
}

/// A field as forms have it: of one type, and with no more keywords than clients know.
fn field_schema(field: Value) -> Map<String, Value> {
    let Value::Object(mut field) = field else {
        return Map::from_iter([("type".to_owned(), json!("string"))]);
    };
    field.remove("title");
    // An optional field is one that is not required.
    if let Some(Value::Array(choices)) = field.remove("anyOf") {
        let choice = choices.into_iter().find(|choice| choice["type"] != "null");
        if let Some(Value::Object(choice)) = choice {
            field.extend(choice);
        }
    }
    if let Some(Value::Array(types)) = field.get("type") {
        let one = types.iter().find(|kind| *kind != "null").cloned();
        field.insert("type".to_owned(), one.unwrap_or_else(|| json!("string")));
    }
    if let Some(Value::Array(values)) = field.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = field.get_mut("oneOf") {
        let titled: Vec<Value> = choices.iter().filter_map(titled).collect();
        field.insert("oneOf".to_owned(), Value::Array(titled));
        field.insert("type".to_owned(), json!("string"));
    }
    if field.get("default").is_some_and(Value::is_null) {
        field.remove("default");
    }
    let is_known = |format: &Value| ["email", "uri", "date", "date-time"].iter().any(|known| format == known);
    if field.get("format").is_some_and(|format| !is_known(format)) {
        field.remove("format");
    }
    field
}

/// A variant with documentation: its value, and its documentation as the title.
fn titled(choice: &Value) -> Option<Value> {
    let value = choice.get("const").or_else(|| choice.get("enum")?.get(0))?;
    let title = choice.get("title").or_else(|| choice.get("description")).unwrap_or(value);
    Some(json!({"const": value, "title": title}))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    // MCP-EL-01
    #[test]
    fn the_fields_of_a_struct_become_a_flat_form() {
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only the schema is looked at")]
        struct Seat {
            /// The row.
            row: u8,
            window: Option<bool>,
            class: Class,
            #[serde(default)]
            meal: Option<Meal>,
        }
        #[derive(Deserialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        enum Class {
            First,
            Second,
        }
        #[derive(Deserialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        enum Meal {
            /// Without meat
            Veg,
            /// Anything
            Any,
        }
        let form = form_schema::<Seat>();
        assert_eq!(
            form,
            json!({
                "type": "object",
                "properties": {
                    "row": {"type": "integer", "description": "The row.", "minimum": 0, "maximum": 255},
                    "window": {"type": "boolean"},
                    "class": {"type": "string", "enum": ["first", "second"]},
                    "meal": {"type": "string", "oneOf": [
                        {"const": "veg", "title": "Without meat"},
                        {"const": "any", "title": "Anything"},
                    ]},
                },
                "required": ["row", "class"],
            })
        );
    }
}
