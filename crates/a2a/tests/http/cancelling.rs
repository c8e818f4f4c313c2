//! Tasks that change while they are cancelled.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use switchboard_a2a::Server;
use switchboard_core::{Call, Context, Json, Metadata, Outcome, ReplyFuture, Service};
use switchboard_layers::store::{MemoryStore, Store};

use crate::held::Held;
use crate::serving::{Gate, agent, message, message_to};

/// A call of 1.0, without a server in between.
fn call(server: &Server, method: &'static str, params: Value) -> ReplyFuture {
    let mut metadata = Metadata::default();
    metadata.insert("a2a-version", "1.0");
    let cx = Context::default().with_metadata(metadata);
    let call = Call::new(method, Some(Json::encode(&params).unwrap()));
    server.service().call(&call.with_context(cx))
}

async fn result(reply: ReplyFuture) -> Value {
    match reply.await.outcome {
        Outcome::Value(json) => json.decode().unwrap(),
        _ => panic!("the agent refuses it"),
    }
}

// A2A-M-06
#[tokio::test]
async fn a_task_that_asks_just_when_it_is_cancelled_is_cancelled() {
    let store = Held::new(Arc::new(MemoryStore::default()), "TASK_STATE_INPUT_REQUIRED");
    let server = agent(&Gate::default()).with_store(Arc::clone(&store)).build();
    let mut params = message("ask late");
    params["configuration"] = json!({"returnImmediately": true});
    let task = result(call(&server, "SendMessage", params)).await["task"].clone();
    store.waits.notified().await;
    let mut cancelling = call(&server, "CancelTask", json!({"id": task["id"]}));
    assert!((&mut cancelling).now_or_never().is_none());
    store.goes.notify_one();
    assert_eq!(result(cancelling).await["status"]["state"], "TASK_STATE_CANCELED");
}

// A2A-M-06
#[tokio::test]
async fn a_task_that_goes_on_elsewhere_just_when_it_is_cancelled_is_cancelled() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let slow = Held::new(Arc::clone(&store), "TASK_STATE_CANCELED");
    let one = agent(&Gate::default()).with_store(Arc::clone(&store)).build();
    let two = agent(&Gate::default()).with_store(Arc::clone(&slow)).build();
    let task = result(call(&one, "SendMessage", message("ask"))).await["task"].clone();
    let mut cancelling = call(&two, "CancelTask", json!({"id": task["id"]}));
    assert!((&mut cancelling).now_or_never().is_none());
    slow.waits.notified().await;
    result(call(&one, "SendMessage", message_to(&task, "ask"))).await;
    slow.goes.notify_one();
    assert_eq!(result(cancelling).await["status"]["state"], "TASK_STATE_CANCELED");
    let now = result(call(&one, "GetTask", json!({"id": task["id"]}))).await;
    assert_eq!(now["status"]["state"], "TASK_STATE_CANCELED");
}
