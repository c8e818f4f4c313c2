//! What a function knows about its call, and what it passes on.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_a2a::model::{AgentCard, Message, SendMessage, StreamEvent};
use switchboard_a2a::{Agent, Client, TaskHandle};
use switchboard_core::{ErrorObject, TraceContext};
use switchboard_layers::Clock;
use switchboard_layers::store::{MemoryStore, StoreLimits};

use crate::serving::{EXTENSION, Gate, agent, events, message, result, serve};

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A request that says more than a message.
fn request() -> Value {
    let mut params = message("details");
    params["metadata"] = json!({"priority": 1});
    params["configuration"] = json!({"acceptedOutputModes": ["text/plain"], "returnImmediately": true});
    params
}

const HEADERS: [(&str, &str); 4] =
    [("a2a-version", "1.0"), ("a2a-extensions", EXTENSION), ("traceparent", TRACE), ("x-user", "ann")];

fn expected() -> Value {
    json!({
        "metadata": {"priority": 1}, "modes": ["text/plain"], "extensions": [EXTENSION], "tenant": null,
        "trace": TRACE, "user": "ann", "deadline": true,
    })
}

// A2A-M-01, A2A-B-03, A2A-T-03
#[tokio::test]
async fn a_function_sees_the_details_of_its_request_and_the_context_of_its_call() {
    let gate = Gate::default();
    let serving = serve(&agent(&gate).build()).await;
    let received = serving.post_with(&HEADERS, "SendMessage", request()).await;
    assert_eq!(received.header("a2a-extensions"), Some(EXTENSION));
    let task = result(&received.json().await)["task"].clone();
    let rest = serving.post_with(&HEADERS, "SubscribeToTask", json!({"id": task["id"]})).await;
    assert_eq!(rest.header("a2a-extensions"), Some(EXTENSION));
    gate.0.notify_one();
    let events = events(rest).await;
    let artifact = events.iter().find_map(|event| event.get("artifactUpdate")).unwrap();
    assert_eq!(artifact["artifact"]["parts"][0]["data"], expected());
    let plain = serving.post("SendMessage", message("hello")).await;
    assert_eq!(plain.header("a2a-extensions"), None);
}

// A2A-T-07
#[tokio::test]
async fn a_function_that_is_called_again_sees_the_original_request_and_its_trace() {
    let clock = Clock::manual(1_800_000_000);
    let store = Arc::new(MemoryStore::with_clock(StoreLimits::default(), clock.clone()));
    let new = |gate: &Gate| agent(gate).with_store(Arc::clone(&store)).with_clock(clock.clone()).build();
    let task = {
        let serving = serve(&new(&Gate::default())).await;
        result(&serving.post_with(&HEADERS, "SendMessage", request()).await.json().await)["task"].clone()
    };
    let gate = Gate::default();
    let serving = serve(&new(&gate)).await;
    clock.advance(Duration::from_secs(60));
    gate.0.notify_one();
    let other = [("a2a-version", "1.0"), ("x-user", "ann")];
    let rest = serving.post_with(&other, "SubscribeToTask", json!({"id": task["id"]})).await;
    let events = events(rest).await;
    let artifact = events.iter().find_map(|event| event.get("artifactUpdate")).unwrap();
    assert_eq!(artifact["artifact"]["parts"][0]["data"], expected());
}

#[tokio::test]
async fn one_trace_goes_through_a_chain_of_agents() {
    let last =
        Agent::new(AgentCard::new("Last", "Tells its trace.", "1"), |_, task: TaskHandle| async move {
            let trace = TraceContext::of(task.context().metadata());
            Ok::<_, ErrorObject>(trace.map_or_else(String::new, |trace| trace.to_string()))
        });
    let last = serve(&last.build()).await;
    let next = Client::connect(&format!("http://{}", last.address)).await.unwrap();
    let middle = move |message: Message, task: TaskHandle| {
        let next = next.within(task.context());
        async move {
            let request = SendMessage::new(Message::user(message.text()));
            match next.send(request).await.map_err(ErrorObject::from)? {
                StreamEvent::Message(message) => Ok::<_, ErrorObject>(message.text()),
                other => Err(ErrorObject::internal(&format!("{other:?}"))),
            }
        }
    };
    let middle = Agent::new(AgentCard::new("Middle", "Asks another.", "1"), middle).build();
    let first = serve(&middle).await;
    let answer = first.post_with(&HEADERS, "SendMessage", message("trace")).await.json().await;
    assert_eq!(answer["result"]["message"]["parts"][0]["text"], TRACE);
}
