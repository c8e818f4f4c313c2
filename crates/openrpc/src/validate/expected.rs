//! What a schema expected, in plain words, and never what was received (SEC-E-03).

use std::slice;

use jsonschema::JsonType;
use jsonschema::ValidationError as Error;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::{Map, Value};

use super::Misfit;
use super::phrases;
use super::union::Union;
use crate::document::{decoded, escaped};

/// The most bytes of a schema's own values that an error repeats.
const SHOWN: usize = 200;

/// How many bytes of a name in a path are sent back. A longer one was made up by the caller.
const LONGEST_SEGMENT: usize = 64;

/// The schemas that errors are about, to say all that they ask for, and not only what was missed first.
#[derive(Clone, Copy)]
pub(super) struct Schemas<'a> {
    /// The document that they stand in.
    pub(super) document: &'a Value,
}

impl<'a> Schemas<'a> {
    /// What an error says, with this path before its own. Of a union, what the branch says that was meant.
    pub(super) fn misfit(self, error: &Error<'_>, path: &str) -> Misfit {
        if let Some(union) = Union::of(error) {
            if let Some(meant) = union.meant() {
                return self.misfit(meant, path);
            }
            if let Some((error, expected)) = union.forms(self) {
                return Misfit { path: located(error, path), expected };
            }
        }
        let mut path = located(error, path);
        match error.kind() {
            Kind::Required { property: Value::String(name) } => push(&mut path, &escaped(name)),
            Kind::AdditionalProperties { unexpected } => {
                unexpected.iter().take(1).for_each(|name| push(&mut path, &escaped(name)));
            }
            _ => {}
        }
        Misfit { path, expected: self.expected(error) }
    }

    /// What was expected, without the place.
    pub(super) fn expected(self, error: &Error<'_>) -> String {
        if let Some(choices) = self.choices(error) {
            return values(choices);
        }
        let nothing = Map::new();
        let schema = self.of(error).unwrap_or(&nothing);
        let length = |what, limits, parts| phrases::length(schema, what, limits, parts);
        match error.kind() {
            Kind::Type { kind: TypeKind::Single(one) } => form(*one, schema),
            Kind::Type { kind: TypeKind::Multiple(many) } => {
                // What stands for nothing comes last.
                let (nulls, mut kinds): (Vec<_>, Vec<_>) =
                    many.iter().partition(|kind| *kind == JsonType::Null);
                kinds.extend(nulls);
                phrases::either(&kinds.into_iter().map(|kind| form(kind, schema)).collect::<Vec<_>>())
            }
            Kind::Required { .. } => "a value; this member is required".to_owned(),
            Kind::Minimum { .. }
            | Kind::Maximum { .. }
            | Kind::ExclusiveMinimum { .. }
            | Kind::ExclusiveMaximum { .. }
            | Kind::MultipleOf { .. } => phrases::number(schema),
            Kind::MinLength { .. } | Kind::MaxLength { .. } => {
                length("a string", ("minLength", "maxLength"), "characters")
            }
            Kind::MinItems { .. } | Kind::MaxItems { .. } => {
                length("an array", ("minItems", "maxItems"), "items")
            }
            Kind::MinProperties { .. } | Kind::MaxProperties { .. } => {
                length("an object", ("minProperties", "maxProperties"), "members")
            }
            Kind::AdditionalItems { limit } => format!("an array of at most {limit} items"),
            Kind::Pattern { pattern } => format!("a string that matches {}", cut(pattern)),
            Kind::Format { format } => format!("a string in the format {}", cut(format)),
            Kind::UniqueItems => "an array of unique items".to_owned(),
            Kind::Contains => "an array with at least one item that matches the schema".to_owned(),
            Kind::AdditionalProperties { .. } => members(schema),
            Kind::PropertyNames { error } => {
                format!("member names that are each {}", self.expected(error))
            }
            Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => "one of the described forms".to_owned(),
            Kind::OneOfMultipleValid { .. } => "exactly one of the described forms".to_owned(),
            Kind::Not { .. } => "a value that the schema does not exclude".to_owned(),
            Kind::FalseSchema => "nothing".to_owned(),
            other => format!("a value that satisfies `{}` of the schema", other.keyword()),
        }
    }

    /// The values that there could be, if they are listed.
    pub(super) fn choices<'e>(self, error: &'e Error<'_>) -> Option<&'e [Value]>
    where
        'a: 'e,
    {
        match error.kind() {
            Kind::Enum { options } => options.as_array().map(Vec::as_slice),
            Kind::Constant { expected_value } => Some(slice::from_ref(expected_value)),
            // A caller that sent another type needs to see the values, too.
            Kind::Type { .. } => {
                let schema = self.of(error)?;
                let options = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
                options.or_else(|| schema.get("const").map(slice::from_ref))
            }
            _ => None,
        }
    }

    /// The schema that was not met.
    fn of(self, error: &Error<'_>) -> Option<&'a Map<String, Value>> {
        let (_, keyword) = error.absolute_keyword_location()?.as_str().split_once('#')?;
        let (schema, _) = keyword.rsplit_once('/')?;
        self.document.pointer(&decoded(schema))?.as_object()
    }
}

/// Where an error is, with this path before its own.
fn located(error: &Error<'_>, path: &str) -> String {
    let mut path = path.to_owned();
    error.instance_path().as_str().split('/').skip(1).for_each(|segment| push(&mut path, segment));
    path
}

/// Adds a name, escaped, to a path.
pub(super) fn push(path: &mut String, segment: &str) {
    path.push('/');
    path.push_str(if segment.len() > LONGEST_SEGMENT { "…" } else { segment });
}

fn form(kind: JsonType, schema: &Map<String, Value>) -> String {
    let form = match kind {
        JsonType::Integer | JsonType::Number => return phrases::number(schema),
        JsonType::Null => "null",
        JsonType::Boolean => "a boolean",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "an object",
    };
    form.to_owned()
}

/// Which members a schema knows, where it takes no others.
fn members(schema: &Map<String, Value>) -> String {
    match (schema.get("properties").and_then(Value::as_object), schema.get("patternProperties")) {
        (Some(known), None) if !known.is_empty() => {
            let names: Vec<_> = known.keys().map(String::as_str).collect();
            format!("only the members {}", cut(&names.join(", ")))
        }
        (_, None) => "no members".to_owned(),
        _ => "no members other than those described".to_owned(),
    }
}

/// The values that there could be.
pub(super) fn values(choices: &[Value]) -> String {
    let all: Vec<_> = choices.iter().map(Value::to_string).collect();
    format!("{}{}", if choices.len() == 1 { "" } else { "one of " }, cut(&all.join(", ")))
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(SHOWN).map_or(text, |(end, _)| &text[..end])
}
