//! JSON Schemas of types.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

/// The dialects of JSON Schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// The 2020-12 draft, with definitions under `$defs`.
    #[default]
    Draft2020,
    /// Draft 7 as OpenRPC requires it, with definitions under `components/schemas`.
    OpenRpc,
}

/// Generates JSON Schemas for types, and collects the definitions that they share.
#[derive(Debug)]
pub struct Schemas(SchemaGenerator);

impl Schemas {
    pub(crate) fn new(dialect: Dialect) -> Schemas {
        let settings = match dialect {
            Dialect::Draft2020 => SchemaSettings::draft2020_12(),
            Dialect::OpenRpc => {
                SchemaSettings::draft07().with(|s| s.definitions_path = "/components/schemas".into())
            }
        };
        let settings = settings.with(|s| s.meta_schema = None).with_transform(RecursiveTransform(bound));
        Schemas(settings.into_generator())
    }

    /// The schema of `T`.
    pub fn of<T: JsonSchema>(&mut self) -> Value {
        let mut schema = self.0.subschema_for::<T>();
        // What the dialect spells otherwise, such as tuples; definitions get the same when they are taken.
        for transform in self.0.transforms_mut() {
            transform.transform(&mut schema);
        }
        schema.to_value()
    }

    pub(crate) fn into_definitions(mut self) -> Map<String, Value> {
        self.0.take_definitions(true)
    }
}

/// Says which integers of 32 bits there are, where nothing else does: without that a schema lets pass what no method takes. Those of
/// 64 bits have their format alone: many who read JSON cannot hold their bounds.
fn bound(schema: &mut Schema) {
    let bounds: Option<(Value, Value)> = match schema.get("format").and_then(Value::as_str) {
        Some("int32") => Some((i32::MIN.into(), i32::MAX.into())),
        Some("uint32") => Some((u32::MIN.into(), u32::MAX.into())),
        _ => None,
    };
    let is_integer = |kind: &Value| match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "integer"),
        kind => kind == "integer",
    };
    let Some((least, most)) = bounds.filter(|_| schema.get("type").is_some_and(is_integer)) else { return };
    let has_any = |keywords: [&str; 2]| keywords.iter().any(|keyword| schema.get(*keyword).is_some());
    let (has_least, has_most) =
        (has_any(["minimum", "exclusiveMinimum"]), has_any(["maximum", "exclusiveMaximum"]));
    if !has_least {
        schema.insert("minimum".to_owned(), least);
    }
    if !has_most {
        schema.insert("maximum".to_owned(), most);
    }
}
