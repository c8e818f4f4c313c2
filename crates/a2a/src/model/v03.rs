//! The shapes of 0.3, from and to those of 1.0: other names for roles and states, `kind` in messages, parts, tasks and events, and files
//! in a separate object.

pub mod push;

use serde_json::{Map, Value, json};

/// The states as 1.0 and as 0.3 write them.
const STATES: [(&str, &str); 9] = [
    ("TASK_STATE_UNSPECIFIED", "unknown"),
    ("TASK_STATE_SUBMITTED", "submitted"),
    ("TASK_STATE_WORKING", "working"),
    ("TASK_STATE_COMPLETED", "completed"),
    ("TASK_STATE_FAILED", "failed"),
    ("TASK_STATE_CANCELED", "canceled"),
    ("TASK_STATE_INPUT_REQUIRED", "input-required"),
    ("TASK_STATE_REJECTED", "rejected"),
    ("TASK_STATE_AUTH_REQUIRED", "auth-required"),
];

const ROLES: [(&str, &str); 2] = [("ROLE_USER", "user"), ("ROLE_AGENT", "agent")];

/// What 1.0 puts under a member of the event, 0.3 says with a kind.
const EVENTS: [(&str, &str); 4] = [
    ("task", "task"),
    ("message", "message"),
    ("statusUpdate", "status-update"),
    ("artifactUpdate", "artifact-update"),
];

/// From 1.0 to 0.3.
pub mod lower {
    use super::{EVENTS, Map, ROLES, STATES, Value, change, each, json, rename, take};

    /// A message.
    pub fn message(message: &mut Value) {
        change(message, "role", |role| super::translate(role, &ROLES));
        each(message, "parts", part);
        if let Some(object) = message.as_object_mut() {
            object.insert("kind".to_owned(), "message".into());
        }
    }

    fn part(part: &mut Value) {
        let Some(object) = part.as_object_mut() else { return };
        if object.contains_key("text") {
            object.insert("kind".to_owned(), "text".into());
        } else if object.contains_key("data") {
            object.insert("kind".to_owned(), "data".into());
        } else {
            let names = [("raw", "bytes"), ("url", "uri"), ("mediaType", "mimeType"), ("filename", "name")];
            let file: Map<String, Value> = names
                .iter()
                .filter_map(|(new, old)| Some(((*old).to_owned(), object.remove(*new)?)))
                .collect();
            object.insert("kind".to_owned(), "file".into());
            object.insert("file".to_owned(), file.into());
        }
    }

    fn status(status: &mut Value) {
        change(status, "state", |state| super::translate(state, &STATES));
        change(status, "message", message);
    }

    /// An artifact.
    pub fn artifact(artifact: &mut Value) {
        each(artifact, "parts", part);
    }

    /// A task.
    pub fn task(task: &mut Value) {
        change(task, "status", status);
        each(task, "artifacts", artifact);
        each(task, "history", message);
        task["kind"] = "task".into();
    }

    /// The answer to a message, or an event of a stream.
    pub fn event(event: &mut Value) {
        let Some(object) = event.as_object_mut() else { return };
        let found = EVENTS.iter().find_map(|(member, kind)| Some((*kind, object.remove(*member)?)));
        let Some((kind, mut value)) = found else { return };
        match kind {
            "task" => task(&mut value),
            "message" => message(&mut value),
            "status-update" => {
                change(&mut value, "status", status);
                let state = value["status"]["state"].as_str().unwrap_or_default();
                // The stream ends with it.
                let is_final = !matches!(state, "submitted" | "working" | "unknown");
                value["final"] = is_final.into();
            }
            _ => change(&mut value, "artifact", artifact),
        }
        value["kind"] = kind.into();
        *event = value;
    }

    /// The params of a method that sends a message.
    pub fn send(params: &mut Value) {
        change(params, "message", message);
        change(params, "configuration", |configuration| {
            let returns = take(configuration, "returnImmediately").and_then(|flag| flag.as_bool());
            if let Some(object) = configuration.as_object_mut() {
                object.insert("blocking".to_owned(), (!returns.unwrap_or_default()).into());
            }
            rename(configuration, "taskPushNotificationConfig", "pushNotificationConfig");
            change(configuration, "pushNotificationConfig", super::push::lower_inner);
        });
    }

