//! Signatures of cards (A2A-C-04): over the canonical form of a card without its signatures.
//!
//! What that form leaves out is read in different ways: the specification keeps members that are required even if they are empty, and
//! libraries leave out everything that is empty. Libraries also sign and verify only what they know of a card, and not the members for
//! clients of 0.3. A card can have several signatures, and one that fits is enough, so a card is signed in each form in which it differs.

use serde_json::{Map, Value, json};
use switchboard_layers::identity::jwt::{Jws, KeySet, SigningKey, SigningKeyError};

use crate::jcs::canonical;
use crate::model::{AgentCard, v03};

/// Signs a card that is written for these clients.
pub(crate) fn sign(card: &mut Value, key: &SigningKey, url: Option<&str>) -> Result<(), SigningKeyError> {
    let mut header = json!({"typ": "JOSE"});
    if let Some(url) = url {
        header["jku"] = url.into();
    }
    let signatures: Result<Vec<Value>, SigningKeyError> = forms(card)
        .iter()
        .map(|text| {
            let Jws { protected, signature, .. } = key.sign(header.clone(), text.as_bytes())?;
            Ok(json!({"protected": protected, "signature": signature}))
        })
        .collect();
    card["signatures"] = signatures?.into();
    Ok(())
}

/// The signatures of a card.
pub(crate) fn signatures(card: &Value) -> Vec<Jws> {
    let list = card["signatures"].as_array().into_iter().flatten();
    let part = |one: &Value, name: &str| one[name].as_str().map(str::to_owned);
    list.filter_map(|one| Some(Jws::new(part(one, "protected")?, part(one, "signature")?))).collect()
}

/// Whether one of these keys signed a card.
pub(crate) fn is_signed(card: &Value, signature: &Jws, keys: &KeySet) -> bool {
    forms(card).iter().any(|text| signature.is_of(keys, text.as_bytes()))
}

/// What may be signed of a card: all that it says, and what 1.0 knows of it, with empty members and without. All of them have everything
/// that is read from a card.
fn forms(card: &Value) -> Vec<String> {
    let mut card = card.clone();
    if let Some(object) = card.as_object_mut() {
        object.remove("signatures");
    }
    let mut known = card.clone();
    v03::raise::card(&mut known);
    let mut forms = Vec::new();
    let known = serde_json::from_value::<AgentCard>(known).ok();
    if let Some(mut known) = known.and_then(|known| serde_json::to_value(known).ok()) {
        drop_defaults_of_security(&mut known);
        forms.push(canonical(&known));
        forms.push(canonical(&without_empty(known).unwrap_or_else(|| json!({}))));
    }
    forms.push(canonical(&card));
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// What is about security is kept as it was written, so its defaults are dropped here: `"list": []` is as good as none (ProtoJSON).
fn drop_defaults_of_security(card: &mut Value) {
    let Some(object) = card.as_object_mut() else { return };
    for name in ["securitySchemes", "securityRequirements"] {
        if let Some(value) = object.get_mut(name) {
            drop_defaults(value);
        }
        let skills = object.get_mut("skills").and_then(Value::as_array_mut).into_iter().flatten();
        skills.filter_map(|skill| skill.get_mut(name)).for_each(drop_defaults);
    }
}

fn drop_defaults(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.values_mut().for_each(drop_defaults);
            object.retain(|_, value| !is_default(value));
        }
        Value::Array(list) => list.iter_mut().for_each(drop_defaults),
        _ => {}
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// A value without all that is empty, as libraries write it.
fn without_empty(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::Array(list) => {
            let list: Vec<Value> = list.into_iter().filter_map(without_empty).collect();
            (!list.is_empty()).then_some(Value::Array(list))
        }
        Value::Object(object) => {
            let members = object.into_iter().filter_map(|(name, value)| Some((name, without_empty(value)?)));
            let object: Map<String, Value> = members.collect();
            (!object.is_empty()).then_some(Value::Object(object))
        }
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Value {
        let mut card = serde_json::to_value(AgentCard::new("A", "", "1").with_bearer()).unwrap();
        card["supportedInterfaces"] =
            json!([{"url": "https://a.test", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]);
        card
    }

    // A2A-C-04
    #[test]
    fn what_is_required_stays_and_defaults_go() {
        let forms = forms(&card());
        let known = forms.iter().find(|form| form.contains("\"schemes\":{\"bearer\":{}}")).unwrap();
        assert!(known.contains("\"description\":\"\"") && known.contains("\"skills\":[]"), "{known}");
        let cleaned = forms.iter().find(|form| !form.contains("\"\"")).unwrap();
        assert!(!cleaned.contains("skills") && !cleaned.contains("securityRequirements"), "{cleaned}");
    }

    // A2A-C-04
    #[test]
    fn a_signature_fits_the_card_as_it_is_and_no_other() {
        let key = SigningKey::generate().unwrap().with_id("k");
        let keys = json!({"keys": [key.public_key().unwrap()]}).to_string();
        let keys = KeySet::parse(keys).unwrap();
        let mut card = card();
        v03::lower::add_to_card(&mut card);
        sign(&mut card, &key, Some("https://a.test/keys.json")).unwrap();
        let fits = |card: &Value| {
            signatures(card).iter().filter(|signature| is_signed(card, signature, &keys)).count()
        };
        assert_eq!(fits(&card), signatures(&card).len());
        let header = signatures(&card)[0].header().unwrap();
        assert_eq!((&header["typ"], &header["jku"]), (&json!("JOSE"), &json!("https://a.test/keys.json")));
        let mut other = card.clone();
        other["supportedInterfaces"][0]["url"] = json!("https://evil.test");
        assert_eq!(fits(&other), 0);
        // Members that only clients of 0.3 read have their own signature.
        let mut other = card.clone();
        other["url"] = json!("https://evil.test");
        assert!((1..fits(&card)).contains(&fits(&other)));
        // White space and order do not matter.
        let text = serde_json::to_string_pretty(&card).unwrap();
        assert_eq!(fits(&serde_json::from_str(&text).unwrap()), fits(&card));
    }
}
