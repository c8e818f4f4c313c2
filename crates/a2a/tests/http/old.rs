//! Clients of 0.3.

use serde_json::{Value, json};

use crate::serving::{Gate, Serving, agent, events, serve};

async fn ask(serving: &Serving, method: &str, params: Value) -> Value {
    serving.post_with(&[], method, params).await.json().await
}

fn message(text: &str) -> Value {
    let parts = json!([{"kind": "text", "text": text}]);
    json!({"message": {"kind": "message", "messageId": "m1", "role": "user", "parts": parts}})
}

// A2A-B-02, A2A-B-04, A2A-D-02, A2A-D-04
#[tokio::test]
async fn a_client_of_0_3_sees_its_own_names_and_shapes() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let reply = ask(&serving, "message/send", message("hello")).await["result"].clone();
    assert_eq!((&reply["kind"], &reply["role"]), (&json!("message"), &json!("agent")));
    assert_eq!(reply["parts"], json!([{"kind": "text", "text": "hi"}]));
    let task = ask(&serving, "message/send", message("ask")).await["result"].clone();
    assert_eq!((&task["kind"], &task["status"]["state"]), (&json!("task"), &json!("input-required")));
    assert_eq!(task["history"][0]["role"], "user");
    assert_eq!(ask(&serving, "tasks/get", json!({"id": task["id"]})).await["result"], task);
    let cancelled = ask(&serving, "tasks/cancel", json!({"id": task["id"]})).await["result"].clone();
    assert_eq!(cancelled["status"]["state"], "canceled");
    let wrong = ask(
        &serving,
        "message/send",
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}}),
    );
    assert_eq!(wrong.await["error"]["code"], -32602);
    assert_eq!(ask(&serving, "tasks/get", json!({"id": "none"})).await["error"]["code"], -32001);
}

// A2A-M-02, A2A-S-03
#[tokio::test]
async fn a_client_of_0_3_may_not_wait_and_its_streams_say_which_event_is_the_last() {
    let gate = Gate::default();
    let serving = serve(&agent(&gate).build()).await;
    let mut params = message("wait");
    params["configuration"] = json!({"blocking": false});
    let task = ask(&serving, "message/send", params).await["result"].clone();
    assert!(["submitted", "working"].contains(&task["status"]["state"].as_str().unwrap()), "{task}");
    let stream = serving.post_with(&[], "tasks/resubscribe", json!({"id": task["id"]})).await;
    gate.0.notify_one();
    let resumed = events(stream).await;
    assert_eq!(resumed[0]["kind"], "task");
    assert_eq!(resumed.last().unwrap()["final"], true);
    let events = events(serving.post_with(&[], "message/stream", message("chunks")).await).await;
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["task", "status-update", "artifact-update", "artifact-update", "status-update"]);
    assert_eq!((&events[1]["final"], &events[4]["final"]), (&json!(false), &json!(true)));
}
