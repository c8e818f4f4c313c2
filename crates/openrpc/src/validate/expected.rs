//! What a schema expected, in plain words, and never what was received (SEC-E-03).

use jsonschema::JsonType;
use jsonschema::ValidationError as Error;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use super::Misfit;
use super::union::Union;

/// The most bytes of a schema's own values that an error repeats.
const SHOWN: usize = 200;

/// How many bytes of a name in a path are sent back. A longer one was made up by the caller.
const LONGEST_SEGMENT: usize = 64;

/// What an error says, with this path before its own. Of a union, what the branch says that was meant.
pub(super) fn misfit(error: &Error<'_>, path: &str) -> Misfit {
    if let Some(union) = Union::of(error) {
        if let Some(meant) = union.meant() {
            return misfit(meant, path);
        }
        if let Some((error, expected)) = union.forms() {
            return Misfit { path: located(error, path), expected };
        }
    }
    let mut path = located(error, path);
    if let Kind::Required { property: Value::String(name) } = error.kind() {
        path.push('/');
        path.push_str(&name.replace('~', "~0").replace('/', "~1"));
    }
    Misfit { path, expected: expected(error.kind()) }
}

/// Where an error is, with this path before its own.
fn located(error: &Error<'_>, path: &str) -> String {
    let mut path = path.to_owned();
    for segment in error.instance_path().as_str().split('/').skip(1) {
        path.push('/');
        path.push_str(if segment.len() > LONGEST_SEGMENT { "…" } else { segment });
    }
    path
}

pub(super) fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Type { kind: TypeKind::Single(one) } => article(*one).to_owned(),
        Kind::Type { kind: TypeKind::Multiple(many) } => {
            many.iter().map(article).collect::<Vec<_>>().join(" or ")
        }
        Kind::Required { .. } => "a value; this member is required".to_owned(),
        Kind::Enum { options } => format!("one of {}", shown(options)),
        Kind::Constant { expected_value } => shown(expected_value),
        Kind::Minimum { limit } => format!("a number of at least {limit}"),
        Kind::Maximum { limit } => format!("a number of at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("a number greater than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("a number less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("a string of at least {limit} characters"),
        Kind::MaxLength { limit } => format!("a string of at most {limit} characters"),
        Kind::Pattern { pattern } => format!("a string that matches {}", cut(pattern)),
        Kind::Format { format } => format!("a string in the format {}", cut(format)),
        Kind::MinItems { limit } => format!("an array of at least {limit} items"),
        Kind::MaxItems { limit } => format!("an array of at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("an array of at most {limit} items"),
        Kind::UniqueItems => "an array without equal items".to_owned(),
        Kind::MinProperties { limit } => format!("an object of at least {limit} members"),
        Kind::MaxProperties { limit } => format!("an object of at most {limit} members"),
        Kind::AdditionalProperties { .. } => "no members but those that are described".to_owned(),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } | Kind::OneOfMultipleValid { .. } => {
            "one of the forms that are described".to_owned()
        }
        Kind::FalseSchema => "nothing".to_owned(),
        other => format!("what the schema says with `{}`", other.keyword()),
    }
}

fn article(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Null => "null",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "an object",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            cut(&values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")).to_owned()
        }
        other => cut(&other.to_string()).to_owned(),
    }
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(SHOWN).map_or(text, |(end, _)| &text[..end])
}
