//! Streams of events.

use serde_json::{Value, json};

use crate::raw::Received;
use crate::serving::{Gate, agent, events, message, message_to, result, serve};

fn kind(event: &Value) -> String {
    let object = event.as_object().unwrap();
    assert_eq!(object.len(), 1, "{event}");
    object.keys().next().unwrap().clone()
}

async fn next(received: &mut Received) -> Value {
    result(&received.event().await.unwrap().json())
}

// A2A-B-01, A2A-S-01, A2A-S-02, A2A-S-03, A2A-D-06
#[tokio::test]
async fn a_stream_has_the_task_its_changes_in_order_and_an_end() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let events = events(serving.post("SendStreamingMessage", message("chunks")).await).await;
    let kinds: Vec<String> = events.iter().map(kind).collect();
    assert_eq!(kinds, ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
    let task = &events[0]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
    assert_eq!(events[1]["statusUpdate"]["status"]["state"], "TASK_STATE_WORKING");
    let (first, last) = (&events[2]["artifactUpdate"], &events[3]["artifactUpdate"]);
    assert_eq!((&first["append"], first.get("lastChunk")), (&json!(true), None));
    assert_eq!((&last["append"], &last["lastChunk"]), (&json!(true), &json!(true)));
    assert_eq!(events[4]["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    for event in &events[1..] {
        let update = event.as_object().unwrap().values().next().unwrap();
        assert_eq!((&update["taskId"], &update["contextId"]), (&task["id"], &task["contextId"]));
    }
    let task = serving.ask("GetTask", json!({"id": task["id"]})).await;
    assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "one "}, {"text": "two"}]));
}

// A2A-S-03
#[tokio::test]
async fn a_stream_of_an_agent_without_a_task_is_one_message() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let events = events(serving.post("SendStreamingMessage", message("slow hello")).await).await;
    assert_eq!(events.iter().map(kind).collect::<Vec<_>>(), ["message"]);
}

// A2A-S-06
#[tokio::test]
async fn an_error_before_a_stream_is_an_ordinary_answer() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let check = async |params: Value, code: i64| {
        let received = serving.post("SendStreamingMessage", params).await;
        assert_eq!(received.header("content-type"), Some("application/json"));
        assert_eq!(received.json().await["error"]["code"], code);
    };
    check(message("fail"), 7).await;
    check(message_to(&json!({"id": "none"}), "hello"), -32001).await;
    check(json!({}), -32602).await;
}

// A2A-S-04, A2A-S-05, A2A-S-07
#[tokio::test]
async fn a_second_stream_begins_with_the_task_and_both_get_all_that_follows() {
    let gate = Gate::default();
    let serving = serve(&agent(&gate).build()).await;
    let mut first = serving.post("SendStreamingMessage", message("wait")).await;
    let task = next(&mut first).await["task"].clone();
    assert_eq!(next(&mut first).await["statusUpdate"]["status"]["state"], "TASK_STATE_WORKING");
    let id = json!({"id": task["id"]});
    let mut second = serving.post("SubscribeToTask", id.clone()).await;
    let third = serving.post("SubscribeToTask", id.clone()).await;
    let now = next(&mut second).await["task"].clone();
    assert_eq!(now["status"]["state"], "TASK_STATE_WORKING");
    // A stream that is closed affects neither the others nor the task.
    drop(third);
    gate.0.notify_one();
    let (first, second) = (events(first).await, events(second).await);
    assert_eq!(first, second);
    let kinds: Vec<String> = first.iter().map(kind).collect();
    assert_eq!(kinds, ["artifactUpdate", "statusUpdate"]);
    assert_eq!(serving.error("SubscribeToTask", id).await, -32004);
}

// A2A-T-07
#[tokio::test]
async fn a_task_goes_on_without_the_client_that_began_it() {
    let gate = Gate::default();
    let serving = serve(&agent(&gate).build()).await;
    let mut stream = serving.post("SendStreamingMessage", message("wait")).await;
    let task = next(&mut stream).await["task"].clone();
    drop(stream);
    let mut rest = serving.post("SubscribeToTask", json!({"id": task["id"]})).await;
    next(&mut rest).await;
    gate.0.notify_one();
    let events = events(rest).await;
    assert_eq!(events.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
}

// A2A-S-04
#[tokio::test]
async fn a_subscription_lasts_while_the_task_asks_its_client() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let task = serving.ask("SendMessage", message("ask")).await["task"].clone();
    let id = json!({"id": task["id"]});
    let mut stream = serving.post("SubscribeToTask", id.clone()).await;
    assert_eq!(next(&mut stream).await["task"], task);
    let done = serving.ask("SendMessage", message_to(&task, "chunks")).await["task"].clone();
    assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED");
    let rest = events(stream).await;
    assert_eq!(rest.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let other = serving.ask("SendMessage", message("ask")).await["task"].clone();
    let mut stream = serving.post("SubscribeToTask", json!({"id": other["id"]})).await;
    next(&mut stream).await;
    serving.ask("CancelTask", json!({"id": other["id"]})).await;
    let rest = events(stream).await;
    assert_eq!(rest.last().unwrap()["task"]["status"]["state"], "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn the_answer_to_a_question_streams_the_rest_of_the_task() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let asked = events(serving.post("SendStreamingMessage", message("ask")).await).await;
    assert_eq!(asked.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let task = asked[0]["task"].clone();
    let rest = events(serving.post("SendStreamingMessage", message_to(&task, "chunks")).await).await;
    assert_eq!(rest[0]["task"]["id"], task["id"]);
    assert_eq!(rest.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
}