    /// Adds to a card of 1.0 what clients of 0.3 look for.
    pub fn add_to_card(card: &mut Value) {
        let url = card["supportedInterfaces"][0]["url"].clone();
        card["url"] = url.clone();
        card["preferredTransport"] = "JSONRPC".into();
        card["protocolVersion"] = "0.3.0".into();
        card["additionalInterfaces"] = json!([{"url": url, "transport": "JSONRPC"}]);
        if card["capabilities"]["extendedAgentCard"] == true {
            card["supportsAuthenticatedExtendedCard"] = true.into();
        }
        if let Some(schemes) = card.get_mut("securitySchemes").and_then(Value::as_object_mut) {
            schemes.values_mut().for_each(add_to_scheme);
        }
        let requirements = card.get("securityRequirements").and_then(Value::as_array);
        if let Some(requirements) = requirements {
            let scopes = |requirement: &Value| -> Value {
                let schemes = requirement["schemes"].as_object().cloned().unwrap_or_default();
                schemes.into_iter().map(|(name, scopes)| (name, scopes["list"].clone())).collect()
            };
            card["security"] = requirements.iter().map(scopes).collect();
        }
    }

    /// A scheme has its kind as a member in 1.0, and as `type` beside its members in 0.3.
    fn add_to_scheme(scheme: &mut Value) {
        let kinds = [
            ("apiKeySecurityScheme", "apiKey"),
            ("httpAuthSecurityScheme", "http"),
            ("oauth2SecurityScheme", "oauth2"),
            ("openIdConnectSecurityScheme", "openIdConnect"),
            ("mtlsSecurityScheme", "mutualTLS"),
        ];
        let Some(object) = scheme.as_object_mut() else { return };
        let found = kinds.iter().find_map(|(member, kind)| Some((*kind, object.get(*member)?.clone())));
        let Some((kind, Value::Object(inside))) = found else { return };
        object.insert("type".to_owned(), kind.into());
        for (name, value) in inside {
            object.insert(if name == "location" { "in".to_owned() } else { name }, value);
        }
    }
}

/// From 0.3 to 1.0.
pub mod raise {
    use super::{EVENTS, ROLES, STATES, Value, change, each, json, rename, take};

    /// A message.
    pub fn message(message: &mut Value) {
        change(message, "role", |role| super::restore(role, &ROLES));
        each(message, "parts", part);
        take(message, "kind");
    }

    fn part(part: &mut Value) {
        let Some(object) = part.as_object_mut() else { return };
        let kind = object.remove("kind");
        if kind.as_ref().and_then(Value::as_str) == Some("file")
            && let Some(Value::Object(mut file)) = object.remove("file")
        {
            let names = [("raw", "bytes"), ("url", "uri"), ("mediaType", "mimeType"), ("filename", "name")];
            for (new, old) in names {
                if let Some(value) = file.remove(old) {
                    object.insert(new.to_owned(), value);
                }
            }
        }
    }

    fn status(status: &mut Value) {
        change(status, "state", |state| super::restore(state, &STATES));
        change(status, "message", message);
    }

    fn artifact(artifact: &mut Value) {
        each(artifact, "parts", part);
    }

    /// A task.
    pub fn task(task: &mut Value) {
        change(task, "status", status);
        each(task, "artifacts", artifact);
        each(task, "history", message);
        take(task, "kind");
    }

    /// The answer to a message, or an event of a stream.
    pub fn event(event: &mut Value) {
        let kind = event["kind"].as_str().unwrap_or_default();
        let Some((member, _)) = EVENTS.iter().find(|(_, known)| *known == kind) else { return };
        let mut value = event.take();
        match *member {
            "task" => task(&mut value),
            "message" => message(&mut value),
            "statusUpdate" => {
                change(&mut value, "status", status);
                take(&mut value, "kind");
                take(&mut value, "final");
            }
            _ => {
                change(&mut value, "artifact", artifact);
                take(&mut value, "kind");
            }
        }
        *event = json!({ *member: value });
    }

    /// The params of a method that sends a message.
    pub fn send(params: &mut Value) {
        change(params, "message", message);
        change(params, "configuration", |configuration| {
            if let Some(Value::Bool(blocking)) = take(configuration, "blocking") {
                configuration["returnImmediately"] = (!blocking).into();
            }
            rename(configuration, "pushNotificationConfig", "taskPushNotificationConfig");
            change(configuration, "taskPushNotificationConfig", super::push::raise_inner);
        });
    }

