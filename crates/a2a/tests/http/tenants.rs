//! Several agents at one URL.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_a2a::model::{AgentCard, ListTasks, Message, SendMessage};
use switchboard_a2a::{A2aRoute, Agent, CardRoute, Client, Outcome, PushOptions, Server, Tenants};
use switchboard_core::{ErrorObject, Settings};
use switchboard_layers::store::MemoryStore;

use crate::serving::{Gate, Serving, agent, message, serve, serve_routes};

/// The answer of an agent to a request for a tenant.
async fn ask(serving: &Serving, tenant: &str, method: &str, mut params: Value) -> Value {
    params["tenant"] = json!(tenant);
    serving.post(method, params).await.json().await
}

fn named(name: &'static str, store: &Arc<MemoryStore>) -> Server {
    let answer = move |_, _| async move { Ok::<_, ErrorObject>(Outcome::completed_with(name)) };
    Agent::new(AgentCard::new(name, "Says its name.", "1.0.0"), answer).with_store(Arc::clone(store)).build()
}

// A2A-M-04, A2A-C-03, A2A-E-02
#[tokio::test]
async fn each_tenant_has_its_own_agent_and_its_own_tasks() {
    let store = Arc::new(MemoryStore::default());
    let acme = named("Acme", &store);
    let tenants = Tenants::default().with("acme", acme.clone()).with("globex", named("Globex", &store));
    let card = CardRoute::new(&acme, "/a2a").with_tenant("acme");
    let serving = serve_routes(A2aRoute::tenants(&tenants, Settings::default()), card).await;
    let sent = ask(&serving, "acme", "SendMessage", message("who?")).await["result"]["task"].clone();
    assert_eq!(sent["status"]["message"]["parts"][0]["text"], "Acme");
    let id = json!({"id": sent["id"]});
    assert_eq!(ask(&serving, "acme", "GetTask", id.clone()).await["result"], sent);
    assert_eq!(ask(&serving, "globex", "GetTask", id.clone()).await["error"]["code"], -32001);
    assert_eq!(ask(&serving, "globex", "CancelTask", id.clone()).await["error"]["code"], -32001);
    assert_eq!(ask(&serving, "globex", "ListTasks", json!({})).await["result"]["totalSize"], 0);
    assert_eq!(ask(&serving, "initech", "GetTask", id.clone()).await["error"]["code"], -32602);
    assert_eq!(serving.error("GetTask", id).await, -32602);
    // A client sends the tenant that the card names.
    let client = Client::connect(&format!("http://{}", serving.address)).await.unwrap();
    client.send(SendMessage::new(Message::user("who?"))).await.unwrap();
    assert_eq!(client.list(&ListTasks::default()).await.unwrap().total_size, 2);
}

#[tokio::test]
async fn an_agent_alone_keeps_the_tasks_of_tenants_apart() {
    let serving = serve(&agent(&Gate::default()).with_push(PushOptions::default()).build()).await;
    let task = ask(&serving, "acme", "SendMessage", message("ask")).await["result"]["task"].clone();
    let id = json!({"id": task["id"]});
    assert_eq!(ask(&serving, "acme", "GetTask", id.clone()).await["result"], task);
    assert_eq!(ask(&serving, "globex", "GetTask", id.clone()).await["error"]["code"], -32001);
    assert_eq!(serving.error("GetTask", id).await, -32001);
    // So are the places for notifications about them.
    let place = json!({"taskId": task["id"], "id": "a", "url": "https://hook.test/"});
    let create = "CreateTaskPushNotificationConfig";
    assert_eq!(ask(&serving, "acme", create, place.clone()).await["result"]["id"], "a");
    assert_eq!(ask(&serving, "globex", create, place).await["error"]["code"], -32001);
    let list = "ListTaskPushNotificationConfigs";
    let of_task = json!({"taskId": task["id"]});
    assert_eq!(ask(&serving, "acme", list, of_task.clone()).await["result"]["configs"][0]["id"], "a");
    assert_eq!(ask(&serving, "globex", list, of_task).await["error"]["code"], -32001);
}
