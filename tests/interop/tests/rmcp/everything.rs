//! rmcp uses the published server-everything, which has all features of the protocol, directly and through `switchboard gateway`. It sees
//! the same.

use std::collections::BTreeMap;

use rmcp::ServiceError;
use rmcp::model::{GetPromptRequestParams, ProtocolVersion, ReadResourceRequestParams};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Value, json};
use switchboard_interop::{Demo, Program};
use tokio::process::Command;

use crate::host::{Client, call, connect};

const EVERYTHING: Program = Program::Package("@modelcontextprotocol/server-everything/dist/index.js");

/// Tools whose results depend on their arguments only, and those that ask their client.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("echo", json!({"message": "hi"})),
        ("echo", json!({})),
        ("get-sum", json!({"a": 2, "b": 3.5})),
        ("get-sum", json!({"a": "two", "b": 3})),
        ("get-tiny-image", json!({})),
        ("get-structured-content", json!({"location": "New York"})),
        ("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
        ("get-resource-links", json!({"count": 3})),
        ("get-resource-reference", json!({"resourceType": "Blob", "resourceId": 1})),
        ("trigger-long-running-operation", json!({"duration": 0.1, "steps": 2})),
        ("trigger-sampling-request", json!({"prompt": "Capital of France?", "maxTokens": 10})),
        ("trigger-elicitation-request", json!({})),
        ("get-roots-list", json!({})),
    ]
}

/// All that a client sees, by what it asked for.
async fn seen(client: &Client) -> BTreeMap<String, Value> {
    let mut seen = BTreeMap::new();
    named(&mut seen, "tool", &json!(client.list_all_tools().await.unwrap()));
    named(&mut seen, "prompt", &json!(client.list_all_prompts().await.unwrap()));
    named(&mut seen, "template", &json!(client.list_all_resource_templates().await.unwrap()));
    let resources = client.list_all_resources().await.unwrap();
    for resource in &resources {
        let read = client.read_resource(ReadResourceRequestParams::new(resource.uri.clone())).await;
        seen.insert(format!("read {}", resource.uri), outcome(read.map(|read| json!(read))));
    }
    named(&mut seen, "resource", &json!(resources));
    for (name, arguments) in calls() {
        let result = call(client, name, arguments.clone()).await;
        seen.insert(format!("call {name} {arguments}"), outcome(result.map(|result| json!(result))));
    }
    for (name, arguments) in [
        ("simple-prompt", json!({})),
        ("args-prompt", json!({"city": "Oslo", "state": "N"})),
        ("resource-prompt", json!({"resourceType": "Text", "resourceId": "1"})),
        ("args-prompt", json!({})),
    ] {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments.as_object().unwrap().clone());
        let prompt = client.get_prompt(params).await;
        seen.insert(format!("prompt {name} {arguments}"), outcome(prompt.map(|prompt| json!(prompt))));
    }
    seen
}

/// The entries of a list by their names, because their order is not a part of it.
fn named(seen: &mut BTreeMap<String, Value>, kind: &str, list: &Value) {
    for entry in list.as_array().unwrap() {
        let mut entry = entry.clone();
        // Arguments are optional unless it says otherwise, and some servers leave that out.
        for argument in entry.get_mut("arguments").and_then(Value::as_array_mut).into_iter().flatten() {
            argument["required"] = json!(argument["required"] == true);
        }
        seen.insert(format!("{kind} {}", entry["name"]), entry);
    }
}

/// A result, or the code of an error.
fn outcome(result: Result<Value, ServiceError>) -> Value {
    let mut outcome = result.unwrap_or_else(|error| match error {
        ServiceError::McpError(error) => json!({ "code": error.code.0 }),
        error => panic!("{error}"),
    });
    without_times(&mut outcome);
    outcome
}

/// Dynamic resources say when they were made: texts at their end, and blobs inside.
fn without_times(value: &mut Value) {
    match value {
        Value::String(text) => text.truncate(text.find(" created at ").unwrap_or(text.len())),
        Value::Array(items) => items.iter_mut().for_each(without_times),
        Value::Object(members) => {
            if let Some(blob) = members.get_mut("blob") {
                *blob = json!(blob.is_string());
            }
            members.values_mut().for_each(without_times);
        }
        _ => {}
    }
}

#[tokio::test]
async fn a_gateway_shows_server_everything_as_it_is() {
    let version = ProtocolVersion::V_2025_11_25;
    let words = EVERYTHING.words();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg("stdio");
    let (direct, _heard) = connect(TokioChildProcess::new(command).unwrap(), &version).await;
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let upstream = format!("exec:{} stdio", quoted.join(" "));
    let gateway = Demo::gateway(&[&upstream, "--set=upstream.upstream.profile=mcp"]).await;
    let transport = StreamableHttpClientTransport::from_uri(format!("{}/mcp", gateway.url));
    let (through, mut heard) = connect(transport, &version).await;
    let (direct, through) = (seen(&direct).await, seen(&through).await);
    for (what, expected) in &direct {
        assert_eq!(through.get(what), Some(expected), "{what}");
    }
    assert!(direct.len() > 40, "{:?}", direct.keys());
    // The gateway lists tools as a client that can do everything. This one cannot open URLs.
    let more: Vec<&String> = through.keys().filter(|what| !direct.contains_key(*what)).collect();
    assert_eq!(more, ["tool \"trigger-url-elicitation\""]);
    let mut steps = Vec::new();
    while let Ok(progress) = heard.try_recv() {
        steps.push(progress);
    }
    assert_eq!(steps, [1.0, 2.0], "progress");
}