    /// A card of 0.3, as one of 1.0. One that has both forms stays as it is.
    pub fn card(card: &mut Value) {
        if !card.is_object() || card.get("supportedInterfaces").is_some() {
            return;
        }
        let version = card["protocolVersion"].as_str().unwrap_or("0.3");
        let version =
            version.rsplitn(2, '.').last().filter(|_| version.matches('.').count() > 1).unwrap_or(version);
        let interface = |url: &Value, transport: &Value| {
            let binding = transport.as_str().unwrap_or("JSONRPC");
            json!({"url": url, "protocolBinding": binding, "protocolVersion": version})
        };
        let mut interfaces = vec![interface(&card["url"], &card["preferredTransport"])];
        let more = card["additionalInterfaces"].as_array().into_iter().flatten();
        interfaces.extend(more.map(|more| interface(&more["url"], &more["transport"])));
        card["supportedInterfaces"] = interfaces.into();
        let is_extended = card["supportsAuthenticatedExtendedCard"] == true;
        change(card, "capabilities", |capabilities| {
            if let Some(capabilities) = capabilities.as_object_mut().filter(|_| is_extended) {
                capabilities.insert("extendedAgentCard".to_owned(), true.into());
            }
        });
    }
}

/// Changes a member, if it is there and not null.
fn change(object: &mut Value, member: &str, change: impl FnOnce(&mut Value)) {
    if let Some(value) = object.get_mut(member).filter(|value| !value.is_null()) {
        change(value);
    }
}

/// Changes each element of a member.
fn each(object: &mut Value, member: &str, change: impl Fn(&mut Value)) {
    if let Some(list) = object.get_mut(member).and_then(Value::as_array_mut) {
        list.iter_mut().for_each(change);
    }
}

fn take(object: &mut Value, member: &str) -> Option<Value> {
    object.as_object_mut()?.remove(member)
}

fn rename(object: &mut Value, from: &str, to: &str) {
    if let Some(value) = take(object, from) {
        object[to] = value;
    }
}

fn translate(value: &mut Value, names: &[(&str, &str)]) {
    if let Some((_, old)) = names.iter().find(|(new, _)| value == new) {
        *value = (*old).into();
    }
}

fn restore(value: &mut Value, names: &[(&str, &str)]) {
    let found = names.iter().find(|(_, old)| value == old);
    // The names of 1.0 mean nothing in 0.3.
    *value = found.map_or(Value::Null, |(new, _)| (*new).into());
}

#[cfg(test)]
mod tests {
    use super::*;

    // A2A-D-02, A2A-D-04, A2A-S-03
    #[test]
    fn shapes_of_0_3_come_back_as_they_were() {
        let check = |event: Value, kind: &str| {
            let mut there = event.clone();
            lower::event(&mut there);
            assert_eq!(there["kind"], kind, "{there}");
            raise::event(&mut there);
            assert_eq!(there, event);
        };
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [
            {"text": "hi"}, {"data": {"a": 1}}, {"raw": "aGk=", "mediaType": "text/plain", "filename": "a"},
            {"url": "https://example.com", "metadata": {"x": 1}},
        ]});
        let status = json!({"state": "TASK_STATE_INPUT_REQUIRED", "message": message});
        let artifact = json!({"artifactId": "a", "parts": [{"text": "x"}]});
        check(json!({"message": message}), "message");
        check(
            json!({"task": {"id": "t", "contextId": "c", "status": status, "history": [message],
            "artifacts": [artifact]}}),
            "task",
        );
        check(json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}}), "status-update");
        check(
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact, "append": true}}),
            "artifact-update",
        );
    }

    #[test]
    fn a_card_of_0_3_names_its_places() {
        let mut card = json!({"url": "http://a/x", "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0",
            "capabilities": {}, "additionalInterfaces": [{"url": "http://a/y", "transport": "GRPC"}]});
        raise::card(&mut card);
        let expected = json!([
            {"url": "http://a/x", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
            {"url": "http://a/y", "protocolBinding": "GRPC", "protocolVersion": "0.3"},
        ]);
        assert_eq!(card["supportedInterfaces"], expected);
    }
}
