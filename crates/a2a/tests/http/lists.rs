//! Lists of tasks.

use serde_json::{Value, json};
use switchboard_a2a::AgentOptions;
use switchboard_layers::Clock;

use crate::serving::{Gate, agent, message, message_to, serve};

fn ids(page: &Value) -> Vec<Value> {
    page["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect()
}

// A2A-M-04
#[tokio::test]
async fn a_list_has_the_callers_tasks_the_latest_first_in_pages() {
    let clock = Clock::manual(1_800_000_000);
    let serving = serve(&agent(&Gate::default()).with_clock(clock.clone()).build()).await;
    let mut made = Vec::new();
    for text in ["ask", "work", "chunks", "work", "refuse"] {
        clock.advance(std::time::Duration::from_secs(1));
        let task = serving.ask_as("ann", "SendMessage", message(text)).await["result"]["task"].clone();
        made.insert(0, task);
    }
    serving.ask_as("bob", "SendMessage", message("work")).await;
    let list = async |params: Value| serving.ask_as("ann", "ListTasks", params).await["result"].clone();
    let all = list(json!({})).await;
    let expected: Vec<Value> = made.iter().map(|task| task["id"].clone()).collect();
    assert_eq!(ids(&all), expected);
    assert_eq!(
        (&all["nextPageToken"], &all["totalSize"], &all["pageSize"]),
        (&json!(""), &json!(5), &json!(50))
    );
    assert!(all["tasks"].as_array().unwrap().iter().all(|task| task.get("artifacts").is_none()));
    assert!(list(json!({"includeArtifacts": true})).await["tasks"][2]["artifacts"].is_array());
    let first = list(json!({"pageSize": 2})).await;
    let second = list(json!({"pageSize": 2, "pageToken": first["nextPageToken"]})).await;
    let third = list(json!({"pageSize": 2, "pageToken": second["nextPageToken"]})).await;
    assert_eq!([ids(&first), ids(&second), ids(&third)].concat(), expected);
    assert_eq!(third["nextPageToken"], "");
    let filtered = list(
        json!({"status": "TASK_STATE_COMPLETED", "statusTimestampAfter": made[1]["status"]["timestamp"]}),
    );
    assert_eq!(ids(&filtered.await), [made[1]["id"].clone()]);
    assert_eq!(ids(&list(json!({"contextId": made[4]["contextId"]})).await), [made[4]["id"].clone()]);
    // A task whose status changes moves to the front.
    clock.advance(std::time::Duration::from_secs(1));
    serving.ask_as("ann", "SendMessage", message_to(&made[4], "work")).await;
    assert_eq!(ids(&list(json!({"pageSize": 1})).await), [made[4]["id"].clone()]);
    assert_eq!(serving.ask("ListTasks", json!({})).await["totalSize"], 0);
    for wrong in [
        json!({"pageSize": 0}),
        json!({"pageSize": 101}),
        json!({"pageToken": "?"}),
        json!({"status": "DONE"}),
    ] {
        assert_eq!(serving.error("ListTasks", wrong).await, -32602);
    }
}

#[tokio::test]
async fn a_new_task_replaces_the_oldest_that_has_ended() {
    let options = AgentOptions::default().with_tasks(3);
    let serving = serve(&agent(&Gate::default()).with_options(options).build()).await;
    let mut made = Vec::new();
    for text in ["ask", "work", "work", "work"] {
        made.push(serving.ask("SendMessage", message(text)).await["task"]["id"].clone());
    }
    assert_eq!(serving.error("GetTask", json!({"id": made[1]})).await, -32001);
    assert_eq!(serving.ask("ListTasks", json!({})).await["totalSize"], 3);
    for _ in 0..2 {
        serving.ask("SendMessage", message("ask")).await;
    }
    // All of them wait for their clients.
    assert_eq!(serving.error("SendMessage", message("ask")).await, -32000);
    let mut params = message("wait");
    params["configuration"] = json!({"returnImmediately": true});
    assert_eq!(serving.error("SendMessage", params).await, -32000);
}
