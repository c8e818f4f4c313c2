//! Recorded messages: what our types read of them and write again is the same, and valid.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_mcp::model::{
    Completion, CompletionParams, Contents, DiscoverResult, Elicitation, Elicited, InitializeParams,
    InitializeResult, InputRequired, ListenFilter, LogParams, Message, ProgressParams, Prompt, RequestMeta,
    Resource, ResourceTemplate, Revision, Roots, Sampled, Sampling, Task, Tool, ToolResult, Wire, methods,
};

use crate::schemas::{self, Reading};

#[derive(Deserialize)]
struct Transcript {
    name: String,
    revision: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    dir: Option<String>,
    msg: Option<Value>,
    schema_type: Option<String>,
}

/// Every message that has a type in the schema: the name of its transcript, its revision, its direction, its type and itself.
fn messages() -> Vec<(String, Revision, String, String, Value)> {
    let transcripts: Vec<Transcript> =
        serde_json::from_str(include_str!("../data/transcripts.json")).unwrap();
    let mut messages = Vec::new();
    for Transcript { name, revision, steps } in transcripts {
        for step in steps {
            let Step { dir: Some(dir), msg: Some(message), schema_type: Some(kind) } = step else { continue };
            messages.push((name.clone(), revision.parse().unwrap(), dir, kind, message));
        }
    }
    messages
}

/// Reads the part of a message that the pointer leads to, and writes it again.
fn rewrite<T: Wire + DeserializeOwned>(message: &mut Value, pointer: &str, revision: Revision) {
    let Some(part) = message.pointer_mut(pointer) else { panic!("{pointer} leads nowhere") };
    let value: T = serde_json::from_str(&part.to_string()).unwrap();
    *part = serde_json::from_str(value.to_json(revision).as_str()).unwrap();
}

/// Rewrites the parts of a message that have a type of ours. Returns whether there are any.
fn rewrite_parts(kind: &str, message: &mut Value, revision: Revision) -> bool {
    match kind {
        "InitializeRequest" => rewrite::<InitializeParams>(message, "/params", revision),
        "InitializeResult" => rewrite::<InitializeResult>(message, "/result", revision),
        "DiscoverResult" => rewrite::<DiscoverResult>(message, "/result", revision),
        "ListToolsResult" => rewrite::<Vec<Tool>>(message, "/result/tools", revision),
        "CallToolResult" => rewrite::<ToolResult>(message, "/result", revision),
        "ListResourcesResult" => rewrite::<Vec<Resource>>(message, "/result/resources", revision),
        "ListResourceTemplatesResult" => {
            rewrite::<Vec<ResourceTemplate>>(message, "/result/resourceTemplates", revision);
        }
        "ReadResourceResult" => rewrite::<Vec<Contents>>(message, "/result/contents", revision),
        "ListPromptsResult" => rewrite::<Vec<Prompt>>(message, "/result/prompts", revision),
        "GetPromptResult" => rewrite::<Vec<Message>>(message, "/result/messages", revision),
        "CompleteRequest" => rewrite::<CompletionParams>(message, "/params", revision),
        "CompleteResult" => rewrite::<Completion>(message, "/result/completion", revision),
        "CreateMessageRequest" => rewrite::<Sampling>(message, "/params", revision),
        "CreateMessageResult" => rewrite::<Sampled>(message, "/result", revision),
        "ElicitRequest" => rewrite::<Elicitation>(message, "/params", revision),
        "ElicitResult" => rewrite::<Elicited>(message, "/result", revision),
        "InputRequiredResult" => rewrite::<InputRequired>(message, "/result", revision),
        "ProgressNotification" => rewrite::<ProgressParams>(message, "/params", revision),
        "LoggingMessageNotification" => rewrite::<LogParams>(message, "/params", revision),
        "ListRootsResult" => rewrite::<Roots>(message, "/result", revision),
        "CreateTaskResult" => rewrite::<Task>(message, "/result/task", revision),
        "GetTaskResult" => rewrite::<Task>(message, "/result", revision),
        "ListTasksResult" => rewrite::<Vec<Task>>(message, "/result/tasks", revision),
        "SubscriptionsListenRequest" | "SubscriptionsAcknowledgedNotification" => {
            rewrite::<ListenFilter>(message, "/params/notifications", revision);
        }
        _ => return false,
    }
    true
}

/// The message as we write it: without what says nothing, and with one block of a message to or from a model by itself.
fn as_we_write_it(kind: &str, mut message: Value) -> Value {
    if let Some(completion) = message.pointer_mut("/result/completion").and_then(Value::as_object_mut) {
        completion.retain(|_, value| *value != Value::Bool(false));
    }
    if let Some(context) = message.pointer_mut("/params/context").and_then(Value::as_object_mut) {
        context.retain(|_, value| *value != serde_json::json!({}));
    }
    let unwrap_one = |holder: &mut Value| match holder.get_mut("content") {
        Some(Value::Array(blocks)) if blocks.len() == 1 => holder["content"] = blocks.remove(0),
        _ => {}
    };
    match kind {
        "CreateMessageResult" => unwrap_one(&mut message["result"]),
        "CreateMessageRequest" => {
            message["params"]["messages"].as_array_mut().unwrap().iter_mut().for_each(unwrap_one);
        }
        _ => {}
    }
    message
}

// MCP-B-01, MCP-B-06
#[test]
fn recorded_messages_are_read_and_written_as_they_are() {
    let mut count = 0;
    for (name, revision, _, kind, message) in messages() {
        let mut written = message.clone();
        if !rewrite_parts(&kind, &mut written, revision) {
            continue;
        }
        count += 1;
        assert_eq!(written, as_we_write_it(&kind, message), "{name}");
        let part = if kind.ends_with("Result") { &written["result"] } else { &written };
        schemas::check(revision, &kind, part, Reading::Published);
    }
    assert!(count >= 50, "only {count} messages have a type of ours");
}

// MCP-M-02, MCP-X-04
#[test]
fn recorded_requests_are_modern_exactly_in_the_stateless_revision() {
    for (name, revision, dir, kind, message) in messages() {
        if !kind.ends_with("Request") || dir != "c2s" || message.get("method").is_none() {
            continue;
        }
        let params = serde_json::to_string(&message["params"]).unwrap();
        let meta = RequestMeta::of(&switchboard_core::Json::parse(params).unwrap());
        assert_eq!(meta.is_modern(), revision.is_stateless(), "{name}");
        if meta.is_modern() && meta.revision(&Revision::ALL).is_ok() {
            assert!(meta.client_capabilities().is_ok(), "{name}");
        }
    }
}

// MCP-M-08
#[test]
fn recorded_methods_are_in_the_table() {
    for (name, revision, dir, _, message) in messages() {
        let Some(method) = message.get("method").and_then(Value::as_str) else { continue };
        let sender = if dir == "c2s" { methods::Direction::ToServer } else { methods::Direction::ToClient };
        let row = methods::find(method, sender, revision);
        let row = row.unwrap_or_else(|| panic!("{name}: {revision} has no {method} from {dir}"));
        assert_eq!(row.is_notification(), message.get("id").is_none(), "{name}");
    }
}
