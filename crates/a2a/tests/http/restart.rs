//! Agents that restart.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_a2a::AgentOptions;
use switchboard_layers::Clock;
use switchboard_layers::store::{FileStore, MemoryStore, StoreLimits};

use crate::serving::{Gate, agent, events, message, message_to, serve};

// A2A-T-07
#[tokio::test]
async fn tasks_survive_in_a_file_and_go_on() {
    let path = std::env::temp_dir().join(format!("switchboard-a2a-{}.redb", std::process::id()));
    let (asked, done) = {
        let store = FileStore::open(&path).unwrap();
        let serving = serve(&agent(&Gate::default()).with_store(store).build()).await;
        let asked = serving.ask("SendMessage", message("ask")).await["task"].clone();
        (asked, serving.ask("SendMessage", message("chunks")).await["task"].clone())
    };
    // The thread of the store lets go of the file when the last of its owners is gone.
    let store = loop {
        match FileStore::open(&path) {
            Ok(store) => break store,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let serving = serve(&agent(&Gate::default()).with_store(store).build()).await;
    assert_eq!(serving.ask("GetTask", json!({"id": done["id"]})).await, done);
    assert_eq!(serving.ask("ListTasks", json!({})).await["totalSize"], 2);
    let went_on = serving.ask("SendMessage", message_to(&asked, "count")).await["task"].clone();
    assert_eq!(went_on["status"]["message"]["parts"][0]["text"], "3 messages");
    std::fs::remove_file(path).unwrap();
}

// A2A-T-07
#[tokio::test]
async fn work_that_was_cut_off_goes_on_when_its_client_comes_back() {
    let clock = Clock::manual(1_800_000_000);
    let store = Arc::new(MemoryStore::with_clock(StoreLimits::default(), clock.clone()));
    let new = |gate: &Gate| agent(gate).with_store(Arc::clone(&store)).with_clock(clock.clone()).build();
    let mut params = message("wait");
    params["configuration"] = json!({"returnImmediately": true});
    let id = {
        let serving = serve(&new(&Gate::default())).await;
        json!({"id": serving.ask("SendMessage", params).await["task"]["id"]})
    };
    let gate = Gate::default();
    let server = new(&gate);
    let serving = serve(&server).await;
    // It may still be worked on elsewhere.
    let task = serving.ask("GetTask", id.clone()).await;
    assert!(task["status"]["state"].as_str().unwrap() != "TASK_STATE_COMPLETED" && server.working() == 0);
    clock.advance(Duration::from_secs(60));
    let stream = serving.post("SubscribeToTask", id.clone()).await;
    gate.0.notify_one();
    let events = events(stream).await;
    assert_eq!(events.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(serving.ask("GetTask", id).await["artifacts"][0]["parts"][0]["text"], "again");
}

// A2A-S-04
#[tokio::test]
async fn a_stream_that_waits_for_a_dead_process_goes_on_when_its_lease_is_over() {
    let clock = Clock::manual(1_800_000_000);
    let store = Arc::new(MemoryStore::with_clock(StoreLimits::default(), clock.clone()));
    let new = |gate: &Gate| agent(gate).with_store(Arc::clone(&store)).with_clock(clock.clone()).build();
    let id = {
        let serving = serve(&new(&Gate::default())).await;
        let mut stream = serving.post("SendStreamingMessage", message("wait")).await;
        let task = crate::serving::result(&stream.event().await.unwrap().json())["task"].clone();
        crate::serving::result(&stream.event().await.unwrap().json());
        json!({"id": task["id"]})
    };
    let gate = Gate::default();
    let server = new(&gate);
    let serving = serve(&server).await;
    let mut stream = serving.post("SubscribeToTask", id).await;
    let first = crate::serving::result(&stream.event().await.unwrap().json());
    assert_eq!((&first["task"]["status"]["state"], server.working()), (&json!("TASK_STATE_WORKING"), 0));
    clock.advance(Duration::from_secs(60));
    gate.0.notify_one();
    let events = events(stream).await;
    assert_eq!(events.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let artifact = events.iter().find_map(|event| event.get("artifactUpdate")).unwrap();
    assert_eq!(artifact["artifact"]["parts"][0]["text"], "again");
}

#[tokio::test]
async fn tasks_of_an_earlier_life_count_against_the_limit() {
    let store = Arc::new(MemoryStore::default());
    let options = AgentOptions::default().with_tasks(3);
    let new = || agent(&Gate::default()).with_store(Arc::clone(&store)).with_options(options.clone()).build();
    let first = serve(&new()).await;
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(first.ask("SendMessage", message("work")).await["task"]["id"].clone());
    }
    drop(first);
    let second = serve(&new()).await;
    second.ask("SendMessage", message("work")).await;
    assert_eq!(second.error("GetTask", json!({"id": made[0]})).await, -32001);
    assert_eq!(second.ask("ListTasks", json!({})).await["totalSize"], 3);
}

#[tokio::test]
async fn a_process_that_was_too_slow_leaves_its_task_to_the_one_that_goes_on_with_it() {
    let clock = Clock::manual(1_800_000_000);
    let store = Arc::new(MemoryStore::with_clock(StoreLimits::default(), clock.clone()));
    let new = |gate: &Gate| agent(gate).with_store(Arc::clone(&store)).with_clock(clock.clone()).build();
    let (slow, gate) = (Gate::default(), Gate::default());
    let (one, two) = (new(&slow), new(&gate));
    let (first, second) = (serve(&one).await, serve(&two).await);
    let mut stream = first.post("SendStreamingMessage", message("wait")).await;
    let task = crate::serving::result(&stream.event().await.unwrap().json())["task"].clone();
    crate::serving::result(&stream.event().await.unwrap().json());
    clock.advance(Duration::from_secs(60));
    let mut taken = second.post("SubscribeToTask", json!({"id": task["id"]})).await;
    taken.event().await.unwrap();
    // It has reported that it works, and so changed the task.
    let working = crate::serving::result(&taken.event().await.unwrap().json());
    assert_eq!(working["statusUpdate"]["status"]["state"], "TASK_STATE_WORKING");
    slow.0.notify_one();
    events(stream).await;
    let now = second.ask("GetTask", json!({"id": task["id"]})).await;
    assert_eq!(now["status"]["state"], "TASK_STATE_WORKING");
    gate.0.notify_one();
    assert_eq!(
        events(taken).await.last().unwrap()["statusUpdate"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

// A2A-M-06
#[tokio::test]
async fn a_task_can_be_cancelled_through_another_process() {
    let store = Arc::new(MemoryStore::default());
    let new = || agent(&Gate::default()).with_store(Arc::clone(&store)).build();
    let (one, two) = (new(), new());
    let (first, second) = (serve(&one).await, serve(&two).await);
    let mut stream = first.post("SendStreamingMessage", message("wait")).await;
    let task = crate::serving::result(&stream.event().await.unwrap().json())["task"].clone();
    crate::serving::result(&stream.event().await.unwrap().json());
    assert_eq!(second.ask("ListTasks", json!({})).await["totalSize"], 1);
    let cancelled = second.ask("CancelTask", json!({"id": task["id"]})).await;
    assert_eq!(cancelled["status"]["state"], "TASK_STATE_CANCELED");
    assert_eq!(
        first.ask("CancelTask", json!({"id": task["id"]})).await["status"]["state"],
        "TASK_STATE_CANCELED"
    );
}
