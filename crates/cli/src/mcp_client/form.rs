//! A field of a form: what may be typed, and the value that it stands for.

use serde_json::{Number, Value};
use switchboard::Json;

use crate::visible::visible;

/// A field.
pub(super) struct Field {
    pub(super) name: String,
    schema: Value,
    is_required: bool,
}

impl Field {
    /// The fields of a form, in the order of its schema.
    pub(super) fn all(schema: &Json) -> Vec<Field> {
        let required: Vec<String> =
            schema.get("required").and_then(|names| names.decode().ok()).unwrap_or_default();
        let properties = schema.get("properties");
        let fields = properties.iter().flat_map(Json::entries).map(|(name, schema)| Field {
            is_required: required.contains(&name.to_string()),
            name: name.into_owned(),
            schema: schema.decode().unwrap_or_default(),
        });
        fields.collect()
    }

    fn text(&self, member: &str) -> Option<&str> {
        self.schema.get(member).and_then(Value::as_str)
    }

    fn is(&self, kind: &str) -> bool {
        self.text("type") == Some(kind)
    }

    /// The values to choose from, each with its title.
    fn choices(&self) -> Vec<(String, String)> {
        let of =
            if self.is("array") { self.schema.get("items").unwrap_or(&Value::Null) } else { &self.schema };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let titled = ["oneOf", "anyOf"].iter().find_map(|member| of.get(member)?.as_array());
        if let Some(titled) = titled {
            let choice = |one: &Value| {
                let value = text(one.get("const")?)?;
                Some((value.clone(), one.get("title").and_then(text).unwrap_or(value)))
            };
            return titled.iter().filter_map(choice).collect();
        }
        let names = of.get("enumNames").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let values = of.get("enum").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let choice = |(at, value): (usize, &Value)| {
            let value = text(value)?;
            Some((value.clone(), names.get(at).and_then(text).unwrap_or(value)))
        };
        values.iter().enumerate().filter_map(choice).collect()
    }

    /// What to type: the title, what must be true of the value, and the choices.
    pub(super) fn described(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        words.push(match self.text("format").or(self.text("type")) {
            Some("boolean") => "y or n".to_owned(),
            Some("array") => "numbers or values, separated by commas".to_owned(),
            Some(kind) => visible(kind),
            None => "text".to_owned(),
        });
        let bound =
            |member: &str, words: &str| Some(format!("{words} {}", self.schema.get(member)?.as_f64()?));
        words.extend(bound("minimum", "at least"));
        words.extend(bound("maximum", "at most"));
        words.extend(bound("minLength", "at least").map(|text| text + " characters"));
        words.extend(bound("maxLength", "at most").map(|text| text + " characters"));
        match self.schema.get("default") {
            Some(default) => words.push(format!("Enter for {}", visible(&default.to_string()))),
            None if !self.is_required => words.push("Enter to leave it out".to_owned()),
            None => {}
        }
        let title = [self.text("title"), self.text("description")].into_iter().flatten();
        let title: Vec<String> = title.map(visible).collect();
        let dash = if title.is_empty() { "" } else { " " };
        let mut text = format!("{}{dash}({})\n", title.join(" - "), words.join(", "));
        for (number, (value, title)) in self.choices().into_iter().enumerate() {
            let value = if value == title { String::new() } else { format!(" ({})", visible(&value)) };
            text.push_str(&format!("  {}. {}{value}\n", number + 1, visible(&title)));
        }
        text
    }

    /// The value that was typed; none if the field is left out. Otherwise what is wrong with it.
    pub(super) fn read(&self, typed: &str) -> Result<Option<Value>, String> {
        let word = typed.trim();
        if word.is_empty() {
            return match self.schema.get("default") {
                Some(default) => Ok(Some(default.clone())),
                None if self.is_required => Err(format!("{} is required", visible(&self.name))),
                None => Ok(None),
            };
        }
        let choices = self.choices();
        let value = match self.text("type") {
            Some("boolean") => match word.to_lowercase().as_str() {
                "y" | "yes" | "true" => Value::Bool(true),
                "n" | "no" | "false" => Value::Bool(false),
                _ => return Err("please answer y or n".to_owned()),
            },
            Some(kind @ ("number" | "integer")) => {
                let number: Result<Number, _> = serde_json::from_str(word);
                let number = number.map_err(|_| format!("{} is not a number", visible(word)))?;
                if kind == "integer" && number.as_i64().is_none() && number.as_u64().is_none() {
                    return Err(format!("{} is not a whole number", visible(word)));
                }
                Value::Number(number)
            }
            Some("array") => {
                let all = word.split(',').map(|one| chosen(&choices, one.trim()));
                Value::Array(all.collect::<Result<_, String>>()?)
            }
            _ if !choices.is_empty() => chosen(&choices, word)?,
            _ => Value::from(typed),
        };
        self.check(&value).map(|()| Some(value))
    }

