//! One method (OR-40 to OR-46, OR-48).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use switchboard_core::{
    DeclaredError, MethodDescription, ResultDescription, Subscription, SubscriptionStyle,
};

use super::{examples, params};
use crate::document::{
    ADDITIONAL_PARAMS, ContentDescriptor, DATA_SCHEMA, DEPRECATED_REASON, DURABLE, ErrorEntry, IDEMPOTENT,
    MethodEntry, ParamStructure, Referable, SAFE, STREAM, SUBSCRIPTION, Schema, Tag, UNKNOWN_PARAMS,
};

/// The methods that are described, and those that end their subscriptions; in the order of their names.
pub(super) fn methods(described: Vec<MethodDescription>) -> Vec<MethodEntry> {
    let mut all = BTreeMap::new();
    for names in described.iter().filter_map(|method| method.subscription.as_ref()) {
        let ending = unsubscribe(names);
        all.entry(ending.name.clone()).or_insert(ending);
    }
    // A method of that name that the program has itself goes before.
    all.extend(described.into_iter().map(|description| (description.name.clone(), method(description))));
    all.into_values().collect()
}

fn method(description: MethodDescription) -> MethodEntry {
    let params = params::params(description.params.as_deref());
    let examples = examples::examples(&description, &params);
    let others = extensions(&description);
    MethodEntry {
        tags: tags(&description.name, &description.tags),
        param_structure: params.structure,
        params: params.descriptors.into_iter().map(Referable::from).collect(),
        result: result(&description).map(Referable::from),
        errors: errors(&description.errors),
        examples: examples.into_iter().map(Referable::from).collect(),
        deprecated: description.deprecated.is_some(),
        summary: some(description.summary),
        description: some(description.description),
        others,
        ..MethodEntry::new(description.name)
    }
}

/// The extensions of the method, and what is left to be said in members of our own.
fn extensions(description: &MethodDescription) -> Map<String, Value> {
    let chosen = description.others.iter().filter(|(name, _)| name.starts_with("x-"));
    let mut members: Map<String, Value> = chosen.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
    if description.marks.safe {
        add(SAFE, Value::Bool(true));
    }
    if description.marks.idempotent {
        add(IDEMPOTENT, Value::Bool(true));
    }
    if description.marks.durable {
        add(DURABLE, Value::Bool(true));
    }
    if description.params.is_none() {
        add(UNKNOWN_PARAMS, Value::Bool(true));
    } else if description.allows_unknown_params {
        add(ADDITIONAL_PARAMS, Value::Bool(true));
    }
    match (&description.result, &description.subscription) {
        (ResultDescription::Stream(item), Some(names)) => {
            let (notification, unsubscribe) = (names.item.as_str(), names.unsubscribe.as_str());
            let names = json!({"notification": notification, "unsubscribe": unsubscribe, "item": item});
            add(SUBSCRIPTION, names);
        }
        (ResultDescription::Stream(item), None) => {
            add(STREAM, json!({"item": item}));
        }
        (ResultDescription::Either { item, .. }, _) => {
            add(STREAM, json!({"item": item, "optional": true}));
        }
        _ => {}
    }
    if let Some(reason) = &description.deprecated {
        add(DEPRECATED_REASON, Value::from(reason.as_str()));
    }
    let schemas: Map<String, Value> = unique(&description.errors)
        .filter_map(|error| Some((error.code.0.to_string(), error.data.clone()?)))
        .collect();
    if !schemas.is_empty() {
        add(DATA_SCHEMA, Value::from(schemas));
    }
    members
}

/// The namespace of a method, and the words that were chosen for it.
fn tags(name: &str, chosen: &[String]) -> Vec<Referable<Tag>> {
    let namespace = name.rfind('/').or_else(|| name.rfind('.')).map(|end| &name[..end]);
    let mut words: Vec<&str> = Vec::new();
    for word in namespace.into_iter().chain(chosen.iter().map(String::as_str)) {
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }
    words.into_iter().map(|word| Tag::new(word).into()).collect()
}

/// What is answered where there is one answer; of a subscription, its identifier.
fn result(description: &MethodDescription) -> Option<ContentDescriptor> {
    let (name, schema) = match (&description.result, &description.subscription) {
        (ResultDescription::Nothing, _) => return None,
        (ResultDescription::Stream(_), Some(names)) => ("subscription", identifier(names)),
        (ResultDescription::Stream(item), None) => ("items", json!({"type": "array", "items": item})),
        (ResultDescription::Value(value) | ResultDescription::Either { value, .. }, _) => {
            ("result", value.clone())
        }
        _ => ("result", Value::Bool(true)),
    };
    Some(ContentDescriptor::new(name, Schema::new(schema).unwrap_or_default()))
}

fn identifier(names: &Subscription) -> Value {
    match names.style {
        SubscriptionStyle::Ethereum => json!({"type": "string"}),
        _ => json!({"type": "integer"}),
    }
}

/// The method that ends a subscription, which the router answers.
fn unsubscribe(names: &Subscription) -> MethodEntry {
    let identifier = Schema::new(identifier(names)).unwrap_or_default();
    let subscription = ContentDescriptor {
        required: true,
        description: Some("The identifier returned when subscribing.".to_owned()),
        ..ContentDescriptor::new("subscription", identifier)
    };
    let ended = Schema::new(json!({"type": "boolean"})).unwrap_or_default();
    let name = names.unsubscribe.as_str();
    MethodEntry {
        summary: Some("Ends a subscription.".to_owned()),
        tags: tags(name, &[]),
        param_structure: ParamStructure::ByPosition,
        params: vec![subscription.into()],
        result: Some(ContentDescriptor::new("result", ended).into()),
        ..MethodEntry::new(name)
    }
}

/// The errors, each code once (OR-14).
fn errors(declared: &[DeclaredError]) -> Vec<Referable<ErrorEntry>> {
    unique(declared).map(|error| ErrorEntry::new(error.code.0, &*error.message).into()).collect()
}

fn unique(declared: &[DeclaredError]) -> impl Iterator<Item = &DeclaredError> {
    let is_first = |(at, error): &(usize, &DeclaredError)| {
        declared[..*at].iter().all(|earlier| earlier.code != error.code)
    };
    declared.iter().enumerate().filter(is_first).map(|(_, error)| error)
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}
