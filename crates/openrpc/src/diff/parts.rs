//! Schemas inside schemas: members, elements, and `allOf`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::below;
use super::schema::{At, Comparison, Effect};

impl Comparison<'_> {
    pub(super) fn properties(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, at: At<'_>) {
        let (none, any) = (Map::new(), Value::Bool(true));
        let before = old.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let after = new.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let (must_before, must_after) = (required(old), required(new));
        let others_before = old.get("additionalProperties").unwrap_or(&any);
        let others_after = new.get("additionalProperties").unwrap_or(&any);
        let subject = at.subject;
        let place = below(at.place, "properties");
        for (name, schema) in before {
            let place = below(&place, name);
            let member = format!("the member `{name}` of {subject}");
            let at = At { place: &place, subject: &member };
            match after.get(name) {
                Some(other) => self.pair(schema, other, at),
                None if kind_of(others_after) == Rest::Closed => {
                    self.add(
                        Effect::Narrower,
                        at,
                        format!("{member} was removed, and unknown members are rejected"),
                    );
                }
                None => self.add(Effect::Unknown, at, format!("{member} was removed")),
            }
        }
        for name in after.keys().filter(|name| !before.contains_key(*name)) {
            let place = below(&place, name);
            let member = format!("the member `{name}` of {subject}");
            let at = At { place: &place, subject: &member };
            // By the letter a schema for what could be anything before is narrower; but callers did not send names without a meaning.
            let effect = if kind_of(others_before) == Rest::Closed { Effect::Wider } else { Effect::None };
            if !must_after.contains(name.as_str()) {
                self.add(effect, at, format!("{member} is new"));
            }
        }
        let place = below(at.place, "required");
        for name in must_after.difference(&must_before) {
            let at = At { place: &place, ..at };
            self.add(Effect::Narrower, at, format!("the member `{name}` of {subject} is now required"));
        }
        for name in must_before.difference(&must_after) {
            let at = At { place: &place, ..at };
            self.add(Effect::Wider, at, format!("the member `{name}` of {subject} is now optional"));
        }
        let place = below(at.place, "additionalProperties");
        let others = format!("other members of {subject}");
        let at = At { place: &place, subject: &others };
        match (kind_of(others_before), kind_of(others_after)) {
            (Rest::Open, Rest::Open) | (Rest::Closed, Rest::Closed) => {}
            (Rest::Closed, _) => self.add(Effect::Wider, at, format!("{others} are now allowed")),
            (_, Rest::Closed) => self.add(Effect::Narrower, at, format!("{others} are now rejected")),
            _ => self.pair(others_before, others_after, at),
        }
    }

    pub(super) fn items(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, at: At<'_>) {
        if old.get("items").is_none() && new.get("items").is_none() {
            return;
        }
        let any = Value::Bool(true);
        let (before, after) = (old.get("items").unwrap_or(&any), new.get("items").unwrap_or(&any));
        let place = below(at.place, "items");
        match (before, after) {
            (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
                for (index, (before, after)) in before.iter().zip(after).enumerate() {
                    let place = format!("{place}/{index}");
                    let subject = format!("element {index} of {}", at.subject);
                    self.pair(before, after, At { place: &place, subject: &subject });
                }
            }
            (Value::Array(_), _) | (_, Value::Array(_)) if before != after => self.unsure(at, "items"),
            _ => {
                let subject = format!("an element of {}", at.subject);
                self.pair(before, after, At { place: &place, subject: &subject });
            }
        }
    }

    pub(super) fn all_of(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, at: At<'_>) {
        let (before, after) = (parts(old), parts(new));
        let place = below(at.place, "allOf");
        for (index, (before, after)) in before.iter().zip(after).enumerate() {
            let place = format!("{place}/{index}");
            self.pair(before, after, At { place: &place, ..at });
        }
        let at = At { place: &place, ..at };
        let subject = at.subject;
        if after.len() > before.len() {
            self.add(Effect::Narrower, at, format!("{subject} must match one more schema"));
        } else if after.len() < before.len() {
            self.add(Effect::Wider, at, format!("{subject} must match one schema fewer"));
        }
    }
}

/// Which members an object may have beside those that are named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Open,
    Closed,
    Some,
}

fn kind_of(others: &Value) -> Rest {
    match others {
        Value::Bool(false) => Rest::Closed,
        Value::Object(members) if !members.is_empty() => Rest::Some,
        _ => Rest::Open,
    }
}

fn parts(schema: &Map<String, Value>) -> &[Value] {
    schema.get("allOf").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn required(schema: &Map<String, Value>) -> BTreeSet<&str> {
    let names = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    names.iter().filter_map(Value::as_str).collect()
}