    /// Whether a value is within the bounds of the schema.
    fn check(&self, value: &Value) -> Result<(), String> {
        let bound = |member: &str| self.schema.get(member).and_then(Value::as_f64);
        let (size, unit, least, most) = match value {
            Value::Number(number) => (number.as_f64(), "", "minimum", "maximum"),
            Value::String(text) => (count(text.chars().count()), " characters", "minLength", "maxLength"),
            Value::Array(all) => (count(all.len()), " values", "minItems", "maxItems"),
            _ => (None, "", "", ""),
        };
        let size = size.unwrap_or_default();
        if let Some(least) = bound(least).filter(|least| size < *least) {
            return Err(format!("it must be at least {least}{unit}"));
        }
        if let Some(most) = bound(most).filter(|most| size > *most) {
            return Err(format!("it must be at most {most}{unit}"));
        }
        let Value::String(text) = value else { return Ok(()) };
        let fits = match self.text("format") {
            Some("email") => {
                text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
            }
            Some("uri") => {
                text.split_once(':').is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty())
            }
            Some("date") => is_date(text),
            Some("date-time") => {
                text.split_once('T').is_some_and(|(date, time)| is_date(date) && time.len() >= 5)
            }
            _ => true,
        };
        let example = match self.text("format") {
            Some("email") => "an address such as ann@example.com",
            Some("uri") => "a URI such as https://example.com",
            Some("date") => "a date such as 2026-07-28",
            _ => "a time such as 2026-07-28T12:00:00Z",
        };
        if fits { Ok(()) } else { Err(format!("it must be {example}")) }
    }
}

fn count(number: usize) -> Option<f64> {
    u32::try_from(number).ok().map(f64::from)
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [4, 2, 2] && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The value of a choice, which is given by its number, itself or its title.
fn chosen(choices: &[(String, String)], word: &str) -> Result<Value, String> {
    let by_number = word.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
    let by_name = || choices.iter().find(|(value, title)| word == value || title.eq_ignore_ascii_case(word));
    let exact = choices.iter().find(|(value, _)| value == word);
    let found = exact.or(by_number).or_else(by_name);
    found.map(|(value, _)| Value::from(value.as_str())).ok_or_else(|| {
        format!("{} is not a choice; type a number from 1 to {}", visible(word), choices.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(schema: Value, is_required: bool) -> Field {
        Field { name: "f".to_owned(), schema, is_required }
    }

    #[test]
    fn what_is_typed_becomes_a_value_of_the_schema() {
        let check = |schema: Value, typed: &str, expected: Value| {
            let read = field(schema.clone(), true).read(typed);
            assert_eq!(read, Ok(Some(expected)), "{schema} {typed}");
        };
        check(json!({"type": "string"}), "5", json!("5"));
        check(json!({"type": "string", "format": "email"}), "a@b.c", json!("a@b.c"));
        check(json!({"type": "string", "format": "date"}), "2026-07-28", json!("2026-07-28"));
        check(json!({"type": "integer", "minimum": 1}), "5", json!(5));
        check(json!({"type": "number"}), "1.5", json!(1.5));
        check(json!({"type": "boolean"}), "Yes", json!(true));
        check(json!({"type": "boolean", "default": false}), "", json!(false));
        check(json!({"type": "string", "enum": ["a", "b"]}), "2", json!("b"));
        check(json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A1", "B1"]}), "b1", json!("b"));
        check(json!({"type": "string", "oneOf": [{"const": "x", "title": "Ex"}]}), "Ex", json!("x"));
        check(json!({"type": "string", "enum": ["2", "1"]}), "1", json!("1"));
        let many = json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 2});
        check(many, "2, a", json!(["b", "a"]));
    }

    #[test]
    fn what_does_not_fit_is_explained() {
        let check = |schema: Value, typed: &str, expected: &str| {
            let read = field(schema, true).read(typed);
            assert!(matches!(&read, Err(why) if why.contains(expected)), "{typed}: {read:?}");
        };
        check(json!({"type": "string"}), " ", "is required");
        check(json!({"type": "string", "minLength": 3}), "ab", "at least 3 characters");
        check(json!({"type": "string", "format": "email"}), "ann", "an address");
        check(json!({"type": "string", "format": "date"}), "28.7.2026", "a date");
        check(json!({"type": "integer"}), "1.5", "not a whole number");
        check(json!({"type": "number", "maximum": 5}), "6", "at most 5");
        check(json!({"type": "boolean"}), "maybe", "y or n");
        check(json!({"type": "string", "enum": ["a"]}), "2", "from 1 to 1");
        assert_eq!(field(json!({"type": "string"}), false).read(""), Ok(None));
    }

    #[test]
    fn a_field_says_what_to_type() {
        let schema = json!({"type": "integer", "title": "Seats", "minimum": 1, "maximum": 9, "default": 2});
        assert_eq!(field(schema, true).described(), "Seats (integer, at least 1, at most 9, Enter for 2)\n");
        let schema = json!({"type": "string", "oneOf": [{"const": "x", "title": "Ex\u{1b}"}]});
        assert_eq!(field(schema, true).described(), "(string)\n  1. Ex\\u001b (x)\n");
    }
}
