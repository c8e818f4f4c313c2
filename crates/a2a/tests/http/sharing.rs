//! Agents in several processes that share their tasks in a broker.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use serde_json::{Value, json};
use switchboard_layers::store::{JetStream, JetStreamOptions, Store, StoreLimits};

use crate::broker::Broker;
use crate::held::Held;
use crate::serving::{Gate, agent, events, message, result, serve};

const DAYS: Duration = Duration::from_secs(8 * 24 * 3600);

/// A connection to the store of an agent, as each process has its own.
async fn store(broker: &Broker) -> Arc<dyn Store> {
    let options = JetStreamOptions::new(broker.url()).with_timeout(Duration::from_secs(20));
    let connection = JetStream::connect(options).await.unwrap();
    Arc::new(connection.bucket("tasks", DAYS, StoreLimits::default()).await.unwrap())
}

// A2A-S-04, A2A-S-05
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_follows_a_task_that_another_process_works_on() {
    let broker = Broker::start(&[]);
    let gate = Gate::default();
    let first = serve(&agent(&gate).with_store(store(&broker).await).build()).await;
    let second = serve(&agent(&Gate::default()).with_store(store(&broker).await).build()).await;
    let mut begun = first.post("SendStreamingMessage", message("wait")).await;
    let task = result(&begun.event().await.unwrap().json())["task"].clone();
    let working = result(&begun.event().await.unwrap().json());
    assert_eq!(working["statusUpdate"]["status"]["state"], "TASK_STATE_WORKING");
    let mut elsewhere = second.post("SubscribeToTask", json!({"id": task["id"]})).await;
    let now = result(&elsewhere.event().await.unwrap().json());
    assert_eq!(now["task"]["status"]["state"], "TASK_STATE_WORKING");
    gate.0.notify_one();
    let (begun, elsewhere) = join(events(begun), events(elsewhere)).await;
    assert_eq!(begun.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let task = &elsewhere.last().unwrap()["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "at once");
}

// A2A-M-04
#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_number_was_taken_before_it_was_stored_is_listed_later() {
    let broker = Broker::start(&[]);
    let slow = Held::new(store(&broker).await, "TASK_STATE_SUBMITTED");
    let first = serve(&agent(&Gate::default()).with_store(Arc::clone(&slow)).build()).await;
    let second = serve(&agent(&Gate::default()).with_store(store(&broker).await).build()).await;
    let total = async || second.ask("ListTasks", json!({})).await["totalSize"].clone();
    let sending = async {
        slow.waits.notified().await;
        let before = total().await;
        second.ask("SendMessage", message("work")).await;
        let with_a_later_one = total().await;
        slow.goes.notify_one();
        (before, with_a_later_one)
    };
    let (sent, totals): (Value, _) = join(first.ask("SendMessage", message("work")), sending).await;
    assert_eq!(totals, (json!(0), json!(1)));
    let all = second.ask("ListTasks", json!({})).await;
    assert_eq!(all["totalSize"], 2, "{all}");
    assert!(all["tasks"].as_array().unwrap().contains(&{
        let mut task = sent["task"].clone();
        task.as_object_mut().unwrap().remove("history");
        task
    }));
}
